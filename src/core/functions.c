/* SPDX-License-Identifier: MIT */
#include "functions.h"
#include <string.h>

void clp_functions_init(struct clp_functions *functions, struct clp_mem *mem)
{
    *functions = (struct clp_functions){.mem = mem};
    clp_hashmap_init(&functions->index, mem);
}

void clp_functions_clear(struct clp_functions *functions)
{
    for (size_t i = 0; i < functions->count; i++) {
        clp_mem_free_text(functions->mem, functions->items[i].file);
        clp_mem_free_text(functions->mem, functions->items[i].name);
    }
    clp_mem_free(functions->mem, functions->items, functions->room, sizeof *functions->items);
    clp_hashmap_clear(&functions->index);
    clp_functions_init(functions, functions->mem);
}

static bool same_function(const struct clp_function *a, const struct clp_function *b)
{
    return a->first_line == b->first_line && a->lowest_line == b->lowest_line &&
           a->line_count == b->line_count && strcmp(a->name, b->name) == 0 &&
           strcmp(a->file, b->file) == 0;
}

static uint64_t hash_of(const struct clp_function *function)
{
    uint64_t hash = clp_hash_text((uint64_t)(uint32_t)function->first_line, function->file,
                                  strlen(function->file));

    return clp_hash_text(hash, function->name, strlen(function->name));
}

static clp_status append(struct clp_functions *functions, const struct clp_function *wanted)
{
    if (functions->count == functions->room) {
        size_t room = functions->room ? functions->room * 2 : 16;
        if (clp_mem_grow(functions->mem, (void **)&functions->items, &functions->room, room,
                         sizeof *functions->items) != CLP_OK)
            return CLP_NO_MEMORY;
    }
    struct clp_function copy = *wanted;
    copy.file = clp_mem_copy_text(functions->mem, wanted->file, strlen(wanted->file));
    copy.name = clp_mem_copy_text(functions->mem, wanted->name, strlen(wanted->name));
    if (copy.file == NULL || copy.name == NULL) {
        clp_mem_free_text(functions->mem, copy.file);
        clp_mem_free_text(functions->mem, copy.name);
        return CLP_NO_MEMORY;
    }
    functions->items[functions->count++] = copy;
    if (functions->added != NULL)
        functions->added(functions->listener, &copy);
    return CLP_OK;
}

clp_status clp_functions_add(struct clp_functions *functions, const struct clp_function *wanted,
                             uint32_t *number)
{
    uint64_t hash = hash_of(wanted), place;

    for (; clp_hashmap_get(&functions->index, hash, &place); hash++) {
        if (same_function(&functions->items[place], wanted)) {
            /* two lambdas of one line, say, of which one may be suspended */
            functions->items[place].generator |= wanted->generator;
            *number = (uint32_t)place;
            return CLP_OK;
        }
    }
    /* the index first: an entry appended but not indexed could be appended twice */
    if (clp_hashmap_set(&functions->index, hash, functions->count) != CLP_OK)
        return CLP_NO_MEMORY;
    if (append(functions, wanted) != CLP_OK) {
        (void)clp_hashmap_take(&functions->index, hash, &place);
        return CLP_NO_MEMORY;
    }
    *number = (uint32_t)(functions->count - 1);
    return CLP_OK;
}
