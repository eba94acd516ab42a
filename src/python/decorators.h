/* SPDX-License-Identifier: MIT */
/* What stands above a function's `def`, read off the code that defines it: the names that are
 * loaded on the lines of its decorators. */
#ifndef CLP_DECORATORS_H
#define CLP_DECORATORS_H

#include "recorder.h"

#if CLP_HAS_PROBES

enum clp_decorator {
    CLP_DECORATOR_NONE,
    CLP_DECORATOR_PROFILE,
    CLP_DECORATOR_COMPILES, /* hands the function to a compiler: numba, torch, Cython */
};

/* Where a code object loads such names. */
struct clp_decorators {
    struct clp_recorder *recorder; /* borrowed */
    PyCodeObject *definer;         /* borrowed */
    struct clp_decorator_use {
        int32_t line;
        enum clp_decorator what;
    } *uses; /* owned */
    size_t count, room;
};

/* Reads the code; finds nothing in code that cannot be read. */
void clp_decorators_init(struct clp_decorators *decorators, struct clp_recorder *recorder,
                         PyCodeObject *definer);
void clp_decorators_clear(struct clp_decorators *decorators);

/* Is the function with this code, which the definer makes, decorated so? */
bool clp_decorators_have(const struct clp_decorators *decorators, PyCodeObject *code,
                         enum clp_decorator what);

/* Has the program imported one of these compilers? The names of their decorators are common. */
bool clp_decorators_compiler_loaded(void);

#else

/* Only probes need to know. */
struct clp_decorators {
    size_t count;
};

enum clp_decorator { CLP_DECORATOR_PROFILE, CLP_DECORATOR_COMPILES };

static inline void clp_decorators_init(struct clp_decorators *decorators,
                                       struct clp_recorder *recorder, PyCodeObject *definer)
{
    (void)recorder, (void)definer;
    *decorators = (struct clp_decorators){0};
}

static inline void clp_decorators_clear(struct clp_decorators *decorators)
{
    (void)decorators;
}

static inline bool clp_decorators_have(const struct clp_decorators *decorators, PyCodeObject *code,
                                       enum clp_decorator what)
{
    (void)decorators, (void)code, (void)what;
    return false;
}

static inline bool clp_decorators_compiler_loaded(void)
{
    return false;
}

#endif
#endif
