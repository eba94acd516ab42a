/* SPDX-License-Identifier: MIT */
/* A table that describes the options of a command, one row for each. Parsing, --help, config files and the tables of
 * the documentation all come from it. */
#ifndef CLP_OPTION_TABLE_H
#define CLP_OPTION_TABLE_H

#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>

enum clp_option_kind {
    CLP_OPTION_ANSWER, /* bool; ends the options: --help, --version */
    CLP_OPTION_PLAIN,  /* bool; takes no value and has no --no- form */
    CLP_OPTION_MORE,   /* int; each use adds 1 */
    CLP_OPTION_LESS,   /* int; each use subtracts 1 */
    CLP_OPTION_SWITCH, /* bool: --name, --no-name, --name=yes */
    CLP_OPTION_MODE,   /* const char *, not empty; a "yes" stores `word`, a "no" and --no-name store "off" */
    CLP_OPTION_TEXT,   /* const char *, not empty */
    CLP_OPTION_BARE,   /* const char *: --name stores `word`, --name=TEXT the text, --no-name `no_word` */
    CLP_OPTION_LIST,   /* struct clp_text_list; each use adds a text */
    CLP_OPTION_NUMBER, /* double, finite and above zero; or what one of its words stands for */
    CLP_OPTION_PERIOD, /* double, 0 or more; `bare` when no number follows the option */
    CLP_OPTION_COUNT,  /* size_t */
    CLP_OPTION_SHARE,  /* double, a percentage: 0 to 100 */
    CLP_OPTION_TARGET  /* const char *; ends the options, as what follows belongs to the program */
};

struct clp_option {
    enum clp_option_kind kind;
    char letter;          /* 0: long form only */
    const char *name;     /* without dashes; NULL: short form only */
    const char *alias;    /* a second long name, without dashes; or NULL */
    const char *argument; /* the value's name in --help; NULL: --help shows no value */
    const char *word;     /* MODE: the text that "yes" stores; BARE: the text that --name stores */
    const char *no_word;  /* BARE: the text that --no-name stores; often NULL */
    double bare;          /* PERIOD: the value when no number follows; 0 stands for 1 */
    const char *standard; /* the default, as --help and the documentation show it; NULL: "no" */
    const char *help;     /* one line for --help; NULL: the option is hidden */
    const char *one_of;   /* TEXT, MODE, BARE: the values allowed, "a, b or c"; NULL: every value */
    /* TEXT, MODE, BARE, COUNT: checks a value. False with the end of a message ("needs .., not ..") appended to
     * `fault`. NULL: every value is good. */
    bool (*check)(const char *value, struct clp_buf *fault);
    /* NUMBER: sets *number by a word, such as "ms", and returns true. NULL: takes no words. `one_of` then says, for a
     * message, which values are allowed. */
    bool (*word_as_number)(const char *value, double *number);
    bool inverted;        /* SWITCH: the field is true when the switch is off; --help shows the --no- form */
    bool switches;        /* BARE: =yes is understood as --name, =no as --no-name */
    bool split;           /* LIST: commas separate the texts of a value; an empty value empties the list */
    bool never_in_file;   /* a config file cannot set the option */
    bool every_run;       /* of ckernprof: the option has an effect without -l, too */
    bool gate;            /* the exit status is the answer to the option */
    size_t field;         /* offset in the result */
};

/* Texts in the order given. The list owns them. `items` ends with a NULL; it is NULL when the list is empty. */
struct clp_text_list {
    char **items;
    size_t count;
};

struct clp_option_table {
    const struct clp_option *rows;
    size_t count;
};

struct clp_option_parser {
    struct clp_option_table table;
    int argc;
    char **argv;
    int at;              /* index in argv of the word at hand; after parsing, of the first word that is no option */
    bool ended;          /* the option at hand was the last one */
    char *into;          /* the result */
    const char *program; /* messages point to the --help of this program */
    struct clp_option_table others; /* options of another command, to recognise them in a message; may be empty */
    const char *others_of; /* the name of that other command, and what it does */
    const char *what;    /* what a message calls an option: "option", or "key" in a file */
    struct clp_buf *error; /* the one line of a complaint; lists of the result are made with its allocator */
};

#endif
