/* SPDX-License-Identifier: MIT */
/* Selects what -p names, from before the program runs until the warnings at its end. */
#ifndef CLP_TARGET_SELECTION_H
#define CLP_TARGET_SELECTION_H

#include "cpython/windows/code_window.h"
#include "imports.h"
#include "cli/options.h"

struct clp_target_selection {
    struct clp_imports imports;
    struct clp_mem *mem;     /* borrowed */
    struct clp_buf script;   /* the script's name as a module: its file name without .py */
    const char *program;     /* borrowed: the script or module as the command line names it; "" for -c and "-" */
    PyObject *imported;      /* owned list of str: the targets that --prof-imports adds */
    bool without_file;       /* the program is the text of -c or of standard input, which no target can name */
    struct clp_chooser within; /* chooses among the functions that are defined in decorated functions */
};

/* Begins to select: in loaded modules, in modules that are imported later, and in targets that it imports itself unless
 * --no-preimports is given. To be called just before the program runs, when sys.path is ready. A target that cannot be
 * imported is one warning. *chosen must stay where it is. False with an exception set. */
bool clp_target_selection_begin(struct clp_target_selection *chosen, struct clp_mem *mem,
                                const struct clp_run_options *options, PyObject *profiler);

/* Selects in the program's code. In a program without a file (-c, standard input) all functions are selected. Returns
 * the code to run instead of `code`, a new reference, or NULL with an exception set. */
PyObject *clp_target_selection_script(struct clp_target_selection *chosen, PyObject *code);

/* The text of the target that selected a function, borrowed; NULL when no target did. */
const char *clp_target_selection_by(const struct clp_target_selection *chosen, const char *file, const char *name);

/* Did --include or --exclude leave out something that a target names? */
bool clp_target_selection_has_left_out(const struct clp_target_selection *chosen);

/* Warns of each target that matched nothing, and suggests the most similar name. */
void clp_target_selection_end(const struct clp_target_selection *chosen);

#endif
