/* SPDX-License-Identifier: MIT */
#include "missed.h"
#include <string.h>

static clp_status make_room(struct clp_profile *profile, struct clp_profile_function *function, size_t count)
{
    void *missed = function->missed;
    size_t room = function->missed_room;

    if (count <= room)
        return CLP_OK;
    clp_status status = clp_mem_grow(profile->mem, &missed, &room, count, sizeof *function->missed);
    function->missed = missed;
    function->missed_room = room;
    return status;
}

/* Returns the index of the first missed line whose number is `line` or larger. */
static size_t place_of(const struct clp_profile_function *function, int32_t line)
{
    size_t low = 0, high = function->missed_count;

    if (high == 0 || function->missed[high - 1] < line)
        return high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (function->missed[middle] < line)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

clp_status clp_missed_add(struct clp_profile *profile, struct clp_profile_function *function, int32_t line)
{
    size_t count = function->missed_count, place = place_of(function, line);

    if (place < count && function->missed[place] == line)
        return CLP_OK;
    if (count == function->missed_room && make_room(profile, function, count < 8 ? 8 : count * 2) != CLP_OK)
        return CLP_NO_MEMORY;
    memmove(&function->missed[place + 1], &function->missed[place], (count - place) * sizeof *function->missed);
    function->missed[place] = line;
    function->missed_count++;
    return CLP_OK;
}

void clp_missed_drop_lines(struct clp_profile_function *function)
{
    size_t kept = 0, line = 0;

    for (size_t i = 0; i < function->missed_count; i++) {
        while (line < function->line_count && function->lines[line].line < function->missed[i])
            line++;
        if (line == function->line_count || function->lines[line].line != function->missed[i])
            function->missed[kept++] = function->missed[i];
    }
    function->missed_count = kept;
}

/* Merges two ascending lists from the back, in place. */
static void merge(struct clp_profile_function *into, const struct clp_profile_function *from, size_t fresh)
{
    size_t i = into->missed_count, j = from->missed_count, out = i + fresh;

    into->missed_count = out;
    while (j > 0) {
        int32_t other = from->missed[j - 1];
        if (i > 0 && into->missed[i - 1] > other) {
            into->missed[--out] = into->missed[--i];
            continue;
        }
        i -= i > 0 && into->missed[i - 1] == other;
        into->missed[--out] = other;
        j--;
    }
}

clp_status clp_missed_merge(struct clp_profile *profile, struct clp_profile_function *into,
                            const struct clp_profile_function *from)
{
    size_t fresh = 0, at = 0;

    for (size_t i = 0; i < from->missed_count; i++)
        fresh += !clp_missed_is(into, &at, from->missed[i]);
    if (make_room(profile, into, into->missed_count + fresh) != CLP_OK)
        return CLP_NO_MEMORY;
    merge(into, from, fresh);
    clp_missed_drop_lines(into);
    return CLP_OK;
}

bool clp_missed_is(const struct clp_profile_function *function, size_t *at, int64_t line)
{
    while (*at < function->missed_count && function->missed[*at] < line)
        ++*at;
    return *at < function->missed_count && function->missed[*at] == line;
}
