/* SPDX-License-Identifier: MIT */
/* Sizes of processes over time, in a fixed room. A look is what was seen at one time: a sample for each
 * process. When the room is full, the larger one (by the sum of its samples) of each two successive looks is
 * kept. From then on half as many looks are kept. So a run may last for ever, its peak is never lost, and
 * there are always enough looks to draw. */
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
    uint64_t whole; /* looks that the last one stands for */
};

/* The room is the caller's, and holds at least two samples. */
void clp_samples_init(struct clp_samples *samples, struct clp_sample *room, size_t count);

/* Removes all samples. How often looks are kept stays the same. */
void clp_samples_empty(struct clp_samples *samples);

/* Adds a look: `count` samples, whose `time` and `first` are set here. Times must ascend. Of a look larger
 * than half the room, the last samples are left out. */
void clp_samples_add(struct clp_samples *samples, uint64_t time, struct clp_sample *look,
                     size_t count);

#endif
