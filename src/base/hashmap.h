/* SPDX-License-Identifier: MIT */
/* A map from 64-bit keys to 64-bit values: open addressing with linear probing. Deletion shifts later keys
 * back, so that no tombstones pile up (Knuth, TAOCP 3, 6.4, algorithm R). Keys are spread by multiplications
 * and xor-shifts (the finaliser of splitmix64), so addresses make good keys.
 *
 * A caller whose key is more than a number (a file and a name) hashes it with clp_hash_text. The caller keeps
 * the real keys, compares them, and deals with equal hashes. */
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

/* Makes an empty map. Allocates nothing. */
void clp_hashmap_init(struct clp_hashmap *map, struct clp_mem *mem);
void clp_hashmap_clear(struct clp_hashmap *map);

/* Sets *value and returns true if the map has the key. Otherwise returns false and leaves *value alone. */
bool clp_hashmap_get(const struct clp_hashmap *map, uint64_t key, uint64_t *value);

/* Adds the key, or replaces its value. CLP_NO_MEMORY leaves the map as it was. */
clp_status clp_hashmap_set(struct clp_hashmap *map, uint64_t key, uint64_t value);

/* Removes the key, sets *value and returns true if the map has it. Never allocates. */
bool clp_hashmap_take(struct clp_hashmap *map, uint64_t key, uint64_t *value);

/* A 64-bit hash of a text (FNV-1a). To hash several texts together, pass the last result as `seed`. */
uint64_t clp_hash_text(uint64_t seed, const char *text, size_t bytes);

#endif
