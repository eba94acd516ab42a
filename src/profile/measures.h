/* SPDX-License-Identifier: MIT */
/* Defines the measures of a line in one table. The table makes the columns of a .lprof file, of the report
 * and of the page, the keys of --sort-by, the limits of --fail-on, the exports, and the fields of the Python
 * package. A new measure needs a row here and the code that fills it: profile/snapshot.c from the counters of
 * the engine, and heap/heap_results.c (live blocks, native) from the table of live blocks.
 *
 * A measure with a counter of its own in the engine also needs:
 *   - the field in engine/lines.h. struct clp_cell is full: it has 64 bytes, a cache line, which an assertion
 *     checks. struct clp_gc_cell and struct clp_cpu_cell stand behind it, and then the parts that exist only where they
 *     are asked for (enum clp_part)
 *   - merging and subtracting in engine/lines.c, where largest values have functions of their own
 *   - counting, in the plain events of engine/hot.h and in the others of engine/engine.c
 *   - a line in measures_of of profile/snapshot.c, and in clp_live_tidy_block of formats/live/live_threads.c
 *
 * `python3 tools/measures_page.py` writes the table into docs/format.md, docs/viewing.md, docs/profile.schema.json and
 * the type stub. */
#ifndef CLP_MEASURES_H
#define CLP_MEASURES_H

