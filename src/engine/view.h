/* SPDX-License-Identifier: MIT */
/* Several profiles of one engine at the same time. A view has its own functions, counts in its own windows, and
 * has its own numbers. The counters belong to the engine, and each event counts there once.
 *
 *   struct clp_views           all views of an engine
 *     audiences[function]      how many views have the function, and whether one of them counts
 *   struct clp_view
 *     items[]                  its functions, in the order in which they were selected
 *       sum                    what the item counted up to the last change
 *       base                   the engine's counters at that moment
 *
 * The numbers of an attached item are sum + counters - base; those of an item that is not attached are sum.
 * Blocks for sum and base are made only where they are needed. The counters of a function are the view's own
 * numbers where no other view has the function and it does not run while the view is not counting.
 *
 * Largest values have no difference. So where a base is taken, the largest values are handed to all attached
 * views, and begin anew.
 *
 * A tracer asks the gate of a function when a body is entered, resumed or found running, so that what nobody
 * counts is not recorded. A body that is on a stack already goes on counting, unseen.
 *
 * Not synchronised: one thread at a time may use it, the one that holds the interpreter's lock. No function
 * here gives the lock up, so its holder always finds gates, counts and items in agreement. */
#ifndef CLP_VIEW_H
#define CLP_VIEW_H

#include "engine_copy.h"
#include "threads.h"

struct clp_view_item {
    uint32_t function;
    bool selected; /* false: the view gave the function up; what was counted stays */
    bool attached; /* the engine's counters count for the item */
    struct clp_block *sum, *base; /* NULL: all zero */
    struct clp_call_sums *call_sum, *call_base; /* the same for the nodes of its calls */
    struct clp_compiled compiled_sum, compiled_base; /* the same for what is known of its compiled code */
};

/* Who has a function. An audience never moves in memory. */
struct clp_audience {
    const uint32_t *gate; /* points to 0 while nobody counts the function */
    /* While `shared`: how many views have the function and count every body. `gate` then points here. */
    uint32_t counting;
    uint32_t views;       /* how many views have the function */
    struct clp_view *sole; /* the one view that has the function; NULL: no view has it, or it is shared */
    bool shared;          /* a second view took the function; stays set until no view has it */
    bool slow; /* used by tracers: entering a body is, or may be, more than one event */
};

struct clp_views {
    struct clp_engine *engine; /* borrowed */
    struct clp_pool pool;      /* gives the blocks of sums and bases */
    struct clp_pool scratch;   /* for clp_engine_copy */
    struct clp_audience **audiences; /* by function; owned */
    size_t room;
    struct clp_view *first;
    size_t counting; /* how many views count */
};

struct clp_view {
    struct clp_views *views;
    struct clp_view *next;
    /* Gives the blocks of the view's items: the pool of `views`, or the engine's pool for the view of a live
     * file. */
    struct clp_pool *pool;
    struct clp_view_item *items;
    size_t count, room;
    struct clp_hashmap index; /* function -> place in items */
    uint32_t counting;        /* 0 or 1 */
    uint32_t gate;            /* 0 or 1, and 0 in a limited view; the gates of functions that only it has point here */
    bool limited;             /* the view counts some bodies only; the tracer asks which. No other view counts then */
    bool mixed;               /* some item is shared or not attached */
    struct clp_engine_totals sum, base; /* sum and base of what belongs to no function */
};

/* The audience of code that belongs to no function: nobody counts it. */
extern const struct clp_audience clp_nobody;

void clp_views_init(struct clp_views *views, struct clp_engine *engine, struct clp_pages *pages);

/* Frees what all views share. Clear every view before. */
void clp_views_clear(struct clp_views *views);

/* Forgets all audiences and totals, when the engine begins anew. No view may have a function. */
void clp_views_forget(struct clp_views *views);

/* The function's audience, made if need be. It stays the same one for as long as the views exist. NULL: no
 * memory. */
struct clp_audience *clp_views_audience(struct clp_views *views, uint32_t function);

/* The view must not move in memory. With `live`, its blocks lie in the engine's pool, for the reader of a live
 * file. */
void clp_view_init(struct clp_view *view, struct clp_views *views, bool live);
void clp_view_clear(struct clp_view *view, uint64_t now);

/* The view's item of the function; NULL: the view never had it. Borrowed until the next function is added. */
struct clp_view_item *clp_view_find(const struct clp_view *view, uint32_t function);

/* Does the view have the function now? */
bool clp_view_has(const struct clp_view *view, uint32_t function);

/* The four changes of a view. Each brings the sums up to `now`. On CLP_NO_MEMORY engine->lost is set, and the
 * change is made in part or not at all: for some items the view counts too little, or nothing until it begins
 * to count again. */
clp_status clp_view_add(struct clp_view *view, uint32_t function, uint64_t now);
clp_status clp_view_remove(struct clp_view *view, uint32_t function, uint64_t now);
clp_status clp_view_set_counting(struct clp_view *view, bool counting, uint64_t now);
clp_status clp_view_reset(struct clp_view *view, uint64_t now);

/* The item's numbers, in a new block, to be given back to the pool of `views`. NULL: no memory. */
struct clp_block *clp_view_sum(const struct clp_view *view, const struct clp_view_item *item,
                               const struct clp_engine_copy *copy, uint32_t parts);

/* The counts of the nodes of its calls, in a new area, to be given back to the pool of `views`. NULL: no memory. */
struct clp_call_sums *clp_view_calls(const struct clp_view *view, const struct clp_view_item *item,
                                     const struct clp_engine_copy *copy);

/* Does any view count the function? For what counts without asking its gate. */
bool clp_views_count(const struct clp_views *views, uint32_t function);

/* Where to count calls and compilations of the function. NULL: nobody counts the function. */
struct clp_compiled *clp_views_compiled(const struct clp_views *views, uint32_t function);

/* What the item has of the function's compiled code. */
struct clp_compiled clp_view_compiled(const struct clp_view *view, const struct clp_view_item *item);

/* Can the item's numbers be told by groups of threads? They cannot where a part of them is a sum over all
 * threads. */
bool clp_view_has_groups(const struct clp_view *view, const struct clp_view_item *item);

/* What the view has counted that belongs to no function. */
void clp_view_totals(const struct clp_view *view, struct clp_engine_totals *totals);

#endif
