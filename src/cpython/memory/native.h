/* SPDX-License-Identifier: MIT */
/* Blocks that C code gets from malloc, mmap and related functions, where the library of src/native was loaded
 * before all others. They are entered in the table of live blocks (heap/heap.h), as those of Python's allocators
 * are, and belong to the line that runs in their thread. In threads without selected code, such as those of
 * OpenMP and BLAS, they are nobody's.
 *
 * What Python's allocators get from malloc is counted by hooks.h already: while one of its hooks is inside an
 * allocator, nothing is counted here.
 *
 * Threads: as hooks.h says of hooks without the interpreter's lock. */
#ifndef CLP_NATIVE_H
#define CLP_NATIVE_H

#include "heap/epochs.h"

/* From now on C's blocks are entered in the table. False: the library is not there. */
bool clp_native_use(void);
bool clp_native_is_there(void);
bool clp_native_is_used(void);

/* The name of the library whose malloc the process calls first; NULL: it is ours. Borrowed. */
const char *clp_native_before(void);

/* The name of the library whose malloc ours calls; NULL: it is the C library's. Borrowed. */
const char *clp_native_behind(void);

/* For hooks.h: from now on blocks are entered in this table, and its epochs that go by time end; NULL: no
 * table. */
void clp_native_set_heap(struct clp_heap *heap, struct clp_epochs *epochs);

/* Between the two nothing that the calling thread does is counted. They may be nested. */
uint32_t clp_native_pause(void);
void clp_native_resume(uint32_t inside);

#endif
