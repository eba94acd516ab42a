/* SPDX-License-Identifier: MIT */
/* Times from samples of stacks. A sample is the lines on which a thread's selected functions stood at a moment, and its
 * weight: how long it is since the moment before. The line of the innermost one gets the weight as self time; every line on
 * the stack gets it as inclusive time, once.
 *
 * Samples come from a thread that may not touch the engine's counters, nor allocate through the interpreter. So they are
 * summed up here, and from time to time what has come together is moved into the engine:
 *
 *   functions[number] ---> struct clp_sampled_function     one for each function, with its lines
 *   root ---> struct clp_sampled_call ...                  the calling contexts, folded as those of call_tree.h
 *
 * All of it lies in the engine's pool, so a reader of the live file finds what was not moved yet. When what was made for
 * calling contexts is used up, further ones come from memory of the samples' own, which is in no file.
 *
 * Not synchronised: whoever calls makes sure that nobody else does. `make` and `settle` need the engine's lock, too. */
#ifndef CLP_STACK_SAMPLES_H
#define CLP_STACK_SAMPLES_H

#include "engine_state.h"

/* Where a function stands: its number, and the line's place among the cells of its blocks. */
struct clp_sampled_line {
    uint32_t function, cell;
};

/* What was found on a stack, the innermost line first. */
struct clp_sampled_stack {
    const struct clp_sampled_line *lines; /* borrowed */
    size_t count;
    size_t left;   /* of so many, the innermost ones, it is not known who called them */
    bool doubtful; /* the caller of the innermost one counts only if it is one already */
};

/* What samples have given a line since that was moved last. Ticks. */
struct clp_line_samples {
    uint64_t self;    /* waiting included */
    uint64_t wait;
    uint64_t nested;  /* inclusive time less self time */
    double squares;   /* of the weights in `self` that are not certain: the square of its standard error, at most */
    uint64_t samples; /* how many are in `self` */
    uint64_t met;     /* number of the last sample that had the line */
};

struct clp_sampled_function {
    struct clp_area area;
    uint32_t function, line_count;
    uint64_t total;
    uint64_t met;
    struct clp_sampled_call *latest; /* the context of the last sample of which that is known */
    uint64_t waiting;                /* weight of samples before the first such one */
    struct clp_sampled_call *guess;  /* what seems to have called it, in the last of these samples; NULL: nothing does */
    uint32_t guessed_cell;           /* the line of that */
    struct clp_line_samples lines[];
};

struct clp_sampled_call {
    struct clp_sampled_call *parent, *home;
    struct clp_sampled_call *child, *next; /* the child that was found last, and the next child of the same parent */
    struct clp_call *call; /* the engine's node, while it is wanted */
    uint32_t id, parent_id; /* for a reader of the file; 0: no function called it */
    uint32_t function;
    uint32_t cell;   /* the line of the parent's function that called; CLP_NO_CELL: no function did */
    uint64_t ticks;  /* inclusive; those of recursion by the same edge are in `again` */
    uint64_t again;
};

struct clp_sampled_calls {
    struct clp_area area;
    struct clp_sampled_calls *next;
    uint32_t room;
    uint32_t count; /* complete ones; written last */
    bool spare;     /* from the samples' own memory */
    struct clp_sampled_call items[];
};

struct clp_stack_samples {
    struct clp_engine *engine; /* borrowed */
    struct clp_sampled_function **functions; /* by number; NULL: not made */
    size_t room;
    struct clp_sampled_call root;
    struct clp_sampled_calls *first, *last;
    uint32_t count; /* contexts, the root included */
    struct clp_pages pages; /* memory of the samples' own */
    struct clp_pool spare;
    uint64_t number; /* of the sample */
    uint64_t settled; /* nothing is left of this sample and those before it */
};

/* The engine must not move in memory, nor may *samples. */
void clp_stack_samples_init(struct clp_stack_samples *samples, struct clp_engine *engine);

/* Gives all memory back. Nothing may be added before the next _init. */
void clp_stack_samples_clear(struct clp_stack_samples *samples);

/* Gets ready for samples of this function, and makes room for calling contexts. CLP_NO_MEMORY: it
 * is not made. */
clp_status clp_stack_samples_make(struct clp_stack_samples *samples, uint32_t function);

/* What a thread did at a sample. */
enum clp_sampled_state {
    CLP_SAMPLED_RUNS,
    CLP_SAMPLED_WAITS, /* it had no processor */
    CLP_SAMPLED_STILL, /* nor since the sample before: all the time is the line's for certain */
};

/* Adds a sample; all functions must have been made. Nothing is allocated from the engine. Where the caller of a function is not
 * known, the one counts that called it at the last sample of which that is known: so callers have their shares. */
void clp_stack_samples_add(struct clp_stack_samples *samples, const struct clp_sampled_stack *stack, uint64_t weight,
                           enum clp_sampled_state state);

/* Has a sample told for certain what called the function? */
bool clp_stack_samples_know(const struct clp_stack_samples *samples, uint32_t function);

/* Moves what has come together since the last time into the thread's blocks and into the tree of calls: self and nested
 * time, waiting, totals of functions, ticks of calls, and squares where blocks have CLP_PART_LIGHT. Where memory runs out
 * the rest stays for the next time. */
void clp_stack_samples_settle(struct clp_stack_samples *samples, struct clp_thread *thread);

#endif
