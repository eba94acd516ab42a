/* SPDX-License-Identifier: MIT */
/* Adds what matters first to a report for people at a terminal: the lines with the most self time of all, one sentence
 * on memory and one on waiting. */
#ifndef CLP_HOTTEST_H
#define CLP_HOTTEST_H

#include "choice.h"
#include "table.h"

#define CLP_HOTTEST_LINES 5

struct clp_hottest {
    const struct clp_profile *profile; /* all pointers are borrowed */
    const struct clp_choice *choice;
    const struct clp_choice_options *options;
    const char *folder; /* as in struct clp_report_options */
    bool lines;         /* with the list of lines; false: only the sentences */
    bool memory;        /* does the report show memory? */
};

/* Appends to table->out; table->whole must be set. On CLP_NO_MEMORY table->out may hold a part of the text. */
clp_status clp_hottest_add(const struct clp_hottest *hottest, struct clp_table *table);

#endif
