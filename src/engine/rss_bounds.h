/* SPDX-License-Identifier: MIT */
/* What a thread can have done to resident memory at most, from what the system says of the thread. Resident
 * size belongs to the process; the bounds help to divide its changes between threads (clp_engine_share_rss).
 *
 *   growth    comes by page faults, and the system counts each thread's own. A fault brings in one page, or a
 *             few where the kernel is told to; or a huge page, which takes processor time to clear; or as much of
 *             a file as lies in memory around it. A fault may bring in nothing (a copy after a fork).
 *   releases  are not counted by thread, but take processor time for each page. Huge pages are released in no
 *             time: for them only waiting tells. */
#ifndef CLP_RSS_BOUNDS_H
#define CLP_RSS_BOUNDS_H

#include "os/thread.h"
#include <stdbool.h>
#include <stdint.h>

struct clp_rss_bounds_facts {
    uint64_t page;          /* bytes of a page */
    uint64_t fault;         /* bytes that a fault outside files brings in, huge pages aside */
    uint64_t huge;          /* bytes of a huge page; 0: there are none */
    double release_nanos;   /* the quickest release of a page, together with many others, that was seen */
};

/* What a thread can have done to resident memory since its last read, at most. */
struct clp_rss_bounds {
    uint64_t grown, released; /* bytes */
    bool ran_through;  /* the thread ran all the time: what was released just now was its own */
    /* The thread never waited, though others may have interrupted it: what was released just now was its own if
     * the other threads hold less than that. */
    bool never_waited;
};

/* `use` is what the thread did since its last read. of_files is the growth since then, in bytes, of memory that
 * is of files. */
struct clp_rss_bounds clp_rss_bounds_of(const struct clp_rss_bounds_facts *facts,
                                        const struct clp_thread_use *use, uint64_t of_files);

#endif
