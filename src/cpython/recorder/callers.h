/* SPDX-License-Identifier: MIT */
/* Tells the engine's tree of calls which calls came through code that is not selected. The frames are looked at once
 * for each node of the tree, at its first call. */
#ifndef CLP_CALLERS_H
#define CLP_CALLERS_H

#include "selected.h"

/* Looks at the frames above the body on top, whose call was the first of its node. */
void clp_callers_look(struct clp_recorder *recorder, struct clp_thread *thread);

/* To be called after each event that may have put a body on top. */
static inline void clp_callers_note(struct clp_recorder *recorder, struct clp_thread *thread)
{
    if (CLP_UNLIKELY(recorder->engine.calls.fresh != NULL))
        clp_callers_look(recorder, thread);
}

#endif