#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An X row is a measure that is stored, a Y row a measure that is computed from others. The items of a row:
 *
 *   field    its name in struct clp_measures, in files and in the Python package
 *   type     a 64-bit integer, with or without a sign
 *   merge    how two values of one line become one: SUM, MAX, or MAXABS (the value further from 0)
 *   kind     NANOS (nanoseconds), BYTES, COUNT
 *   needs    what a run must have recorded: TIMES (every run), LIGHT (--light), CPU (--cpu), QUEUE (--cpu where the run queue can be
 *            read), IO (--io), FAULTS and SWITCHES (--counters), COUNTER1 to COUNTER4 (clineprof.counter), DEVICE1
 *            to DEVICE4 (--tensors), DEVICE_TIME (--cuda), MEMORY, HEAP (--heap), NATIVE (--heap=native)
 *   page     where the HTML page shows it: 0 always, 1 where the screen is wide, 2 among all columns, 3 nowhere
 *   width    of the report's column, in characters
 *   name     for --columns, --sort-by, --measure and --fail-on
 *   title    of the measure's column
 *   about    what the measure is, in a few words */
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
    X(error, uint64_t, SUM, NANOS, LIGHT, 1, 12, "error", "Error",                                             \
      "how far self time may be off, up or down, because times are sampled (--light)")           \
    X(gc, uint64_t, SUM, NANOS, TIMES, 2, 12, "gc", "GC",                                                      \
      "time that garbage collections took while the line ran, part of its self time")                          \
    X(gc_runs, uint64_t, SUM, COUNT, TIMES, 2, 9, "gc-runs", "GC runs",                                        \
      "number of garbage collections that ran while the line did")                                             \
    X(cpu, uint64_t, SUM, NANOS, CPU, 0, 12, "cpu", "CPU",                                                     \
      "processor time of the line itself, which is its self time less its waiting")                            \
    X(wait, uint64_t, SUM, NANOS, CPU, 0, 12, "wait", "Wait",                                                  \
      "self time without a processor: for a lock, a disk, the GIL, another process, or its turn")              \
    X(queue, uint64_t, SUM, NANOS, QUEUE, 2, 12, "queue", "Queue",                                             \
      "the part of the waiting in which the thread could run, but had no processor")                           \
    X(gc_wait, uint64_t, SUM, NANOS, CPU, 2, 12, "gc-wait", "GC wait",                                         \
      "the part of the garbage collections in which they had no processor")                                    \
    X(gc_queue, uint64_t, SUM, NANOS, QUEUE, 2, 12, "gc-queue", "GC queue",                                    \
      "the part of this waiting in which the thread could run")                                                \
    X(native_time, uint64_t, SUM, NANOS, CALLED, 0, 12, "native-time", "C time",                               \
      "self time in C functions that the line calls, and in operators, subscripts and iteration")              \
    X(library, uint64_t, SUM, NANOS, CALLED, 0, 12, "library", "Library",                                      \
      "self time in Python functions that the line calls and that are not selected")                           \
    X(read, uint64_t, SUM, BYTES, IO, 0, 12, "read", "Read",                                                   \
      "bytes that the line read from files and pipes, wherever they were")                                     \
    X(written, uint64_t, SUM, BYTES, IO, 0, 12, "written", "Written",                                          \
      "bytes that the line wrote to files and pipes")                                                          \
    X(disk_read, uint64_t, SUM, BYTES, IO, 1, 12, "disk-read", "Disk read",                                    \
      "bytes that had to be fetched from a disk for the line, mapped files included")                          \
    X(disk_written, uint64_t, SUM, BYTES, IO, 2, 12, "disk-written", "Disk written",                           \
      "bytes that a disk will get because of the line")                                                        \
    X(faults, uint64_t, SUM, COUNT, FAULTS, 0, 9, "faults", "Faults",                                          \
      "page faults: first uses of memory, and pages that were given back")                                     \
    X(major_faults, uint64_t, SUM, COUNT, FAULTS, 1, 12, "major-faults", "Major faults",                       \
      "page faults that had to wait for a disk")                                                               \
    X(switches, uint64_t, SUM, COUNT, SWITCHES, 0, 9, "switches", "Switches",                                  \
      "how often the thread gave up its processor to wait")                                                    \
    X(preemptions, uint64_t, SUM, COUNT, SWITCHES, 0, 11, "preemptions", "Preemptions",                        \
      "how often the thread lost its processor to another")                                                    \
    X(counter1, int64_t, SUM, COUNT, COUNTER1, 0, 12, "counter1", "Counter 1",                                 \
      "change of the program's first counter while the line ran (clineprof.counter)")                          \
    X(counter1_most, uint64_t, MAX, COUNT, COUNTER1, 2, 12, "counter1-most", "Most 1",                          \
      "the largest value of the first counter at an end of the line")                                          \
    X(counter2, int64_t, SUM, COUNT, COUNTER2, 0, 12, "counter2", "Counter 2",                                 \
      "change of the program's second counter")                                                                \
    X(counter2_most, uint64_t, MAX, COUNT, COUNTER2, 2, 12, "counter2-most", "Most 2",                          \
      "the largest value of the second counter")                                                               \
    X(counter3, int64_t, SUM, COUNT, COUNTER3, 0, 12, "counter3", "Counter 3",                                 \
      "change of the program's third counter")                                                                 \
    X(counter3_most, uint64_t, MAX, COUNT, COUNTER3, 2, 12, "counter3-most", "Most 3",                          \
      "the largest value of the third counter")                                                                \
    X(counter4, int64_t, SUM, COUNT, COUNTER4, 0, 12, "counter4", "Counter 4",                                 \
      "change of the program's fourth counter")                                                                \
    X(counter4_most, uint64_t, MAX, COUNT, COUNTER4, 2, 12, "counter4-most", "Most 4",                          \
      "the largest value of the fourth counter")                                                               \
    X(device1_allocated, uint64_t, SUM, BYTES, DEVICE1, 0, 12, "device1-allocated", "Allocated 1",             \
      "what the line allocated for tensors on the first device (--tensors)")                                   \
    X(device1_freed, uint64_t, SUM, BYTES, DEVICE1, 2, 12, "device1-freed", "Freed 1",                         \
      "what tensors on the first device gave back while the line ran")                                         \
    X(device1_net, int64_t, SUM, BYTES, DEVICE1, 0, 12, "device1-net", "Net 1",                                \
      "allocated less freed on the first device")                                                              \
    X(device1_peak, uint64_t, MAX, BYTES, DEVICE1, 0, 12, "device1-peak", "Peak 1",                            \
      "the most that one execution had allocated on the first device and not freed yet, calls included")       \
    X(device1_reserved, int64_t, SUM, BYTES, DEVICE1, 2, 12, "device1-reserved", "Reserved 1",                 \
      "change of what the allocator holds of the first device")                                                \
    X(device2_allocated, uint64_t, SUM, BYTES, DEVICE2, 0, 12, "device2-allocated", "Allocated 2",             \
      "what the line allocated for tensors on the second device (--tensors)")                                  \
    X(device2_freed, uint64_t, SUM, BYTES, DEVICE2, 2, 12, "device2-freed", "Freed 2",                         \
      "what tensors on the second device gave back while the line ran")                                        \
    X(device2_net, int64_t, SUM, BYTES, DEVICE2, 0, 12, "device2-net", "Net 2",                                \
      "allocated less freed on the second device")                                                             \
    X(device2_peak, uint64_t, MAX, BYTES, DEVICE2, 0, 12, "device2-peak", "Peak 2",                            \
      "the most that one execution had allocated on the second device and not freed yet, calls included")      \
    X(device2_reserved, int64_t, SUM, BYTES, DEVICE2, 2, 12, "device2-reserved", "Reserved 2",                 \
      "change of what the allocator holds of the second device")                                               \
    X(device3_allocated, uint64_t, SUM, BYTES, DEVICE3, 0, 12, "device3-allocated", "Allocated 3",             \
      "what the line allocated for tensors on the third device (--tensors)")                                   \
    X(device3_freed, uint64_t, SUM, BYTES, DEVICE3, 2, 12, "device3-freed", "Freed 3",                         \
      "what tensors on the third device gave back while the line ran")                                         \
    X(device3_net, int64_t, SUM, BYTES, DEVICE3, 0, 12, "device3-net", "Net 3",                                \
      "allocated less freed on the third device")                                                              \
    X(device3_peak, uint64_t, MAX, BYTES, DEVICE3, 0, 12, "device3-peak", "Peak 3",                            \
      "the most that one execution had allocated on the third device and not freed yet, calls included")       \
    X(device3_reserved, int64_t, SUM, BYTES, DEVICE3, 2, 12, "device3-reserved", "Reserved 3",                 \
      "change of what the allocator holds of the third device")                                                \
    X(device4_allocated, uint64_t, SUM, BYTES, DEVICE4, 0, 12, "device4-allocated", "Allocated 4",             \
      "what the line allocated for tensors on the fourth device (--tensors)")                                  \
    X(device4_freed, uint64_t, SUM, BYTES, DEVICE4, 2, 12, "device4-freed", "Freed 4",                         \
      "what tensors on the fourth device gave back while the line ran")                                        \
    X(device4_net, int64_t, SUM, BYTES, DEVICE4, 0, 12, "device4-net", "Net 4",                                \
      "allocated less freed on the fourth device")                                                             \
    X(device4_peak, uint64_t, MAX, BYTES, DEVICE4, 0, 12, "device4-peak", "Peak 4",                            \
      "the most that one execution had allocated on the fourth device and not freed yet, calls included")      \
    X(device4_reserved, int64_t, SUM, BYTES, DEVICE4, 2, 12, "device4-reserved", "Reserved 4",                 \
      "change of what the allocator holds of the fourth device")                                               \
    X(device_time, uint64_t, SUM, NANOS, DEVICE_TIME, 0, 12, "device-time", "Device time",                     \
      "time of the kernels and copies on devices that the line launched")                                      \
    X(device_wait, uint64_t, SUM, NANOS, DEVICE_TIME, 0, 12, "device-wait", "Device wait",                     \
      "time in which the line waited for a device")                                                            \
    X(launches, uint64_t, SUM, COUNT, DEVICE_TIME, 1, 9, "launches", "Launches",                               \
      "number of the kernels and copies that the line launched")                                               \
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
    X(allocated, uint64_t, SUM, BYTES, ALLOCATED, 2, 12, "allocated", "Allocated",                             \
      "what the line asked Python's allocators for; a block that is resized counts again")                     \
    X(blocks, uint64_t, SUM, COUNT, ALLOCATED, 2, 9, "blocks", "Blocks",                                       \
      "number of blocks that the line asked Python's allocators for")                                          \
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

