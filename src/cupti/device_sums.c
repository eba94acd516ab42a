/* SPDX-License-Identifier: MIT */
#include "device_sums.h"
#include "base/hashmap.h"
#include "os/thread.h"

struct entry {
    struct clp_device_place place;
    struct clp_device_sum sum;
};

/* Is global because callbacks of CUPTI add to it, which a process has one of. Entries stay for the lines' next
 * launches. */
static struct {
    struct clp_lock lock;
    struct clp_mem mem;
    struct clp_hashmap index; /* a line -> its place in `entries` */
    struct entry *entries;
    size_t count, room;
    struct clp_device_outside outside;
} sums;

static uint64_t key_of(const struct clp_device_place *place)
{
    return (uint64_t)place->function << 32 | place->line << 12 | place->group;
}

/* The entry of the line, made if need be. NULL: no memory. */
static struct entry *entry_of(const struct clp_device_place *place)
{
    uint64_t at;

    if (sums.index.mem == NULL) {
        sums.mem = clp_mem_system();
        clp_hashmap_init(&sums.index, &sums.mem);
    }
    if (clp_hashmap_get(&sums.index, key_of(place), &at))
        return &sums.entries[at];
    if (sums.count == sums.room && clp_mem_grow(&sums.mem, (void **)&sums.entries, &sums.room, 2 * sums.room + 64,
                                                sizeof *sums.entries) != CLP_OK)
        return NULL;
    if (clp_hashmap_set(&sums.index, key_of(place), sums.count) != CLP_OK)
        return NULL;
    sums.entries[sums.count] = (struct entry){.place = *place};
    return &sums.entries[sums.count++];
}

void clp_device_sums_add(const struct clp_device_place *place, const struct clp_device_sum *sum)
{
    if (!clp_lock_take(&sums.lock))
        return;
    struct entry *entry = entry_of(place);
    if (entry != NULL) {
        entry->sum.time += sum->time;
        entry->sum.wait += sum->wait;
        entry->sum.launches += sum->launches;
    } else {
        sums.outside.time += sum->time;
        sums.outside.launches += sum->launches;
    }
    clp_lock_give(&sums.lock);
}

void clp_device_sums_add_outside(const struct clp_device_outside *outside)
{
    if (!clp_lock_take(&sums.lock))
        return;
    sums.outside.time += outside->time;
    sums.outside.launches += outside->launches;
    sums.outside.lost += outside->lost;
    clp_lock_give(&sums.lock);
}

void clp_device_sums_take(void (*take)(void *data, const struct clp_device_place *place,
                                       const struct clp_device_sum *sum),
                          void *data)
{
    if (!clp_lock_take(&sums.lock))
        return;
    for (size_t i = 0; i < sums.count; i++) {
        struct entry *entry = &sums.entries[i];
        if ((entry->sum.time | entry->sum.wait | entry->sum.launches) != 0)
            take(data, &entry->place, &entry->sum);
        entry->sum = (struct clp_device_sum){0};
    }
    clp_lock_give(&sums.lock);
}

struct clp_device_outside clp_device_sums_outside(void)
{
    struct clp_device_outside outside = {0};

    if (!clp_lock_take(&sums.lock))
        return outside;
    outside = sums.outside;
    clp_lock_give(&sums.lock);
    return outside;
}
