/* SPDX-License-Identifier: MIT */
#include "rss_bounds.h"

/* The most that a fault brings in of a file. */
#define FILE_FAULT_BYTES ((uint64_t)2 << 20)
/* Bytes that a processor clears in a nanosecond: more than any processor does. */
#define CLEARED_PER_NANO 64
/* The processor time that waiting takes, with all around it, each time that another thread gets the processor. */
#define SWITCH_NANOS 50000
/* Releasing pages takes at least this part of the quickest time that was seen. */
#define RELEASE_MARGIN 0.5

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t switches(const struct clp_thread_use *use)
{
    return use->waits + use->preemptions;
}

/* Bytes of huge pages that the thread can have cleared. */
static uint64_t cleared(const struct clp_rss_bounds_facts *facts, const struct clp_thread_use *use)
{
    uint64_t waiting = switches(use) == 0 ? 0 : (switches(use) + 2) * SWITCH_NANOS;

    if (facts->huge == 0 || use->nanos < waiting)
        return 0;
    return smaller((use->nanos - waiting) * CLEARED_PER_NANO / facts->huge, use->faults) *
           facts->huge;
}

struct clp_rss_bounds clp_rss_bounds_of(const struct clp_rss_bounds_facts *facts,
                                        const struct clp_thread_use *use, uint64_t of_files)
{
    double nanos = facts->release_nanos * RELEASE_MARGIN;
    double released = nanos > 0 ? (double)use->nanos / nanos * (double)facts->page : 1e18;

    return (struct clp_rss_bounds){
        .grown = use->faults * facts->fault + cleared(facts, use) +
                 smaller(of_files, use->faults * FILE_FAULT_BYTES),
        .released = released < 1e18 ? (uint64_t)released : (uint64_t)1e18,
        .ran_through = switches(use) == 0,
        .never_waited = use->waits == 0,
    };
}
