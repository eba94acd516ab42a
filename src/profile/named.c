/* SPDX-License-Identifier: MIT */
#include "named.h"
#include <string.h>

#define MOST_MEASURES 5

static const char *const of_counter[] = {"", "most"};
static const char *const of_device[] = {"alloc.", "freed", "net", "peak", "reserved"};

#define COUNTER(n)                                                                                                  \
    {offsetof(struct clp_profile_meta, counter##n), CLP_NAMED_COUNTER, CLP_NAMED_DEVICE, 2, of_counter,             \
     {CLP_MEASURE_counter##n, CLP_MEASURE_counter##n##_most}}
#define DEVICE(n)                                                                                                   \
    {offsetof(struct clp_profile_meta, device##n), CLP_NAMED_DEVICE, CLP_NAMED, MOST_MEASURES, of_device,           \
     {CLP_MEASURE_device##n##_allocated, CLP_MEASURE_device##n##_freed, CLP_MEASURE_device##n##_net,                \
      CLP_MEASURE_device##n##_peak, CLP_MEASURE_device##n##_reserved}}

static const struct {
    size_t name;       /* offset in struct clp_profile_meta */
    size_t first, end; /* the places of its kind */
    size_t count;      /* of its measures */
    const char *const *what;
    enum clp_measure measures[MOST_MEASURES];
} named[CLP_NAMED] = {COUNTER(1), COUNTER(2), COUNTER(3), COUNTER(4), DEVICE(1), DEVICE(2), DEVICE(3), DEVICE(4)};

char **clp_named_name(struct clp_profile_meta *meta, size_t place)
{
    return (char **)(void *)((char *)meta + named[place].name);
}

static const char *name_of(const struct clp_profile_meta *meta, size_t place)
{
    return *(char *const *)(const void *)((const char *)meta + named[place].name);
}

const char *clp_named_of(const struct clp_profile_meta *meta, enum clp_measure measure, const char **what)
{
    for (size_t i = 0; i < CLP_NAMED; i++)
        for (size_t j = 0; j < named[i].count; j++)
            if (measure == named[i].measures[j]) {
                *what = named[i].what[j];
                return name_of(meta, i);
            }
    return NULL;
}

/* The place in `meta` of the same name as `from` has at `at`, or else the first free one for its kind; CLP_NAMED: there
 * is none. */
static size_t find_place(const struct clp_profile_meta *meta, const struct clp_profile_meta *from, size_t at)
{
    const char *name = name_of(from, at);
    size_t free_place = CLP_NAMED;

    for (size_t i = named[at].end; name != NULL && i-- > named[at].first;) {
        if (name_of(meta, i) == NULL)
            free_place = i;
        else if (strcmp(name_of(meta, i), name) == 0)
            return i;
    }
    return free_place;
}

clp_status clp_named_place(struct clp_profile *into, const struct clp_profile_meta *from,
                           struct clp_named_places *places)
{
    places->same = true;
    for (size_t i = 0; i < CLP_NAMED; i++) {
        const char *name = name_of(from, i);
        size_t place = places->items[i] = find_place(&into->meta, from, i);
        places->same &= place == i || name == NULL;
        if (place < CLP_NAMED && name_of(&into->meta, place) == NULL &&
            clp_profile_set_text(into, clp_named_name(&into->meta, place), name) != CLP_OK)
            return CLP_NO_MEMORY;
    }
    return CLP_OK;
}

#define OUTSIDE(n)                                                                                                  \
    {                                                                                                               \
        &meta->device##n##_outside, &meta->device##n##_outside_freed                                                \
    }

struct clp_named_outside clp_named_outside(struct clp_profile_meta *meta, size_t device)
{
    const struct clp_named_outside all[CLP_DEVICES] = {OUTSIDE(1), OUTSIDE(2), OUTSIDE(3), OUTSIDE(4)};

    return all[device];
}

uint64_t *clp_named_unread(struct clp_profile_meta *meta, size_t counter)
{
    uint64_t *const all[CLP_TALLY_COUNTERS] = {&meta->counter1_unread, &meta->counter2_unread, &meta->counter3_unread,
                                               &meta->counter4_unread};

    return all[counter];
}

void clp_named_add_meta(struct clp_profile_meta *into, const struct clp_profile_meta *from,
                           const struct clp_named_places *places)
{
    struct clp_profile_meta other = *from;

    for (size_t i = 0; i < CLP_TALLY_COUNTERS; i++) {
        size_t place = places->items[CLP_NAMED_COUNTER + i];
        if (place == CLP_NAMED)
            continue;
        uint64_t *to = clp_named_unread(into, place - CLP_NAMED_COUNTER);
        *to = clp_measures_sum(*to, *clp_named_unread(&other, i));
    }
    for (size_t i = 0; i < CLP_DEVICES; i++) {
        size_t place = places->items[CLP_NAMED_DEVICE + i];
        if (place == CLP_NAMED)
            continue;
        const struct clp_named_outside to = clp_named_outside(into, place - CLP_NAMED_DEVICE);
        const struct clp_named_outside add = clp_named_outside(&other, i);
        *to.allocated = clp_measures_sum(*to.allocated, *add.allocated);
        *to.freed = clp_measures_sum(*to.freed, *add.freed);
    }
}

/* All these measures have 64 bits. */
static uint64_t *field_of(struct clp_measures *measures, size_t place, size_t number)
{
    return (uint64_t *)(void *)((char *)measures + clp_measure_rows[named[place].measures[number]].at);
}

void clp_named_move(struct clp_measures *measures, const struct clp_named_places *places)
{
    struct clp_measures before = *measures;

    for (size_t i = 0; i < CLP_NAMED; i++)
        for (size_t j = 0; j < named[i].count; j++)
            *field_of(measures, i, j) = 0;
    for (size_t i = 0; i < CLP_NAMED; i++)
        for (size_t j = 0; j < named[i].count && places->items[i] < CLP_NAMED; j++)
            *field_of(measures, places->items[i], j) = *field_of(&before, i, j);
}
