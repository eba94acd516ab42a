/* SPDX-License-Identifier: MIT */
/* Samples the stacks of all Python threads of the main interpreter at random moments, in a helper thread
 * (stack_reader.h), and sums them up (engine/stack_samples.h). The distance of two samples is 1 ms on average at first, and
 * grows with the run, so that shares of a long run are as good as those of one of 10 seconds and cost less. It also grows
 * where a sample takes long: the sampler uses at most a hundredth of a processor where the program has no other one, and
 * a twentieth elsewhere.
 *
 * All functions are called with the interpreter's lock. What they share with the helper is held meanwhile; so none of them
 * may be called between clp_helper_hold and clp_helper_release.
 *
 * The helper stops before a fork. In the parent it starts again at the interpreter's next pending call. In the child
 * clp_stack_sampler_after_fork does that. */
#ifndef CLP_STACK_SAMPLER_H
#define CLP_STACK_SAMPLER_H

#include "os/clock.h"
#include "os/thread.h"
#include "sampled_code.h"
#include "stack_reader.h"

/* A thread at its last sample. */
struct clp_sampled_thread {
    uint64_t id;          /* of its state (raw_frames.h); 0: nobody's */
    uint64_t idle;        /* it ran no selected function, as long as sampler->changes is this */
    uint64_t at;          /* ticks */
    uint64_t used;        /* processor time, ns; UINT64_MAX: not known */
    struct clp_stack_hint hint;
};

#define CLP_SAMPLED_THREADS 256 /* are remembered, each at the place of its id; of two with the same place the latest */

struct clp_stack_sampler {
    struct clp_helper helper;
    struct clp_engine *engine;     /* borrowed; NULL: it never started */
    const struct clp_clock *clock; /* borrowed */
    struct clp_sampled_codes codes;
    struct clp_stack_samples samples;
    struct clp_sampler_room *room; /* owned, from helper.pages: what the helper works with; NULL: none yet */
    size_t room_bytes;
    bool wanted;        /* it is to run */
    const char *reason; /* a constant: why there are no samples; NULL: there are */
    uint64_t last;      /* ticks: the last sample */
    uint64_t looks;     /* samples since it was started */
    uint64_t own;       /* processor time of the helper when it was asked for last, ns; 0: not yet */
    double run;         /* for how long it has run, about. Seconds */
    double most_cost;   /* that samples may have, in processors */
    double cost;        /* of a sample, with its part of waking up. Seconds of processor time; 0: not known yet */
    uint64_t random;
    uint64_t changes; /* of the selected code */
    uint64_t taken;   /* samples of threads that ran selected functions */
    uint64_t dropped; /* samples of threads whose stack changed too quickly */
};

/* Gets ready to take code. Borrows all three, which must not move in memory. */
void clp_stack_sampler_init(struct clp_stack_sampler *sampler, struct clp_engine *engine, struct clp_pages *pages,
                            const struct clp_clock *clock);

/* Starts it, or starts it again; nothing happens while it runs. NULL, or why there are no samples: a constant text. */
const char *clp_stack_sampler_start(struct clp_stack_sampler *sampler);

/* Stops it. What was sampled stays. */
void clp_stack_sampler_stop(struct clp_stack_sampler *sampler);

/* In the child of a fork: starts it if it ran in the parent. */
void clp_stack_sampler_after_fork(struct clp_stack_sampler *sampler);

/* Stops it and gives all memory back; it may be initialised again then. To be called before the engine is cleared. */
void clp_stack_sampler_clear(struct clp_stack_sampler *sampler);

/* From now on the code object counts as selected, or again with other cells. `function` is its number in the engine;
 * `cell_of_unit` has the cell of each code unit of two bytes, inline caches included, or CLP_NO_CELL (sampled_code.h), and is
 * copied. False: no memory, or no unit has a cell; then it does not count. Call clp_sampled_code_remove before the code
 * object dies. */
bool clp_sampled_code_add(struct clp_stack_sampler *sampler, const void *code, uint32_t function,
                          const uint32_t *cell_of_unit, uint32_t units);
void clp_sampled_code_remove(struct clp_stack_sampler *sampler, const void *code);

/* Moves what was sampled since the last time into the engine, for this thread (engine/stack_samples.h). */
void clp_stack_sampler_settle(struct clp_stack_sampler *sampler, struct clp_thread *thread);

#endif
