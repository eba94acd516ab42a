/* SPDX-License-Identifier: MIT */
/* Is a function decorated with `profile`? This is read from the code that defines the function: from the lines
 * on which it loads that name. */
#ifndef CLP_DECORATORS_H
#define CLP_DECORATORS_H

#include "cpython/recorder/recorder_state.h"

struct clp_decorators {
    struct clp_recorder *recorder; /* borrowed */
    int32_t *lines;                /* owned: the lines on which the definer loads the name */
    size_t count, room;
};

#if CLP_HAS_PROBES

/* Reads the definer's code. Nothing is found in code that cannot be read. */
void clp_decorators_init(struct clp_decorators *decorators, struct clp_recorder *recorder,
                         PyCodeObject *definer);
void clp_decorators_clear(struct clp_decorators *decorators);

/* Is the function that has this code, and that the definer makes, decorated with `profile`? */
bool clp_decorators_have_profile(const struct clp_decorators *decorators, PyCodeObject *code);

#else

/* Only the probe tracer needs to know, and this version does not have it. */
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
