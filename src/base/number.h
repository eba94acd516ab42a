/* SPDX-License-Identifier: MIT */
/* Numbers as tables show them. A table formats a number for every cell, and printf is slow, so printf is used
 * only where exact rounding needs it. The caller makes sure that the locale's decimal point is ".". */
#ifndef CLP_NUMBER_H
#define CLP_NUMBER_H

#include "buf.h"
#include <stdint.h>

#define CLP_NUMBER_BYTES 24 /* the longest is "17592186044416.000 MiB" */

struct clp_number {
    char text[CLP_NUMBER_BYTES];
};

/* Sets "-1234" from a whole number, or what "%g" gives ("1.23457e+09") where the digits do not fit the width. */
void clp_number_set_count(struct clp_number *number, double count, size_t width);

/* Sets "1234.5" where that fits the width, else three digits and an exponent. */
void clp_number_set_decimal(struct clp_number *number, double value, size_t width);

/* The width of a time in a fitting unit, and its text: three digits in ns, us, ms or s. The point is always at the same
 * place, so that a column of times is aligned: "  1.19 s ", " 34.7  ms", "120    ns", "  0      ". */
#define CLP_NUMBER_TIME_WIDTH 9
void clp_number_set_time(struct clp_number *number, double nanos);

/* Appends the time without the blanks of a column: "34.7 ms", "0 s". */
void clp_number_add_time(struct clp_buf *out, double nanos);

/* Sets "-1.250 MiB" from a number of bytes. */
void clp_number_set_bytes(struct clp_number *number, double amount);

/* Appends what clp_number_set_bytes sets. */
void clp_number_add_bytes(struct clp_buf *out, double amount);

/* Appends a text, aligned to the right in a column of this width. */
void clp_number_add(struct clp_buf *out, size_t width, const char *text);

#endif
