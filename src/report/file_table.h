/* SPDX-License-Identifier: MIT */
/* Prints whole files: a table for each file of the chosen functions, with the lines of all of them (file_listing.h). A
 * line that holds code and never ran has 0 hits, a line without code has none. */
#ifndef CLP_FILE_TABLE_H
#define CLP_FILE_TABLE_H

#include "choice.h"
#include "fold.h"
#include "table.h"

struct clp_file_tables {
    const struct clp_profile *profile; /* all pointers are borrowed */
    const struct clp_choice *choice;
    const struct clp_choice_options *options;
    struct clp_fold *fold;    /* its width is set */
    double min_percent;       /* these three as in struct clp_report_options */
    const char *folder;
    const struct clp_drain *drain;
};

/* Appends the tables to table->out. On CLP_NO_MEMORY table->out may hold a part of them. */
clp_status clp_file_tables_add(const struct clp_file_tables *tables, struct clp_table *table);

#endif
