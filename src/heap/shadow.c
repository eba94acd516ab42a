/* SPDX-License-Identifier: MIT */
#include "shadow.h"

#define CHUNK_BYTES ((size_t)1 << 20)
#define FIRST_CHUNK_BYTES ((size_t)256 * 1024) /* most programs are small */

/* Pages of the map. The first one holds only this head, so that leaves and nodes, which are whole pages, are
 * aligned. */
struct clp_shadow_chunk {
    struct clp_shadow_chunk *next;
    size_t mapped;
};

static bool grow(struct clp_shadow *shadow)
{
    size_t mapped, bytes = shadow->chunks == NULL ? FIRST_CHUNK_BYTES : CHUNK_BYTES;
    struct clp_shadow_chunk *chunk = clp_pages_map(shadow->pages, bytes, &mapped);

    if (chunk == NULL)
        return false;
    *chunk = (struct clp_shadow_chunk){shadow->chunks, mapped};
    shadow->chunks = chunk;
    shadow->free_bytes = (char *)chunk + sizeof(struct clp_shadow_leaf);
    shadow->free_count = mapped - sizeof(struct clp_shadow_leaf);
    return true;
}

/* Zeroed; NULL: no memory. */
static void *take(struct clp_shadow *shadow, size_t bytes)
{
    if (shadow->free_count < bytes && !grow(shadow))
        return NULL;
    void *taken = shadow->free_bytes;
    shadow->free_bytes += bytes;
    shadow->free_count -= bytes;
    return taken;
}

/* The first slot of a free leaf points to the next free leaf. */
static struct clp_shadow_leaf *take_leaf(struct clp_shadow *shadow)
{
    struct clp_shadow_leaf *leaf = shadow->free_leaves;

    if (leaf == NULL)
        return take(shadow, sizeof *leaf);
    shadow->free_leaves = (struct clp_shadow_leaf *)(uintptr_t)leaf->slots[0].owned;
    __atomic_store_n(&leaf->slots[0].owned, 0, __ATOMIC_RELAXED);
    return leaf;
}

static void give_leaf(struct clp_shadow *shadow, struct clp_shadow_leaf *leaf)
{
    __atomic_store_n(&leaf->slots[0].owned, (uintptr_t)shadow->free_leaves, __ATOMIC_RELAXED);
    shadow->free_leaves = leaf;
}

void clp_shadow_recycle(struct clp_shadow *shadow, uintptr_t *entry)
{
    struct clp_shadow_leaf *leaf = (struct clp_shadow_leaf *)*entry;

    __atomic_store_n(entry, 0, __ATOMIC_RELEASE);
    give_leaf(shadow, leaf);
}

/* What the entry leads to; made where there is nothing. */
static void *follow(struct clp_shadow *shadow, uintptr_t *entry, bool to_leaf)
{
    if (*entry == 0) {
        void *made = to_leaf ? (void *)take_leaf(shadow)
                             : take(shadow, sizeof(struct clp_shadow_node));
        __atomic_store_n(entry, (uintptr_t)made, __ATOMIC_RELEASE);
    }
    return (void *)*entry;
}

bool clp_shadow_make(struct clp_shadow *shadow, uint64_t address)
{
    struct clp_shadow_node *node = shadow->root;

    if (!clp_shadow_may_hold(address))
        return false;
    for (int shift = 36; shift >= 12 && node != NULL; shift -= 12)
        node = follow(shadow, &node->entries[address >> shift & (CLP_SHADOW_FANOUT - 1)],
                      shift == 12);
    return node != NULL;
}

clp_status clp_shadow_init(struct clp_shadow *shadow, struct clp_pages *pages)
{
    *shadow = (struct clp_shadow){.pages = pages};
    shadow->root = take(shadow, sizeof *shadow->root);
    return shadow->root != NULL ? CLP_OK : CLP_NO_MEMORY;
}

/* Calls act for each entry of the last level that has a leaf. */
static void for_leaves(const struct clp_shadow_node *node, int level,
                       void (*act)(void *data, uintptr_t *entry), void *data)
{
    for (size_t i = 0; i < CLP_SHADOW_FANOUT; i++) {
        const uintptr_t *entry = &node->entries[i];
        if (*entry == 0)
            continue;
        if (level == 0)
            act(data, (uintptr_t *)entry);
        else
            for_leaves((const struct clp_shadow_node *)*entry, level - 1, act, data);
    }
}

static void empty_leaf(void *data, uintptr_t *entry)
{
    struct clp_shadow_leaf *leaf = (struct clp_shadow_leaf *)clp_shadow_slot_in(*entry, 0);

    __atomic_store_n(entry, 0, __ATOMIC_RELEASE);
    for (size_t i = 0; i < CLP_SHADOW_SLOTS; i++)
        __atomic_store_n(&leaf->slots[i].owned, 0, __ATOMIC_RELAXED);
    give_leaf(data, leaf);
}

void clp_shadow_empty(struct clp_shadow *shadow)
{
    for_leaves(shadow->root, 2, empty_leaf, shadow);
}

struct visit {
    void (*act)(void *data, struct clp_shadow_slot *slot);
    void *data;
};

static void visit_leaf(void *data, uintptr_t *entry)
{
    const struct visit *visit = data;
    struct clp_shadow_slot *slots = clp_shadow_slot_in(*entry, 0);

    for (size_t i = 0; i < CLP_SHADOW_SLOTS; i++)
        if (slots[i].owned != 0)
            visit->act(visit->data, &slots[i]);
}

void clp_shadow_walk(const struct clp_shadow *shadow,
                     void (*act)(void *data, struct clp_shadow_slot *slot), void *data)
{
    struct visit visit = {act, data};

    for_leaves(shadow->root, 2, visit_leaf, &visit);
}

void clp_shadow_clear(struct clp_shadow *shadow)
{
    struct clp_shadow_chunk *next;

    for (struct clp_shadow_chunk *chunk = shadow->chunks; chunk != NULL; chunk = next) {
        next = chunk->next;
        clp_pages_unmap(shadow->pages, chunk, chunk->mapped);
    }
    *shadow = (struct clp_shadow){.pages = shadow->pages};
}
