/* SPDX-License-Identifier: MIT */
/* What a command line is described by: one row per option, from which parsing, --help, config files and the
 * documentation's tables all come. */
#ifndef CLP_OPTION_TABLE_H
#define CLP_OPTION_TABLE_H

#include "base/buf.h"
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
    const char *one_of;   /* of a TEXT, MODE or BARE: the values that there are, "a, b or c"; NULL: any */
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

#endif
