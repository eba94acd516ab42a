/* SPDX-License-Identifier: MIT */
#include "arena.h"
#include <string.h>

#define PART_BYTES ((size_t)1 << 20)
#define ALIGNED(bytes) (((bytes) + 15) / 16 * 16)

struct clp_arena_part {
    struct clp_arena_part *next;
    size_t room, used; /* bytes, this head included */
};

static bool fits(const struct clp_arena_part *part, size_t bytes)
{
    return part->room - part->used >= bytes;
}

static struct clp_arena_part *new_part(struct clp_arena *arena, size_t bytes)
{
    size_t wanted = ALIGNED(sizeof(struct clp_arena_part)) + bytes, room = PART_BYTES, mapped;

    while (room < wanted) /* with spare room: the work may be a little larger next time */
        room *= 2;
    struct clp_arena_part *part = clp_pages_map(arena->pages, room, &mapped);

    if (part != NULL)
        *part = (struct clp_arena_part){.room = mapped,
                                        .used = ALIGNED(sizeof(struct clp_arena_part))};
    return part;
}

/* The first part, from the one in use on, that has room; a new one if none has. NULL: no memory. */
static struct clp_arena_part *part_for(struct clp_arena *arena, size_t bytes)
{
    struct clp_arena_part **link = arena->here != NULL ? &arena->here : &arena->first;

    while (*link != NULL && !fits(*link, bytes))
        link = &(*link)->next;
    if (*link == NULL)
        *link = new_part(arena, bytes);
    return *link;
}

static void *take(struct clp_arena *arena, size_t bytes)
{
    struct clp_arena_part *part;

    if (bytes > SIZE_MAX / 4)
        return NULL;
    part = part_for(arena, ALIGNED(bytes));
    if (part == NULL)
        return NULL;
    arena->here = part;
    void *block = (char *)part + part->used;
    part->used += ALIGNED(bytes);
    return block;
}

/* Only the newest block can grow or shrink where it is. */
static bool resize_in_place(struct clp_arena *arena, void *block, size_t old_bytes,
                            size_t new_bytes)
{
    struct clp_arena_part *part = arena->here;

    if (block == NULL || (char *)block + ALIGNED(old_bytes) != (char *)part + part->used)
        return false;
    size_t start = (size_t)((char *)block - (char *)part);
    if (new_bytes > SIZE_MAX / 2 || ALIGNED(new_bytes) > part->room - start)
        return false;
    part->used = start + ALIGNED(new_bytes);
    return true;
}

static void *resize(void *context, void *block, size_t old_bytes, size_t new_bytes)
{
    struct clp_arena *arena = context;
    void *moved;

    if (resize_in_place(arena, block, old_bytes, new_bytes))
        return new_bytes != 0 ? block : NULL;
    if (new_bytes == 0)
        return NULL;
    moved = take(arena, new_bytes);
    if (moved != NULL && block != NULL)
        memcpy(moved, block, old_bytes < new_bytes ? old_bytes : new_bytes);
    return moved;
}

void clp_arena_init(struct clp_arena *arena, struct clp_pages *pages)
{
    *arena = (struct clp_arena){.pages = pages};
    arena->mem.resize = resize;
    arena->mem.context = arena;
}

void clp_arena_reset(struct clp_arena *arena)
{
    for (struct clp_arena_part *part = arena->first; part != NULL; part = part->next)
        part->used = ALIGNED(sizeof *part);
    arena->here = arena->first;
    arena->mem.bytes = 0;
}

void clp_arena_clear(struct clp_arena *arena)
{
    struct clp_arena_part *next;

    for (struct clp_arena_part *part = arena->first; part != NULL; part = next) {
        next = part->next;
        clp_pages_unmap(arena->pages, part, part->room);
    }
    clp_arena_init(arena, arena->pages);
}
