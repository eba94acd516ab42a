/* SPDX-License-Identifier: MIT */
/* What follows an option: read, checked, and stored in the field that its row names. */
#ifndef CLP_OPTION_VALUE_H
#define CLP_OPTION_VALUE_H

#include "option_use.h"

/* Empties the list. */
void clp_text_list_clear(struct clp_text_list *list, struct clp_mem *mem);

/* Is a word of its own behind the option its value? */
bool clp_option_needs_value(const struct clp_option *option);

/* Is it yes or no, as in *on? NULL is yes. */
bool clp_option_read_switch(const char *value, bool *on);

/* --name of a CLP_OPTION_BARE, or --no-name. */
void clp_option_set_bare(struct clp_option_parser *parser, const struct clp_option_use *use, bool on);

/* Stores the value, NULL where none was given; an option that needs one always has it. False with one line in
 * parser->error. */
bool clp_option_store(struct clp_option_parser *parser, const struct clp_option_use *use,
                      const char *value);

/* Stores the value, or the next element when the option needs one and has none with it. What
 * starts with a dash is taken for a forgotten value: --outfile=-x says it is meant. */
bool clp_option_store_next(struct clp_option_parser *parser, const struct clp_option_use *use,
                           const char *value);

/* Is the next word of the command line a number? */
bool clp_option_number_follows(const struct clp_option_parser *parser);

#endif
