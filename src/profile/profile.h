/* SPDX-License-Identifier: MIT */
/* Holds a finished profile: functions, their lines, the measures of every line. A profile refers neither to the
 * interpreter nor to the engine, so it can be merged, written, read and printed anywhere.
 *
 * Life cycle: clp_profile_init, then add functions and lines, then clp_profile_clear. All memory belongs to the
 * profile and comes from its allocator. Strings are UTF-8, ended by 0, and are copied into the profile. Times are
 * nanoseconds, memory is bytes.
 *
 *   clp_profile
 *     functions[0..function_count)          in selection order
 *       file, name, first_line              the key
 *       lines[0..line_count)                ascending by line, each line once
 *         measures
 *       source                              the function's text as it ran, from first_line on
 *     texts[0..text_count)                  texts of whole files, and those that sources point into
 *     calls[0..call_count)                  calling contexts, a tree: see calls.h
 *     meta                                  how it was made */
#ifndef CLP_PROFILE_H
#define CLP_PROFILE_H

#include "base/buf.h"
#include "base/hashmap.h"
#include "base/mem.h"
#include "engine/functions.h"
#include "measures.h"
#include "os/identity.h"
#include "source.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How much self time the processes of a sum spent in a line: the least and the most, in nanoseconds, and in which
 * process, as its place in profile->processes. count: the number of processes in which the line ran; 0: not known, or
 * the profile is of one process. */
struct clp_profile_spread {
    uint64_t least, most;
    uint32_t least_in, most_in, count;
};

struct clp_profile_line {
    int32_t line; /* 1-based line number in the file */
    struct clp_measures measures;
    bool running; /* was the line being executed when the profile was taken, before the run had ended? */
    struct clp_profile_spread spread;
};

/* A verdict: the live memory of the line grew from epoch to epoch (design section 3, live). */
struct clp_profile_leak {
    int32_t line;
    uint64_t bytes;  /* growth over the whole run */
    uint64_t margin; /* the true growth is bytes - margin to bytes + margin, 95 times of 100 */
    double bytes_per_call, bytes_per_second; /* "call" stands for an epoch: see clp_profile_meta.leak_epoch */
    double confidence; /* 0 to 1 */
    bool per_execution; /* the epochs are executions of the line, because its function was called seldom */
    bool at_end;        /* it was freed, but only at the end of the program */
    char *held_by;  /* who holds the memory, as text (cpython/memory/holders.h); NULL: not known */
    uint32_t owner; /* the line's number in the table of live blocks, in the process that made the verdict; else 0 */
};

/* What a line calls, and how long that took of its self time (callees.h). */
struct clp_profile_callee {
    int32_t line;
    bool library;  /* a Python function that is not selected; false: C code */
    char *name;    /* "re.sub", "@" */
    uint64_t time; /* nanoseconds */
};

/* One call of a function, on the clock of the series that the mark belongs to. */
struct clp_profile_mark {
    char *file, *name;  /* with first_line, the function's key */
    int32_t first_line;
    uint32_t level;     /* number of selected functions that called it, in the thread's stack */
    uint64_t enter, leave; /* nanoseconds */
};

/* Resident memory of one process over time. */
struct clp_profile_series {
    uint64_t pid;
    double start;   /* seconds since 1970 of time 0 */
    uint64_t *time; /* nanoseconds, ascending */
    uint64_t *rss;  /* bytes */
    size_t count, time_room, rss_room;
    struct clp_profile_mark *marks; /* ascending by enter */
    size_t mark_count, mark_room;
};

/* Of so many processes a sum keeps the numbers apart. Further ones are only in the sum. */
#define CLP_PROFILE_NUMBERS 256

