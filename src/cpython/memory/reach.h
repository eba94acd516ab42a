/* SPDX-License-Identifier: MIT */
/* Which object is reached from which: a search from the modules, the threads, their frames and the classes, along the
 * references that objects show to the garbage collector (tp_traverse). It goes in breadth, so each object is found on a
 * shortest way. No Python code runs, nothing of the program is changed, and no object is kept alive: the interpreter's
 * lock is held all the time, and all pointers are borrowed.
 *
 * What C code holds without showing it to the collector is not found. */
#ifndef CLP_REACH_H
#define CLP_REACH_H

#include "cpython/compat/compat.h"
#include "base/mem.h"
#include "base/status.h"
#include <stdint.h>

#define CLP_REACH_NONE UINT32_MAX

struct clp_reached {
    PyObject *object;
    uint32_t parent; /* index of the object that it was reached from, which is smaller; CLP_REACH_NONE: a root */
};

/* A root that no module has the name of: a local variable, or a frame whose variables have no names. */
struct clp_reach_local {
    uint32_t place; /* the root's index */
    PyObject *code; /* of the function */
    PyObject *name; /* of the variable; NULL: not known */
};

struct clp_reach {
    struct clp_mem *mem; /* borrowed */
    struct clp_reached *items;
    size_t count, room;
    struct clp_reach_local *locals;
    size_t local_count, local_room;
    uint32_t *places;   /* hash table: index in items + 1; 0: empty */
    size_t place_room;  /* a power of two */
    uint32_t from;      /* the item whose references are followed */
    size_t steps, most; /* references that were followed, and how many may be */
    clp_status status;  /* CLP_NO_MEMORY: the search has ended early */
};

/* Searches until everything is reached or `most` references were followed. *reach must be cleared in any case. */
void clp_reach_search(struct clp_reach *reach, struct clp_mem *mem, size_t most);

/* Adds a block that is no object, which an item points to. False: it was reached before, or there is no memory. */
bool clp_reach_claim(struct clp_reach *reach, const void *block, uint32_t holder);

void clp_reach_clear(struct clp_reach *reach);

/* Did the search end before everything was reached? */
static inline bool clp_reach_gave_up(const struct clp_reach *reach)
{
    return reach->status != CLP_OK || reach->steps >= reach->most;
}

#endif
