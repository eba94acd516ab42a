/* SPDX-License-Identifier: MIT */
/* What comes out of a pickle: plain values in two tables. A value may be reached in many ways (a pickle can
 * name what it made before), so whoever walks them must not trust their number, only that of the
 * items he has seen. */
#ifndef CLP_PICKLED_H
#define CLP_PICKLED_H

#include "base/buf.h"
#include "base/mem.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kinds of values, and what a complaint calls them. */
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

/* How a text is written: clp_pickled.form. */
enum { CLP_FORM_UTF8, CLP_FORM_QUOTED, CLP_FORM_ESCAPED };

struct clp_pickled {
    unsigned char kind; /* enum clp_pickled_kind */
    unsigned char form; /* of a text: CLP_FORM_.. */
    uint32_t at;        /* where in the file it was made, for a fault */
    union {
        uint64_t number;
        double real;
        struct {
            uint32_t at, bytes; /* as it stands in the file */
        } text;
        uint32_t node; /* of containers and objects */
        uint32_t name; /* of a class: which */
    } as;
};

/* A tuple, list or dict (keys and values by turns), or an object (its state, once it has one). */
struct clp_pickled_node {
    uint32_t first, last; /* places in items; 0: there are none */
    uint32_t count;
    bool used; /* the caller's own mark */
};

struct clp_pickled_item {
    struct clp_pickled value;
    uint32_t next; /* 0: the last one */
};

struct clp_unpickled {
    struct clp_mem *mem; /* borrowed */
    const char *bytes;   /* borrowed: the file */
    struct clp_pickled_node *nodes;
    size_t node_count, node_room;
    struct clp_pickled_item *items; /* the first one stands for none */
    size_t item_count, item_room;
    struct clp_pickled root;
};

void clp_unpickled_clear(struct clp_unpickled *values);

/* The node of a container or an object. */
struct clp_pickled_node *clp_unpickled_node(const struct clp_unpickled *values,
                                            const struct clp_pickled *value);

/* The item at *at, which is then that of the next; NULL at the end. Start with node->first. */
const struct clp_pickled *clp_unpickled_next(const struct clp_unpickled *values, uint32_t *at);

/* Appends a text as UTF-8; what is none in it comes as \xNN, lone surrogates as \uNNNN. False when
 * an escape sequence in it makes no sense. */
bool clp_unpickled_add_text(const struct clp_unpickled *values, const struct clp_pickled *value,
                            struct clp_buf *out);

/* "a dict": for a complaint. */
const char *clp_pickled_kind_text(const struct clp_pickled *value);

#endif
