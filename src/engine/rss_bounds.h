/* SPDX-License-Identifier: MIT */
/* What a thread can have done to memory, from what the system says of it. Resident size belongs to the
 * process; this tells threads' doings apart (resident.h, clp_engine_share_rss).
 *
 *   growth    comes by page faults, and the thread's own are known. A fault brings in a page, or a few
 *             where the kernel is told to; or a huge page, which takes processor time to clear; or of a
 *             file as much as lies in memory around it. A fault may bring nothing (a copy after a fork).
 *   releases  are not counted by thread, but take processor time page by page. Huge pages go in no
 *             time: there only waiting tells. */
#ifndef CLP_RSS_BOUNDS_H
#define CLP_RSS_BOUNDS_H

#include "os/thread.h"
#include <stdbool.h>
#include <stdint.h>

struct clp_rss_bounds_facts {
    uint64_t page;          /* bytes */
    uint64_t fault;         /* bytes that a fault without a file brings in, but for huge pages */
    uint64_t huge;          /* bytes of a huge page; 0: there are none */
    double release_nanos;   /* the quickest giving back of a page, with many others, that was seen */
};

/* What a thread can have done to resident memory since its last read, at most. */
struct clp_rss_bounds {
    uint64_t grown, released; /* bytes */
    bool ran_through;  /* it ran all the time: what was released just now was its own */
    bool never_waited; /* the same where the other threads hold less than that */
};

/* `use` is since the thread's last read, `of_files` the growth of memory that is of files since then. */
struct clp_rss_bounds clp_rss_bounds_of(const struct clp_rss_bounds_facts *facts,
                                        const struct clp_thread_use *use, uint64_t of_files);

#endif
