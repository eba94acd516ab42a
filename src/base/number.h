/* SPDX-License-Identifier: MIT */
/* Numbers as tables show them. They are printed for every cell, so printf is asked only where it
 * alone knows how to round. The caller sees to it that the locale writes a point. */
#ifndef CLP_NUMBER_H
#define CLP_NUMBER_H

#include "buf.h"
#include <stdint.h>

#define CLP_NUMBER_BYTES 24 /* the longest is "17592186044416.000 MiB" */

struct clp_number {
    char text[CLP_NUMBER_BYTES];
};

/* "1234", or "1.234e+09" where it is wider than that. */
void clp_number_set_count(struct clp_number *number, uint64_t count, size_t width);

/* "1234.5": fixed point while it fits the width, three digits and an exponent beyond. */
void clp_number_set_decimal(struct clp_number *number, double value, size_t width);

/* "-1.250 MiB" from an amount of bytes. */
void clp_number_set_bytes(struct clp_number *number, double amount);

/* Appends that. */
void clp_number_add_bytes(struct clp_buf *out, double amount);

/* Appends a text, at the right end of a column of this width. */
void clp_number_add(struct clp_buf *out, size_t width, const char *text);

#endif
