/* SPDX-License-Identifier: MIT */
/* Writes a table of options for people to read. */
#ifndef CLP_OPTION_HELP_H
#define CLP_OPTION_HELP_H

#include "option_table.h"

/* Appends the rows as --help shows them. */
void clp_option_help(struct clp_option_table table, struct clp_buf *out);

/* Appends the rows as a Markdown table, for docs/options.md. */
void clp_option_page(struct clp_option_table table, struct clp_buf *out);

#endif
