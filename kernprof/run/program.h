/* SPDX-License-Identifier: MIT */
/* Runs the user's program in this interpreter as python itself would, with the same empty stack below it, the same
 * tracebacks and exit codes. clp_program_prepare (program_sys.h) must be called before. */
#ifndef CLP_PROGRAM_H
#define CLP_PROGRAM_H

#include "cli/options.h"
#include "program_end.h"
#include "cpython/compat/compat.h"

/* Functions that are called around the program. Each may be NULL. */
struct clp_program_hook {
    /* Gets the program's code. Returns the code to run, a new reference, or NULL with an exception set. */
    PyObject *(*prepare)(void *data, PyObject *code);
    /* Gets the program's source text, with the file name that its code objects will have. False with an exception
     * set. */
    bool (*know)(void *data, PyObject *file, const char *text, size_t bytes);
    /* Called just before the program runs. False with an exception set. */
    bool (*begin)(void *data);
    /* Called when an exception has ended the program, before the exception is shown, as showing it is no part of the
     * program. `begin` is called again afterwards. */
    void (*pause)(void *data);
    void *data;
};

/* Runs options->setup (--setup), if it is given, as a program in a namespace of its own. To be called between
 * clp_program_prepare and clp_program_run. The folder of the setup file stays on sys.path, behind the program's folder.
 * Returns an exit code, as struct clp_program_end has it. */
int clp_program_set_up(const struct clp_run_options *options);

/* Runs the program that the options name. When this returns, sys.excepthook has shown an uncaught exception;
 * SystemExit is left set. */
struct clp_program_end clp_program_run(const struct clp_run_options *options, struct clp_program_hook hook);

#endif
