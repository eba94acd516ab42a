/* SPDX-License-Identifier: MIT */
/* What -p selects, from before the program runs until the warnings at its end. */
#ifndef CLP_TARGET_SELECTION_H
#define CLP_TARGET_SELECTION_H

#include "cpython/windows/code_window.h"
#include "imports.h"
#include "cli/options.h"

struct clp_target_selection {
    struct clp_imports imports;
    struct clp_mem *mem;     /* borrowed */
    struct clp_buf script;   /* the module name of a script: its file's without .py */
    const char *program;     /* borrowed: the script or module as it was named; "" where it has no name */
    PyObject *imported;      /* owned list of str: the targets that --prof-imports adds */
    bool without_file;       /* the program is a text, which no target can name */
    struct clp_chooser within; /* what within marked functions is selected, for the profiler */
};

/* Before the program runs, with sys.path as it will find it: imports the targets if that is wanted and
 * watches modules to come. *chosen must stay where it is. What cannot be imported is one warning.
 * False with an exception set. */
bool clp_target_selection_begin(struct clp_target_selection *chosen, struct clp_mem *mem,
                                const struct clp_run_options *options, PyObject *profiler);

/* The script's code to run in the place of this one; of a text all functions are selected. A new
 * reference, NULL with an exception set. */
PyObject *clp_target_selection_script(struct clp_target_selection *chosen, PyObject *code);

/* What selected the function: a target's text, or NULL. Borrowed. */
const char *clp_target_selection_by(const struct clp_target_selection *chosen, const char *file, const char *name);

/* Did --include or --exclude keep something from a target? */
bool clp_target_selection_has_left_out(const struct clp_target_selection *chosen);

/* A warning for each target that matched nothing, with the nearest name there is. */
void clp_target_selection_end(const struct clp_target_selection *chosen);

#endif
