/* SPDX-License-Identifier: MIT */
/* One run of ckernprof, from its command line to the messages at its end. */
#ifndef CLP_SESSION_H
#define CLP_SESSION_H

#include "target_selection.h"
#include "cli/options.h"
#include "program_end.h"
#include "run/processes/recording.h"
#include "timeline.h"
#include "bridge/console.h"

/* What keeps a standard stream for us is far from the numbers that the program's own files get. */
#define CLP_FAR_DESCRIPTOR 200

/* Once its end is registered with atexit (finish.h) it lives until the process ends. */
struct clp_run {
    struct clp_mem mem;
    struct clp_command_words words;
    struct clp_run_options options;
    struct clp_recording recording;
    uint64_t process;            /* clp_identity_self: a fork's copy of the atexit function has nothing to
                                    write; 0 in a process that the program has started */
    int profile_out;             /* -o -: where standard output leads, which the program has not; else -1 */
    bool unwritable;             /* the output; told already: the temporary folder gets the profile */
    struct clp_naming_mark before; /* what was at the output when the run began */
    struct clp_program_end end;
    struct clp_buf found_script; /* the target's path when PATH led to it */
    struct clp_target_selection chosen;
    struct clp_watch watch;
    struct clp_timeline timeline;
    PyObject *start_path;        /* owned: sys.path without the program's folders; NULL without -r */
    PyObject *settings;          /* owned: options from config files are borrowed from it */
    bool held;                   /* by the function that is registered with atexit */
};

/* With this command line, a list of str; its options are not read yet. NULL with an exception set. */
struct clp_run *clp_run_new(PyObject *words);

/* Frees a run that failed before it was held, with its profiler. */
void clp_run_free(struct clp_run *run);

/* Appends the program's own command line, as a shell would take it. */
void clp_run_add_command(const struct clp_run *run, struct clp_buf *text);

#endif