/* Stands for X or Y where a user of the table wants only the other sort of measures. */
#define CLP_MEASURE_SKIP(...)

struct clp_measures {
#define CLP_MEASURE_FIELD(field, type, ...) type field;
    CLP_MEASURE_TABLE(CLP_MEASURE_FIELD, CLP_MEASURE_SKIP)
#undef CLP_MEASURE_FIELD
};

/* The last constant, total, is the time of a whole function: it can have a limit, but is not a measure of a line. */
#define CLP_MEASURE_CONSTANT(field, ...) CLP_MEASURE_##field,
enum clp_measure {
    CLP_MEASURE_TABLE(CLP_MEASURE_CONSTANT, CLP_MEASURE_CONSTANT) CLP_MEASURE_total,
    CLP_MEASURES
};
#undef CLP_MEASURE_CONSTANT

enum clp_measure_kind { CLP_MEASURE_NANOS, CLP_MEASURE_BYTES, CLP_MEASURE_COUNT };
enum clp_measure_merge { CLP_MERGE_SUM, CLP_MERGE_MAX, CLP_MERGE_MAXABS };
enum clp_measure_needs { /* from MEMORY on: of memory */
    CLP_NEEDS_TIMES,
    CLP_NEEDS_LIGHT,
    CLP_NEEDS_CPU,
    CLP_NEEDS_QUEUE,
    CLP_NEEDS_CALLED,
    CLP_NEEDS_IO,
    CLP_NEEDS_FAULTS,
    CLP_NEEDS_SWITCHES,
    CLP_NEEDS_COUNTER1,
    CLP_NEEDS_COUNTER2,
    CLP_NEEDS_COUNTER3,
    CLP_NEEDS_COUNTER4,
    CLP_NEEDS_DEVICE1,
    CLP_NEEDS_DEVICE2,
    CLP_NEEDS_DEVICE3,
    CLP_NEEDS_DEVICE4,
    CLP_NEEDS_DEVICE_TIME,
    CLP_NEEDS_MEMORY,
    CLP_NEEDS_ALLOCATED,
    CLP_NEEDS_HEAP,
    CLP_NEEDS_NATIVE
};

