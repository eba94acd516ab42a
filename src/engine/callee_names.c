/* SPDX-License-Identifier: MIT */
#include "callee_names.h"
#include <string.h>

void clp_callee_names_init(struct clp_callee_names *names, struct clp_mem *mem)
{
    *names = (struct clp_callee_names){.mem = mem};
    clp_hashmap_init(&names->index, mem);
}

void clp_callee_names_clear(struct clp_callee_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        clp_mem_free_text(names->mem, names->items[i]);
    clp_mem_free(names->mem, names->items, names->room, sizeof *names->items);
    clp_hashmap_clear(&names->index);
    clp_callee_names_init(names, names->mem);
}

static uint32_t append(struct clp_callee_names *names, uint64_t hash, const char *name, size_t bytes)
{
    char *copy;

    if (names->count == UINT32_MAX - 1 ||
        (names->count == names->room && clp_mem_grow(names->mem, (void **)&names->items, &names->room,
                                                     names->room * 2 + 16, sizeof *names->items) != CLP_OK) ||
        (copy = clp_mem_copy_text(names->mem, name, bytes)) == NULL)
        return 0;
    if (clp_hashmap_set(&names->index, hash, names->count + 1) != CLP_OK) {
        clp_mem_free_text(names->mem, copy);
        return 0;
    }
    names->items[names->count++] = copy;
    if (names->added != NULL)
        names->added(names->listener, copy);
    return (uint32_t)names->count;
}

uint32_t clp_callee_names_add(struct clp_callee_names *names, const char *name, size_t bytes)
{
    uint64_t hash = clp_hash_text(0, name, bytes), number;

    for (;; hash++) {
        if (!clp_hashmap_get(&names->index, hash, &number))
            return append(names, hash, name, bytes);
        const char *known = names->items[number - 1];
        if (strlen(known) == bytes && memcmp(known, name, bytes) == 0)
            return (uint32_t)number;
    }
}

const char *clp_callee_names_get(const struct clp_callee_names *names, uint32_t number)
{
    return number != 0 && number <= names->count ? names->items[number - 1] : NULL;
}
