/* SPDX-License-Identifier: MIT */
/* A finished profile: functions, their lines, the measures of every line. Nothing in it refers to
 * the interpreter or the engine; it can be merged, written, read and printed anywhere.
 *
 * Life cycle: clp_profile_init, then add functions and lines, then clp_profile_clear. All memory
 * belongs to the profile and comes from its allocator; strings are UTF-8, ended by 0, copied in.
 * Times are nanoseconds, memory is bytes.
 *
 *   clp_profile
 *     functions[0..function_count)          in selection order
 *       file, name, first_line              the key
 *       lines[0..line_count)                ascending by line, each line once
 *         measures
 *       source                              the function's text as it ran, from first_line on
 *     meta                                  how it was made */
#ifndef CLP_PROFILE_H
#define CLP_PROFILE_H

#include "base/buf.h"
#include "base/hashmap.h"
#include "base/mem.h"
#include "measures.h"
#include "source.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clp_profile_line {
    int32_t line; /* 1-based line number in the file */
    struct clp_measures measures;
    bool running; /* being executed when the profile was taken, of a run that had not ended */
};

/* A line whose live memory grew call by call (design section 3, live). */
struct clp_profile_leak {
    int32_t line;
    uint64_t bytes;  /* by how much, over the whole run */
    double bytes_per_call, bytes_per_second;
    double confidence; /* 0 to 1 */
};

/* A stay in a function, on the clock of the series it belongs to. */
struct clp_profile_mark {
    char *file, *name;  /* the function's key */
    int32_t first_line;
    uint32_t level;     /* selected functions below it in the thread's stack */
    uint64_t enter, leave; /* nanoseconds */
};

/* Resident memory over time, of one process. */
struct clp_profile_series {
    uint64_t pid;
    double start;   /* seconds since 1970 of time 0 */
    uint64_t *time; /* nanoseconds, ascending */
    uint64_t *rss;  /* bytes */
    size_t count, time_room, rss_room;
    struct clp_profile_mark *marks; /* by ascending beginning */
    size_t mark_count, mark_room;
};

/* One of several processes whose numbers a profile is the sum of. */
struct clp_profile_process {
    uint64_t pid, parent; /* parent: of the same run; 0 when it has none there, or is not known */
    double start;         /* seconds since 1970; with pid it tells processes apart */
    uint64_t wall, self;  /* nanoseconds: from its start to its end, and in lines of the profile */
    uint64_t events;
    char *name;           /* what the program calls it; NULL: nothing */
    char *numbers;        /* its own profile without source, as a file's bytes; NULL: not kept */
    size_t numbers_bytes;
};

struct clp_profile_function {
    char *file;
    char *name;         /* qualified name */
    int32_t first_line; /* of the decorator when there is one */
    uint64_t total;     /* inclusive nanoseconds of the function, recursion counted once */
    uint64_t raw_total; /* the same as the clock saw it */
    struct clp_profile_line *lines;
    size_t line_count, line_room;
    struct clp_profile_leak *leaks; /* by ascending line */
    size_t leak_count, leak_room;
    char *compiler; /* what compiled the function: calls of what it made are in no number; or NULL */
    char *source; /* NULL when it could not be had; lines end in \n, from first_line on */
    size_t source_bytes;
    bool source_changed; /* it could not be had because its file holds another text by now */
    uint32_t text;       /* in the process that recorded: the number of the text that it is cut from */
    /* Of a profile that was read in place (wire_reader.h): */
    const char *packed; /* line_count lines, and `lines` is NULL; NULL: none are packed */
    size_t packed_bytes;
    bool source_in_file; /* not the function's own */
};

/* Strings may be NULL (unknown), numbers 0. Merging keeps the first profile's meta where it is
 * known (tracers that differ are listed), sums wall, overhead and its error, events, reads, the other
 * threads' changes and the heap's bytes, ors the flags and takes the coarser memory_step and
 * heap_interval and the larger leak_epochs. */
