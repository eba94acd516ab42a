/* SPDX-License-Identifier: MIT */
/* Reading a live file (live.h). A copy of it is walked three times: for its chunks and
 * records; for its blocks of counters; and for its threads, which are set up anew in an engine of
 * the reader's own, with activations whose blocks lie in the copy. That engine then ends what was
 * running, exactly as it would have in the process.
 *
 * Nothing in the copy is trusted: every size, place and pointer is checked against the file before it is used.
 * What was running counts as if it ended with the last event, or now while the process lives. */
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

struct clp_live_about {
    uint64_t pid, parent;
    char name[64]; /* the header's */
    bool running;    /* the process still has the file */
    bool unknown;    /* .. or may have it: it runs on another machine, or in another pid namespace */
    char host[64];   /* the machine's name */
    bool torn;       /* it went on while the file was copied: stacks and counters disagree */
    bool incomplete; /* the file could not grow */
};

/* Do these bytes start a live file? */
bool clp_live_is(const char *bytes, size_t count);

/* A process that reads its own file. */
struct clp_live_self {
    const struct clp_clock *clock;
    struct clp_pages *pages; /* what the reader needs meanwhile is counted here */
};

/* Reads the file into an initialised, empty profile, the lines in flight marked. `self` is NULL for
 * another process's file. On failure the profile is empty again and *fault says where and why. */
clp_status clp_live_read(const char *path, const struct clp_live_self *self,
                         struct clp_profile *profile, struct clp_live_about *about,
                         struct clp_fault *fault);

/* Reads a file's bytes as clp_live_read does; `now` is the clock, 0 when the process is gone. What the reader
 * needs meanwhile is counted in `pages`. */
clp_status clp_live_decode(const struct clp_buf *bytes, uint64_t now, struct clp_pages *pages,
                           struct clp_profile *profile, struct clp_live_about *about,
                           struct clp_fault *fault);

#endif
