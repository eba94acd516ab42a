/* SPDX-License-Identifier: MIT */
/* One table of the lines that matter most, of whatever function: file and line, function, the columns,
 * the text. A ranking begins with its first. */
#ifndef CLP_RANKING_H
#define CLP_RANKING_H

#include "choice.h"
#include "table.h"

struct clp_ranking {
    const struct clp_profile *profile;
    const struct clp_choice *choice; /* the functions */
    const struct clp_choice_options *options;
    size_t most; /* lines */
    const char *folder; /* as in clp_report_options */
};

/* Appends heading and table to table->out. */
clp_status clp_ranking_add(const struct clp_ranking *ranking, struct clp_table *table);

#endif
