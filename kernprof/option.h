/* SPDX-License-Identifier: MIT */
/* The machinery of a command line: one row per option, from which parsing, --help, config files and
 * the documentation's tables all come. Plain C; what the commands' rows are stands in options.c. */
#ifndef CLP_OPTION_H
#define CLP_OPTION_H

#include "../src/core/buf.h"
#include <stdbool.h>
#include <stddef.h>

enum clp_option_kind {
    CLP_OPTION_ANSWER, /* bool; nothing behind it is read: --help, --version */
    CLP_OPTION_PLAIN,  /* bool; neither a value nor a --no- form */
    CLP_OPTION_MORE,   /* int, one more each time */
    CLP_OPTION_LESS,   /* int, one less each time */
    CLP_OPTION_SWITCH, /* bool: --name, --no-name, --name=yes */
    CLP_OPTION_MODE,   /* as TEXT; yes is `word`, no and --no-name are "off" */
    CLP_OPTION_TEXT,   /* const char *, not empty */
    CLP_OPTION_BARE,   /* const char *: --name (then it is `word`), --name=TEXT; --no-name: NULL */
    CLP_OPTION_LIST,   /* struct clp_text_list; each use adds */
    CLP_OPTION_NUMBER, /* double, finite and above zero */
    CLP_OPTION_PERIOD, /* double, 0 or more; `bare` where no number follows */
    CLP_OPTION_COUNT,  /* size_t */
    CLP_OPTION_SHARE,  /* double, a percentage: 0 to 100 */
    CLP_OPTION_TARGET  /* a text, the last option: what follows belongs to the program */
};

struct clp_option {
    enum clp_option_kind kind;
    char letter;          /* 0: long form only */
    const char *name;     /* without dashes; NULL: short form only */
    const char *alias;    /* a second long name */
    const char *argument; /* what follows, as --help calls it */
    const char *word;     /* of a MODE: what yes stands for; of a BARE: the value */
    double bare;          /* of a PERIOD: its value where no number follows; 0: 1 */
    const char *standard; /* the default as --help and the documentation tell it; NULL: "no" */
    const char *help;     /* NULL: --help says nothing of it */
    /* Of a TEXT, MODE or COUNT: false, and what is wrong ("needs .., not ..") appended, when it cannot be meant. */
    bool (*check)(const char *value, struct clp_buf *fault);
    bool inverted;        /* the field is true when the switch is off; --help shows the --no- form */
    bool switches;        /* a BARE: =yes and =no are understood */
    bool split;           /* a LIST: a value is several, parted by commas; '' empties the list */
    bool never_in_file;   /* means nothing in a config file */
    size_t field;         /* offset in the result */
};

/* Texts in the order given. Owned; NULL when empty, else ended by a NULL. */
struct clp_text_list {
    char **items;
    size_t count;
};

void clp_text_list_clear(struct clp_text_list *list, struct clp_mem *mem);

struct clp_option_table {
    const struct clp_option *rows;
    size_t count;
};

struct clp_option_parser {
    struct clp_option_table table;
    int argc;
    char **argv;
    int at;              /* the element of argv at hand; where parsing stopped */
    bool ended;          /* no options behind it */
    char *into;          /* the result */
    const char *program; /* whose --help messages point to */
    struct clp_option_table others; /* of another command, whose options may be meant; or none */
    const char *others_of; /* its name, and what it does */
    const char *what;    /* what a message calls an option: "option", or "key" in a file */
    struct clp_buf *error; /* lists use its allocator */
};

/* At argv[1]. */
struct clp_option_parser clp_option_start(struct clp_option_table table, int argc, char **argv,
                                          void *into, struct clp_buf *error);

/* Parses up to the first element that is no option. False with one line in parser->error. */
bool clp_option_parse(struct clp_option_parser *parser);

/* Is the word an option, or several letters of one, that does more than answer? */
bool clp_option_is_spelled(struct clp_option_table table, const char *word);

/* How many letters must be changed, added, taken out or exchanged with the next to make one name of the other.
 * SIZE_MAX: more than the slips that a name of this length may have. Both without dashes at their start. */
size_t clp_option_slips(const char *text, size_t bytes, const char *name);

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

/* The rows as --help shows them, and as a Markdown table. */
void clp_option_help(struct clp_option_table table, struct clp_buf *out);
void clp_option_page(struct clp_option_table table, struct clp_buf *out);

#endif
