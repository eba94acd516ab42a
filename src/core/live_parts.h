/* SPDX-License-Identifier: MIT */
/* What the rooms of live.h's reading half share; for nobody else.
 *
 *   live_reader.c    the header, chunks and records; the whole
 *   live_threads.c   counters and threads, set up anew in the reader's engine
 *   live_profile.c   the profile that is made of them */
#ifndef CLP_LIVE_PARTS_H
#define CLP_LIVE_PARTS_H

#include "history.h"
#include "live.h"
#include "view.h"

struct clp_live_place {
    const struct clp_chunk *chunk; /* in the copy */
    uint64_t address, bytes;       /* in the process */
};

struct clp_live_text {
    uint32_t number;
    const char *text;
    size_t bytes;
};

struct clp_live_in_flight {
    uint32_t function;
    int32_t line;
};

/* A growing array of the reader's. */
struct clp_live_list {
    void *items;
    size_t count, room;
};

struct clp_live_reader {
    struct clp_mem *mem;
    struct clp_fault *fault;
    struct clp_pages *pages; /* borrowed */
    char *bytes; /* the copy */
    size_t count;
    void *room; /* that the copy lies in */
    size_t room_bytes;
    const struct clp_live_header *header;
    struct clp_live_list places;    /* struct clp_live_place */
    struct clp_live_list texts;     /* struct clp_live_text */
    struct clp_live_list blocks;    /* struct clp_block *, ascending */
    struct clp_live_list bases;     /* struct clp_block *, to be taken off */
    struct clp_live_list in_flight; /* struct clp_live_in_flight */
    const char *command;
    struct clp_history *history; /* in the copy; NULL: none was recorded */
    struct clp_engine engine;
    struct clp_views views; /* one: of the functions that are the file's own */
    struct clp_view view;
    size_t activations_left; /* the file cannot hold more */
    bool torn;
    uint64_t end;            /* the clock's reading at which it ends what was running */
};

static inline clp_status refuse(struct clp_live_reader *reader, clp_status status, const void *at,
                                const char *reason)
{
    *reader->fault = (struct clp_fault){
        .status = status,
        .offset = at == NULL ? 0 : (uint64_t)((const char *)at - reader->bytes),
        .reason = reason,
    };
    return status;
}

static inline clp_status no_memory(struct clp_live_reader *reader)
{
    return refuse(reader, CLP_NO_MEMORY, NULL, NULL);
}

/* ---- live_reader.c ---- */

/* Room for one more item, to be filled; NULL: no memory. */
void *clp_live_append(struct clp_live_reader *reader, struct clp_live_list *list,
                      size_t item_bytes);

struct clp_clock clp_live_clock(const struct clp_live_header *header);

/* ---- live_threads.c ---- */

/* An area of the copy: counters, counters to be taken off others, a thread with its stack. On failure the
 * reader's fault says where and why. */
clp_status clp_live_take_block(struct clp_live_reader *reader, struct clp_area *area,
                               size_t bytes);
clp_status clp_live_take_base(struct clp_live_reader *reader, struct clp_area *area, size_t bytes);
clp_status clp_live_take_thread(struct clp_live_reader *reader, struct clp_area *area,
                                size_t bytes);

void clp_live_take_costs(struct clp_live_reader *reader);

/* What is still on a stack ends. */
void clp_live_end_all(struct clp_live_reader *reader);

/* Brings counters back from the ends of their types. */
void clp_live_tidy_block(struct clp_block *block);
void clp_live_tidy_totals(struct clp_engine_totals *totals);

/* ---- live_profile.c ---- */

/* Fills the empty profile. CLP_NO_MEMORY leaves a part in it; the reader's fault is as it was. */
clp_status clp_live_make_profile(struct clp_live_reader *reader, struct clp_profile *profile);

#endif
