/* SPDX-License-Identifier: MIT */
/* Renders a profile as a report or as a file, for Python to show or to write. */
#ifndef CLP_RENDERING_H
#define CLP_RENDERING_H

#include "profile/profile.h"
#include "cpython/compat/compat.h"

struct clp_rendering {
    /* "text" (the report, a str), "mp" (memory_profiler's table, a str), "lprof" or "line_profiler" (the bytes
     * of a file). */
    const char *format;
    double unit;         /* seconds per unit of the report's times, or CLP_UNIT_AUTO */
    int skip_zero;       /* leaves out functions that never ran */
    const char *command; /* the command that ran, for readers of the file */
    /* Options of the report. */
    int sort, details, summarize, memory, marked; /* see struct clp_report_options */
    const char *folder;
};

/* Reads render()'s arguments: the format, and what is told in the documentation of Profiler.render. Texts are
 * borrowed from the arguments. False with TypeError or, for a format or unit that there is none, ValueError set. */
bool clp_rendering_read(struct clp_rendering *rendering, PyObject *arguments, PyObject *keywords);

/* Renders a profile, which has its command already. A new reference; ValueError for "mp" without memory. */
PyObject *clp_rendering_of(const struct clp_profile *profile, const struct clp_rendering *rendering);

#endif
