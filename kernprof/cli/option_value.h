/* SPDX-License-Identifier: MIT */
/* Reads and checks the value of an option, and stores it in the field of the result that the option's row names. */
#ifndef CLP_OPTION_VALUE_H
#define CLP_OPTION_VALUE_H

#include "option_use.h"

/* Frees the texts and the list, which is empty then. `mem` is the allocator that made them. */
void clp_text_list_clear(struct clp_text_list *list, struct clp_mem *mem);

/* Must the option have a value? Then the next word of the command line is the value when none is joined to the
 * option. */
bool clp_option_needs_value(const struct clp_option *option);

/* Reads "yes", "no", "on", "off", "1", "0" and the like into *on, in any case. NULL is yes. Returns false, with
 * *on false, when the value is none of these words. */
bool clp_option_read_switch(const char *value, bool *on);

/* Stores what --name (`on`) or --no-name of a CLP_OPTION_BARE means. */
void clp_option_set_bare(struct clp_option_parser *parser, const struct clp_option_use *use, bool on);

/* Stores a value of the option. `value` is NULL when none was given, which must not be for an option that needs a
 * value. False with one line in parser->error. */
bool clp_option_store(struct clp_option_parser *parser, const struct clp_option_use *use,
                      const char *value);

/* Stores the value that is joined to the option, or, when there is none (NULL) and the option needs one, the next
 * word of the command line. A next word that starts with a dash is an error, as the value was probably forgotten;
 * such a value can be given as --outfile=-x. False with one line in parser->error. */
bool clp_option_store_next(struct clp_option_parser *parser, const struct clp_option_use *use,
                           const char *value);

/* Is the next word of the command line a number? */
bool clp_option_number_follows(const struct clp_option_parser *parser);

#endif
