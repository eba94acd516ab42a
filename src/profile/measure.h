/* SPDX-License-Identifier: MIT */
/* Measures by the names that users give them, for what compares, limits or chooses them. Values
 * are doubles: of several files the average need not be whole. */
#ifndef CLP_MEASURE_H
#define CLP_MEASURE_H

#include "base/buf.h"
#include "profile.h"
#include <stdbool.h>
#include <stddef.h>

/* Constant, name, what it is in, title of a column, the measure that it is taken from. TOTAL is the time of a
 * whole function; all others are of lines. */
#define CLP_MEASURE_NAME_TABLE(X)                                            \
    X(TIME, "time", NANOS, "Time", time)                                     \
    X(SELF, "self", NANOS, "Self", self)                                     \
    X(HITS, "hits", COUNT, "Hits", hits)                                     \
    X(AWAIT, "await", NANOS, "Await", await)                                 \
    X(MAX, "max", NANOS, "Max", max)                                         \
    X(MEM, "mem", BYTES, "Mem", rss)                                         \
    X(GROWN, "grown", BYTES, "Grown", grown)                                 \
    X(RELEASED, "released", BYTES, "Released", released)                     \
    X(INCREMENT, "increment", BYTES, "Incr.", increment)                     \
    X(SELF_INCREMENT, "self-increment", BYTES, "Self incr.", self_increment) \
    X(LARGEST, "largest", BYTES, "Largest", largest)                         \
    X(TOTAL, "total", NANOS, "Total", time)

#define CLP_MEASURE_CONSTANT(constant, name, kind, title, field) CLP_MEASURE_##constant,
enum clp_measure { CLP_MEASURE_NAME_TABLE(CLP_MEASURE_CONSTANT) CLP_MEASURES };
#undef CLP_MEASURE_CONSTANT

enum clp_measure_kind { CLP_MEASURE_NANOS, CLP_MEASURE_BYTES, CLP_MEASURE_COUNT };

/* The measure of this name (not ended by 0); CLP_MEASURES when there is none. */
enum clp_measure clp_measure_named(const char *name, size_t bytes);

const char *clp_measure_name(enum clp_measure measure);
const char *clp_measure_title(enum clp_measure measure);
enum clp_measure_kind clp_measure_kind_of(enum clp_measure measure);

/* In nanoseconds, bytes or times. */
double clp_measure_value(enum clp_measure measure, const struct clp_measures *measures);

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
