/* SPDX-License-Identifier: MIT */
/* Checks msgpack without allocating: is it one item after the other, not nested too deeply, and does no header
 * promise more than there is? */
#ifndef CLP_MSGPACK_CHECK_H
#define CLP_MSGPACK_CHECK_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLP_MSGPACK_CHECK_DEPTH 16 /* levels of nesting */
/* About five million lines with every measure. The error message names this number. */
#define CLP_MSGPACK_CHECK_ITEMS ((uint64_t)1 << 26)

struct clp_msgpack_check {
    const unsigned char *bytes;
    size_t count, at;
    uint64_t items; /* items seen so far */
    struct clp_fault *fault;
};

/* The head of an item. Behind it comes nothing (PLAIN: its bytes are skipped), the bytes of a text, or other
 * items. */
struct clp_msgpack_check_head {
    enum { CLP_MSGPACK_PLAIN, CLP_MSGPACK_TEXT, CLP_MSGPACK_ARRAY, CLP_MSGPACK_MAP } kind;
    size_t start;   /* offset of the item */
    size_t body;    /* offset of a text's bytes */
    uint64_t count; /* bytes of a text, items of an array, pairs of a map */
};

/* Reads the head at check->at, and moves behind it and its bytes; the items of a container come next. On
 * failure the position has not moved, and the fault says where and why. */
clp_status clp_msgpack_check_head(struct clp_msgpack_check *check, struct clp_msgpack_check_head *head);

/* Reads the whole number at check->at and moves behind it. *value holds the bits of a negative number. False:
 * the item is no whole number. The bytes must have been checked before. */
bool clp_msgpack_check_number(struct clp_msgpack_check *check, uint64_t *value, bool *negative);

/* Checks one item and all items in it, and moves behind them. On failure the fault says where and why. */
clp_status clp_msgpack_check_item(struct clp_msgpack_check *check);

#endif
