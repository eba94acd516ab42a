/* SPDX-License-Identifier: MIT */
/* Modules on their way from the loader to their execution: what -p names in them is selected, and
 * functions that are decorated with `profile` get their probes. line_profiler's gets this profiler for
 * its own, and multiprocessing's gives the children that it spawns a name `profile`. Modules are loaded in any
 * thread: the interpreter's lock protects what is kept, and the profiler is looked at anew for each. */
#ifndef CLP_IMPORTS_H
#define CLP_IMPORTS_H

#include "cpython/compat/compat.h"
#include "targets.h"

/* A module in which something may have been selected. Texts are owned. */
struct clp_seen_module {
    char *code_file; /* as its code objects have it */
    char *file;      /* resolved; or NULL */
    char *name;
};

struct clp_imports {
    PyObject *profiler;         /* borrowed; NULL: nothing is selected any more */
    struct clp_targets targets; /* owned */
    struct clp_seen_module *seen; /* owned */
    size_t seen_count, seen_room;
    bool selects_nothing; /* the profiler counts no lines: it is only handed over, and children get a name */
};

/* From now on what the targets name in the code of each module that comes from a file or an archive is
 * selected before it runs. The caches themselves stay as they are. *imports must stay where it
 * is. False with an exception set. */
bool clp_imports_watch(struct clp_imports *imports);

/* The modules that something is added to, where they are loaded already; after clp_imports_watch those
 * that are imported later get it, too. */
void clp_imports_hand_over(const struct clp_imports *imports);

/* Nothing more is selected. *imports still has to stay where it is: another tool may have wrapped what
 * stands in the loaders' place. */
void clp_imports_unwatch(struct clp_imports *imports);

/* Frees what it holds; after clp_imports_unwatch. */
void clp_imports_clear(struct clp_imports *imports);

/* The code to run in the place of this one, a script's: a new reference, or NULL with an exception set.
 * `module` is the name it goes by. */
PyObject *clp_imports_code(struct clp_imports *imports, PyObject *code, const char *module);

/* As clp_imports_code, but where code with probes takes another one's place, the script's own body is not
 * selected, nor anything in a module that was chosen before. */
PyObject *clp_imports_code_within(struct clp_imports *imports, PyObject *code, const char *module);

/* The target that selected the function, named as in its code; NULL: none did. Borrowed. */
const struct clp_target *clp_imports_target_of(const struct clp_imports *imports, const char *file,
                                               const char *name);

/* Selects what the targets name in modules that are loaded already, and whose code has not been through
 * clp_imports_code. False with an exception set. */
bool clp_imports_select_loaded(struct clp_imports *imports);

#endif
