/* SPDX-License-Identifier: MIT */
/* An arena: an allocator whose blocks are freed all at once. It keeps its pages for the next use. Freeing a
 * single block gives its bytes back only if it is the newest one. */
#ifndef CLP_ARENA_H
#define CLP_ARENA_H

#include "base/mem.h"
#include "pages.h"

struct clp_arena {
    struct clp_mem mem;
    struct clp_pages *pages; /* borrowed */
    struct clp_arena_part *first, *here;
};

/* `arena` must not move afterwards: its `mem` points to it. */
void clp_arena_init(struct clp_arena *arena, struct clp_pages *pages);

/* Frees all blocks and keeps the pages. */
void clp_arena_reset(struct clp_arena *arena);

/* Frees all blocks and gives the pages back. The arena may be used again. */
void clp_arena_clear(struct clp_arena *arena);

#endif
