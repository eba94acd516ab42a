/* SPDX-License-Identifier: MIT */
/* What ends an epoch, by which verdicts on leaks go (leaks.h).
 *
 * Threads: the interpreter's lock. But a hook of an allocator may ask without that lock whether the time is over
 * (clp_epochs_look_at_time): of `kind`, `period` and `next` it sees those of the epochs that there are, or were a
 * moment ago. Of several threads that ask at once, one ends the epoch. `heap` and `clock` stay as they are once a
 * table has been set. */
#ifndef CLP_EPOCHS_H
#define CLP_EPOCHS_H

#include "os/clock.h"
#include "engine/functions.h"
#include "heap.h"

enum clp_epochs_kind {
    CLP_EPOCHS_NONE,
    CLP_EPOCHS_CALLS, /* of each function those of its own lines */
    CLP_EPOCHS_NAMED, /* of the function of this name */
    CLP_EPOCHS_SECONDS,
    CLP_EPOCHS_CHECKPOINTS
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
};

/* Puts all but `heap` and `clock` of `wanted` in the place of what was there. */
void clp_epochs_set(struct clp_epochs *epochs, const struct clp_epochs *wanted);

/* Does a user who says `wanted` mean the function with this qualified name? "f" means f and C.f, too. */
bool clp_epochs_is_named(const char *wanted, const char *name);

/* A selected function is called. */
void clp_epochs_note_call(struct clp_epochs *epochs, const struct clp_functions *functions,
                          uint32_t function);

/* Do epochs end by time? From any thread, as clp_epochs_look_at_time, which it saves from being called. */
static inline bool clp_epochs_go_by_time(const struct clp_epochs *epochs)
{
    return __atomic_load_n(&epochs->kind, __ATOMIC_ACQUIRE) == CLP_EPOCHS_SECONDS;
}

/* Time may have passed: ends the epoch where they go by time and it is over. From any thread. */
void clp_epochs_look_at_time(struct clp_epochs *epochs);

/* The program says that an epoch is over. */
void clp_epochs_checkpoint(struct clp_epochs *epochs);

#endif
