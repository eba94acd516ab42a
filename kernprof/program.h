/* SPDX-License-Identifier: MIT */
/* Runs somebody's program in this interpreter as python itself would: sys.argv, sys.path[0],
 * sys.orig_argv, __main__, the stack below it, tracebacks. */
#ifndef CLP_PROGRAM_H
#define CLP_PROGRAM_H

#include "options.h"
#include "../src/python/compat.h"

/* Takes what the way in put first off sys.path, so that nothing is imported from the working
 * directory before the program runs. False with an exception set. */
bool clp_program_leave_folder(void);

/* Prepares sys and __main__, after clp_program_leave_folder. False with an exception set. */
bool clp_program_prepare(const struct clp_run_options *options);

/* What is done with the program's own code before it runs. Each may be NULL. */
struct clp_program_hook {
    /* The code to run, a new reference, or NULL with an exception set. */
    PyObject *(*prepare)(void *data, PyObject *code);
    /* Its text, of the name its code objects have. False with an exception set. */
    bool (*know)(void *data, PyObject *file, const char *text, size_t bytes);
    /* The last thing before the program runs. False with an exception set. */
    bool (*begin)(void *data);
    /* Before an exception that ended it is shown, which is no part of it; begin is called again
     * behind. */
    void (*pause)(void *data);
    void *data;
};

/* How a program ended. */
struct clp_program_end {
    int code;           /* the exit code that python would have now: 0, 1, 2 (no such file), or 130 when the
                           program was interrupted and the interpreter will end by SIGINT; -1 with SystemExit set */
    bool started;       /* did any of its code run? A missing or broken file has none */
    bool refused_words; /* it left by sys.exit(2), as argparse does */
    bool lacks_profile; /* it asked for a `profile` that is not there */
    char exception[64]; /* the type of what ended it; "" where nothing did, and for SystemExit */
};

/* Runs options->setup, if any, as a program in a namespace of its own, between preparing sys and
 * running the program. Its folder stays on sys.path, behind the program's. Returns the code of clp_program_end. */
int clp_program_set_up(const struct clp_run_options *options);

/* Runs it. An uncaught exception has been shown by sys.excepthook when this returns; SystemExit is
 * left set. */
struct clp_program_end clp_program_run(const struct clp_run_options *options, struct clp_program_hook hook);

#endif
