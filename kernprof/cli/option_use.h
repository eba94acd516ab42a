/* SPDX-License-Identifier: MIT */
/* An option as the user spelled it: one row may be meant by several names. And what is said of it. */
#ifndef CLP_OPTION_USE_H
#define CLP_OPTION_USE_H

#include "option_table.h"

#define CLP_OPTION_NAME 48 /* bytes: more than the longest spelling of any option */

struct clp_option_use {
    const struct clp_option *option;
    enum { CLP_USE_NAME, CLP_USE_NEGATIVE, CLP_USE_ALIAS } form;
    char shown[CLP_OPTION_NAME];
};

/* Writes into `shown` what the row's long name is in this form. */
void clp_option_use_spell(struct clp_option_use *use);

/* Moves to the row's next spelling; false when it has no more. */
bool clp_option_use_next_form(struct clp_option_use *use);

/* Steps through all long spellings: true with the one behind *use, from {0} to the last. */
bool clp_option_use_next(struct clp_option_table table, struct clp_option_use *use);

/* How many letters must be changed, added, taken out or exchanged with the next to make one name of the other.
 * SIZE_MAX: more than the slips that a name of this length may have. Both without dashes at their start. */
size_t clp_option_slips(const char *text, size_t bytes, const char *name);

/* Does it take a number? */
bool clp_option_is_number(const struct clp_option *option);

/* Does the option have a --no- form on the command line? */
bool clp_option_has_negative(const struct clp_option *option);

/* The lines in parser->error, which point to --help; false, for the caller to return. clp_option_complain_of_value:
 * what would be right, and what was given. */
bool clp_option_point_to_help(struct clp_option_parser *parser);
bool clp_option_complain_of(struct clp_option_parser *parser, const struct clp_option_use *use,
                            const char *what);
bool clp_option_complain_of_value(struct clp_option_parser *parser, const struct clp_option_use *use,
                                  const char *wanted, const char *value);
bool clp_option_complain_of_lack(struct clp_option_parser *parser, const struct clp_option_use *use);

#endif