/* A row of the table. */
struct clp_measure_row {
    const char *field, *name, *title, *about;
    size_t width;
    size_t at; /* offset of the field in struct clp_measures in bytes; only where `kept` */
    enum clp_measure_kind kind;
    enum clp_measure_merge merge;
    enum clp_measure_needs needs;
    int page;
    bool is_signed, kept;
};

extern const struct clp_measure_row clp_measure_rows[CLP_MEASURES];

/* Appends the names of the measures before `end`, with commas between them. */
void clp_measure_add_names(struct clp_buf *out, enum clp_measure end);

/* Returns the measure that users call by this name (`bytes` long, not ended by 0); CLP_MEASURES when there is none. */
enum clp_measure clp_measure_named(const char *name, size_t bytes);

/* Measures of a line in an order, each as often as it was named. */
struct clp_measure_list {
    enum clp_measure items[CLP_MEASURES];
    size_t count;
};

/* Sets the list from names with commas between them. For an unknown name or too many names it returns false, appends
 * to `fault` what is needed, and leaves *list as it was. */
bool clp_measure_list_read(struct clp_measure_list *list, const char *names, struct clp_buf *fault);

/* Returns the value of the measure in nanoseconds, bytes or a count; 0 for CLP_MEASURES. For total it is the time of
 * measures that were merged from a whole function, and hold the function's time. */
double clp_measure_value(enum clp_measure measure, const struct clp_measures *measures);

/* Returns the measure with the profiler's own cost left in: raw time for time, raw self time for self time. Returns
 * every other measure unchanged. */
enum clp_measure clp_measure_raw(enum clp_measure measure);

/* Merges the measures of one line into those of another, each as its row in the table says. Sums stop at the ends of
 * their type instead of overflowing. */
void clp_measures_merge(struct clp_measures *into, const struct clp_measures *from);

/* Returns a + b, or UINT64_MAX where the sum would overflow. */
uint64_t clp_measures_sum(uint64_t a, uint64_t b);

/* Returns grown - released in bytes, limited to the range of int64_t. */
int64_t clp_measures_increment(const struct clp_measures *measures);

/* The most time for each hit of a line for which the clock saw no time: such a line gets the time that its
 * instructions take (engine/charges.h). A profile of a tool without raw times has raw times of 0 too, but the times of
 * its lines are longer. */
#define CLP_MEASURES_LONGEST_FLOOR 20 /* ns */

/* Is the line's time below the resolution? The cost of the profiler's own events is an average, known to about a
 * third. So the time of a line is only an estimate where it is less than half of the cost that was subtracted. */
static inline bool clp_measures_below_resolution(const struct clp_measures *measures)
{
    if (measures->raw_self == 0)
        return measures->self != 0 && measures->self < CLP_MEASURES_LONGEST_FLOOR * measures->hits;
    return measures->raw_self > measures->self &&
           measures->raw_self - measures->self > 2 * measures->self;
}

#endif