struct clp_profile_meta {
    char *python;  /* "3.12.1" */
    char *tracer;  /* "monitoring" */
    char *command; /* the program's argv, one text, as a shell would take it */
    char *memory;  /* what of memory was read: "rss" (as where it is missing), "anon", "uss", "pss", "tree";
                    * "mixed" of several that differ */
    uint64_t pid;
    double start;         /* seconds since 1970 */
    uint64_t wall;        /* nanoseconds from start to snapshot */
    uint64_t overhead;    /* nanoseconds the profiler itself took, estimated */
    uint64_t overhead_error; /* give or take this much; 0: not known */
    uint64_t events;      /* events the engine took */
    uint64_t reads;       /* times resident memory was read */
    uint64_t own_bytes;   /* the profiler's own memory, left out of every line */
    uint64_t others_grown, others_released; /* changes while lines ran that were not their threads' */
    bool has_memory;      /* were resident bytes read? */
    bool inexact_memory;  /* the kernel's counter is not exact to the page */
    uint64_t memory_step; /* its resolution in bytes, when not exact */
    /* With a table of live blocks, in bytes: */
    uint64_t heap_interval; /* the mean distance of samples; 1: every block; 0: there was no table */
    uint64_t heap_live, heap_peak; /* of all that is known, at the end and at most */
    uint64_t heap_unselected, heap_unselected_peak; /* of that, what code that is not selected has */
    uint64_t heap_before; /* blocks that were there before the start, and are in none of these */
    uint64_t heap_native; /* 1: C's allocators are in these, too */
    /* Where lines that leak were looked for: */
    char *leak_epoch; /* what the epochs are, in the words of --leaks; "mixed" of several that differ */
    uint64_t leak_epochs; /* the most that any line had */
};

/* The fields above in the order of the file, each with what it holds: TEXT; COUNT, and ASKED for one
 * that is 0 unless it was asked for; TIME in nanoseconds; FLAG; SECONDS. */
#define CLP_META_TABLE(X)           \
    X(python, TEXT)                 \
    X(tracer, TEXT)                 \
    X(command, TEXT)                \
    X(memory, TEXT)                 \
    X(pid, COUNT)                   \
    X(start, SECONDS)               \
    X(wall, TIME)                   \
    X(overhead, TIME)               \
    X(overhead_error, TIME)         \
    X(events, COUNT)                \
    X(reads, COUNT)                 \
    X(own_bytes, COUNT)             \
    X(others_grown, COUNT)          \
    X(others_released, COUNT)       \
    X(has_memory, FLAG)             \
    X(inexact_memory, FLAG)         \
    X(memory_step, COUNT)           \
    X(heap_interval, ASKED)         \
    X(heap_live, ASKED)             \
    X(heap_peak, ASKED)             \
    X(heap_unselected, ASKED)       \
    X(heap_unselected_peak, ASKED)  \
    X(heap_before, ASKED)           \
    X(heap_native, ASKED)           \
    X(leak_epoch, TEXT)             \
    X(leak_epochs, ASKED)

struct clp_profile {
    struct clp_mem *mem; /* borrowed */
    struct clp_profile_function *functions;
    size_t function_count, function_room;
    struct clp_hashmap index; /* of a function's key -> its place */
    struct clp_hashmap variants; /* of functions whose texts differed in a merge: see profile_merge.c */
    size_t variant_count;        /* functions that a merge kept apart for that */
    size_t variant_place;        /* the first of them */
    struct clp_profile_series *series;
    size_t series_count, series_room;
    struct clp_profile_process *processes; /* none where there is but one */
    size_t process_count, process_room;
    struct clp_profile_meta meta;
    unsigned denied; /* rights that a file it was read from does not have: those made of it do not, either */
    struct clp_buf file; /* which holds what was read in place */
    double file_scale;   /* nanoseconds per tick of it */
};

void clp_profile_init(struct clp_profile *profile, struct clp_mem *mem);
void clp_profile_clear(struct clp_profile *profile);

