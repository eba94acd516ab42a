/* SPDX-License-Identifier: MIT */
/* Is a function decorated with `profile`? Read off the code that defines it: the lines on which it loads
 * that name. */
#ifndef CLP_DECORATORS_H
#define CLP_DECORATORS_H

#include "cpython/recorder/recorder_state.h"

struct clp_decorators {
    struct clp_recorder *recorder; /* borrowed */
    int32_t *lines;                /* owned: where the definer loads the name */
    size_t count, room;
};

#if CLP_HAS_PROBES

/* Reads the code; finds nothing in code that cannot be read. */
void clp_decorators_init(struct clp_decorators *decorators, struct clp_recorder *recorder,
                         PyCodeObject *definer);
void clp_decorators_clear(struct clp_decorators *decorators);

/* Is the function with this code, which the definer makes, decorated so? */
bool clp_decorators_have_profile(const struct clp_decorators *decorators, PyCodeObject *code);

#else

/* Only probes need to know. */
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

static inline bool clp_decorators_have_profile(const struct clp_decorators *decorators,
                                               PyCodeObject *code)
{
    (void)decorators, (void)code;
    return false;
}

#endif
#endif