/* One of several processes. The profile is the sum of their numbers. */
struct clp_profile_process {
    uint64_t pid, parent; /* parent: the pid of its parent in the same run; 0: no parent there, or not known */
    double start;         /* seconds since 1970; pid and start together identify a process */
    uint64_t pid_namespace; /* 0: not known */
    uint64_t restart;     /* how often torchrun has started the rank again */
    char *host, *boot;    /* the machine, and its start, as struct clp_identity has them; NULL: not known */
    char *rank;           /* digits; NULL: none */
    uint64_t wall, self;  /* nanoseconds: from the process's start to its end; spent in lines of the profile */
    uint64_t events;
    char *name;           /* the name that the program gave to the process; NULL: none */
    char *numbers;        /* the process's own profile without source, as the bytes of a file; NULL: not kept */
    size_t numbers_bytes;
};

struct clp_profile_function {
    char *file;
    char *name;         /* qualified name */
    int32_t first_line; /* the line of the first decorator, if there is one */
    uint32_t text;      /* number of the text that source is cut from, in the process that recorded */
    uint64_t total;     /* inclusive nanoseconds of the function, recursion counted once */
    uint64_t raw_total; /* total as the clock saw it, with the profiler's own cost left in */
    struct clp_profile_line *lines;
    size_t line_count, line_room;
    int32_t *missed; /* ascending; the lines that hold code and never began (missed.h) */
    size_t missed_count, missed_room;
    struct clp_profile_leak *leaks; /* by ascending line */
    size_t leak_count, leak_room;
    struct clp_profile_callee *callees; /* by ascending line */
    size_t callee_count, callee_room;
    char *compiler; /* the tool that compiled the function; calls of the compiled code are not counted; or NULL */
    struct clp_compiled compiled; /* what is known of that code; all 0: nothing */
    char *source; /* the text from first_line on, lines end in \n; NULL: not known. texts.h sets it */
    size_t source_bytes;
    uint64_t text_hash;   /* clp_profile_text_hash of a source that was left out; 0: not known */
    bool source_changed;  /* is there no source because the file now holds another text? */
    bool source_borrowed; /* source points into a text of the profile, or into clp_profile.file */
    /* For a profile that was read in place (wire_reader.h), of a file below 2 GiB: */
    uint32_t packed_bytes;
    const char *packed; /* line_count packed lines, while `lines` is NULL; NULL: no lines are packed */
};

/* A text that a profile holds apart from its functions. */
struct clp_profile_text {
    char *text;
    size_t bytes;
    bool borrowed; /* text points into clp_profile.file, or into another text */
    char *file;    /* the file whose whole text this is; NULL: only functions' sources point into it */
};

/* A calling context: a selected function, called from one line of one context. calls.h says how they make a tree. */
struct clp_profile_call {
    uint32_t parent;   /* place of the caller's context in profile->calls plus 1; 0: no selected function called it */
    int32_t line;      /* the caller's line; 0 where parent is 0 or the caller had no line yet */
    uint32_t function; /* place of the callee in profile->functions; CLP_CALL_DEEPER: contexts beyond the cap, joined */
    bool through;      /* reached through code that is not selected */
    uint64_t calls;    /* bodies that began; resumptions of a generator add time, not calls */
    uint64_t time;     /* inclusive nanoseconds, without executions that lie within another execution of the same edge in
                        * the same thread */
    uint64_t again;    /* nanoseconds of those executions that `time` leaves out (recursion) */
    int64_t increment; /* change of resident memory in bytes within `time` */
};

#define CLP_CALL_DEEPER UINT32_MAX

/* How the memory of tensors was counted, where it was. */
enum clp_tensors_read {
    CLP_TENSORS_NOT_READ,     /* by each allocation */
    CLP_TENSORS_READ,         /* from PyTorch's statistics, at the ends of long lines */
    CLP_TENSORS_READ_IN_PART  /* reading them has failed, and was not tried again */
};

