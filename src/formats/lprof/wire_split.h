/* SPDX-License-Identifier: MIT */
/* Finds what the maps of a file hold. Nothing is allocated, and msgpack-c is not used. The file must have been
 * checked before. */
#ifndef CLP_WIRE_SPLIT_H
#define CLP_WIRE_SPLIT_H

#include "wire_decoder.h"

/* Finds values of a map: sets spans[i] to the place of the value for names[i], or to an empty span. Other keys
 * are ignored. */
struct clp_wire_split {
    const char *const *names;
    size_t count;
    struct clp_wire_span *spans;
    size_t twice; /* offset of a key that the map had before; 0: there is none */
};

/* Moves over `pairs` pairs of a map. */
clp_status clp_wire_split_pairs(struct clp_msgpack_check *check, uint64_t pairs,
                                struct clp_wire_split *split);

/* Finds where the values of a map lie: sets spans[i] for names[i]. Refuses what is not a map, and a map that
 * has one of these keys twice. */
clp_status clp_wire_split(struct clp_decoder *decoder, struct clp_wire_span map,
                          const char *const *names, size_t count, struct clp_wire_span *spans);

#endif
