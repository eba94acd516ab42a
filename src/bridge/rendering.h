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
    double unit;         /* seconds per unit of the report's times */
    int skip_zero;       /* leaves out functions that never ran */
    const char *command; /* the command that ran, for readers of the file */
    const char *bytes;   /* bytes of a .lprof file, which is rendered instead; or NULL */
    Py_ssize_t count;    /* number of `bytes` */
    /* Options of the report. */
    int sort, details, summarize, memory, marked; /* see struct clp_report_options */
    const char *folder;
};

/* Are the format and the unit valid? Serves to find out before anything is counted or copied. False with
 * ValueError set. */
bool clp_rendering_check(const struct clp_rendering *rendering);

/* Renders the profile `counted`, which gets the command. If there are `bytes`, they are read into `counted`,
 * which must be empty then, and rendered. A new reference. ValueError when the bytes are no profile, and for
 * "mp" when the profile has no memory. */
PyObject *clp_rendering_make(struct clp_profile *counted, const struct clp_rendering *rendering);

/* Renders a profile as clp_rendering_make does, but ignores `command` and `bytes`. */
PyObject *clp_rendering_of(const struct clp_profile *profile, const struct clp_rendering *rendering);

#endif
