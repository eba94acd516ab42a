/* SPDX-License-Identifier: MIT */
/* The allocator that each part of the profiler is given. A test can make it fail, and the profiler can say how
 * much memory it holds. Callers pass the sizes of their blocks, so the count is exact without a header in each
 * block.
 *
 * Not synchronised: one thread at a time may use it (in the interpreter, the thread that holds the GIL). */
#ifndef CLP_MEM_H
#define CLP_MEM_H

#include "status.h"
#include <stddef.h>

struct clp_mem {
    /* Works like realloc, with the old size: old_bytes 0 allocates; new_bytes 0 frees and returns NULL. On
     * failure returns NULL and leaves the old block alone. */
    void *(*resize)(void *context, void *block, size_t old_bytes, size_t new_bytes);
    void *context;
    size_t bytes; /* held now */
    size_t peak;  /* the most ever held */
};

/* An allocator over malloc. */
struct clp_mem clp_mem_system(void);

/* Allocates zeroed memory for `count` items of item_bytes each. NULL when there is no memory or the product
 * overflows. A count of 0 gives NULL, which clp_mem_free accepts. */
void *clp_mem_alloc(struct clp_mem *mem, size_t count, size_t item_bytes);

/* Grows or shrinks *block, an array of *count items, to new_count; new items are zeroed. On
 * CLP_NO_MEMORY neither *block nor *count has changed. */
clp_status clp_mem_grow(struct clp_mem *mem, void **block, size_t *count, size_t new_count,
                        size_t item_bytes);

/* Grows or shrinks *block, of *bytes bytes, to new_bytes. New bytes may hold anything, and take no memory until
 * the caller writes them. On CLP_NO_MEMORY neither *block nor *bytes has changed. */
clp_status clp_mem_resize(struct clp_mem *mem, void **block, size_t *bytes, size_t new_bytes);

void clp_mem_free(struct clp_mem *mem, void *block, size_t count, size_t item_bytes);

/* A copy of `bytes` bytes of text, with a 0 after them. The caller frees it by clp_mem_free_text. NULL: no
 * memory. */
char *clp_mem_copy_text(struct clp_mem *mem, const char *text, size_t bytes);
void clp_mem_free_text(struct clp_mem *mem, char *text);

#endif
