/* SPDX-License-Identifier: MIT */
/* The measures of a line: one table, from which come the columns of a .lprof file, of the report and of the page,
 * the keys of --sort-by, the limits of --fail-on, the exports, and the fields of the Python package. A new measure
 * is a row here, and the code that counts it (profile/snapshot.c fills these structs from the counters).
 *
 * `python3 tools/measures_page.py` writes the table into docs/format.md, docs/viewing.md, docs/profile.schema.json and
 * the type stub. */
#ifndef CLP_MEASURES_H
#define CLP_MEASURES_H

#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X is a measure that is kept, Y one that is worked out from others. The items of a row:
 *
 *   field    in struct clp_measures; also the column's name in files and in the Python package
 *   type     64 bits, with or without a sign
 *   merge    how two values of one line become one: SUM, MAX, or MAXABS (the one further from 0)
 *   kind     NANOS (nanoseconds), BYTES, COUNT
 *   needs    what a run must have recorded: TIMES (every run), MEMORY, HEAP (--heap), NATIVE (--heap=native)
 *   page     where the HTML page shows it: 0 always, 1 where the screen is wide, 2 among all columns, 3 nowhere
 *   width    of the report's column, in characters
 *   name     for --columns, --sort-by, --measure and --fail-on
 *   title    of its column
 *   about    what it is, in a few words */
#define CLP_MEASURE_TABLE(X, Y)                                                                                \
    X(hits, uint64_t, SUM, COUNT, TIMES, 1, 9, "hits", "Hits", "times the line began")                         \
    X(time, uint64_t, SUM, NANOS, TIMES, 0, 12, "time", "Time",                                                \
      "wall time with everything the line calls, without the profiler's own cost")                             \
    X(raw_time, uint64_t, SUM, NANOS, TIMES, 3, 12, "raw-time", "Raw time",                                    \
      "time with the profiler's own cost left in")                                                             \
    X(self, uint64_t, SUM, NANOS, TIMES, 1, 12, "self", "Self",                                                \
      "time without the selected functions that the line calls")                                               \
    X(raw_self, uint64_t, SUM, NANOS, TIMES, 3, 12, "raw-self", "Raw self",                                    \
      "self time with the profiler's own cost left in")                                                        \
    X(await, uint64_t, SUM, NANOS, TIMES, 1, 12, "await", "Await",                                             \
      "wall time suspended at the line, which is no part of its time")                                         \
    X(max, uint64_t, MAX, NANOS, TIMES, 2, 12, "max", "Max", "the longest single execution")                   \
    X(rss, uint64_t, MAX, BYTES, MEMORY, 1, 12, "mem", "Mem usage",                                            \
      "resident memory after the line, the largest seen")                                                      \
    X(grown, uint64_t, SUM, BYTES, MEMORY, 2, 12, "grown", "Grown", "sum of the rises of resident memory")     \
    X(released, uint64_t, SUM, BYTES, MEMORY, 2, 12, "released", "Released",                                   \
      "sum of the falls of resident memory")                                                                   \
    Y(increment, int64_t, SUM, BYTES, MEMORY, 0, 12, "increment", "Increment",                                 \
      "what the line added to resident memory, less what it gave back")                                        \
    X(self_increment, int64_t, SUM, BYTES, MEMORY, 2, 12, "self-increment", "Self incr.",                      \
      "increment without the selected functions that the line calls")                                          \
    X(largest, int64_t, MAXABS, BYTES, MEMORY, 2, 12, "largest", "Largest",                                    \
      "the largest single change of resident memory, with its sign")                                           \
    X(allocated, uint64_t, SUM, BYTES, MEMORY, 2, 12, "allocated", "Allocated",                                \
      "what the line asked Python's allocators for; a block that is resized counts again")                     \
    X(blocks, uint64_t, SUM, COUNT, MEMORY, 2, 9, "blocks", "Blocks", "number of these blocks")                \
    X(live, uint64_t, SUM, BYTES, HEAP, 2, 12, "live", "Live",                                                 \
      "the part of the allocated bytes that is alive at the end")                                              \
    X(live_blocks, uint64_t, SUM, COUNT, HEAP, 2, 11, "live-blocks", "Live blocks",                            \
      "number of blocks that are alive at the end")                                                            \
    X(heap_peak, uint64_t, SUM, BYTES, HEAP, 2, 12, "heap-peak", "At peak",                                    \
      "bytes alive when the live bytes of all lines together were at their highest")                           \
    X(freed_in_line, uint64_t, SUM, BYTES, HEAP, 2, 12, "freed-in-line", "Freed here",                         \
      "bytes freed by the execution of the line that had allocated them")                                      \
    X(native, uint64_t, SUM, BYTES, NATIVE, 2, 12, "native", "Native",                                         \
      "what C code asked malloc, mmap and their kin for; the other columns of live blocks include it")         \
    X(native_blocks, uint64_t, SUM, COUNT, NATIVE, 2, 13, "native-blocks", "Native blocks",                    \
      "number of blocks that C code asked for")

