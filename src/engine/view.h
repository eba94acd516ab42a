/* SPDX-License-Identifier: MIT */
/* Several profiles of one engine, at the same time. A view has its own functions, counts in its own
 * windows, and has its own numbers; the counters are the engine's, and each event counts there once.
 *
 *   struct clp_views          all views of an engine
 *     audiences[function]       how many views have the function, and whether one of them counts
 *   struct clp_view
 *     items[]                 its functions, in the order in which they were selected
 *       sum                   what it counted up to the last change
 *       base                  the engine's counters at that moment
 *
 * The numbers of an item that is attached are sum + counters - base; of one that is not, sum. Blocks
 * are only made where they are needed: the counters of a function that no other view has, and that is
 * at rest while the view does not count, are its own.
 *
 * Largest values have no difference. Where a base is taken they are brought to all views that are
 * attached, and begin anew.
 *
 * A tracer asks the gate of a function when a body is entered, resumed or found running, so that
 * nothing is recorded which nobody counts. What is on a stack already goes on, unseen.
 *
 * Not synchronised: one thread at a time, the one that holds the interpreter's lock. Nothing here gives that up,
 * so who holds it finds gates, counts and items in agreement. */
#ifndef CLP_VIEW_H
#define CLP_VIEW_H

#include "engine_copy.h"
#include "threads.h"

struct clp_view_item {
    uint32_t function;
    bool selected; /* false: given up; what was counted stays */
    bool attached;
    struct clp_block *sum, *base; /* NULL: zero throughout */
};

/* Of a function; never moves. */
struct clp_audience {
    const uint32_t *gate; /* not 0: somebody counts it */
    uint32_t counting;    /* views that count and have it; where it is shared, `gate` points here */
    uint32_t views;       /* that have it */
    struct clp_view *sole; /* the one that has it; NULL: none, or it is shared */
    bool shared;          /* since it had two views, until it has none */
    bool slow; /* for tracers: entering is more than one event, or may be */
};

struct clp_views {
    struct clp_engine *engine; /* borrowed */
    struct clp_pool pool;      /* of sums and bases */
    struct clp_pool scratch;   /* for clp_engine_copy */
    struct clp_audience **audiences; /* by function */
    size_t room;
    struct clp_view *first;
    size_t counting; /* views */
};

struct clp_view {
    struct clp_views *views;
    struct clp_view *next;
    struct clp_pool *pool; /* its blocks'; that of `views`, or the engine's for one in a live file */
    struct clp_view_item *items;
    size_t count, room;
    struct clp_hashmap index; /* function -> place in items */
    uint32_t counting;        /* 0 or 1; what the gates of functions point to that it alone has */
    bool mixed;               /* some item is shared, or not attached */
    struct clp_engine_totals sum, base;
};

/* For code of no function: nobody counts it. */
extern const struct clp_audience clp_nobody;

void clp_views_init(struct clp_views *views, struct clp_engine *engine, struct clp_pages *pages);

/* Views that are still there must not be used any more, but for clp_view_clear. */
void clp_views_clear(struct clp_views *views);

/* The engine begins anew, and no view has a function. */
void clp_views_forget(struct clp_views *views);

/* NULL: no memory. The same one for as long as the views exist. */
struct clp_audience *clp_views_audience(struct clp_views *views, uint32_t function);

/* The view must not move. With `live`, it lies in the engine's own memory, for clp_live_read. */
void clp_view_init(struct clp_view *view, struct clp_views *views, bool live);
void clp_view_clear(struct clp_view *view, uint64_t now);

/* NULL when it never had the function. Borrowed until the next one is added. */
struct clp_view_item *clp_view_find(const struct clp_view *view, uint32_t function);

/* Does it have the function now? */
bool clp_view_has(const struct clp_view *view, uint32_t function);

/* These bring the sums up to `now`. On CLP_NO_MEMORY they are done all the same, but for some items the
 * view counts nothing until it begins anew, or too little; the engine is marked as having lost. */
clp_status clp_view_add(struct clp_view *view, uint32_t function, uint64_t now);
clp_status clp_view_remove(struct clp_view *view, uint32_t function, uint64_t now);
clp_status clp_view_set_counting(struct clp_view *view, bool counting, uint64_t now);
clp_status clp_view_reset(struct clp_view *view, uint64_t now);

/* The item's numbers, in a new block of the views' pool, to be given back to it; NULL: no memory. */
struct clp_block *clp_view_sum(const struct clp_view *view, const struct clp_view_item *item,
                               const struct clp_engine_copy *copy, bool with_rss);

/* Can the item's numbers be had by groups of threads? Not where some of them are a sum of all. */
bool clp_view_has_groups(const struct clp_view *view, const struct clp_view_item *item);

/* What the view has counted that belongs to no function. */
void clp_view_totals(const struct clp_view *view, struct clp_engine_totals *totals);

#endif
