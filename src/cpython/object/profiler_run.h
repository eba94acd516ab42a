/* SPDX-License-Identifier: MIT */
/* What the launcher asks of a Profiler, and whoever else writes profiles. */
#ifndef CLP_PROFILER_RUN_H
#define CLP_PROFILER_RUN_H

#include "profile/profile.h"
#include "cpython/windows/cython_selecting.h"
#include "cpython/windows/prepare.h"

/* Copies all that the profiler has counted so far into an initialised, empty profile. What is still running
 * counts as if it ended now. CLP_NO_MEMORY leaves a part in it. */
clp_status clp_profiler_snapshot(PyObject *profiler, struct clp_profile *profile);

/* Adds the profiler's log of lines alone, if it has one. CLP_NO_MEMORY: nothing was added. */
clp_status clp_profiler_line_log(PyObject *profiler, struct clp_profile *profile);
/* Does it want one? */
bool clp_profiler_logs_lines(PyObject *profiler);

/* Does it look for lines that leak? */
bool clp_profiler_seeks_leaks(PyObject *profiler);

/* Has the profiler selected nothing yet, and has no profiler of the process a live file? */
bool clp_profiler_may_go_live(PyObject *profiler);

struct clp_go_live {
    const char *path, *command;
    uint64_t run;    /* for the header of the file: struct clp_live_header */
    unsigned rights; /* of the file, before the umask */
};

/* Records into a live file (formats/live/live.h) from now on, where clp_profiler_may_go_live. On failure nothing has
 * changed. */
clp_status clp_profiler_go_live(PyObject *profiler, const struct clp_go_live *wish,
                                struct clp_fault *fault);

/* Adapts the profiler to the child of a fork whose parent has a live file: drops what was counted, and counts
 * from now on in a live file of the child. On failure it counts in memory, and the numbers end with the
 * process. */
clp_status clp_profiler_fork_live(PyObject *profiler, const char *path, uint64_t parent,
                                  struct clp_fault *fault);

/* The profiler's live file, borrowed; its `pages` are NULL when there is none. */
struct clp_live *clp_profiler_live(PyObject *profiler);

/* The clock by which live files of this profiler are read. */
const struct clp_clock *clp_profiler_clock(PyObject *profiler);

/* All functions that are selected in the process, by the numbers that stacks have. */
const struct clp_functions *clp_profiler_functions(PyObject *profiler);

/* Names the memory of a helper thread, which counts for no line. There may be two at most. Borrowed for good. */
void clp_profiler_set_helper(PyObject *profiler, const struct clp_pages *pages);

/* The profiler's own memory, borrowed. */
const struct clp_pages *clp_profiler_pages(PyObject *profiler);

/* Counts functions by the name of the thread from now on, as NAME [THREAD]. Call it before any function is
 * selected. */
void clp_profiler_name_threads(PyObject *profiler);

/* Sets the recorder's watch, borrowed for good; NULL removes it. */
void clp_profiler_set_watch(PyObject *profiler, struct clp_watch *watch);

/* Does what clp_prepare_code does, for this profiler. `globals` lead to the module's source where it is no
 * file. After the end of the program, and of a closed profiler, the code stays as it is. */
PyObject *clp_profiler_prepare(PyObject *profiler, PyObject *code,
                               const struct clp_chooser *chooser, PyObject *globals);

/* Does its tracer replace code by copies? */
bool clp_profiler_exchanges_code(PyObject *profiler);

/* Does what clp_prepare_function does, for this profiler. After the end of the program, and of a closed
 * profiler, the function stays as it is. */
bool clp_profiler_prepare_function(PyObject *profiler, PyObject *function,
                                   const struct clp_chooser *chooser);

/* Returns what clp_cython_missing does. */
const char *clp_process_misses_cython(void);

/* Does what clp_cython_select_at does, for this profiler. After the end of the program, and of a closed profiler, nothing
 * is selected. */
bool clp_profiler_select_cython(PyObject *profiler, const struct clp_cython_key *key, PyObject *path, PyObject *text,
                                int32_t last_line);

/* Notes the file to which its numbers will be written, for its repr(). Without memory the repr() names none. */
void clp_profiler_note_destination(PyObject *profiler, const char *path);

/* Sets what is selected within functions that are decorated with the profiler. Borrowed for good. */
void clp_profiler_choose_within(PyObject *profiler, const struct clp_chooser *chooser);

/* Keeps a line from now on for each class of which functions are left out. False with an exception set. */
bool clp_profiler_note_left_out(PyObject *profiler);

/* The lines about functions that are left out, a borrowed list. NULL: none are kept. */
PyObject *clp_profiler_left_out(PyObject *profiler);

/* Does what clp_text_search_know does. */
bool clp_profiler_know(PyObject *profiler, PyObject *file_name, const char *text, size_t bytes);

/* Does any profiler of the process count at the moment? */
bool clp_profiler_any_counts(void);

/* Ends the profiler for good when the program is over. Its numbers stay. */
void clp_profiler_stop(PyObject *profiler);

/* The program is over: its last line has run. Verdicts on leaks are about what was alive before. The last look for leaks
 * is made, and stands in the live file. */
void clp_profiler_mark_end(PyObject *profiler);

/* The number of functions selected so far; and whether some events were lost because memory ran out. */
size_t clp_profiler_function_count(PyObject *profiler);
bool clp_profiler_lost(PyObject *profiler);

/* The functions that the tracer refused, the newest first. Borrowed; NULL when there are none. */
const struct clp_refusal *clp_profiler_refusals(PyObject *profiler);

/* To be asked after clp_profiler_stop: had another tool taken the tracer's place? */
bool clp_profiler_displaced(PyObject *profiler);

/* Could bytes read and written not be read at some time after the start? */
bool clp_profiler_io_failed(void);

/* Why the tracer that takes times from samples has none, as text for a message; NULL: it has, or there is another tracer. */
const char *clp_profiler_no_samples(void);
/* Is the time of what lines call measured? With other tracers than probe it is not, though it was wished for. */
bool clp_profiler_counts_called(PyObject *profiler);

/* Can the numbers of allocations be relied on? To be asked after the snapshot. */
enum clp_heap_state {
    CLP_HEAP_FINE,
    CLP_HEAP_HOOKS_LOST, /* another tool has removed the hooks */
    CLP_HEAP_MEMORY_OUT  /* the table of live blocks could not grow */
};

enum clp_heap_state clp_profiler_heap_state(PyObject *profiler);

#endif
