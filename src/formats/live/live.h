/* SPDX-License-Identifier: MIT */
/* The live file: what a run has recorded so far, in a mapped file beside the output. So nothing has to be
 * written when the process dies, however it dies.
 *
 *   struct clp_live_header   one page
 *   chunk  chunk  chunk ..   struct clp_chunk, then what its kind says:
 *     CLP_CHUNK_AREAS          blocks of counters, threads, stacks: the engine's own (lines.h)
 *     CLP_CHUNK_RECORDS        selected functions in the order of their numbers, and source text
 *     CLP_CHUNK_HISTORY        struct clp_history: memory over time
 *
 * Pointers in the file are addresses in the process; each chunk says where it was mapped. The last thing that
 * is written of each part is what marks it as complete (a kind, a count), so the file is readable at every
 * moment.
 *
 * live_reader.h reads it. */
#ifndef CLP_LIVE_H
#define CLP_LIVE_H

#include "engine/engine_state.h"
#include "os/identity.h"
#include "os/pages.h"
#include "base/status.h"
#include "engine/threads.h"

#define CLP_LIVE_MAGIC "\x7f" "CLPLIVE"
#define CLP_LIVE_VERSION 26
#define CLP_LIVE_BYTE_ORDER 0x01020304u

/* The head of the file. Its texts end in a 0. */
struct clp_live_header {
    char magic[8]; /* written last */
    uint32_t version, byte_order;
    uint64_t layout; /* must be clp_live_layout() */
    uint32_t bytes;  /* bytes that the header takes */
    uint32_t size;   /* of the whole file at least, in blocks of CLP_PAGES_BLOCK bytes; a shorter one is cut off */
    double start;         /* seconds since 1970 */
    uint64_t start_nanos; /* reading of CLOCK_MONOTONIC at `start` */
    uint32_t counter;     /* counter, rough_nanos, start_ticks and clock_nanos: see clp_live_clock */
    uint32_t parts;       /* what is counted besides times (enum clp_part) */
    double rough_nanos;
    uint64_t start_ticks, clock_nanos;
    struct clp_costs costs;
    double cost_error;
    uint64_t memory_step; /* bytes; 0: sizes are exact to the page */
    uint32_t incomplete;  /* not 0: the file could not grow */
    uint32_t memory;      /* enum clp_memory */
    char python[32], tracer[16];
    uint64_t began;  /* reading of the profiler's clock at `start` */
    uint64_t parent; /* pid of the process that this one was started by, of the same run; 0: none */
    char name[64];   /* what the program calls the process; "": nothing */
    struct clp_engine_totals inherited; /* in a child of a fork: the totals from before the fork */
    struct clp_identity who; /* the readings of the clocks hold for its boot */
    uint64_t run;            /* clp_identity_token of the run that the process takes part in; 0: a run of its own */
    uint32_t source;         /* enum clp_kept_source */
    uint32_t user;           /* the effective user id at the last clp_live_note_user */
    uint32_t cpu;            /* 0, 1: processor time was read; 2: the run queue, too */
    uint32_t called;         /* 1: what lines call was counted */
    uint32_t tallies;        /* which tallies are kept, a sum of enum clp_tally_source */
    char counters[CLP_TALLY_COUNTERS][CLP_TALLY_NAME]; /* the program's own counters; "": none */
    struct clp_counter_unread unread[CLP_TALLY_COUNTERS]; /* when these were not read behind short lines */
    char devices[CLP_DEVICES][CLP_DEVICE_NAME]; /* whose tensors are counted; "": none */
    uint32_t tensors_read;   /* enum clp_tensors_read */
    uint32_t device_time;    /* 1: the time of devices was counted */
    uint32_t locked;         /* the process holds a lock on the file as long as it uses the file (filelock.h) */
};

/* A number that differs where the structures in the chunks have other sizes. */
uint64_t clp_live_layout(void);

enum clp_live_record_kind { CLP_LIVE_FUNCTION = 1, CLP_LIVE_TEXT, CLP_LIVE_COMMAND, CLP_LIVE_OWN, CLP_LIVE_CALLEE,
                            CLP_LIVE_LEAKS };

#define CLP_LIVE_ALIGNED(bytes) (((bytes) + 7) / 8 * 8)

