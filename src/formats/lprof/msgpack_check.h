/* SPDX-License-Identifier: MIT */
/* Moves over msgpack without allocating: is it one item after the other, not too deep, and does no
 * header promise more than there is? */
#ifndef CLP_MSGPACK_CHECK_H
#define CLP_MSGPACK_CHECK_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLP_MSGPACK_CHECK_DEPTH 16
/* About five million lines with every measure. The message names this number. */
#define CLP_MSGPACK_CHECK_ITEMS ((uint64_t)1 << 26)

struct clp_msgpack_check {
    const unsigned char *bytes;
    size_t count, at;
    uint64_t items; /* seen so far */
    struct clp_fault *fault;
};

/* The beginning of an item. What follows it: nothing, the bytes of a text, or other items. */
struct clp_msgpack_check_head {
    enum { CLP_MSGPACK_PLAIN, CLP_MSGPACK_TEXT, CLP_MSGPACK_ARRAY, CLP_MSGPACK_MAP } kind;
    size_t start;   /* of the item */
    size_t body;    /* of a text's bytes */
    uint64_t count; /* bytes of a text, items of an array, pairs of a map */
};

/* Reads the head at walk->at and moves behind it and its body; the items of a container follow. On failure the
 * walk has not moved, and its fault says where and why. */
clp_status clp_msgpack_check_head(struct clp_msgpack_check *walk, struct clp_msgpack_check_head *head);

/* Reads the whole number at walk->at and moves behind it; *value holds the bits of a negative one. False:
 * it is none. Only of bytes that have been walked over. */
bool clp_msgpack_check_number(struct clp_msgpack_check *walk, uint64_t *value, bool *negative);

/* Moves over one item and all in it. On failure the fault says where and why. */
clp_status clp_msgpack_check_item(struct clp_msgpack_check *walk);

#endif
