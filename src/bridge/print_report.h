/* SPDX-License-Identifier: MIT */
/* Prints a report, as the viewer and as ckernprof -v do. */
#ifndef CLP_PRINT_REPORT_H
#define CLP_PRINT_REPORT_H

#include "report/memory_table.h"
#include "report/report.h"
#include "cpython/compat/compat.h"

struct clp_print_options {
    const char *name; /* who complains */
    const char *outfile; /* where it goes; NULL: standard output */
    bool rich;        /* in colours, which a file does not get */
    PyObject *path;   /* where rich is looked for, borrowed; NULL: sys.path */
    bool mp;          /* memory_profiler's table in place of the report */
    struct clp_memory_table_options table;
    const char *note; /* a line below the report; or NULL */
    struct clp_report_options options; /* the folder is the working directory, whatever it says */
};

/* The exit code: 1 when that could not be done, which has been told. */
int clp_print_report(const struct clp_profile *profile, const struct clp_print_options *show);

/* A pattern with a slip in it shall not pass for an empty profile. */
void clp_print_if_none_chosen(const char *name, const struct clp_profile *profile,
                              const struct clp_choice_options *options);

#endif
