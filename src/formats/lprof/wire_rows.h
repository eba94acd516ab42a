/* SPDX-License-Identifier: MIT */
/* Reads a function's lines one by one from a file, in which they lie column by column. Allocates nothing. */
#ifndef CLP_WIRE_ROWS_H
#define CLP_WIRE_ROWS_H

#include "profile/profile.h"
#include "msgpack_check.h"
#include "wire_decoder.h"
#include "wire_fields.h"

/* The columns of a packed function, each at the place up to which it was read. walks[0] is column "line". A
 * column that the file does not have is one with `bytes` NULL. */
struct clp_wire_columns {
    struct clp_msgpack_check walks[CLP_WIRE_COLUMNS + 1];
    uint64_t count; /* lines of the function */
};

/* Moves behind the head of the list at `span`, to its first item, and sets *count to the number of items. On failure
 * returns the status of decoder->fault, with the reason `not_list`. */
clp_status clp_wire_start_column(struct clp_decoder *decoder, struct clp_wire_span span,
                                 struct clp_msgpack_check *check, uint64_t *count, const char *not_list);

/* Finds the columns of a function's lines, and starts at the first line. On failure returns the status of
 * decoder->fault. */
clp_status clp_wire_find_columns(struct clp_decoder *decoder, struct clp_wire_span map,
                                 struct clp_wire_columns *columns);

/* Reads the next line of the columns and moves behind it. On failure returns the status of decoder->fault. */
clp_status clp_wire_read_row(struct clp_decoder *decoder, struct clp_wire_columns *columns,
                             struct clp_profile_line *row);

/* Reads the lines of a function one by one, packed or not. With profile->gc_apart their times come without garbage
 * collections. To come back to a line later, copy the struct, and
 * copy it back into the same struct: `at` may point into it. */
struct clp_wire_rows {
    const struct clp_profile_line *at; /* the current line; NULL: there are no more */
    const struct clp_profile_function *function;
    size_t next; /* index of the line behind the current one */
    double scale;
    bool gc_apart;
    struct clp_profile_line row;
    struct clp_wire_columns columns;
};

void clp_wire_rows_start(struct clp_wire_rows *rows, const struct clp_profile *profile,
                         const struct clp_profile_function *function);
void clp_wire_rows_next(struct clp_wire_rows *rows);

#endif