/* How the profile was recorded. Unknown strings are NULL, unknown numbers 0.
 *
 * Merging keeps the first known value of a text, of pid with what else tells the process, and of own_bytes. It lists
 * different tracers. It sums wall, overhead and its error, events, reads, the other threads' changes, garbage
 * collections, the heap's bytes and what devices did for no line. It ors the flags, and takes the coarser memory_step
 * and heap_interval and the larger leak_epochs, no_source, gc_cleared, has_cpu, has_queue, has_called, has_io,
 * has_faults, has_switches, tensors_read and has_device_time. Counters and devices are told apart by their names; what
 * finds no place is dropped. Different kinds of memory, or of epochs, become "mixed". */
struct clp_profile_meta {
    char *python;  /* "3.12.1" */
    char *tracer;  /* "monitoring" */
    char *command; /* the program's argv as one text, quoted for a shell */
    char *memory;  /* the kind of memory that was read: "rss" (also where this is NULL), "anon", "uss", "pss", "tree";
                    * "mixed" after a merge of different kinds */
    uint64_t pid;
    double start;         /* seconds since 1970 */
    char *host, *boot, *rank; /* these and the next two are as in struct clp_profile_process */
    uint64_t pid_namespace, restart;
    uint64_t wall;        /* nanoseconds from start to snapshot */
    uint64_t overhead;    /* estimated nanoseconds that the profiler itself took */
    uint64_t overhead_error; /* the error of overhead, plus or minus, in nanoseconds; 0: not known */
    uint64_t events;      /* events that the engine took */
    uint64_t reads;       /* how often resident memory was read */
    uint64_t own_bytes;   /* the profiler's own memory, left out of every line */
    uint64_t others_grown, others_released; /* bytes that other threads changed while a line ran, which no line has */
    uint64_t gc_outside;      /* nanoseconds of garbage collections while no line of the profile's functions ran */
    uint64_t gc_outside_runs; /* number of these collections */
    uint64_t gc_cleared;  /* 1: the program took the profiler out of gc.callbacks; later collections are missing */
    uint64_t has_cpu;     /* 1: processor time was read (--cpu) */
    uint64_t has_queue;   /* 1: time in the run queue was read, too */
    uint64_t has_called;  /* 1: the time in C code and in library functions was counted (--native) */
    uint64_t has_io;      /* 1: bytes read and written were counted (--io) */
    uint64_t has_faults;  /* 1: page faults were counted (--counters faults) */
    uint64_t has_switches; /* 1: context switches were counted (--counters switches) */
    char *counter1, *counter2, *counter3, *counter4; /* the program's own counters: "energy (mJ)" */
    uint64_t counter1_unread, counter2_unread, counter3_unread, counter4_unread; /* nanoseconds in which they were not
                                                                        * read behind short lines */
    char *device1, *device2, *device3, *device4; /* the devices whose tensors were counted: "cpu", "cuda:0" */
    uint64_t device1_outside, device2_outside, device3_outside, device4_outside; /* bytes that were allocated .. */
    uint64_t device1_outside_freed, device2_outside_freed, device3_outside_freed, device4_outside_freed; /* .. and freed
                                                                       * there while no line of the profile ran */
    uint64_t tensors_read;    /* enum clp_tensors_read */
    uint64_t has_device_time; /* 1: the time of devices was counted (--cuda) */
    uint64_t outside_device_time; /* nanoseconds of kernels and copies that no line launched */
    uint64_t outside_launches;    /* number of these */
    uint64_t lost_launches;       /* number of kernels and copies whose line or time is not known */
    bool has_memory;      /* were resident bytes read? */
    bool inexact_memory;  /* the kernel's counter is not exact to the page */
    uint64_t memory_step; /* resolution of the kernel's counter in bytes, when it is not exact */
    uint64_t no_source;   /* 1: the texts of the functions were left out on purpose (--source none) */
    /* With a table of live blocks (--heap, --leaks), in bytes: */
    uint64_t heap_interval; /* the mean distance of samples; 1: every block; 0: there was no table */
    uint64_t heap_live, heap_peak; /* live bytes of all known blocks: at the end, and the most at any time */
    uint64_t heap_unselected, heap_unselected_peak; /* the part of them that code that is not selected allocated */
    uint64_t heap_before; /* bytes of blocks from before the start, which are in none of the other numbers */
    uint64_t heap_native; /* 1: the numbers include blocks of C's allocators */
    /* With a search for leaks (--leaks): */
    char *leak_epoch; /* what an epoch is, as the option --leaks names it; "mixed" after a merge of different ones */
    uint64_t leak_epochs; /* the most epochs that any line had */
    char *leak_unjudged; /* the functions that keep much and had too few calls for a verdict: "main (1 call)" */
};