/* For users of the table who want no measures of the other sort. */
#define CLP_MEASURE_SKIP(...)

struct clp_measures {
#define CLP_MEASURE_FIELD(field, type, ...) type field;
    CLP_MEASURE_TABLE(CLP_MEASURE_FIELD, CLP_MEASURE_SKIP)
#undef CLP_MEASURE_FIELD
};

/* total is the time of a whole function. It can be a limit, and is no measure of a line. */
#define CLP_MEASURE_CONSTANT(field, ...) CLP_MEASURE_##field,
enum clp_measure {
    CLP_MEASURE_TABLE(CLP_MEASURE_CONSTANT, CLP_MEASURE_CONSTANT) CLP_MEASURE_total,
    CLP_MEASURES
};
#undef CLP_MEASURE_CONSTANT

enum clp_measure_kind { CLP_MEASURE_NANOS, CLP_MEASURE_BYTES, CLP_MEASURE_COUNT };
enum clp_measure_merge { CLP_MERGE_SUM, CLP_MERGE_MAX, CLP_MERGE_MAXABS };
enum clp_measure_needs {
    CLP_NEEDS_TIMES,
    CLP_NEEDS_MEMORY,
    CLP_NEEDS_HEAP,
    CLP_NEEDS_NATIVE
};

/* A row of the table. */
struct clp_measure_row {
    const char *field, *name, *title, *about;
    size_t width;
    size_t at; /* of the field in struct clp_measures, where `kept` */
    enum clp_measure_kind kind;
    enum clp_measure_merge merge;
    enum clp_measure_needs needs;
    int page;
    bool is_signed, kept;
};

extern const struct clp_measure_row clp_measure_rows[CLP_MEASURES];

/* Appends the names of the measures before `end`, with commas between. */
void clp_measure_add_names(struct clp_buf *out, enum clp_measure end);

/* The measure that users call by this name (not ended by 0); CLP_MEASURES when there is none. */
enum clp_measure clp_measure_named(const char *name, size_t bytes);

/* Nanoseconds, bytes or times. A double, because the average of several files need not be whole. */
double clp_measure_value(enum clp_measure measure, const struct clp_measures *measures);

/* The measure of a time as the clock saw it; any other measure is its own. */
enum clp_measure clp_measure_raw(enum clp_measure measure);

/* Merges one line's measures into another's, each as its row says. Stops at the ends of the type instead of
 * overflowing. */
void clp_measures_merge(struct clp_measures *into, const struct clp_measures *from);

/* The sum, or the largest number there is. */
uint64_t clp_measures_sum(uint64_t a, uint64_t b);

/* grown - released. */
int64_t clp_measures_increment(const struct clp_measures *measures);

/* Where the clock saw nothing, a line has what its instructions take (engine/charges.h): at most this for each hit.
 * Profiles of tools that know no raw times look alike, but their lines last longer. */
#define CLP_MEASURES_LONGEST_FLOOR 20 /* ns */

/* Is the line shorter than can be resolved? What the profiler's own events cost is an average, known to about a
 * third. So the time of a line is an estimate where less remains than half of what was taken off. */
static inline bool clp_measures_below_resolution(const struct clp_measures *measures)
{
    if (measures->raw_self == 0)
        return measures->self != 0 && measures->self < CLP_MEASURES_LONGEST_FLOOR * measures->hits;
    return measures->raw_self > measures->self &&
           measures->raw_self - measures->self > 2 * measures->self;
}

#endif
