/* SPDX-License-Identifier: MIT */
/* Decides when an epoch ends. Verdicts on leaks need epochs (leaks.h).
 *
 * Threads: the caller has the interpreter's lock. But a hook of an allocator may call clp_epochs_look_at_time
 * without it. It sees `kind`, `period` and `next` as they are or were a moment ago. If several threads call it at
 * once, one of them ends the epoch. `heap` and `clock` do not change once a table has been set. */
#ifndef CLP_EPOCHS_H
#define CLP_EPOCHS_H

#include "os/clock.h"
#include "engine/functions.h"
#include "heap.h"

enum clp_epochs_kind {
    CLP_EPOCHS_NONE,
    CLP_EPOCHS_CALLS, /* a call of a function ends the epoch of its lines */
    CLP_EPOCHS_NAMED, /* a call of the function `name` ends the epoch of all lines */
    CLP_EPOCHS_SECONDS,
    CLP_EPOCHS_CHECKPOINTS
};

#define CLP_EPOCHS_BODIES 256

/* A body that runs, and the progress (heap.h) when it was entered. */
struct clp_epochs_body {
    const void *body; /* its identity: the frame, or the activation (engine_state.h); NULL: none */
    uint64_t progress;
};

struct clp_epochs {
    enum clp_epochs_kind kind;
    char *name;            /* owned */
    uint64_t period;       /* ticks */
    uint64_t next;         /* when the next one ends, in ticks; UINT64_MAX: not by time */
    int warmups;           /* epochs; negative: the usual number */
    int64_t limit;         /* bytes; negative: the usual one */
    struct clp_heap *heap; /* borrowed: the table that is told; set where there is a kind */
    const struct clp_clock *clock; /* borrowed, likewise */
    /* The bodies that run longest: a hash table in which the first comer has the place until it returns. */
    struct clp_epochs_body bodies[CLP_EPOCHS_BODIES];
    uint64_t next_look; /* when this progress is made, it is time to look for leaks .. */
    bool due;           /* .. which the caller does then */
};

/* What an epoch is, in the words of --leaks: "calls", "checkpoints", a number, which *seconds gets, or else a name. */
enum clp_epochs_kind clp_epochs_kind_of(const char *words, double *seconds);

/* Do these words, which may be NULL, name a function? */
bool clp_epochs_go_by_name(const char *words);

/* Copies all of `wanted` but `heap` and `clock`, and forgets the bodies. */
void clp_epochs_set(struct clp_epochs *epochs, const struct clp_epochs *wanted);

/* Forgets the bodies that run: the heap was started again. */
void clp_epochs_forget(struct clp_epochs *epochs);

/* Does a user who says `wanted` mean the function with this qualified name? "f" means f and C.f, too. */
bool clp_epochs_is_named(const char *wanted, const char *name);

/* A selected function is called, whose body has this identity. Sets `due` after each eighth of the progress. */
void clp_epochs_note_call(struct clp_epochs *epochs, const struct clp_functions *functions,
                          uint32_t function, const void *body);

/* A selected function was called so many times since this was last said of it, by a tracer that hears of no calls. Sets
 * `due` likewise. */
void clp_epochs_note_calls(struct clp_epochs *epochs, uint32_t function, uint32_t count);

/* The body returns, or an exception leaves it. Its local variables are still there. If most of the progress was made
 * in it, this may be the end of the program: returns true. */
bool clp_epochs_note_return(struct clp_epochs *epochs, const void *body);

/* Do epochs end by time? Any thread may ask, to save a call of clp_epochs_look_at_time. */
static inline bool clp_epochs_go_by_time(const struct clp_epochs *epochs)
{
    return __atomic_load_n(&epochs->kind, __ATOMIC_ACQUIRE) == CLP_EPOCHS_SECONDS;
}

/* Ends the epoch if epochs go by time and its time is over. Any thread may call. */
void clp_epochs_look_at_time(struct clp_epochs *epochs);

/* The program says that an epoch is over. */
void clp_epochs_checkpoint(struct clp_epochs *epochs);

#endif
