/* SPDX-License-Identifier: MIT */
/* Makes a Profiler: compares its wishes with what the profilers of the process record. Making the recorder and
 * starting its tracer is done in a turn (turn.h). The rest, comparing wishes and making the window, runs no
 * Python code. */
#ifndef CLP_SETUP_H
#define CLP_SETUP_H

#include "profiler_object.h"

/* What a Profiler is asked for. */
struct clp_wishes {
    const char *tracer; /* NULL or "auto": the preferred one that works */
    enum clp_memory memory;
    bool names_memory;  /* another mode than the usual one is asked for by name */
    int by_statement;
    int cpu;            /* not 0: processor time and waiting are measured */
    int native;         /* not 0: the time of what lines call is measured */
    int nvtx;           /* not 0: functions and blocks are ranges of NVTX */
    int torch_names;    /* not 0: names that the program gives to torch are blocks */
    uint32_t tallies;   /* a sum of enum clp_tally_source */
    int tensors;        /* not 0: the memory of tensors is counted */
    int cuda;           /* not 0: what GPUs do is counted */
    int line_log;       /* not 0: lines are logged while torch.profiler records */
    Py_ssize_t heap;    /* mean bytes between samples; 0: no table of live blocks */
    const char *leaks;  /* what epochs of verdicts are (heap_table.h); NULL: no verdicts */
    long long leak_limit; /* bytes by which a line may grow; negative: the usual limit */
    const char *source;   /* whose text is kept (clp_kept_source_named); NULL: of functions */
    int started;          /* not 0: the window is opened */
    PyObject *context;    /* borrowed: a ContextVar, which must hold the Profiler where a body counts; NULL: every body
                           * counts */
};

/* Reads the argument `memory`. NULL, None and True mean the resident size, or what is measured already; False
 * means nothing; a str names the mode. False with an exception set. */
bool clp_setup_read_memory(PyObject *object, enum clp_memory *mode);

/* Reads the argument `counters`, a list of names such as "io,faults". False with an exception set. */
bool clp_setup_read_counters(const char *names, uint32_t *tallies);

/* Makes the profiler, and sets what its tracer cannot have or always has in *wishes. False with an exception set;
 * clp_setup_undo must be called in that case, too. */
bool clp_setup_profiler(struct clp_profiler *self, struct clp_wishes *wishes);

/* Gives up all that the profiler has, which is closed then. Calling it again changes nothing. */
void clp_setup_undo(struct clp_profiler *self);

/* Says once what tensors are not counted without the library of --tensors; the caller tells the user. NULL: nothing is
 * to be told, or no more. */
const char *clp_setup_few_tensors(void);

/* Returns the recorder of the process; NULL before the first profiler. */
struct clp_recorder *clp_process_recorder(void);

#endif
