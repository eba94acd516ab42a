/* SPDX-License-Identifier: MIT */
/* The counters of what a line calls (called.h). */
#ifndef CLP_CALLED_CELLS_H
#define CLP_CALLED_CELLS_H

#include <stdint.h>

enum clp_called_kind { CLP_CALLED_NATIVE, CLP_CALLED_LIBRARY, CLP_CALLED_KINDS };

struct clp_callee {
    enum clp_called_kind kind;
    uint32_t name; /* its number in the engine's names of callees */
};

#define CLP_CALLED_NAMES 3

struct clp_called_name {
    uint32_t name; /* 0: none */
    uint32_t unused;
    int64_t time; /* 1/256 ticks */
};

/* How long what a line calls took: C code, and Python functions that are not selected. Part of the line's self time,
 * the profiler's own cost already subtracted. 1/256 ticks. */
struct clp_called_cell {
    int64_t time[CLP_CALLED_KINDS];
    struct clp_called_name names[CLP_CALLED_KINDS][CLP_CALLED_NAMES]; /* the callees of most time */
};

/* Adds time to the line and to the callee. There is room for few callees: where more take turns, the one with the
 * least time gives its place, and its time, to the new one, so that a callee with a large share has a place. */
void clp_called_add_anyhow(struct clp_called_cell *cell, struct clp_callee callee, int64_t time);

/* Adds the time, as clp_called_add_anyhow does, but quickly where the callee has the first place. */
static inline void clp_called_add(struct clp_called_cell *cell, struct clp_callee callee, int64_t time)
{
    struct clp_called_name *first = cell->names[callee.kind];

    if (__builtin_expect(first->name != callee.name, 0)) {
        clp_called_add_anyhow(cell, callee, time);
        return;
    }
    cell->time[callee.kind] += time;
    first->time += time;
}

void clp_called_merge(struct clp_called_cell *into, const struct clp_called_cell *from);
void clp_called_subtract(struct clp_called_cell *from, const struct clp_called_cell *base);

/* The callee of this kind that took the most time; NULL: none is known. */
const struct clp_called_name *clp_called_most(const struct clp_called_cell *cell, enum clp_called_kind kind);

#endif
