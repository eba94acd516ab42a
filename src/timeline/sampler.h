/* SPDX-License-Identifier: MIT */
/* Records the size of a process, and of its descendants, over time: a helper reads /proc. All memory is taken
 * at the start; samples.h says what happens when it is full. Only the holder of the helper (thread.h) may use
 * the samples. The helper's thread holds it while it works. */
#ifndef CLP_SAMPLER_H
#define CLP_SAMPLER_H

#include "os/processes.h"
#include "samples.h"
#include "os/thread.h"

#define CLP_SAMPLER_ROOM 65536    /* samples */
#define CLP_SAMPLER_PROCESSES 1024 /* at one time; more are not seen */
#define CLP_SAMPLER_LEAST 0.001   /* seconds */

struct clp_sampler {
    /* set by the owner, the rest zero */
    uint32_t pid;    /* 0: this process */
    double interval; /* seconds */
    bool children;   /* its descendants, too */
    enum clp_memory memory; /* what is looked at; CLP_MEMORY_OFF: the resident size */
    const struct clp_pages *left_out[2]; /* borrowed, or NULL: memory taken off this process's size */
    struct clp_sample *room; /* CLP_SAMPLER_ROOM of them, borrowed, zero; NULL: it takes its own */
    void (*after)(void *data); /* called after each look, in the thread; or NULL */
    void *data;
    /* private */
    struct clp_helper helper;
    struct clp_pages pages;
    struct clp_samples samples;
    struct clp_sample *look; /* the look that is being made */
    struct clp_process *list;
    void *block;
    size_t block_bytes;
    double start;         /* seconds since 1970 of time 0 of the samples */
    uint64_t start_nanos; /* CLOCK_MONOTONIC then */
    int error;            /* errno of the last look, atomic; ESRCH: the process is gone */
};

/* Takes memory and looks for the first time. Returns 0 or errno (why the process cannot be seen); after an
 * error all memory is given back. */
int clp_sampler_open(struct clp_sampler *sampler);

/* Looks now. The helper must be held or stopped. */
void clp_sampler_look(struct clp_sampler *sampler);

/* Starts the thread. 0 or errno. To stop it: clp_helper_stop. */
int clp_sampler_start(struct clp_sampler *sampler);

/* Gives all memory back. The helper must have been stopped. Does nothing when the sampler was never opened. */
void clp_sampler_close(struct clp_sampler *sampler);

#endif
