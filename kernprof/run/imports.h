/* SPDX-License-Identifier: MIT */
/* Changes the code of modules between the moment a loader gives it and the moment it runs. What -p names in the
 * module is selected, and functions that are decorated with `profile` get their probes. Three modules are also extended:
 * line_profiler's `profile` uses this profiler, multiprocessing gives children that it spawns a name `profile`, and pytest,
 * which compiles test modules itself, runs them by clp_imports_exec.
 * Modules are loaded in any thread; the interpreter's lock protects the fields below, and imports.profiler is read
 * again for each module. */
#ifndef CLP_IMPORTS_H
#define CLP_IMPORTS_H

#include "cpython/compat/compat.h"
#include "targets.h"

/* A module in which something may have been selected. Texts are owned; each is NULL if there was no memory for it. */
struct clp_seen_module {
    char *code_file; /* the file's name in the module's code objects */
    char *file;      /* path of the file, resolved; NULL when it has none */
    char *name;
};

struct clp_imports {
    PyObject *profiler;         /* borrowed; NULL: nothing is selected any more */
    struct clp_targets targets; /* owned */
    struct clp_seen_module *seen; /* owned array */
    size_t seen_count, seen_room;
    struct clp_imports *next; /* in the list of those that watch */
    bool selects_nothing; /* the profiler counts no lines; only the modules above are extended */
};

/* Wraps the loaders of files and archives, so that what the targets name in a module is selected before the module
 * runs. Cached bytecode (.pyc) stays as it is. *imports must stay where it is. False with an exception set. */
bool clp_imports_watch(struct clp_imports *imports);

/* Extends those of the modules (see the top of this file) that are loaded already. clp_imports_watch does it for
 * modules that are imported later. */
void clp_imports_hand_over(const struct clp_imports *imports);

/* Stops selecting, and gives loaders their own functions back. *imports must still stay where it is, because another
 * tool may have wrapped our wrapper, which goes on to use it. */
void clp_imports_unwatch(struct clp_imports *imports);

/* Frees the targets and the list of modules. To be called after clp_imports_unwatch. */
void clp_imports_clear(struct clp_imports *imports);

/* Selects what the targets name in a script's code. `module` is the name by which targets know the script. Returns the
 * code to run instead of `code`, a new reference, or NULL with an exception set. */
PyObject *clp_imports_code(struct clp_imports *imports, PyObject *code, const char *module);

/* Selects as clp_imports_code does, with two exceptions. A module in which something was selected before is left as it
 * is. With a tracer that exchanges code, the body of the script is not selected. */
PyObject *clp_imports_code_within(struct clp_imports *imports, PyObject *code, const char *module);

/* Returns the target that selected a function, borrowed; NULL when none did. `file` and `name` are those of its
 * code. */
const struct clp_target *clp_imports_target_of(const struct clp_imports *imports, const char *file,
                                               const char *name);

/* Selects what the targets name in loaded modules whose code was not seen on its way from the loader. False with an
 * exception set. */
bool clp_imports_select_loaded(struct clp_imports *imports);

/* Selects in `__main__`, which clp_imports_select_loaded leaves to the run. `name` is the name by which targets know
 * the program. False with an exception set. */
bool clp_imports_select_main(struct clp_imports *imports, const char *name);

/* Selects in a function, and in what is defined in it, what the targets name. False with an exception set. */
bool clp_imports_select_function(struct clp_imports *imports, PyObject *function, const char *module);

/* Writes into `name` by what name targets know the script that the code is of: "main" for "/home/me/main.py". False if
 * the file is no .py, or there is no room. */
bool clp_imports_script_name(PyObject *code, char *name, size_t room);

/* exec_selected(code, names) in Python: exec() of a module's code, in which what the targets name is selected for all that
 * watch. */
PyObject *clp_imports_exec(PyObject *self, PyObject *arguments);

/* Takes a function that another process has sent by value, for all that watch: selects in it what the targets name, and
 * selects it as decorated if it was `marked` there. False with an exception set. */
bool clp_imports_take(PyObject *function, const char *module, bool marked);

#endif
