/* SPDX-License-Identifier: MIT */
/* At most three quarters of the slots are used, so a search always meets a free slot.
 *
 * The invariant that get, set and take keep: no slot is free between a key's home (its hash, cut to the size of
 * the table) and the slot that it is in, counting upwards and around the end. */
#include "hashmap.h"

#define FIRST_ROOM 16

static uint64_t spread(uint64_t key)
{
    key ^= key >> 30;
    key *= UINT64_C(0xbf58476d1ce4e5b9);
    key ^= key >> 27;
    key *= UINT64_C(0x94d049bb133111eb);
    return key ^ (key >> 31);
}

void clp_hashmap_init(struct clp_hashmap *map, struct clp_mem *mem)
{
    *map = (struct clp_hashmap){.mem = mem};
}

void clp_hashmap_clear(struct clp_hashmap *map)
{
    clp_mem_free(map->mem, map->slots, map->room, sizeof *map->slots);
    clp_hashmap_init(map, map->mem);
}

static size_t home(const struct clp_hashmap *map, uint64_t key)
{
    return (size_t)spread(key) & (map->room - 1);
}

static size_t next(const struct clp_hashmap *map, size_t place)
{
    return (place + 1) & (map->room - 1);
}

/* The slot of the key, or the free slot where the key would go. The map must have slots. */
static size_t find(const struct clp_hashmap *map, uint64_t key)
{
    size_t place = home(map, key);

    while (map->slots[place].used && map->slots[place].key != key)
        place = next(map, place);
    return place;
}

bool clp_hashmap_get(const struct clp_hashmap *map, uint64_t key, uint64_t *value)
{
    if (map->count == 0)
        return false;
    const struct clp_hashmap_slot *slot = &map->slots[find(map, key)];
    if (!slot->used)
        return false;
    *value = slot->value;
    return true;
}

static clp_status grow(struct clp_hashmap *map)
{
    struct clp_hashmap bigger = {.mem = map->mem, .count = map->count};

    bigger.room = map->room == 0 ? FIRST_ROOM : map->room * 2;
    bigger.slots = clp_mem_alloc(map->mem, bigger.room, sizeof *bigger.slots);
    if (bigger.slots == NULL)
        return CLP_NO_MEMORY;
    for (size_t i = 0; i < map->room; i++) {
        if (map->slots[i].used)
            bigger.slots[find(&bigger, map->slots[i].key)] = map->slots[i];
    }
    clp_mem_free(map->mem, map->slots, map->room, sizeof *map->slots);
    *map = bigger;
    return CLP_OK;
}

clp_status clp_hashmap_set(struct clp_hashmap *map, uint64_t key, uint64_t value)
{
    size_t place = map->room == 0 ? 0 : find(map, key);

    if (map->room == 0 || !map->slots[place].used) {
        if (map->count >= map->room / 4 * 3) {
            if (grow(map) != CLP_OK)
                return CLP_NO_MEMORY;
            place = find(map, key);
        }
        map->count++;
    }
    map->slots[place] = (struct clp_hashmap_slot){.key = key, .value = value, .used = 1};
    return CLP_OK;
}

/* Frees a slot and closes the gap. A key that the gap would cut off from its home moves into the gap, and its
 * old slot is the new gap. This ends at a slot that was free before. */
static void free_slot(struct clp_hashmap *map, size_t gap)
{
    size_t mask = map->room - 1;

    for (size_t i = next(map, gap); map->slots[i].used; i = next(map, i)) {
        size_t from_home = (i - home(map, map->slots[i].key)) & mask;
        size_t from_gap = (i - gap) & mask;
        if (from_home >= from_gap) {
            map->slots[gap] = map->slots[i];
            gap = i;
        }
    }
    map->slots[gap] = (struct clp_hashmap_slot){0};
}

bool clp_hashmap_take(struct clp_hashmap *map, uint64_t key, uint64_t *value)
{
    if (map->count == 0)
        return false;
    size_t place = find(map, key);
    if (!map->slots[place].used)
        return false;
    *value = map->slots[place].value;
    free_slot(map, place);
    map->count--;
    return true;
}

uint64_t clp_hash_text(uint64_t seed, const char *text, size_t bytes)
{
    uint64_t hash = seed ^ UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < bytes; i++) {
        hash ^= (unsigned char)text[i];
        hash *= UINT64_C(0x100000001b3);
    }
    return hash;
}
