/* SPDX-License-Identifier: MIT */
#include "mem.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *system_resize(void *context, void *block, size_t old_bytes, size_t new_bytes)
{
    (void)context;
    (void)old_bytes;
    if (new_bytes == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, new_bytes);
}

struct clp_mem clp_mem_system(void)
{
    return (struct clp_mem){.resize = system_resize};
}

static void note_change(struct clp_mem *mem, size_t old_bytes, size_t new_bytes)
{
    mem->bytes = mem->bytes - old_bytes + new_bytes;
    if (mem->bytes > mem->peak)
        mem->peak = mem->bytes;
}

void *clp_mem_alloc(struct clp_mem *mem, size_t count, size_t item_bytes)
{
    void *block = NULL;
    size_t have = 0;

    if (clp_mem_grow(mem, &block, &have, count, item_bytes) != CLP_OK)
        return NULL;
    return block;
}

clp_status clp_mem_resize(struct clp_mem *mem, void **block, size_t *bytes, size_t new_bytes)
{
    void *moved = mem->resize(mem->context, *block, *bytes, new_bytes);

    if (moved == NULL && new_bytes != 0)
        return CLP_NO_MEMORY;
    note_change(mem, *bytes, new_bytes);
    *block = moved;
    *bytes = new_bytes;
    return CLP_OK;
}

clp_status clp_mem_grow(struct clp_mem *mem, void **block, size_t *count, size_t new_count,
                        size_t item_bytes)
{
    if (item_bytes != 0 && new_count > SIZE_MAX / item_bytes)
        return CLP_NO_MEMORY;
    size_t old_bytes = *count * item_bytes, bytes = old_bytes;
    if (clp_mem_resize(mem, block, &bytes, new_count * item_bytes) != CLP_OK)
        return CLP_NO_MEMORY;
    if (bytes > old_bytes)
        memset((char *)*block + old_bytes, 0, bytes - old_bytes);
    *count = new_count;
    return CLP_OK;
}

void clp_mem_free(struct clp_mem *mem, void *block, size_t count, size_t item_bytes)
{
    if (block == NULL)
        return;
    mem->resize(mem->context, block, count * item_bytes, 0);
    note_change(mem, count * item_bytes, 0);
}

char *clp_mem_copy_text(struct clp_mem *mem, const char *text, size_t bytes)
{
    char *copy = clp_mem_alloc(mem, bytes + 1, 1);

    if (copy != NULL && bytes != 0)
        memcpy(copy, text, bytes);
    return copy;
}

void clp_mem_free_text(struct clp_mem *mem, char *text)
{
    if (text != NULL)
        clp_mem_free(mem, text, strlen(text) + 1, 1);
}
