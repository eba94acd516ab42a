/* SPDX-License-Identifier: MIT */
/* A table of options for people. */
#ifndef CLP_OPTION_HELP_H
#define CLP_OPTION_HELP_H

#include "option_table.h"

/* The rows as --help shows them, and as a Markdown table. */
void clp_option_help(struct clp_option_table table, struct clp_buf *out);
void clp_option_page(struct clp_option_table table, struct clp_buf *out);

#endif
