/* SPDX-License-Identifier: MIT */
/* The targets of -p: files, folders, packages, modules, and classes and functions in them. A class or function is named
 * behind its module (pkg.mod.Class.method) or its file (mod.py:Class.method; or with ::, as in pytest). Targets are
 * compared with a module's code when it is about to run: with the module's name, its file, and the qualified names of
 * what is in it. Nothing is imported for that. */
#ifndef CLP_TARGETS_H
#define CLP_TARGETS_H

#include "base/mem.h"
#include "base/status.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct clp_target {
    const char *text;  /* borrowed: the value of -p */
    char *path;        /* owned: the resolved path of the file or folder, if the text is one; NULL: it cannot be one */
    char *object;      /* owned: the class or function within that file ("Class.method"); or NULL */
    size_t name_bytes; /* length of the module's name in the text, without a package's ".__init__" */
    bool stops;        /* the text names a package as NAME.__init__, without the modules in it */
    size_t matched;    /* how many code objects it has selected so far */
    size_t left_out;   /* how many code objects it names that --include or --exclude left out */
    bool settled;      /* no warning is due if it matches nothing */
};

struct clp_targets {
    struct clp_mem *mem; /* borrowed */
    struct clp_target *items;
    size_t count;
    char **included; /* borrowed: the patterns of --include, ended by NULL; NULL: everything is included */
    char **excluded; /* borrowed: the patterns of --exclude, ended by NULL; NULL: nothing is excluded */
};

/* Code that may be selected. Strings are borrowed. */
struct clp_candidate {
    const char *module; /* dotted name */
    const char *file;   /* the module's path, resolved; NULL when it has none */
    const char *name;   /* qualified name of the code; NULL stands for anything in the module */
};

/* Makes a target of each text. Paths are resolved now, because the program may change its working directory. On
 * CLP_NO_MEMORY nothing needs to be cleared. */
clp_status clp_targets_init(struct clp_targets *targets, struct clp_mem *mem,
                            const char *const *texts, size_t count);
void clp_targets_clear(struct clp_targets *targets);

/* Finds the class or function in a text that names one within a file: "Class.method" in "mod.py:Class.method". Points
 * into the text; NULL when the text names none. */
const char *clp_targets_object(const char *text);

/* Resolves symbolic links and dots in a path, and removes slashes at its end; the root is "". The end of a path that is
 * not on the disk (a member of an archive, the source that a .pyc names) stays as it is. False when no part of the path
 * exists, or it is too long. */
bool clp_targets_resolve(const char *path, char resolved[PATH_MAX]);

/* Does --exclude name code of this qualified name, whatever its file is? */
bool clp_targets_exclude_name(const struct clp_targets *targets, const char *name);

/* Do --include and --exclude allow the candidate to be selected? */
bool clp_targets_want(const struct clp_targets *targets, const struct clp_candidate *candidate);

/* The first target that selects the candidate, borrowed; NULL when none does. */
const struct clp_target *clp_targets_find(const struct clp_targets *targets,
                                          const struct clp_candidate *candidate);

/* Does any target select the candidate? Counts the candidate in `matched` or `left_out` of every target that names
 * it. */
bool clp_targets_select(struct clp_targets *targets, const struct clp_candidate *candidate);

#endif
