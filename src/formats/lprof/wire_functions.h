/* SPDX-License-Identifier: MIT */
/* Reads functions of a file. A function has a key, a table of lines by columns, and maybe leaks and source. */
#ifndef CLP_WIRE_FUNCTIONS_H
#define CLP_WIRE_FUNCTIONS_H

#include "wire_decoder.h"

/* Adds the function at `span`. What is wrong with it but its key is left out (clp_wire_leave_out). On failure nothing of
 * it is added, and the fault is set. */
clp_status clp_wire_read_function(struct clp_decoder *decoder, struct clp_wire_span span);

/* Gives a function the source at `span`. */
clp_status clp_wire_read_source(struct clp_decoder *decoder, struct clp_wire_span span);

#endif
