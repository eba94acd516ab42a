/* SPDX-License-Identifier: MIT */
#include "callees.h"
#include <string.h>

/* The place of the first callee that is not of a line before this one. */
static size_t place_of(const struct clp_profile_function *function, int32_t line)
{
    size_t low = 0, high = function->callee_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (function->callees[middle].line < line)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_same(const struct clp_profile_callee *one, const struct clp_profile_callee *other)
{
    return one->line == other->line && one->library == other->library && strcmp(one->name, other->name) == 0;
}

clp_status clp_callees_add(struct clp_profile *profile, struct clp_profile_function *function,
                           const struct clp_profile_callee *callee)
{
    struct clp_mem *mem = profile->mem;
    size_t place = place_of(function, callee->line);
    char *name;

    for (; place < function->callee_count && function->callees[place].line == callee->line; place++) {
        struct clp_profile_callee *known = &function->callees[place];
        if (!is_same(known, callee))
            continue;
        known->time = clp_measures_sum(known->time, callee->time);
        return CLP_OK;
    }
    if (function->callee_count == function->callee_room &&
        clp_mem_grow(mem, (void **)&function->callees, &function->callee_room, function->callee_room * 2 + 4,
                     sizeof *function->callees) != CLP_OK)
        return CLP_NO_MEMORY;
    name = clp_mem_copy_text(mem, callee->name, strlen(callee->name));
    if (name == NULL)
        return CLP_NO_MEMORY;
    memmove(&function->callees[place + 1], &function->callees[place],
            (function->callee_count++ - place) * sizeof *callee);
    function->callees[place] = *callee;
    function->callees[place].name = name;
    return CLP_OK;
}

clp_status clp_callees_merge(struct clp_profile *profile, struct clp_profile_function *function,
                             const struct clp_profile_function *from)
{
    for (size_t i = 0; i < from->callee_count; i++)
        if (clp_callees_add(profile, function, &from->callees[i]) != CLP_OK)
            return CLP_NO_MEMORY;
    return CLP_OK;
}

const struct clp_profile_callee *clp_callees_most(const struct clp_profile_function *function, int32_t line,
                                                  bool library)
{
    const struct clp_profile_callee *most = NULL;

    for (size_t i = place_of(function, line); i < function->callee_count && function->callees[i].line == line; i++)
        if (function->callees[i].library == library && (most == NULL || function->callees[i].time > most->time))
            most = &function->callees[i];
    return most;
}
