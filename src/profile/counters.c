/* SPDX-License-Identifier: MIT */
#include "counters.h"
#include <string.h>

static const struct {
    enum clp_measure change, most;
    size_t name; /* offset in struct clp_profile_meta */
} counters[CLP_COUNTERS] = {
    {CLP_MEASURE_counter1, CLP_MEASURE_counter1_most, offsetof(struct clp_profile_meta, counter1)},
    {CLP_MEASURE_counter2, CLP_MEASURE_counter2_most, offsetof(struct clp_profile_meta, counter2)},
    {CLP_MEASURE_counter3, CLP_MEASURE_counter3_most, offsetof(struct clp_profile_meta, counter3)},
    {CLP_MEASURE_counter4, CLP_MEASURE_counter4_most, offsetof(struct clp_profile_meta, counter4)},
};

char **clp_counter_name(struct clp_profile_meta *meta, size_t counter)
{
    return (char **)(void *)((char *)meta + counters[counter].name);
}

static const char *name_of(const struct clp_profile_meta *meta, size_t counter)
{
    return *(char *const *)(const void *)((const char *)meta + counters[counter].name);
}

const char *clp_counter_named(const struct clp_profile_meta *meta, enum clp_measure measure)
{
    for (size_t i = 0; i < CLP_COUNTERS; i++)
        if (measure == counters[i].change || measure == counters[i].most)
            return name_of(meta, i);
    return NULL;
}

/* The place of the counter of this name, or else the first free one; CLP_COUNTERS: there is none. */
static size_t find_place(const struct clp_profile_meta *meta, const char *name)
{
    size_t i = 0;

    while (i < CLP_COUNTERS && (name_of(meta, i) == NULL || strcmp(name_of(meta, i), name) != 0))
        i++;
    if (i < CLP_COUNTERS)
        return i;
    for (i = 0; i < CLP_COUNTERS && name_of(meta, i) != NULL;)
        i++;
    return i;
}

clp_status clp_counters_place(struct clp_profile *into, const struct clp_profile_meta *from,
                              struct clp_counter_places *places)
{
    places->same = true;
    for (size_t i = 0; i < CLP_COUNTERS; i++) {
        const char *name = name_of(from, i);
        size_t place = places->items[i] = name != NULL ? find_place(&into->meta, name) : CLP_COUNTERS;
        places->same &= place == i || name == NULL;
        if (place < CLP_COUNTERS && name_of(&into->meta, place) == NULL &&
            clp_profile_set_text(into, clp_counter_name(&into->meta, place), name) != CLP_OK)
            return CLP_NO_MEMORY;
    }
    return CLP_OK;
}

static void *field_of(struct clp_measures *measures, enum clp_measure measure)
{
    return (char *)measures + clp_measure_rows[measure].at;
}

void clp_counters_move(struct clp_measures *measures, const struct clp_counter_places *places)
{
    struct clp_measures before = *measures;

    for (size_t i = 0; i < CLP_COUNTERS; i++) {
        memset(field_of(measures, counters[i].change), 0, sizeof(int64_t));
        memset(field_of(measures, counters[i].most), 0, sizeof(uint64_t));
    }
    for (size_t i = 0; i < CLP_COUNTERS; i++) {
        size_t place = places->items[i];
        if (place == CLP_COUNTERS)
            continue;
        memcpy(field_of(measures, counters[place].change), field_of(&before, counters[i].change), sizeof(int64_t));
        memcpy(field_of(measures, counters[place].most), field_of(&before, counters[i].most), sizeof(uint64_t));
    }
}
