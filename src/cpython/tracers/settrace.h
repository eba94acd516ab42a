/* SPDX-License-Identifier: MIT */
/* The settrace tracer, for every version. `with` blocks use the trace function of single threads, too. */
#ifndef CLP_SETTRACE_H
#define CLP_SETTRACE_H

#include "tracer.h"

extern const struct clp_tracer clp_tracer_settrace;

/* For blocks: start and end the events of the running thread. Call clp_settrace_end_here as often as
 * clp_settrace_begin_here. Events end with the last call, where nobody else wants them. */
void clp_settrace_begin_here(struct clp_recorder *recorder);
void clp_settrace_end_here(const struct clp_recorder *recorder);

#endif
