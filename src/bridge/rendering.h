/* SPDX-License-Identifier: MIT */
/* A profile as a report or as a file, for Python to show or to write. */
#ifndef CLP_RENDERING_H
#define CLP_RENDERING_H

#include "profile/profile.h"
#include "cpython/compat/compat.h"

struct clp_rendering {
    const char *format;  /* "text" (the report, a str), "mp" (memory_profiler's table, a str), "lprof" or
                          * "line_profiler" (the bytes of a file) */
    double unit;         /* seconds per unit of the report's times */
    int skip_zero;       /* without functions that never ran */
    const char *command; /* what ran, for readers of a file */
    const char *bytes;   /* of a .lprof file: what is rendered instead; or NULL */
    Py_ssize_t count;    /* of them */
    /* of the report */
    int sort, details, summarize, memory, marked; /* see struct clp_report_options */
    const char *folder;
};

/* Before anything is counted or copied: are there such a format and such a unit? False with ValueError set. */
bool clp_rendering_check(const struct clp_rendering *rendering);

/* Renders what was counted, which gets the command; or, into this empty profile, the `bytes`. A new reference;
 * ValueError when they are none of a profile, and for "mp" without memory. */
PyObject *clp_rendering_make(struct clp_profile *counted, const struct clp_rendering *rendering);

/* Renders a profile as clp_rendering_make does; `command` and `bytes` are not looked at. */
PyObject *clp_rendering_of(const struct clp_profile *profile, const struct clp_rendering *rendering);

#endif
