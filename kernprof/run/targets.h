/* SPDX-License-Identifier: MIT */
/* What -p selects: files, folders, packages, modules, and classes and functions in them, which are named behind
 * the module (pkg.mod.Class.method) or the file (mod.py:Class.method, or as pytest has it, with ::). A target is
 * matched when a module's code is about to run, by the module's name, its file and the qualified
 * names of what is in it; nothing is imported for it. */
#ifndef CLP_TARGETS_H
#define CLP_TARGETS_H

#include "base/mem.h"
#include "base/status.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct clp_target {
    const char *text;  /* borrowed: as it was given */
    char *path;        /* owned: what the text names if it is a file or folder; or NULL */
    char *object;      /* owned: what it names within that file; or NULL */
    size_t name_bytes; /* of the text that count: a package's .__init__ is left out */
    bool stops;        /* at the package, and does not go on to the modules in it */
    size_t matched;    /* code objects so far */
    size_t left_out;   /* .. that --include and --exclude kept from it */
    bool settled;      /* that it matches nothing is told already, or nobody's business */
};

struct clp_targets {
    struct clp_mem *mem; /* borrowed */
    struct clp_target *items;
    size_t count;
    char **included; /* borrowed, NULL-ended: --include; NULL: everything is */
    char **excluded; /* borrowed, NULL-ended: --exclude; NULL: nothing is */
};

/* Code that may be selected. Strings are borrowed. */
struct clp_candidate {
    const char *module; /* dotted name */
    const char *file;   /* its path, resolved; NULL when it has none */
    const char *name;   /* qualified; NULL: is there anything in the module at all? */
};

/* One target for each text. What they name on the disk is resolved now, for the program may change
 * directory. CLP_NO_MEMORY leaves nothing behind. */
clp_status clp_targets_init(struct clp_targets *targets, struct clp_mem *mem,
                            const char *const *texts, size_t count);
void clp_targets_clear(struct clp_targets *targets);

/* Where the name of something within a file begins: "Class.method" in "mod.py:Class.method"; NULL: nowhere. */
const char *clp_targets_object(const char *text);

/* The path resolved, without a slash at its end: the root is "". Of what is not on the disk itself (a
 * member of an archive, the source that a .pyc names) as much as is. False when none of it is. */
bool clp_targets_resolve(const char *path, char resolved[PATH_MAX]);

/* Is what is called so left out, wherever it is? */
bool clp_targets_exclude_name(const struct clp_targets *targets, const char *name);

/* Do --include and --exclude let it be selected? */
bool clp_targets_want(const struct clp_targets *targets, const struct clp_candidate *candidate);

/* The first target that selects it; NULL when none does. Borrowed. */
const struct clp_target *clp_targets_find(const struct clp_targets *targets,
                                          const struct clp_candidate *candidate);

/* Code is selected: every target that it matches has matched. False when there is none. */
bool clp_targets_select(struct clp_targets *targets, const struct clp_candidate *candidate);

#endif
