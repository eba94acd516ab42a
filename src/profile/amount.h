/* SPDX-License-Identifier: MIT */
/* Reads and writes amounts of a measure as people write them: "20.1 ms", "10MB". */
#ifndef CLP_AMOUNT_H
#define CLP_AMOUNT_H

#include "base/buf.h"
#include "measures.h"
#include <stdbool.h>
#include <stddef.h>

/* Returns the size of the unit with this name (`bytes` long, not ended by 0), in nanoseconds or bytes: "ms" is 1e6,
 * "MB" 1e6, "MiB" 2^20. Returns 0 when the kind has no such unit. */
double clp_amount_unit(enum clp_measure_kind kind, const char *name, size_t bytes);

/* Returns the names of the kind's units, for a message: "ns, us, ms or s". */
const char *clp_amount_units(enum clp_measure_kind kind);

/* Reads digits, with or without a point among them, and moves *at behind them. Returns false where there is no number,
 * or one above 1e18, which no measure reaches; *at then points to the fault. strtod is not used: it follows the
 * locale of the program, and also reads "inf" and hexadecimal numbers. */
bool clp_amount_read(const char **at, double *number);

/* Appends an amount (nanoseconds, bytes or a count) in a fitting unit: "20.1 ms", "-1.250 MiB", "12". `with_sign` also
 * writes a plus sign: "+20.1 ms". */
void clp_amount_add(struct clp_buf *out, enum clp_measure_kind kind, double amount,
                            bool with_sign);

/* Appends a round amount (nanoseconds, bytes or a count), as short as possible: "1 ms", "64 KiB". */
void clp_amount_add_round(struct clp_buf *out, enum clp_measure_kind kind, double amount);

#endif
