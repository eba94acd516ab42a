/* SPDX-License-Identifier: MIT */
/* The tracers that this interpreter has. */
#ifndef CLP_TRACERS_H
#define CLP_TRACERS_H

#include "tracer.h"

/* All tracers, in order of preference, ended by NULL. */
extern const struct clp_tracer *const clp_tracers[];

/* The tracer of this name; NULL with a ValueError set. */
const struct clp_tracer *clp_tracer_named(const char *name);

#endif