/* The fields of struct clp_profile_meta in the order of the file, each with its type: TEXT; COUNT; ASKED, a count that
 * is 0 unless an option asked for it; TIME in nanoseconds; FLAG; SECONDS. */
#define CLP_META_TABLE(X)           \
    X(python, TEXT)                 \
    X(tracer, TEXT)                 \
    X(command, TEXT)                \
    X(memory, TEXT)                 \
    X(pid, COUNT)                   \
    X(start, SECONDS)               \
    X(host, TEXT)                   \
    X(boot, TEXT)                   \
    X(pid_namespace, ASKED)         \
    X(rank, TEXT)                   \
    X(restart, ASKED)               \
    X(wall, TIME)                   \
    X(overhead, TIME)               \
    X(overhead_error, TIME)         \
    X(events, COUNT)                \
    X(reads, COUNT)                 \
    X(own_bytes, COUNT)             \
    X(others_grown, COUNT)          \
    X(others_released, COUNT)       \
    X(gc_outside, TIME)             \
    X(gc_outside_runs, COUNT)       \
    X(gc_cleared, ASKED)            \
    X(has_cpu, ASKED)               \
    X(has_queue, ASKED)             \
    X(has_called, ASKED)            \
    X(has_io, ASKED)                \
    X(has_faults, ASKED)            \
    X(has_switches, ASKED)          \
    X(counter1, TEXT)               \
    X(counter2, TEXT)               \
    X(counter3, TEXT)               \
    X(counter4, TEXT)               \
    X(counter1_unread, ASKED)       \
    X(counter2_unread, ASKED)       \
    X(counter3_unread, ASKED)       \
    X(counter4_unread, ASKED)       \
    X(device1, TEXT)                \
    X(device2, TEXT)                \
    X(device3, TEXT)                \
    X(device4, TEXT)                \
    X(device1_outside, ASKED)       \
    X(device1_outside_freed, ASKED) \
    X(device2_outside, ASKED)       \
    X(device2_outside_freed, ASKED) \
    X(device3_outside, ASKED)       \
    X(device3_outside_freed, ASKED) \
    X(device4_outside, ASKED)       \
    X(device4_outside_freed, ASKED) \
    X(tensors_read, ASKED)          \
    X(has_device_time, ASKED)       \
    X(outside_device_time, ASKED)   \
    X(outside_launches, ASKED)      \
    X(lost_launches, ASKED)         \
    X(has_memory, FLAG)             \
    X(inexact_memory, FLAG)         \
    X(memory_step, COUNT)           \
    X(no_source, ASKED)             \
    X(heap_interval, ASKED)         \
    X(heap_live, ASKED)             \
    X(heap_peak, ASKED)             \
    X(heap_unselected, ASKED)       \
    X(heap_unselected_peak, ASKED)  \
    X(heap_before, ASKED)           \
    X(heap_native, ASKED)           \
    X(leak_epoch, TEXT)             \
    X(leak_epochs, ASKED)           \
    X(leak_unjudged, TEXT)

/* Which lines ran when in a process, for `clineprof torch join`: bytes as docs/format.md says. */
struct clp_profile_line_log {
    char *bytes; /* owned */
    size_t count;
};

#define CLP_PROFILE_LINE_LOG_BYTES ((size_t)256 << 20) /* of a profile's logs; the oldest are dropped to stay below */

