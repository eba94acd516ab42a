/* SPDX-License-Identifier: MIT */
/* Where blocks stand; kept, because a block in a loop is entered over and over.
 *
 * Threads: places are a list that the interpreter's lock protects. A place is freed only where none is open. */
#ifndef CLP_BLOCK_PLACES_H
#define CLP_BLOCK_PLACES_H

#include "cpython/recorder/selected.h"

struct clp_with_place {
    struct clp_with_place *next;
    PyObject *code, *name; /* owned */
    int32_t first;         /* the line of its `with` */
    struct clp_selected selected; /* of the entry in the table of functions */
};

/* The one of this name that begins at this line of the code; NULL: there is none. */
struct clp_with_place *clp_block_place_find(struct clp_recorder *recorder, PyObject *code, PyObject *name,
                                       int32_t first);

/* A place that has no function yet, to be kept or freed. NULL with an exception set. */
struct clp_with_place *clp_block_place_new(struct clp_recorder *recorder, PyObject *code, PyObject *name,
                                      int32_t first);
void clp_block_place_free(struct clp_recorder *recorder, struct clp_with_place *place);

/* It has its function now: it is kept with the others, of which the oldest may go. */
void clp_block_place_keep(struct clp_recorder *recorder, struct clp_with_place *place);

/* Code in which no block is open now is watched no more. */
void clp_blocks_rest(struct clp_recorder *recorder);

/* No events come any more. */
void clp_blocks_stop(struct clp_recorder *recorder);

#endif
