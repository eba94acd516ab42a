/* SPDX-License-Identifier: MIT */
/* The spellings of an option (--name, --no-name, --alias), and the messages that name one. */
#ifndef CLP_OPTION_USE_H
#define CLP_OPTION_USE_H

#include "option_table.h"

#define CLP_OPTION_NAME 48 /* bytes: more than the longest spelling of any option */

struct clp_option_use {
    const struct clp_option *option;
    enum { CLP_USE_NAME, CLP_USE_NEGATIVE, CLP_USE_ALIAS } form;
    char shown[CLP_OPTION_NAME]; /* the spelling in this form, for messages: "--no-memory", "-o" */
};

/* Writes the option's long name in use->form into use->shown. */
void clp_option_use_spell(struct clp_option_use *use);

/* Moves use->form to the option's next spelling, without writing use->shown. False when there is no further one. */
bool clp_option_use_next_form(struct clp_option_use *use);

/* Moves *use to the next long spelling in the table, {0} to the first. False behind the last. */
bool clp_option_use_next(struct clp_option_table table, struct clp_option_use *use);

/* Does the option need a number? False for a PERIOD, whose number may be left out. */
bool clp_option_is_number(const struct clp_option *option);

/* Does the option have a --no- form on the command line? */
bool clp_option_has_negative(const struct clp_option *option);

/* Each of these four functions appends to the message in parser->error, ends it with "; see PROGRAM --help", and
 * returns false, for its caller to return. */

/* Appends the pointer to --help alone. */
bool clp_option_point_to_help(struct clp_option_parser *parser);

/* "option '--name' WHAT" */
bool clp_option_complain_of(struct clp_option_parser *parser, const struct clp_option_use *use,
                            const char *what);

/* "option '--name' needs WANTED, not 'VALUE'" */
bool clp_option_complain_of_value(struct clp_option_parser *parser, const struct clp_option_use *use,
                                  const char *wanted, const char *value);

/* "option '--name' needs a FILE", for an option without its value. */
bool clp_option_complain_of_lack(struct clp_option_parser *parser, const struct clp_option_use *use);

#endif
