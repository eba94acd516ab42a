/* SPDX-License-Identifier: MIT */
/* Writes the profile at an interval (-i), in a helper thread (os/thread.h), which reads the live file as another
 * process would. Until the thread is stopped, only it may use the fields that are the saver's. */
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
    int error; /* errno of the last save; 0: it succeeded, or there was none */
};

/* Starts the thread. Returns 0 or errno. */
int clp_saver_start(struct clp_saver *saver);

#endif