struct clp_profile {
    struct clp_mem *mem; /* borrowed */
    struct clp_profile_function *functions;
    size_t function_count, function_room;
    struct clp_hashmap index; /* hash of a function's key -> its index in functions */
    struct clp_hashmap variants; /* functions whose texts differed in a merge: see profile_merge.c */
    size_t variant_count;        /* functions that a merge kept apart because their texts differ */
    size_t variant_place;        /* index of the first function that was kept apart */
    struct clp_profile_text *texts;
    size_t text_count, text_room;
    struct clp_hashmap kept_texts; /* places in texts by hash of the content, and of content and file: see texts.c */
    size_t kept_bytes;             /* of different texts in kept_texts */
    struct clp_profile_call *calls; /* parents stand before their children */
    size_t call_count, call_room;
    struct clp_hashmap call_index; /* hash of a context's key -> its place in calls */
    uint64_t calls_cut;            /* calls that were joined in contexts CLP_CALL_DEEPER */
    struct clp_profile_series *series;
    size_t series_count, series_room;
    struct clp_profile_line_log *line_logs; /* the oldest first */
    size_t line_log_count, line_log_room;
    struct clp_profile_process *processes; /* empty for a run of only one process */
    size_t process_count, process_room;
    struct clp_profile_meta meta;
    unsigned denied; /* mode bits that a file it was read from lacks; files written from the profile lack them too */
    struct clp_buf file; /* the bytes of the file, for a profile that was read in place */
    double file_scale;   /* nanoseconds per tick in `file` */
    struct clp_buf left_out; /* the first part of a damaged file that was left out, and why (wire_reader.h) */
    size_t left_out_count;   /* all such parts */
    bool gc_apart; /* rows (wire_rows.h) have times without garbage collections, which are an item of their own */
};

void clp_profile_init(struct clp_profile *profile, struct clp_mem *mem);
void clp_profile_clear(struct clp_profile *profile);

/* Finds or appends the function with this key. *function is borrowed and stays valid until the
 * next clp_profile_add_function. CLP_NO_MEMORY leaves the profile as it was. */
clp_status clp_profile_add_function(struct clp_profile *profile, const char *file, const char *name,
                                    int32_t first_line, struct clp_profile_function **function);

/* Has the profile a function with this key? */
bool clp_profile_has_function(struct clp_profile *profile, const char *file, const char *name,
                              int32_t first_line);

/* Finds or appends the function with this key that was compiled from the text number `text` (see functions.h). Of
 * several versions with one key the first is called NAME, the others NAME (2), NAME (3) and so on. *function is
 * borrowed and stays valid until the next function is added. CLP_NO_MEMORY leaves the profile as it was. */
clp_status clp_profile_add_version(struct clp_profile *profile, const char *file, const char *name,
                                   int32_t first_line, uint32_t text,
                                   struct clp_profile_function **function);

/* Returns the length in bytes of the function's name without the " (2)" of a version. */
size_t clp_profile_plain_name(const struct clp_profile_function *function);

/* The compiler of functions that tell of their lines if it was asked for that. */
#define CLP_CYTHON "Cython"

/* Adds to *out what a function's compiler means for its numbers, as the end of a sentence. The function has one. */
void clp_profile_add_compiled(struct clp_buf *out, const struct clp_profile_function *function);

/* Returns a number for the function's source that other sources do not have, also where the source was left out; 0: not
 * known. The source of a module has none, because it may end at the last line that ran. */
uint64_t clp_profile_text_hash(const struct clp_profile_function *function);

/* Does any line of the function know its least and its most among the processes? */
bool clp_profile_has_spread(const struct clp_profile_function *function);

/* Merges the measures into those of the line; a new line starts at zero. Cheap when lines come in ascending order.
 * CLP_NO_MEMORY leaves the function as it was. */
