/* SPDX-License-Identifier: MIT */
/* Reads a command line, or the settings of a config file, by a table of options. Plain C; what the commands' rows
 * are stands in options.c. */
#ifndef CLP_OPTION_H
#define CLP_OPTION_H

#include "option_table.h"

/* At argv[1]. */
struct clp_option_parser clp_option_start(struct clp_option_table table, int argc, char **argv,
                                          void *into, struct clp_buf *error);

/* Parses up to the first element that is no option. False with one line in parser->error. */
bool clp_option_parse(struct clp_option_parser *parser);

/* Parses the whole line: options may stand between the other words, as argparse lets them. *words are these, exchanged
 * to the front of argv[1..), so that every element of argv stays there for whoever has to free it. False as above. */
bool clp_option_parse_all(struct clp_option_parser *parser, char ***words, int *count);

/* Is the word an option, or several letters of one, that does more than answer? */
bool clp_option_is_spelled(struct clp_option_table table, const char *word);

/* Empties the lists in `into` that are not empty in `given`, a result of the same table. */
void clp_option_replace_lists(struct clp_option_table table, void *into, const void *given,
                              struct clp_mem *mem);

/* A line of a config file. Numbers come as texts. */
enum clp_setting_type { CLP_SETTING_BOOL, CLP_SETTING_WHOLE, CLP_SETTING_NUMBER, CLP_SETTING_TEXT };

struct clp_setting {
    const char *key; /* an option's long name, with - or _ */
    enum clp_setting_type type;
    const char *value;
    bool in_list; /* one of several values of the key */
};

/* Is there a row for this key? */
bool clp_option_knows(struct clp_option_table table, const char *key);

/* As if the option stood first on the command line. False with one line in `error`. */
bool clp_option_set(struct clp_option_table table, const struct clp_setting *setting, void *into,
                    const char *program, struct clp_buf *error);

#endif
