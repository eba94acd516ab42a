/* SPDX-License-Identifier: MIT */
/* The live file: what a run has recorded so far, in a mapped file beside the output, so that
 * nothing has to be written when the process dies, however it dies.
 *
 *   struct clp_live_header   one page
 *   chunk  chunk  chunk ..   struct clp_chunk, then what its kind says:
 *     CLP_CHUNK_AREAS          blocks of counters, threads, stacks: the engine's own (lines.h)
 *     CLP_CHUNK_RECORDS        selected functions in the order of their numbers, and source text
 *     CLP_CHUNK_HISTORY        struct clp_history: memory over time
 *
 * Pointers in the file are the process's addresses; each chunk says where it was mapped. Whatever
 * is complete is published last (a kind, a count), so a file is readable at every moment.
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
#define CLP_LIVE_VERSION 9
#define CLP_LIVE_BYTE_ORDER 0x01020304u

/* Texts are ended by 0. */
struct clp_live_header {
    char magic[8]; /* written last */
    uint32_t version, byte_order;
    uint64_t layout; /* of the structures in the chunks */
    uint64_t bytes;  /* of the header */
    double start;         /* seconds since 1970 */
    uint64_t start_nanos; /* CLOCK_MONOTONIC then */
    uint32_t counter;     /* the clock's fields */
    uint32_t with_rss;
    double rough_nanos;
    uint64_t start_ticks, clock_nanos;
    struct clp_costs costs;
    double cost_error;
    uint64_t memory_step; /* 0: exact to the page */
    uint32_t incomplete;  /* the file could not grow */
    uint32_t memory;      /* enum clp_memory */
    char python[32], tracer[16];
    uint64_t began;  /* the clock's reading at `start` */
    uint64_t parent; /* the process that this one comes from, of the same run; 0: none */
    char name[64];   /* what the program calls the process; "": nothing */
    struct clp_engine_totals inherited; /* a fork's: of before, when it was its parent */
    struct clp_identity who; /* the clock's readings belong to its boot */
    uint64_t run;            /* clp_identity_token of the run that it takes part in; 0: a run of its own */
    uint32_t user;           /* the effective user id, as clp_live_note_user saw it last */
    uint32_t locked;         /* the process has the file's lock while it has the file (filelock.h) */
};

/* What `layout` must be. */
uint64_t clp_live_layout(void);

enum clp_live_record_kind { CLP_LIVE_FUNCTION = 1, CLP_LIVE_TEXT, CLP_LIVE_COMMAND, CLP_LIVE_OWN };

/* Its bytes follow, then zeroes up to a multiple of 8.
 *   function   struct clp_live_function, file, 0, name, 0, a byte for each line if its flags say so
 *   text       the text
 *   command    the program's command line, 0
 *   own        the number of a function, foreign so far, that is this run's too; 4 bytes */
struct clp_live_record {
    uint32_t kind;
    uint32_t text; /* of a text: its number; of a function: that of its text, as functions.h has it */
    uint64_t bytes;
};

struct clp_live_function {
    int32_t first_line, lowest_line;
    uint32_t line_count;
    uint32_t flags;
};

#define CLP_LIVE_GENERATOR 1u
#define CLP_LIVE_FOREIGN 2u /* selected by another view than the file's */
#define CLP_LIVE_INSTRUCTIONS 4u /* how many run when a line begins is known */

struct clp_live {
    struct clp_pages *pages;        /* borrowed; NULL: there is no file */
    struct clp_live_header *header; /* mapped */
    struct clp_chunk *log;          /* the chunk that takes records; NULL: they end here */
    bool foreign;                   /* functions that come now are another view's */
    bool keeps;                     /* texts stay mapped, for the files of forks */
};

/* Makes the file and has the pages of the engine come from it: before anything is selected or
 * recorded. *start is its header; magic, version and sizes are filled in. On failure there is no
 * file, and memory is as it was. */
clp_status clp_live_open(struct clp_live *live, struct clp_pages *pages, struct clp_mem *mem,
                         const char *path, const struct clp_live_header *start,
                         struct clp_fault *fault);

/* In the child of a fork: it gets a file of its own, with all records and counters of its parent's, and
 * *start as its header. On failure there is no file, and memory stays as it is. */
clp_status clp_live_fork(struct clp_live *live, const char *path,
                         const struct clp_live_header *start, struct clp_fault *fault);

/* What the program calls this process, cut to what fits. */
void clp_live_set_name(struct clp_live *live, const char *name);

/* Each selected function, in the order of their numbers; texts and command at any time. `listener`
 * is a struct clp_live. */
void clp_live_note_function(void *listener, const struct clp_function *function);
void clp_live_note_own(struct clp_live *live, uint32_t function);
void clp_live_note_text(struct clp_live *live, uint32_t number, const char *text, size_t bytes);
void clp_live_note_command(struct clp_live *live, const char *command);

struct clp_history;

/* Room in the file for memory over time, zeroed; NULL when there is no file, or none in it. */
struct clp_history *clp_live_new_history(struct clp_live *live);

/* Writes the effective user id into the header; files of children that become this user are summed. Called
 * before a fork, and when a function is selected. */
void clp_live_note_user(struct clp_live *live);

/* Could the file not grow? It then lacks what was recorded later. errno of the reason, or 0. */
int clp_live_error(const struct clp_live *live);

#endif
