/* SPDX-License-Identifier: MIT */
#include "tracers.h"
#include "monitoring.h"
#include "probe.h"
#include "settrace.h"

const struct clp_tracer *const clp_tracers[] = {
#if CLP_HAS_PROBES
    &clp_tracer_probe,
#endif
#if CLP_HAS_MONITORING
    &clp_tracer_monitoring,
#endif
    &clp_tracer_settrace,
    NULL,
};

const struct clp_tracer *clp_tracer_named(const char *name)
{
    for (size_t i = 0; clp_tracers[i] != NULL; i++) {
        if (strcmp(clp_tracers[i]->name, name) == 0)
            return clp_tracers[i];
    }
    PyErr_Format(PyExc_ValueError, "CPython %d.%d has no tracer '%s'", PY_MAJOR_VERSION,
                 PY_MINOR_VERSION, name);
    return NULL;
}
