/* SPDX-License-Identifier: MIT */
/* A function's lines, which lie in a file column by column, one by one. Nothing is allocated. */
#ifndef CLP_WIRE_ROWS_H
#define CLP_WIRE_ROWS_H

#include "profile/profile.h"
#include "msgpack_check.h"
#include "wire_decoder.h"
#include "wire_fields.h"

/* The columns of a packed function, each as far as it has been read: [0] is "line". Without bytes: the
 * file has none of it. */
struct clp_wire_columns {
    struct clp_msgpack_check walks[CLP_WIRE_COLUMNS + 1];
    uint64_t count;
};

/* Finds the columns of a function's lines and moves to the first of these. */
clp_status clp_wire_find_columns(struct clp_decoder *decoder, struct clp_wire_span map,
                                 struct clp_wire_columns *columns);

/* Reads the line at which the columns stand, and moves behind it. */
clp_status clp_wire_read_row(struct clp_decoder *decoder, struct clp_wire_columns *columns,
                             struct clp_profile_line *row);

/* The lines of a function, packed or not, one by one. A copy serves to come back to a line, in the struct that
 * it was made of: `at` may point into it. */
struct clp_wire_rows {
    const struct clp_profile_line *at; /* the one at hand; NULL: there are no more */
    const struct clp_profile_function *function;
    size_t next; /* the place of the one behind it */
    double scale;
    struct clp_profile_line row;
    struct clp_wire_columns columns;
};

void clp_wire_rows_start(struct clp_wire_rows *rows, const struct clp_profile *profile,
                         const struct clp_profile_function *function);
void clp_wire_rows_next(struct clp_wire_rows *rows);

#endif
