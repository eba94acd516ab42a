/* SPDX-License-Identifier: MIT */
/* Finding what the maps of a file hold, in place: nothing is allocated, and msgpack-c is not asked. The file has been
 * walked over. */
#ifndef CLP_WIRE_SPLIT_H
#define CLP_WIRE_SPLIT_H

#include "wire_decoder.h"

/* Where the values of a map lie: spans[i] is that of names[i]. Other keys are passed over. */
struct clp_wire_split {
    const char *const *names;
    size_t count;
    struct clp_wire_span *spans;
    size_t twice; /* where a key stands that was there before; 0: none is */
};

/* Moves over so many pairs of a map. */
clp_status clp_wire_split_pairs(struct clp_msgpack_check *walk, uint64_t pairs,
                                struct clp_wire_split *split);

/* Finds where the values of a map lie: spans[i] is that of names[i]. What is no map, or has one of these keys
 * twice, is refused. */
clp_status clp_wire_split(struct clp_decoder *decoder, struct clp_wire_span map,
                          const char *const *names, size_t count, struct clp_wire_span *spans);

#endif
