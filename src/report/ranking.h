/* SPDX-License-Identifier: MIT */
/* Prints one table of the hottest lines of all chosen functions, the hottest first: file and line, function, the
 * columns, the line's text. */
#ifndef CLP_RANKING_H
#define CLP_RANKING_H

#include "choice.h"
#include "table.h"

struct clp_ranking {
    const struct clp_profile *profile;        /* all pointers are borrowed */
    const struct clp_choice *choice;          /* the functions whose lines are ranked */
    const struct clp_choice_options *options;
    size_t most;                              /* the most lines that the table shows */
    const char *folder;                       /* as in struct clp_report_options */
    bool bare;                                /* adds neither the heading nor the empty lines around the table */
};

/* Appends the heading and the table to table->out. On CLP_NO_MEMORY table->out may hold a part of them. */
clp_status clp_ranking_add(const struct clp_ranking *ranking, struct clp_table *table);

#endif
