/* SPDX-License-Identifier: MIT */
/* What the launcher, and whoever writes profiles, asks of a Profiler. */
#ifndef CLP_PROFILER_RUN_H
#define CLP_PROFILER_RUN_H

#include "profile/profile.h"
#include "cpython/windows/prepare.h"

/* Copies all that it has counted so far into an initialised, empty profile; what is still running
 * counts as if it ended now. CLP_NO_MEMORY leaves a part. */
clp_status clp_profiler_snapshot(PyObject *profiler, struct clp_profile *profile);

/* Is it the only profiler, with nothing selected yet and no thread but this one known? */
bool clp_profiler_may_go_live(PyObject *profiler);

struct clp_go_live {
    const char *path, *command;
    uint64_t run;    /* the header's */
    unsigned rights; /* of the file, before the umask */
};

/* Records into a live file (formats/live/live.h) from now on; before anything was selected, by the only profiler
 * there is, once. On failure it is as it was. */
clp_status clp_profiler_go_live(PyObject *profiler, const struct clp_go_live *wish,
                                struct clp_fault *fault);

/* In the child of a fork whose parent has a live file: what was counted is dropped, and counted on in a
 * live file of the child's. On failure it counts in memory, which ends with the process. */
clp_status clp_profiler_fork_live(PyObject *profiler, const char *path, uint64_t parent,
                                  struct clp_fault *fault);

/* The profiler's live file, borrowed; its `pages` are NULL when there is none. */
struct clp_live *clp_profiler_live(PyObject *profiler);

/* The clock that live files of this profiler are read by. */
const struct clp_clock *clp_profiler_clock(PyObject *profiler);

/* All that is selected in the process, by the numbers that stacks have. */
const struct clp_functions *clp_profiler_functions(PyObject *profiler);

/* Memory that a helper thread uses; what is in it is no line's. Of two at most; borrowed for good. */
void clp_profiler_set_helper(PyObject *profiler, const struct clp_pages *pages);

/* The profiler's own memory. */
const struct clp_pages *clp_profiler_pages(PyObject *profiler);

/* Functions are counted by name of thread from now on, as NAME [THREAD]; before any is selected. */
void clp_profiler_name_threads(PyObject *profiler);

/* Sets the recorder's watch, borrowed for good; NULL takes it off. */
void clp_profiler_set_watch(PyObject *profiler, struct clp_watch *watch);

/* clp_prepare_code for this profiler. `globals` lead to the module's source where it is no file. */
PyObject *clp_profiler_prepare(PyObject *profiler, PyObject *code,
                               const struct clp_chooser *chooser, PyObject *globals);

/* Does its tracer have copies of code run in the place of the code? */
bool clp_profiler_exchanges_code(PyObject *profiler);

/* clp_prepare_function likewise. */
bool clp_profiler_prepare_function(PyObject *profiler, PyObject *function,
                                   const struct clp_chooser *chooser);

/* For its repr(): the file that its numbers will be written to. Without memory it tells of none. */
void clp_profiler_note_destination(PyObject *profiler, const char *path);

/* What within functions that are decorated with it is selected; borrowed for good. */
void clp_profiler_choose_within(PyObject *profiler, const struct clp_chooser *chooser);

/* From now on a line is kept for each class of which functions are left out. False with an exception set. */
bool clp_profiler_note_left_out(PyObject *profiler);

/* The lines about functions that are left out, a borrowed list; NULL: none are kept. */
PyObject *clp_profiler_left_out(PyObject *profiler);

/* clp_text_search_know. */
bool clp_profiler_know(PyObject *profiler, PyObject *file_name, const char *text, size_t bytes);

/* Does any profiler of the process count at the moment? */
bool clp_profiler_any_counts(void);

/* Ends it for good, the program being over; its numbers stay. */
void clp_profiler_stop(PyObject *profiler);

/* Functions selected so far; whether some events were lost for want of memory. */
size_t clp_profiler_function_count(PyObject *profiler);
bool clp_profiler_lost(PyObject *profiler);

/* The functions that the tracer refused, the newest first; borrowed, NULL when there are none. */
const struct clp_refusal *clp_profiler_refusals(PyObject *profiler);

/* After clp_profiler_stop: had another tool taken the tracer's place? */
bool clp_profiler_displaced(PyObject *profiler);

/* After the snapshot: may what was counted of allocations be relied on? */
enum clp_heap_state {
    CLP_HEAP_FINE,
    CLP_HEAP_HOOKS_LOST, /* another tool took the hooks away */
    CLP_HEAP_MEMORY_OUT  /* the table could not grow */
};

enum clp_heap_state clp_profiler_heap_state(PyObject *profiler);

#endif