/* Finds or appends the function with this key. *function is borrowed and stays valid until the
 * next clp_profile_add_function. CLP_NO_MEMORY leaves the profile as it was. */
clp_status clp_profile_add_function(struct clp_profile *profile, const char *file, const char *name,
                                    int32_t first_line, struct clp_profile_function **function);

bool clp_profile_has_function(struct clp_profile *profile, const char *file, const char *name,
                              int32_t first_line);

/* Finds or appends one of several functions of this key that were compiled from different texts, numbered as
 * in functions.h: the first is called NAME, the others NAME (2), NAME (3) and so on. Otherwise as
 * clp_profile_add_function. */
clp_status clp_profile_add_version(struct clp_profile *profile, const char *file, const char *name,
                                   int32_t first_line, uint32_t text,
                                   struct clp_profile_function **function);

/* Bytes of the function's name without the " (2)" of a version. */
size_t clp_profile_plain_name(const struct clp_profile_function *function);

/* Merges measures into the line's (a new line starts at zero). Cheap when lines come in ascending
 * order. CLP_NO_MEMORY leaves the function as it was. */
clp_status clp_profile_add_line(struct clp_profile *profile, struct clp_profile_function *function,
                                int32_t line, const struct clp_measures *measures);

/* Room for so many lines in all. CLP_NO_MEMORY leaves the function as it was. */
clp_status clp_profile_reserve_lines(struct clp_profile *profile,
                                     struct clp_profile_function *function, size_t count);

/* Adds a verdict; of two on one line the one with more bytes stays. CLP_NO_MEMORY leaves the function
 * as it was. */
clp_status clp_profile_add_leak(struct clp_profile *profile, struct clp_profile_function *function,
                                const struct clp_profile_leak *leak);

/* Appends a series without samples. *series is borrowed and stays valid until the next one. CLP_NO_MEMORY leaves
 * the profile as it was. */
clp_status clp_profile_add_series(struct clp_profile *profile, uint64_t pid, double start,
                                  struct clp_profile_series **series);

/* Appends a sample; its time is not before that of the last one. CLP_NO_MEMORY leaves the series as
 * it was. */
clp_status clp_profile_add_sample(struct clp_profile *profile, struct clp_profile_series *series,
                                  uint64_t time, uint64_t rss);

/* Appends a copy of the mark. CLP_NO_MEMORY leaves the series as it was. */
clp_status clp_profile_add_mark(struct clp_profile *profile, struct clp_profile_series *series,
                                const struct clp_profile_mark *mark);

/* Appends a copy. CLP_NO_MEMORY leaves the profile as it was. */
clp_status clp_profile_add_process(struct clp_profile *profile,
                                   const struct clp_profile_process *process);

/* What the lines have together. */
uint64_t clp_profile_self(const struct clp_profile *profile);

/* Replaces the function's source by a copy of these bytes (any bytes; 0 bytes is no source). CLP_NO_MEMORY
 * leaves the function as it was. */
clp_status clp_profile_set_source(struct clp_profile *profile,
                                  struct clp_profile_function *function, const char *text,
                                  size_t bytes);

/* Replaces the function's source by a copy of its part of the whole file: its block, and any line beyond that
 * has measures. The walk is for the next function of the file. CLP_NO_MEMORY leaves the function as it was. */
clp_status clp_profile_cut_source(struct clp_profile *profile,
                                  struct clp_profile_function *function,
                                  struct clp_source_walk *walk);

/* Replaces *text, one of the strings of profile->meta or a function's compiler, by a copy (NULL clears
 * it). CLP_NO_MEMORY leaves it as it was. */
clp_status clp_profile_set_text(struct clp_profile *profile, char **text, const char *value);

/* The options that a run must have for the measure to be known; NULL where this profile's run had them. */
const char *clp_profile_lacks(const struct clp_profile_meta *meta, enum clp_measure measure);

/* A file's ticks to nanoseconds, `scale` in each. False where they do not fit into 64 bits. */
bool clp_profile_scale_time(double scale, uint64_t *value);

#endif
