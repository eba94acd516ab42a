/* SPDX-License-Identifier: MIT */
/* The result of a pickle: plain values in two tables. A pickle can refer to what it made before, so one value
 * may be reached in many ways. Whoever walks through the values must limit the work by the number of items that
 * he has seen, not by the numbers in the file. */
#ifndef CLP_PICKLED_H
#define CLP_PICKLED_H

#include "base/buf.h"
#include "base/mem.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kinds of values, and what an error message calls them. */
#define CLP_PICKLED_TABLE(X)                       \
    X(UNSET, "nothing")                            \
    X(NONE, "None")                                \
    X(FLAG, "True or False")                       \
    X(NUMBER, "a whole number")                    \
    X(NEGATIVE, "a negative number")               \
    X(HUGE, "a number beyond 64 bits")             \
    X(REAL, "a float")                             \
    X(TEXT, "a text")                              \
    X(TUPLE, "a tuple")                            \
    X(LIST, "a list")                              \
    X(DICT, "a dict")                              \
    X(CLASS, "a class")                            \
    X(OBJECT, "an object")

#define CLP_PICKLED_NAME(kind, text) CLP_PICKLED_##kind,
enum clp_pickled_kind { CLP_PICKLED_TABLE(CLP_PICKLED_NAME) CLP_PICKLED_KINDS };
#undef CLP_PICKLED_NAME

/* The form of a text in the file, for clp_pickled.form. */
enum { CLP_FORM_UTF8, CLP_FORM_QUOTED, CLP_FORM_ESCAPED };

struct clp_pickled {
    unsigned char kind; /* enum clp_pickled_kind */
    unsigned char form; /* of a text: CLP_FORM_.. */
    uint32_t at;        /* offset in the file at which the value was made, for a fault */
    union {
        uint64_t number;
        double real;
        struct {
            uint32_t at, bytes; /* the text's place in the file, undecoded */
        } text;
        uint32_t node; /* of a container or an object: place in nodes */
        uint32_t name; /* of a class: which one (unpickle_objects.c) */
    } as;
};

/* A tuple, a list, a dict (keys and values alternate) or an object (one item, its state, once the state is
 * set). */
struct clp_pickled_node {
    uint32_t first, last; /* places in items; 0: there are none */
    uint32_t count;
    bool used; /* for the reader's own use */
};

struct clp_pickled_item {
    struct clp_pickled value;
    uint32_t next; /* 0: it is the last */
};

struct clp_unpickled {
    struct clp_mem *mem; /* borrowed */
    const char *bytes;   /* borrowed: the contents of the file */
    struct clp_pickled_node *nodes;
    size_t node_count, node_room;
    struct clp_pickled_item *items; /* items[0] is not used: place 0 means none */
    size_t item_count, item_room;
    struct clp_pickled root;
};

void clp_unpickled_clear(struct clp_unpickled *values);

/* The node of a container or an object. */
struct clp_pickled_node *clp_unpickled_node(const struct clp_unpickled *values,
                                            const struct clp_pickled *value);

/* The item at place *at; moves *at to the next one. NULL at the end. Start with node->first. */
const struct clp_pickled *clp_unpickled_next(const struct clp_unpickled *values, uint32_t *at);

/* Appends a text as UTF-8. Bytes that are no UTF-8 become \xNN, lone surrogates \uNNNN. False: the text has an
 * invalid escape sequence. */
bool clp_unpickled_add_text(const struct clp_unpickled *values, const struct clp_pickled *value,
                            struct clp_buf *out);

/* The kind of a value for an error message, such as "a dict". */
const char *clp_pickled_kind_text(const struct clp_pickled *value);

#endif
