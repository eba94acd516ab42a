/* SPDX-License-Identifier: MIT */
/* Runs somebody's program in this interpreter as python itself would, after clp_program_prepare: the stack below
 * it, tracebacks, exit codes. */
#ifndef CLP_PROGRAM_H
#define CLP_PROGRAM_H

#include "cli/options.h"
#include "program_end.h"
#include "cpython/compat/compat.h"

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

/* Runs options->setup, if any, as a program in a namespace of its own, between preparing sys and
 * running the program. Its folder stays on sys.path, behind the program's. Returns the code of clp_program_end. */
int clp_program_set_up(const struct clp_run_options *options);

/* Runs it. An uncaught exception has been shown by sys.excepthook when this returns; SystemExit is
 * left set. */
struct clp_program_end clp_program_run(const struct clp_run_options *options, struct clp_program_hook hook);

#endif
