/* SPDX-License-Identifier: MIT */
/* Reads a live file (live.h). A copy of the file is gone through several times: for its chunks and records; for
 * its blocks of counters; for the counters that are to be subtracted; and for its threads. Threads are set up
 * anew in an engine of the reader, with activations whose blocks lie in the copy. This engine then ends what
 * was running, exactly as the process would have ended it.
 *
 * Nothing in the copy is trusted: every size, place and pointer is checked against the file before it is used.
 * What was running counts as if it ended with the last event or, while the process lives, now. */
#ifndef CLP_LIVE_READER_H
#define CLP_LIVE_READER_H

#include "base/buf.h"
#include "os/clock.h"
#include "os/pages.h"
#include "profile/profile.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What there is to know of a file besides its profile. */
struct clp_live_about {
    uint64_t pid, parent;
    char name[64]; /* what the program calls the process */
    bool running;    /* the process still runs and has the file */
    bool unknown;    /* nobody can tell if it does: it is on another machine, or in another pid namespace */
    char host[64];   /* the machine's name */
    bool torn;       /* the process went on while the file was copied: stacks and counters disagree */
    bool incomplete; /* the file could not grow: later records are missing */
};

/* Do these bytes start a live file? */
bool clp_live_is(const char *bytes, size_t count);

/* What a process needs that reads its own file. */
struct clp_live_self {
    const struct clp_clock *clock;
    struct clp_pages *pages; /* counts the memory that the reader uses */
};

/* Reads the file into an initialised, empty profile, with the log of lines beside it (live_lines.h). Lines that were
 * being executed are marked. `self` is NULL
 * for the file of another process. On failure the profile is empty again, and *fault says where and why. */
clp_status clp_live_read(const char *path, const struct clp_live_self *self,
                         struct clp_profile *profile, struct clp_live_about *about,
                         struct clp_fault *fault);

/* Reads a file's bytes as clp_live_read does. `now` is the present reading of the clock, 0 if the process is
 * gone. `pages` counts the memory that the reader uses. */
clp_status clp_live_decode(const struct clp_buf *bytes, uint64_t now, struct clp_pages *pages,
                           struct clp_profile *profile, struct clp_live_about *about,
                           struct clp_fault *fault);

#endif
