/* SPDX-License-Identifier: MIT */
/* Events of open blocks on CPython 3.10 and 3.11: from the thread's trace function, while a block is open. */
#include "block_source.h"
#include "block_trace.h"
#include "settrace.h"

#if !CLP_HAS_MONITORING

bool clp_blocks_watch(struct clp_stay *stay, PyObject *code)
{
    (void)code;
    stay->source = clp_blocks_begin_trace(stay->recorder, PyThreadState_Get());
    if (stay->source != NULL)
        clp_settrace_begin_here(stay->recorder);
    return stay->source != NULL;
}

void clp_blocks_unwatch(struct clp_stay *stay)
{
    struct clp_traced *traced = stay->source;

    traced->open--;
    clp_settrace_end_here(stay->recorder);
}

void clp_blocks_unwatch_code(struct clp_recorder *recorder, PyObject *code)
{
    (void)recorder, (void)code;
}

void clp_blocks_unwatch_all(struct clp_recorder *recorder)
{
    (void)recorder;
}

#endif
