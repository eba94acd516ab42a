/* SPDX-License-Identifier: MIT */
/* Reads the calling contexts of a .lprof file. */
#ifndef CLP_WIRE_CALLS_H
#define CLP_WIRE_CALLS_H

#include "wire_decoder.h"

/* Reads the map at `map` into the profile, whose functions must have been read. Sees that the contexts make a tree as
 * profile/calls.h describes it. On failure there are none; returns the status of decoder->fault. */
clp_status clp_wire_read_calls(struct clp_decoder *decoder, struct clp_wire_span map);

#endif
