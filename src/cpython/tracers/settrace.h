/* SPDX-License-Identifier: MIT */
/* The settrace tracer, for every version. Others may want the trace function of single threads, too. */
#ifndef CLP_SETTRACE_H
#define CLP_SETTRACE_H

#include "tracer.h"

extern const struct clp_tracer clp_tracer_settrace;

/* For blocks: the running thread's events come from now on, or no more where nobody else wants them. As often as
 * the one, the other. */
void clp_settrace_begin_here(struct clp_recorder *recorder);
void clp_settrace_end_here(const struct clp_recorder *recorder);

#endif
