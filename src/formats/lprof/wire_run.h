/* SPDX-License-Identifier: MIT */
/* Reads what a file says of the run as a whole: memory over time, processes, meta. */
#ifndef CLP_WIRE_RUN_H
#define CLP_WIRE_RUN_H

#include "wire_decoder.h"

/* These add one item. On failure the item is not added, or lacks its texts. */
clp_status clp_wire_read_series(struct clp_decoder *decoder, struct clp_wire_span span);
clp_status clp_wire_read_line_log(struct clp_decoder *decoder, struct clp_wire_span span);
clp_status clp_wire_read_process(struct clp_decoder *decoder, struct clp_wire_span span);

/* Reads the fields that are there. One that is wrong is left out (clp_wire_leave_out). */
clp_status clp_wire_read_meta(struct clp_decoder *decoder, const msgpack_object *object);

#endif
