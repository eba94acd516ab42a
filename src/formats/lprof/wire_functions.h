/* SPDX-License-Identifier: MIT */
/* Reads functions of a file. A function has a key, a table of lines by columns, and maybe leaks and source. */
#ifndef CLP_WIRE_FUNCTIONS_H
#define CLP_WIRE_FUNCTIONS_H

#include "wire_decoder.h"

clp_status clp_wire_read_function(struct clp_decoder *decoder, struct clp_wire_span span);
clp_status clp_wire_read_source(struct clp_decoder *decoder, struct clp_wire_span span);

#endif
