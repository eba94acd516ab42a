/* SPDX-License-Identifier: MIT */
/* The places in code at which `with` blocks stand. Places are kept, because a block in a loop is entered over
 * and over.
 *
 * Threads: the interpreter's lock protects the list of places. A place is freed only while no block of its code
 * is open. */
#ifndef CLP_BLOCK_PLACES_H
#define CLP_BLOCK_PLACES_H

#include "cpython/recorder/selected.h"

/* A place: a block of one name at one line of a code object. */
struct clp_with_place {
    struct clp_with_place *next;
    PyObject *code, *name; /* owned */
    int32_t first;         /* the line of the `with` */
    struct clp_selected selected; /* data for the block's entry in the table of functions */
};

/* The place of the block with this name that begins at this line of the code. NULL: there is none. */
struct clp_with_place *clp_block_place_find(struct clp_recorder *recorder, PyObject *code, PyObject *name,
                                       int32_t first);

/* Makes a place that has no function yet. The caller keeps it or frees it. NULL with an exception set. */
struct clp_with_place *clp_block_place_new(struct clp_recorder *recorder, PyObject *code, PyObject *name,
                                      int32_t first);
void clp_block_place_free(struct clp_recorder *recorder, struct clp_with_place *place);

/* Adds a place that has its function to the list. The oldest place may be freed for it. */
void clp_block_place_keep(struct clp_recorder *recorder, struct clp_with_place *place);

/* Ends watching of code in which no block is open now. */
void clp_blocks_rest(struct clp_recorder *recorder);

/* Ends watching of all code: no events of blocks come any more. */
void clp_blocks_stop(struct clp_recorder *recorder);

#endif
