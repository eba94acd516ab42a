/* SPDX-License-Identifier: MIT */
/* A thread that writes the profile every so many seconds. It knows nothing of the interpreter and
 * holds none of its locks: it reads the live file as any other process could. Its memory is its
 * own, so that what it takes is on no line. Signals go to the program's threads. */
#ifndef CLP_SAVER_H
#define CLP_SAVER_H

#include "../src/core/arena.h"
#include "../src/core/clock.h"
#include <pthread.h>
#include <stdbool.h>

struct clp_saver {
    /* set by the owner */
    double interval; /* seconds */
    const char *live_path, *outfile; /* borrowed */
    const struct clp_clock *clock;   /* borrowed */
    /* the rest is the saver's */
    struct clp_pages pages;
    struct clp_arena arena;
    void *stack;
    size_t stack_bytes;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool ready, running, stop;
    int error; /* errno of the last save that failed, 0 when the last one did not */
};

/* Starts the thread, or starts it again. 0 or errno. */
int clp_saver_start(struct clp_saver *saver);

/* Ends it; a save that is under way is completed. Nothing happens when none runs. */
void clp_saver_stop(struct clp_saver *saver);

#endif