clp_status clp_profile_add_line(struct clp_profile *profile, struct clp_profile_function *function,
                                int32_t line, const struct clp_measures *measures);

/* Makes room for `count` lines in all. CLP_NO_MEMORY leaves the function as it was. */
clp_status clp_profile_reserve_lines(struct clp_profile *profile,
                                     struct clp_profile_function *function, size_t count);

/* Adds a copy of the verdict and its text. Of two verdicts on one line the one with more bytes stays. CLP_NO_MEMORY leaves the
 * function as it was. */
clp_status clp_profile_add_leak(struct clp_profile *profile, struct clp_profile_function *function,
                                const struct clp_profile_leak *leak);

/* Returns the number of leaks of all functions. */
size_t clp_profile_count_leaks(const struct clp_profile *profile);

/* Appends a series without samples. *series is borrowed and stays valid until the next series is added. CLP_NO_MEMORY
 * leaves the profile as it was. */
clp_status clp_profile_add_series(struct clp_profile *profile, uint64_t pid, double start,
                                  struct clp_profile_series **series);

/* Appends a sample (nanoseconds, bytes). Its time must not be before the time of the last sample. CLP_NO_MEMORY leaves
 * the series as it was. */
clp_status clp_profile_add_sample(struct clp_profile *profile, struct clp_profile_series *series,
                                  uint64_t time, uint64_t rss);

/* Appends a copy of the mark. CLP_NO_MEMORY leaves the series as it was. */
clp_status clp_profile_add_mark(struct clp_profile *profile, struct clp_profile_series *series,
                                const struct clp_profile_mark *mark);

/* Appends a copy of a log. CLP_NO_MEMORY leaves the profile as it was, but for older logs that made room. */
clp_status clp_profile_add_line_log(struct clp_profile *profile, const char *bytes, size_t count);

/* Forgets all logs. */
void clp_profile_drop_line_logs(struct clp_profile *profile);

/* Forget parts that a reader found to be wrong: the series that was added last, all calls, the leaks and callees of a
 * function. */
void clp_profile_drop_last_series(struct clp_profile *profile);
void clp_profile_drop_calls(struct clp_profile *profile);
void clp_profile_drop_leaks(struct clp_mem *mem, struct clp_profile_function *function);
void clp_profile_drop_callees(struct clp_mem *mem, struct clp_profile_function *function);

/* Appends a copy of the process. CLP_NO_MEMORY leaves the profile as it was. */
clp_status clp_profile_add_process(struct clp_profile *profile,
                                   const struct clp_profile_process *process);

/* Stores which process the profile is of: pid, host, boot, rank and the like of meta. */
clp_status clp_profile_set_identity(struct clp_profile *profile, const struct clp_identity *who);

/* Returns the sum of the self times of all lines, in nanoseconds. */
uint64_t clp_profile_self(const struct clp_profile *profile);

/* Leaves the function without source. texts.h gives it one. */
void clp_profile_drop_source(struct clp_mem *mem, struct clp_profile_function *function);

/* Replaces *text, one of the strings of profile->meta or a function's compiler, by a copy of `value`. NULL clears the
 * string. CLP_NO_MEMORY leaves *text as it was. */
clp_status clp_profile_set_text(struct clp_profile *profile, char **text, const char *value);

/* The name of the tracer whose times are estimates. */
#define CLP_TRACER_LIGHT "light"

/* Are the times estimates, of a part of the profile at least? */
bool clp_profile_is_light(const struct clp_profile_meta *meta);

/* Returns the option that the run lacked to know this measure, as text for a message; NULL where the profile knows the
 * measure. */
const char *clp_profile_lacks(const struct clp_profile_meta *meta, enum clp_measure measure);

/* Turns *value from a file's ticks into nanoseconds; `scale` is the nanoseconds in a tick. Returns false and leaves
 * *value as it was where the result does not fit into 64 bits. */
bool clp_profile_scale_time(double scale, uint64_t *value);

#endif
