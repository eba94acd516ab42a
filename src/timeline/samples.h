/* SPDX-License-Identifier: MIT */
/* Sizes of processes over time, in a fixed room. A look is what was seen at one time: a sample for each
 * process. When the room is full, of every two looks that follow one another the larger stays (the sum
 * of its samples), and from then on looks are kept half as often; so a run may last for ever, its peak
 * is never lost, and there are always enough looks left to draw it. */
#ifndef CLP_SAMPLES_H
#define CLP_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clp_sample {
    uint64_t time;
    uint64_t bytes;
    uint32_t pid;
    bool first; /* of its look */
};

struct clp_samples {
    struct clp_sample *items; /* borrowed */
    size_t count, room;
    size_t last;    /* where the last look begins */
    uint64_t every; /* so many looks become one; a power of two */
    uint64_t whole; /* looks in the last one */
};

/* The room is the caller's, and holds at least two samples. */
void clp_samples_init(struct clp_samples *samples, struct clp_sample *room, size_t count);

/* Everything is forgotten, but for how often looks are kept. */
void clp_samples_empty(struct clp_samples *samples);

/* Adds a look: `count` samples, whose time and first are set here. Times ascend. A look that is larger
 * than half the room is cut off. */
void clp_samples_add(struct clp_samples *samples, uint64_t time, struct clp_sample *look,
                     size_t count);

#endif
