/* SPDX-License-Identifier: MIT */
/* The probe tracer: CPython 3.11 and newer. */
#ifndef CLP_PROBE_H
#define CLP_PROBE_H

#include "tracer.h"

#if CLP_HAS_PROBES
extern const struct clp_tracer clp_tracer_probe;
#endif

#endif