/* The head of a record. Its bytes follow, then zeroes up to a multiple of 8.
 *
 *   function   struct clp_live_function, its lines, file, 0, name, 0, a byte for each line if its flags say so
 *   text       the text
 *   command    the program's command line, 0
 *   callee     the name of something that lines call, 0; the names come in the order of their numbers
 *   leaks      struct clp_live_leaks, then for each leak struct clp_live_leak_head and who holds it, 0, padded to 8
 *              bytes; the last such record counts
 *   own        the number, 4 bytes, of a function that was foreign so far and is now this run's, too */
struct clp_live_record {
    uint32_t kind;
    uint32_t text; /* of a text: its number; of a function: the number of its text (functions.h) */
    uint64_t bytes;
};

struct clp_live_function {
    int32_t first_line, lowest_line;
    uint32_t line_count; /* as many lines follow, ascending, 4 bytes each */
    uint32_t flags;
};

#define CLP_LIVE_GENERATOR 1u
#define CLP_LIVE_FOREIGN 2u /* only a view other than the file's has selected it */
#define CLP_LIVE_INSTRUCTIONS 4u /* a byte for each line says how many instructions run when it begins */

/* What a look for leaks has found. */
struct clp_live_leaks {
    uint64_t epochs; /* the most that any line had */
    char epoch[40];  /* what an epoch is, in the words of --leaks; cut off */
};

struct clp_live_leak_head {
    uint32_t function;
    int32_t line;
    uint64_t bytes, margin;
    double per_call, per_second, confidence;
    uint32_t per_execution, holder; /* bytes of who holds it, with the 0 and the padding */
};

struct clp_live {
    struct clp_pages *pages;        /* borrowed; NULL: there is no file */
    struct clp_live_header *header; /* mapped; owned by `pages` */
    struct clp_chunk *log;          /* the chunk that takes records; NULL: the next record makes one */
    bool foreign;                   /* functions that come now belong to another view */
    bool keeps;                     /* texts stay mapped, to be copied into the files of forks */
};

/* Makes the file, and lets the pages of the engine come from it. What the engine holds already is moved there by
 * clp_live_adopt. *start is the file's header; magic, version and sizes are filled in. On failure there is no file,
 * and memory comes from where it came before. */
clp_status clp_live_open(struct clp_live *live, struct clp_pages *pages, struct clp_mem *mem,
                         const char *path, const struct clp_live_header *start,
                         struct clp_fault *fault);

/* Moves all that the engine holds into the file, which was opened just now: its functions are foreign until
 * clp_live_note_own. On failure the file is of no use. */
clp_status clp_live_adopt(struct clp_live *live, const struct clp_engine *engine, struct clp_fault *fault);

/* The file is complete, or another process's. The engine keeps what it holds, in memory of this process, and another
 * file may be opened. */
void clp_live_close(struct clp_live *live);

/* Gives the child of a fork a file of its own, with all records and counters of its parent's file, and with
 * *start as its header. On failure there is no file, and memory stays as it is. */
clp_status clp_live_fork(struct clp_live *live, const char *path,
                         const struct clp_live_header *start, struct clp_fault *fault);

/* Sets what the program calls this process, cut to the room in the header. */
void clp_live_set_name(struct clp_live *live, const char *name);

/* Each of these writes a record. clp_live_note_function must be called for each selected function, in the order
 * of the numbers, and clp_live_note_callee for each name; their `listener` is a struct clp_live. Texts and the command may come at any time. After the
 * file could not grow once, records are dropped. */
void clp_live_note_function(void *listener, const struct clp_function *function);
void clp_live_note_callee(void *listener, const char *name);
void clp_live_note_own(struct clp_live *live, uint32_t function);
void clp_live_note_text(struct clp_live *live, uint32_t number, const char *text, size_t bytes);
void clp_live_note_command(struct clp_live *live, const char *command);
void clp_live_note_looked(struct clp_live *live, const char *record, size_t bytes); /* see live_leaks.h */

struct clp_history;

/* Makes room in the file for memory over time, zeroed. NULL: there is no file, or no room in it. */
struct clp_history *clp_live_new_history(struct clp_live *live);

/* Writes the effective user id into the header: files of children that become this user are added up. Called
 * before a fork, and with each record. */
void clp_live_note_user(struct clp_live *live);

/* Returns errno of the reason why the file could not grow, or 0. A file that could not grow lacks what was
 * recorded later. */
int clp_live_error(const struct clp_live *live);

#endif
