/* SPDX-License-Identifier: MIT */
#include "change.h"
#include "block_places.h"
#include "cpython/compat/raised.h"
#include "cpython/recorder/gc_calls.h"
#include "cpython/tracers/code_copies.h"
#include "cpython/tracers/counting.h"
#include "cpython/tracers/cython_monitoring.h"
#include "cpython/tracers/offering.h"

void clp_change_begin(struct clp_recorder *recorder)
{
    if (recorder->held++ == 0)
        recorder->collects = clp_compat_stop_collecting();
}

/* Ends events that cost something although nothing is selected. Probes that are still in code find their gate
 * closed. */
static void rest(struct clp_recorder *recorder)
{
    const struct clp_tracer *fallback = recorder->fallback;

    clp_counting_rest(recorder);
    clp_gc_calls_leave(recorder);
    clp_blocks_rest(recorder);
    clp_cython_end(recorder);
    clp_code_copies_leave();
    recorder->fallback = NULL;
    if (fallback != NULL)
        clp_tracer_end(recorder, fallback);
    if (recorder->tracer->install == NULL && recorder->awake) {
        recorder->awake = false;
        clp_tracer_end(recorder, recorder->tracer);
    }
}

/* Ends the last change. */
static void end_changes(struct clp_recorder *recorder)
{
    if (recorder->may_rest && recorder->open == 0)
        rest(recorder);
    recorder->may_rest = false;
    clp_compat_collect_again(recorder->collects);
}

void clp_change_end(struct clp_recorder *recorder)
{
    struct clp_raised raised = clp_raised_take();

    if (recorder->held == 1)
        end_changes(recorder);
    recorder->held--;
    clp_raised_give(raised);
}
