/* SPDX-License-Identifier: MIT */
/* Amounts of a measure as people write and read them: "20.1 ms", "10MB". */
#ifndef CLP_MEASURE_H
#define CLP_MEASURE_H

#include "base/buf.h"
#include "measures.h"
#include <stdbool.h>
#include <stddef.h>

/* How many of its unit of this name (not ended by 0) hold: "ms" is 1e6 of a time, "MiB" 2^20 of
 * memory; 0 when the kind has no such unit. Units of ten and of two are told apart: MB, MiB. */
double clp_measure_unit(enum clp_measure_kind kind, const char *name, size_t bytes);

/* "ns, us, ms or s": what there is. */
const char *clp_measure_units(enum clp_measure_kind kind);

/* Reads digits, with or without a point among them, and moves *at behind. By hand: strtod follows the
 * locale of the program, and takes "inf" and hexadecimal. False where there is no number, or one that
 * no measure reaches; *at is then at the fault. */
bool clp_measure_read_number(const char **at, double *number);

/* Appends an amount as people say it: "20.1 ms", "-1.250 MiB", "12". With a sign: "+20.1 ms". */
void clp_measure_add_amount(struct clp_buf *out, enum clp_measure_kind kind, double amount,
                            bool with_sign);

/* Appends a round amount, as short as it can be: "1 ms", "64 KiB". */
void clp_measure_add_round(struct clp_buf *out, enum clp_measure_kind kind, double amount);

#endif
