/* SPDX-License-Identifier: MIT */
/* The size of a process over time, and of what descends from it: a helper thread that reads /proc.
 * All its memory is its own, taken at the start, and known; see samples.h for what it does when it is
 * full. Samples belong to who holds the helper (thread.h): its thread while it works. */
#ifndef CLP_SAMPLER_H
#define CLP_SAMPLER_H

#include "os/processes.h"
#include "samples.h"
#include "os/thread.h"

#define CLP_SAMPLER_ROOM 65536    /* samples */
#define CLP_SAMPLER_PROCESSES 1024 /* at one time; of more, the others are not seen */
#define CLP_SAMPLER_LEAST 0.001   /* seconds */

struct clp_sampler {
    /* set by the owner, the rest zero */
    uint32_t pid;    /* 0: this process */
    double interval; /* seconds */
    bool children;   /* what descends from it, too */
    enum clp_memory memory; /* what is looked at; CLP_MEMORY_OFF: the resident size */
    const struct clp_pages *left_out[2]; /* borrowed, or NULL: memory taken off this process's size */
    struct clp_sample *room; /* CLP_SAMPLER_ROOM of them, borrowed, zero; NULL: it takes its own */
    void (*after)(void *data); /* called after each look, in the thread; or NULL */
    void *data;
    /* the rest is the sampler's */
    struct clp_helper helper;
    struct clp_pages pages;
    struct clp_samples samples;
    struct clp_sample *look; /* the one at hand */
    struct clp_process *list;
    void *block;
    size_t block_bytes;
    double start;         /* seconds since 1970 of time 0 of the samples */
    uint64_t start_nanos; /* CLOCK_MONOTONIC then */
    int error;            /* errno of the last look, atomic; ESRCH: the process is gone */
};

/* Takes memory and looks for the first time. 0 or errno (why the process cannot be seen); then nothing
 * is left behind. */
int clp_sampler_open(struct clp_sampler *sampler);

/* Looks now; the caller sees to it that the thread does not: it is held, or does not run. */
void clp_sampler_look(struct clp_sampler *sampler);

/* Starts the thread. 0 or errno. To stop it: clp_helper_stop. */
int clp_sampler_start(struct clp_sampler *sampler);

/* Gives all back; the thread must have been stopped. Nothing happens when it was never opened. */
void clp_sampler_close(struct clp_sampler *sampler);

#endif
