/* SPDX-License-Identifier: MIT */
/* Reads a command line, or the settings of a config file, by a table of options. The tables of the commands are in
 * options.c. Plain C. */
#ifndef CLP_OPTION_H
#define CLP_OPTION_H

#include "option_table.h"

/* Returns a parser that stands at argv[1]. It borrows all arguments; `into` is the result that the table's rows
 * describe, and holds the defaults. */
struct clp_option_parser clp_option_start(struct clp_option_table table, int argc, char **argv,
                                          void *into, struct clp_buf *error);

/* Is the word at parser->at an option? Steps over "--", which ends the options. */
bool clp_option_at_option(struct clp_option_parser *parser);

/* Parses the option at parser->at, and moves behind it. False with one line in parser->error. */
bool clp_option_parse_one(struct clp_option_parser *parser);

/* Parses options up to the first word that is none; parser->at is its index. False with one line in parser->error. */
bool clp_option_parse(struct clp_option_parser *parser);

/* Parses the whole command line. Options may stand between the other words, as with argparse. *words points to the
 * other words, which are moved to argv[1] and on. Moving exchanges elements, so argv keeps every element for its owner
 * to free. False with one line in parser->error. */
bool clp_option_parse_all(struct clp_option_parser *parser, char ***words, int *count);

/* Is the word a long option of the table, or one or more joined letters of its options? False for options that only
 * print an answer, such as --help. */
bool clp_option_is_spelled(struct clp_option_table table, const char *word);

/* Has the option's field in `result` the value that it has in `defaults`, another result of the same table? */
bool clp_option_is_default(const struct clp_option *option, const void *result, const void *defaults);

/* Empties each list of `into` for which `given`, another result of the same table, has values. So a list on the
 * command line replaces the config file's. */
void clp_option_replace_lists(struct clp_option_table table, void *into, const void *given,
                              struct clp_mem *mem);

/* One value of a key in a config file. */
enum clp_setting_type { CLP_SETTING_BOOL, CLP_SETTING_WHOLE, CLP_SETTING_NUMBER, CLP_SETTING_TEXT };

struct clp_setting {
    const char *key; /* an option's long name, with - or _ */
    enum clp_setting_type type;
    const char *value; /* as text, whatever the type */
    bool in_list; /* one of the values in the key's array */
};

/* Has the table an option of this name, written with - or _? */
bool clp_option_knows(struct clp_option_table table, const char *key);

/* Stores a setting of a config file in `into`, as if the option stood before all others on the command line. False
 * with one line in `error`. */
bool clp_option_set(struct clp_option_table table, const struct clp_setting *setting, void *into,
                    const char *program, struct clp_buf *error);

#endif
