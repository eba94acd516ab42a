/* SPDX-License-Identifier: MIT */
/* One run of ckernprof, and what happens at its very end: the profile, the report, the messages. */
#ifndef CLP_FINISH_H
#define CLP_FINISH_H

#include "chosen.h"
#include "liverun.h"
#include "options.h"
#include "program.h"
#include "timeline.h"
#include "words.h"

/* One run of ckernprof, or of clineprof.profile (together.c). Lives until the process ends: the atexit
 * function holds it. */
struct clp_run {
    const char *program; /* for messages */
    struct clp_mem mem;
    struct clp_words words;
    struct clp_run_options options;
    struct clp_buf outfile;      /* with -o - of the live file alone */
    int profile_out;             /* -o -: where standard output leads, which the program has not; else -1 */
    struct clp_program_end end;
    struct clp_buf found_script; /* the target's path when PATH led to it */
    PyObject *profiler;          /* owned: a Profiler, or without -l a cProfile.Profile */
    struct clp_chosen chosen;
    struct clp_liverun live;
    struct clp_watch watch;
    struct clp_timeline timeline;
    PyObject *start_path;        /* owned: sys.path without the program's folders; NULL without -r */
    PyObject *settings;          /* owned: options from config files are borrowed from it */
    int standard_error;          /* where it went before -qqq silenced it; else -1 */
    bool unwritable;             /* the output; told already: the temporary folder gets the profile */
    uint64_t process;            /* clp_identity_self: a fork's copy of the atexit function has nothing to
                                    write; 0 in a process that the program has started */
    struct clp_run_id family;    /* --prof-child-procs: of all processes; else nothing */
    bool is_first;               /* .. with which it began, and this one is */
    unsigned rights;             /* of the files that are made, before the umask */
    struct clp_naming_mark before; /* what was at the output when the run began */
    unsigned forks;              /* of this process, with that */
    bool leaves_running;         /* processes that still run have files of their own at their end */
};

/* NULL with an exception set. */
struct clp_run *clp_run_new(const char *program);

/* Has all that done at the end of the interpreter's life: the first atexit function runs last. False
 * with an exception set. */
bool clp_finish_at_exit(struct clp_run *run);

/* Appends the program's own command line, as a shell would take it. */
void clp_finish_add_command(const struct clp_run *run, struct clp_buf *text);

/* "<doing> '<path>': <why>", told even to who asked for silence. */
void clp_finish_complain_fault(const struct clp_run *run, const char *doing, const char *path,
                               const struct clp_fault *fault);

#endif
