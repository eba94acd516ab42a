/* SPDX-License-Identifier: MIT */
/* A map from 64-bit keys to 64-bit values: open addressing, linear probing, deletion by shifting
 * back, so that no tombstones pile up (Knuth, TAOCP 3, 6.4, algorithm R). Keys are spread by a
 * multiply and xor-shift (the finaliser of splitmix64), so addresses make good keys.
 *
 * Keys that are more than a number (a file and a name) are hashed by the caller with
 * clp_hash_text; the caller keeps the real keys, compares them, and chains equal hashes. */
#ifndef CLP_HASHMAP_H
#define CLP_HASHMAP_H

#include "mem.h"
#include "status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clp_hashmap_slot {
    uint64_t key;
    uint64_t value;
    uint64_t used; /* 0 or 1 */
};

struct clp_hashmap {
    struct clp_mem *mem; /* borrowed */
    struct clp_hashmap_slot *slots;
    size_t room; /* 0 or a power of two */
    size_t count;
};

/* An empty map; allocates nothing. */
void clp_hashmap_init(struct clp_hashmap *map, struct clp_mem *mem);
void clp_hashmap_clear(struct clp_hashmap *map);

/* True and *value when the key is there; false leaves *value alone. */
bool clp_hashmap_get(const struct clp_hashmap *map, uint64_t key, uint64_t *value);

/* Sets or replaces. CLP_NO_MEMORY leaves the map as it was. */
clp_status clp_hashmap_set(struct clp_hashmap *map, uint64_t key, uint64_t value);

/* Takes the key out; true and *value when it was there. Never allocates. */
bool clp_hashmap_take(struct clp_hashmap *map, uint64_t key, uint64_t *value);

/* A 64-bit hash of a text, chained over several by passing the last result as seed (FNV-1a). */
uint64_t clp_hash_text(uint64_t seed, const char *text, size_t bytes);

#endif
