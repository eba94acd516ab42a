/* SPDX-License-Identifier: MIT */
/* Writes the profile every so many seconds, as a helper thread (os/thread.h): it reads the live file
 * as any other process could. What it keeps is its thread's until that is stopped. */
#ifndef CLP_SAVER_H
#define CLP_SAVER_H

#include "os/arena.h"
#include "os/clock.h"
#include "os/thread.h"

struct clp_saver {
    /* set by the owner */
    double interval; /* seconds */
    const char *live_path, *outfile; /* borrowed */
    unsigned rights;                 /* of the outfile, before the umask */
    const struct clp_clock *clock;   /* borrowed */
    /* the rest is the saver's */
    struct clp_helper helper;
    struct clp_pages pages;
    struct clp_arena arena;
    int error; /* errno of the last save that failed, 0 when the last one did not */
};

/* Starts the thread. 0 or errno. */
int clp_saver_start(struct clp_saver *saver);

#endif
