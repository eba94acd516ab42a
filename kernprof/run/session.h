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

/* The lowest number of a descriptor that the profiler keeps open. The program's own files get lower numbers, the same
 * as without the profiler. */
#define CLP_FAR_DESCRIPTOR 200

/* A run. Once its end is registered with atexit (finish.h), it lives until the process ends. */
struct clp_run {
    struct clp_mem mem;
    struct clp_command_words words;
    struct clp_run_options options;
    struct clp_recording recording;
    uint64_t process;            /* clp_identity_self of the process that writes the profile. A fork has another
                                    identity, so its copy of the atexit function writes nothing. 0 in a process that
                                    the program has started */
    int profile_out;             /* -o -: a descriptor of the real standard output, as the program's descriptor 1 is
                                    standard error then; else -1 */
    struct clp_naming_mark before; /* the file at the output when the run began */
    struct clp_program_end end;
    struct clp_buf found_script; /* the script's path, if it was found in PATH */
    struct clp_target_selection chosen;
    struct clp_watch watch;
    struct clp_timeline timeline;
    PyObject *start_path;        /* owned: sys.path before the program's folders were added; NULL if no report is printed */
    PyObject *settings;          /* owned: holds the texts that options from config files point to */
    bool held;                   /* the function that is registered with atexit holds the run */
};

/* Makes a run of this command line, a list of str, whose options are not read yet. NULL with an exception set. */
struct clp_run *clp_run_new(PyObject *words);

/* Frees a run that failed before it was held, with its profiler. */
void clp_run_free(struct clp_run *run);

/* Appends the program's own command line, quoted for a shell. */
void clp_run_add_command(const struct clp_run *run, struct clp_buf *text);

#endif
