/* SPDX-License-Identifier: MIT */
/* Prints a report, for the viewer and for ckernprof -v. */
#ifndef CLP_PRINT_REPORT_H
#define CLP_PRINT_REPORT_H

#include "report/memory_table.h"
#include "report/report.h"
#include "cpython/compat/compat.h"

struct clp_print_options {
    const char *name; /* the command, for messages on stderr */
    const char *outfile; /* the file that is written; NULL: standard output */
    const char *color; /* --color; NULL: auto; a file gets no colours */
    bool rich;        /* says so where the package rich is missing */
    PyObject *path;   /* where the package rich is looked for, borrowed; NULL: sys.path */
    bool mp;          /* memory_profiler's table in place of the report */
    struct clp_memory_table_options table;
    const char *note; /* a line below the report; or NULL */
    bool processes, ranks, spread; /* tables of the processes, of ranks, and of lines that differ, below the note */
    const char *heading; /* a line above the report; or NULL */
    /* `folder` is ignored: it is the working directory. `unit` may be CLP_UNIT_USUAL. */
    struct clp_report_options options;
};

/* Prints the profile. Returns the exit code: 1 when that failed, which stderr has been told. */
int clp_print_report(const struct clp_profile *profile, const struct clp_print_options *print);

/* Says on stderr when the options' patterns match no function of a profile that has some. A pattern with a
 * typing error must not look like an empty profile. */
void clp_print_if_none_chosen(const char *name, const struct clp_profile *profile,
                              const struct clp_choice_options *options);

#endif
