/* SPDX-License-Identifier: MIT */
#include "functions.h"
#include <string.h>

void clp_functions_init(struct clp_functions *functions, struct clp_mem *mem)
{
    *functions = (struct clp_functions){.mem = mem};
    clp_hashmap_init(&functions->index, mem);
}

static void free_function(struct clp_mem *mem, const struct clp_function *function)
{
    clp_mem_free_text(mem, function->file);
    clp_mem_free_text(mem, function->name);
    clp_mem_free(mem, function->instructions, function->map != NULL ? function->map->count : 0, 1);
    clp_line_map_free(mem, function->map);
}

/* False: no memory; the copy owns nothing. */
static bool copy_function(struct clp_mem *mem, const struct clp_function *from,
                          struct clp_function *copy)
{
    *copy = *from;
    copy->file = clp_mem_copy_text(mem, from->file, strlen(from->file));
    copy->name = clp_mem_copy_text(mem, from->name, strlen(from->name));
    copy->map = clp_line_map_new(mem, from->lowest_line, from->lines, from->line_count);
    copy->lines = copy->map != NULL ? copy->map->lines : NULL;
    copy->instructions =
        from->instructions != NULL ? clp_mem_alloc(mem, from->line_count, 1) : NULL;
    if (copy->file == NULL || copy->name == NULL || copy->map == NULL ||
        (from->instructions != NULL && copy->instructions == NULL)) {
        free_function(mem, copy);
        return false;
    }
    if (copy->instructions != NULL)
        memcpy(copy->instructions, from->instructions, from->line_count);
    return true;
}

void clp_functions_clear(struct clp_functions *functions)
{
    for (size_t i = 0; i < functions->count; i++)
        free_function(functions->mem, &functions->items[i]);
    clp_mem_free(functions->mem, functions->items, functions->room, sizeof *functions->items);
    clp_hashmap_clear(&functions->index);
    clp_functions_init(functions, functions->mem);
}

static bool same_key(const struct clp_function *a, const struct clp_function *b)
{
    return a->first_line == b->first_line && strcmp(a->name, b->name) == 0 &&
           strcmp(a->file, b->file) == 0;
}

static bool same_lines(const struct clp_function *a, const struct clp_function *wanted)
{
    if (a->lowest_line != wanted->lowest_line || a->line_count != wanted->line_count)
        return false;
    if (wanted->lines == NULL)
        return a->map->span == a->line_count;
    return memcmp(a->lines, wanted->lines, a->line_count * sizeof *a->lines) == 0;
}

static bool same_function(const struct clp_function *a, const struct clp_function *wanted)
{
    return a->text == wanted->text && same_lines(a, wanted) && same_key(a, wanted);
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
    struct clp_function copy;
    if (!copy_function(functions->mem, wanted, &copy))
        return CLP_NO_MEMORY;
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
            /* such an entry may be two lambdas on one line, one of which can be suspended */
            functions->items[place].generator |= wanted->generator;
            *number = (uint32_t)place;
            return CLP_OK;
        }
    }
    /* the index comes first: an entry that was appended and not indexed could be appended twice */
    if (clp_hashmap_set(&functions->index, hash, functions->count) != CLP_OK)
        return CLP_NO_MEMORY;
    if (append(functions, wanted) != CLP_OK) {
        (void)clp_hashmap_take(&functions->index, hash, &place);
        return CLP_NO_MEMORY;
    }
    *number = (uint32_t)(functions->count - 1);
    return CLP_OK;
}

/* All versions of a function stand next to each other in the index. Nothing is ever taken out of it but the
 * newest entry, when appending ran out of memory. */
const struct clp_function *clp_functions_next_version(const struct clp_functions *functions,
                                                      const struct clp_function *wanted,
                                                      uint64_t *at)
{
    uint64_t hash = hash_of(wanted), place;

    while (clp_hashmap_get(&functions->index, hash + *at, &place)) {
        ++*at;
        if (same_key(&functions->items[place], wanted))
            return &functions->items[place];
    }
    return NULL;
}
