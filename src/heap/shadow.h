/* SPDX-License-Identifier: MIT */
/* A map from the addresses of blocks to what is known of them. Each free of the program makes a look-up, so the
 * map is built like a page table, which needs no search.
 *
 *   47          36 35          24 23          12 11         4 3  0
 *   [ root entry ] [ node entry ] [ node entry ] [   slot   ] [ 0 ]
 *          |              |              |            |
 *        node ---------> node ---------> node ------> leaf     4096 entries; 256 slots
 *
 * A slot stands for 16 bytes of addresses, because no two blocks begin closer together. Blocks that lie side
 * by side have their slots side by side, and a new block at an old address has the old slot. So a slot is
 * mostly in the cache when its block is. A leaf exists while one of its slots is in use. It takes 4096 bytes
 * for 4096 bytes of addresses, so the map is about as large as the memory in which followed blocks begin.
 *
 * An entry of the last level is the address of its leaf. Leaves are aligned to 4096 bytes, so the low 12 bits of
 * the entry are free: they hold the number of slots in use. An entry without a leaf is 0.
 *
 * Only one thread at a time may change the map. Look-ups may go on meanwhile. A look-up is right if nobody adds
 * or removes its block during it. For this reason nodes and leaves are never unmapped; empty leaves are used
 * again. */
#ifndef CLP_SHADOW_H
#define CLP_SHADOW_H

#include "os/pages.h"

#define CLP_SHADOW_FANOUT 4096
#define CLP_SHADOW_SLOTS 256
#define CLP_SHADOW_GRANULE 16

/* What the table of live blocks keeps for a block. heap.h says what the fields mean. */
struct clp_shadow_slot {
    uint64_t owned; /* 0: not in use */
    uint32_t execution : 28, level : 3, stretched : 1;
    uint32_t born;
};

struct clp_shadow_leaf {
    struct clp_shadow_slot slots[CLP_SHADOW_SLOTS];
};

struct clp_shadow_node {
    uintptr_t entries[CLP_SHADOW_FANOUT]; /* 0: none */
};

struct clp_shadow {
    struct clp_pages *pages; /* borrowed */
    struct clp_shadow_node *root;
    struct clp_shadow_chunk *chunks;
    char *free_bytes; /* of the newest chunk */
    size_t free_count;
    struct clp_shadow_leaf *free_leaves;
};

/* CLP_NO_MEMORY: there is none to begin with. */
clp_status clp_shadow_init(struct clp_shadow *shadow, struct clp_pages *pages);

/* Removes everything; keeps the memory. */
void clp_shadow_empty(struct clp_shadow *shadow);

/* Gives back the memory. */
void clp_shadow_clear(struct clp_shadow *shadow);

/* Makes the nodes and the leaf that the address's slot needs. False: no memory, or no block can begin at the
 * address. */
bool clp_shadow_make(struct clp_shadow *shadow, uint64_t address);

/* Keeps the leaf of this entry, which became empty, for later use. */
void clp_shadow_recycle(struct clp_shadow *shadow, uintptr_t *entry);

/* Calls act(data, slot) for each slot in use. It may change all but `owned`. */
void clp_shadow_walk(const struct clp_shadow *shadow,
                     void (*act)(void *data, struct clp_shadow_slot *slot), void *data);

/* ---- the way to a slot ---- */

static inline bool clp_shadow_may_hold(uint64_t address)
{
    return address >> 48 == 0 && address % CLP_SHADOW_GRANULE == 0;
}

static inline struct clp_shadow_node *clp_shadow_next(const struct clp_shadow_node *node,
                                                      uint64_t address, int shift)
{
    const uintptr_t *entry = &node->entries[address >> shift & (CLP_SHADOW_FANOUT - 1)];

    return (struct clp_shadow_node *)__atomic_load_n(entry, __ATOMIC_ACQUIRE);
}

