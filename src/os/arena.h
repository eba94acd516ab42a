/* SPDX-License-Identifier: MIT */
/* An allocator for work that is done as a whole: it takes pages, hands them out from front to back,
 * and forgets all of it at once. The pages stay for the next time. */
#ifndef CLP_ARENA_H
#define CLP_ARENA_H

#include "base/mem.h"
#include "pages.h"

struct clp_arena {
    struct clp_mem mem;
    struct clp_pages *pages; /* borrowed */
    struct clp_arena_part *first, *here;
};

/* `arena` must not move afterwards. */
void clp_arena_init(struct clp_arena *arena, struct clp_pages *pages);

/* Everything handed out is gone. */
void clp_arena_reset(struct clp_arena *arena);

/* Everything handed out is gone, and the pages go back. */
void clp_arena_clear(struct clp_arena *arena);

#endif
