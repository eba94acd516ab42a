/* SPDX-License-Identifier: MIT */
/* The monitoring tracer: sys.monitoring, CPython 3.12 and newer. */
#ifndef CLP_MONITORING_H
#define CLP_MONITORING_H

#include "tracer.h"

#if CLP_HAS_MONITORING

extern const struct clp_tracer clp_tracer_monitoring;

/* Lets other tools watch in the code object `to` what they watch in `from` through sys.monitoring. False with
 * an exception set. */
bool clp_monitoring_carry(const struct clp_recorder *recorder, PyObject *from, PyObject *to);

/* Tells the tracer, where it is on, that another tool id of ours watches lines of all code. */
void clp_monitoring_give_way(const struct clp_recorder *recorder);

#else

static inline bool clp_monitoring_carry(const struct clp_recorder *recorder, PyObject *from,
                                        PyObject *to)
{
    (void)recorder, (void)from, (void)to;
    return true;
}

#endif
#endif
