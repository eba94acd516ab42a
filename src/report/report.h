/* SPDX-License-Identifier: MIT */
/* Prints a profile as text: one annotated table per function, or one table of the hottest lines of all functions.
 *
 * Or there is one table for each file.
 *
 * The table of a function without memory is line_profiler's table, equal to the character. With memory the table
 * has two more columns (Mem usage, Increment). The caller can also choose the columns. The line number always
 * stands first, the line's text always last. */
#ifndef CLP_REPORT_H
#define CLP_REPORT_H

#include "base/buf.h"
#include "choice.h"
#include "columns.h"
#include "profile/profile.h"
#include "unit.h"

enum clp_report_tables {
    CLP_TABLES_USUAL,     /* for each function; clp_report_suits_files says where a terminal gets CLP_TABLES_FILES */
    CLP_TABLES_FUNCTIONS, /* for each function */
    CLP_TABLES_FILES,     /* for each file (file_table.h) */
};

/* Are garbage collections an item of their own: a column, and a row below the lines, whose times leave them out? */
enum clp_report_gc {
    CLP_GC_USUAL, /* where the column is asked for; in a marked report also where it tells something */
    CLP_GC_APART,
    CLP_GC_WITHIN /* no; a column that is asked for shows them all the same */
};

struct clp_report_options {
    double unit;           /* seconds per unit of the Time column, or CLP_UNIT_AUTO; 1e-6 is the default */
    struct clp_choice_options choice;
    struct clp_columns columns; /* no columns: the default columns */
    struct clp_widths widths;
    bool self;             /* adds the columns of self time and self memory to the default columns */
    enum clp_report_gc gc;
    size_t lines;          /* not 0: one table of at most so many lines, the hottest first */
    enum clp_report_tables tables; /* ignored with `lines` */
    /* Folds rows below this many percent, and the rows without data next to them; 0: folds nothing. A row is below
     * when its share of the function's time is, and also its share of the memory that the function's lines add and
     * give back. A running line and the head of the function (decorators and def) are never folded. */
    double min_percent;
    bool no_details;       /* leaves the tables out, so that the summary remains */
    bool summarize;        /* -m: one line per function at the end */
    bool no_memory;        /* the table without memory, although the profile has memory */
    bool footer;           /* the footer also below a table without memory; below one with memory it always stands */
    bool footer_details;   /* the footer tells the tracer, its events and the reads of memory */
    bool marked;           /* puts in the marks for colours: see table.h */
    bool hottest;          /* puts the hottest lines, and sentences on memory and waiting, above the tables (hottest.h) */
    const char *folder;    /* borrowed; file names under this folder are shown relative to it; NULL: in full */
    struct clp_drain drain;
};

struct clp_report_options clp_report_defaults(void);

/* Are whole files the better report? They are if nobody chose the tables, some functions or some columns, and whole
 * modules are selected, whose bodies are functions of the profile. */
bool clp_report_suits_files(const struct clp_profile *profile, const struct clp_report_options *options);

/* Appends the whole report to `out`. With a drain, long text is written out on the way, and `out` keeps the rest.
 * On CLP_NO_MEMORY `out` holds a part of the report. */
clp_status clp_report_text(const struct clp_profile *profile,
                           const struct clp_report_options *options, struct clp_buf *out);

#endif
