/* SPDX-License-Identifier: MIT */
/* What lines changed of numbers that somebody else counts (enum clp_tally). The numbers are read before an event, if the
 * interval that ends there is long enough. By how much they changed since the last read belongs to the line of this
 * interval. */
#ifndef CLP_TALLIES_H
#define CLP_TALLIES_H

#include "hot.h"

/* The sources of these names, with commas between them: "io,faults,switches". CLP_TALLY_SOURCE_UNKNOWN: there is another
 * name. */
uint32_t clp_tally_sources_named(const char *names);
#define CLP_TALLY_SOURCE_UNKNOWN UINT32_MAX

/* Sets how many ticks an interval must last at least so that tallies are read at its end; UINT64_MAX: never. */
void clp_engine_set_tally_span(struct clp_engine *engine, uint64_t ticks);

/* Are tallies to be read for an event at `now`? */
static inline bool clp_engine_wants_tallies(const struct clp_thread *thread, uint64_t now)
{
    return clp_engine_since_last(thread, now) >= thread->engine->tally_span;
}

/* The cell of the line on top, to give it changes now or later; NULL: no line is on top, or its block has no tallies. */
struct clp_tally_cell *clp_tallies_of_top(const struct clp_thread *thread);

/* Takes new values of `count` tallies from `first` on, all of them of this thread. The cell gets what changed since
 * `last`; NULL: no line gets it. *last becomes the new values. */
void clp_tallies_note(struct clp_tally_cell *cell, enum clp_tally first, size_t count, const int64_t *values,
                      int64_t *last);

/* How long a number may be read behind lines that are short beside such a read. All lines that are looked at add to it.
 * Once it is spent, only long lines are looked at, until half of it is there again. Ticks. */
struct clp_tally_budget {
    uint64_t left;
    uint64_t most; /* that may be saved up */
    bool spent;
};

/* Is a number to be read behind a line of `length` ticks, if that costs `cost`? Then it is counted as read. */
bool clp_tallies_afford(struct clp_tally_budget *budget, uint64_t length, uint64_t cost);

/* For how many ticks up to `now` such a budget was spent. */
static inline uint64_t clp_counter_unread_until(const struct clp_counter_unread *unread, uint64_t now)
{
    return unread->ticks + (unread->since != 0 && now > unread->since ? now - unread->since : 0);
}

/* The shortest line after which the number is read. Ticks. */
uint64_t clp_tallies_shortest(const struct clp_tally_budget *budget, uint64_t cost);

#endif