/* The entry of the address's leaf; NULL where there is no node for it. */
static inline uintptr_t *clp_shadow_entry(const struct clp_shadow *shadow, uint64_t address)
{
    struct clp_shadow_node *node = clp_shadow_next(shadow->root, address, 36);

    if (CLP_LIKELY(node != NULL))
        node = clp_shadow_next(node, address, 24);
    return CLP_LIKELY(node != NULL) ? &node->entries[address >> 12 & (CLP_SHADOW_FANOUT - 1)]
                                    : NULL;
}

static inline struct clp_shadow_slot *clp_shadow_slot_in(uintptr_t entry, uint64_t address)
{
    struct clp_shadow_leaf *leaf =
        (struct clp_shadow_leaf *)(entry & ~(uintptr_t)(CLP_SHADOW_FANOUT - 1));

    return &leaf->slots[address / CLP_SHADOW_GRANULE % CLP_SHADOW_SLOTS];
}

/* Is the address's slot in use? Any address may be asked for. One that is no multiple of 16 has the slot of
 * the multiple below it. Takes fewer instructions than clp_shadow_find. */
static inline bool clp_shadow_may_have(const struct clp_shadow *shadow, const void *block)
{
    const uintptr_t *at = clp_shadow_entry(shadow, (uintptr_t)block);
    uintptr_t entry = at != NULL ? __atomic_load_n(at, __ATOMIC_ACQUIRE) : 0;

    return CLP_UNLIKELY(entry != 0) &&
           __atomic_load_n(&clp_shadow_slot_in(entry, (uintptr_t)block)->owned,
                           __ATOMIC_RELAXED) != 0;
}

/* The address's slot if it is in use, or NULL. */
static inline struct clp_shadow_slot *clp_shadow_find(const struct clp_shadow *shadow,
                                                      const void *block)
{
    uint64_t address = (uintptr_t)block;

    if (CLP_UNLIKELY(!clp_shadow_may_hold(address)))
        return NULL;
    uintptr_t *at = clp_shadow_entry(shadow, address);
    uintptr_t entry = at != NULL ? __atomic_load_n(at, __ATOMIC_ACQUIRE) : 0;
    if (entry == 0)
        return NULL;
    struct clp_shadow_slot *slot = clp_shadow_slot_in(entry, address);
    return __atomic_load_n(&slot->owned, __ATOMIC_RELAXED) != 0 ? slot : NULL;
}

/* Returns the address's slot, which may be in use already; NULL where clp_shadow_make says false. The caller
 * must set its `owned` to other than 0 before the next call. */
static inline struct clp_shadow_slot *clp_shadow_add(struct clp_shadow *shadow, const void *block)
{
    uint64_t address = (uintptr_t)block;
    uintptr_t *entry = clp_shadow_entry(shadow, address);

    if (CLP_UNLIKELY(entry == NULL || *entry == 0 || !clp_shadow_may_hold(address))) {
        if (!clp_shadow_make(shadow, address))
            return NULL;
        entry = clp_shadow_entry(shadow, address);
    }
    struct clp_shadow_slot *slot = clp_shadow_slot_in(*entry, address);
    if (CLP_LIKELY(slot->owned == 0))
        __atomic_store_n(entry, *entry + 1, __ATOMIC_RELAXED);
    return slot;
}

/* Fills a slot that clp_shadow_add has given. */
static inline void clp_shadow_set(struct clp_shadow_slot *slot, const struct clp_shadow_slot *value)
{
    slot->execution = value->execution;
    slot->level = value->level;
    slot->stretched = value->stretched;
    slot->born = value->born;
    __atomic_store_n(&slot->owned, value->owned, __ATOMIC_RELAXED);
}

/* Frees the address's slot, which must be in use. */
static inline void clp_shadow_remove(struct clp_shadow *shadow, const void *block)
{
    uint64_t address = (uintptr_t)block;
    uintptr_t *entry = clp_shadow_entry(shadow, address);

    __atomic_store_n(&clp_shadow_slot_in(*entry, address)->owned, 0, __ATOMIC_RELAXED);
    __atomic_store_n(entry, *entry - 1, __ATOMIC_RELAXED);
    if (CLP_UNLIKELY(*entry % CLP_SHADOW_FANOUT == 0))
        clp_shadow_recycle(shadow, entry);
}

#endif
