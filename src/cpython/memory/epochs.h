/* SPDX-License-Identifier: MIT */
/* What ends an epoch, by which verdicts on leaks go (heap/leaks.h). Threads: the interpreter's lock, but for
 * clp_epochs_look_at_time, which hooks of allocators call without it. */
#ifndef CLP_EPOCHS_H
#define CLP_EPOCHS_H

#include "os/clock.h"
#include "engine/functions.h"
#include "heap/heap.h"

struct clp_epochs {
    enum {
        CLP_EPOCHS_NONE,
        CLP_EPOCHS_CALLS, /* of each function those of its own lines */
        CLP_EPOCHS_NAMED, /* of the function of this name */
        CLP_EPOCHS_SECONDS,
        CLP_EPOCHS_CHECKPOINTS
    } kind;
    char *name;            /* owned */
    uint64_t period, next; /* ticks */
    int warmups;           /* epochs; negative: the usual number */
    int64_t limit;         /* bytes; negative: the usual one */
    struct clp_heap *heap; /* borrowed: the table that is told; set where there is a kind */
    const struct clp_clock *clock; /* borrowed, likewise */
};

/* Does a user who says `wanted` mean the function with this qualified name? "f" means f and C.f, too. */
bool clp_epochs_is_named(const char *wanted, const char *name);

/* A selected function is called. */
void clp_epochs_note_call(struct clp_epochs *epochs, const struct clp_functions *functions,
                          uint32_t function);

/* Time may have passed. */
void clp_epochs_look_at_time(struct clp_epochs *epochs);

/* The program says that an epoch is over. */
void clp_epochs_checkpoint(struct clp_epochs *epochs);

#endif
