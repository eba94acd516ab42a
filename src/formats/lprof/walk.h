/* SPDX-License-Identifier: MIT */
/* Moves over msgpack without allocating: is it one item after the other, not too deep, and does no
 * header promise more than there is? */
#ifndef CLP_WALK_H
#define CLP_WALK_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLP_WALK_DEPTH 16
#define CLP_WALK_ITEMS ((uint64_t)1 << 26) /* the message names it; about five million lines with every measure */

struct clp_walk {
    const unsigned char *bytes;
    size_t count, at;
    uint64_t items; /* seen so far */
    struct clp_fault *fault;
};

/* The beginning of an item. What follows it: nothing, the bytes of a text, or other items. */
struct clp_walk_head {
    enum { CLP_WALK_PLAIN, CLP_WALK_TEXT, CLP_WALK_ARRAY, CLP_WALK_MAP } kind;
    size_t start;   /* of the item */
    size_t body;    /* of a text's bytes */
    uint64_t count; /* bytes of a text, items of an array, pairs of a map */
};

/* Reads the head at walk->at and moves behind it and its body; the items of a container follow. On failure the
 * walk has not moved, and its fault says where and why. */
clp_status clp_walk_head(struct clp_walk *walk, struct clp_walk_head *head);

/* Reads the whole number at walk->at and moves behind it; *value holds the bits of a negative one. False:
 * it is none. Only of bytes that have been walked over. */
bool clp_walk_number(struct clp_walk *walk, uint64_t *value, bool *negative);

/* Moves over one item and all in it. On failure the fault says where and why. */
clp_status clp_walk_item(struct clp_walk *walk);

#endif
