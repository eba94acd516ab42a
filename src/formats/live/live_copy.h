/* SPDX-License-Identifier: MIT */
/* The copy of a live file, and what becomes of it on the way to a profile. All steps of live_reader.h share it. */
#ifndef CLP_LIVE_COPY_H
#define CLP_LIVE_COPY_H

#include "os/clock.h"
#include "engine/engine_state.h"
#include "engine/stack_samples.h"
#include "timeline/history.h"
#include "live.h"
#include "base/status.h"
#include "engine/view.h"

/* A chunk of the file. */
struct clp_live_place {
    const struct clp_chunk *chunk; /* in the copy */
    uint64_t address, bytes;       /* in the process */
};

/* A source text of the file. */
struct clp_live_text {
    uint32_t number;
    const char *text;
    size_t bytes;
};

/* A line that was being executed. */
struct clp_live_in_flight {
    uint32_t function;
    int32_t line;
};

/* A node of the tree of calls. */
struct clp_live_call {
    uint64_t id;
    const struct clp_call *from; /* in the copy */
    struct clp_call *made;       /* in the reader's engine; NULL: its parent or its function is not in the file */
};

/* A calling context that samples have met. */
struct clp_live_sampled_call {
    const struct clp_sampled_call *from; /* in the copy */
    struct clp_call *made;               /* in the reader's engine; NULL: as above */
};

/* An array of the reader that grows. */
struct clp_live_list {
    void *items;
    size_t count, room;
};

struct clp_live_reader {
    struct clp_mem *mem;
    struct clp_fault *fault;
    struct clp_pages *pages; /* borrowed */
    char *bytes; /* the copy of the file; aligned, within `room` */
    size_t count;
    void *room; /* owned; the memory that holds the copy */
    size_t room_bytes;
    const struct clp_live_header *header;
    struct clp_live_list places;    /* struct clp_live_place */
    struct clp_live_list texts;     /* struct clp_live_text */
    struct clp_live_list blocks;    /* struct clp_block *, ascending; then those of live_samples.c, in the reader's memory */
    struct clp_live_list bases;     /* struct clp_block *, counters that are subtracted */
    struct clp_live_list in_flight; /* struct clp_live_in_flight */
    struct clp_live_list calls;     /* struct clp_live_call, ascending by id */
    struct clp_live_list sampled;   /* struct clp_live_sampled_call, ascending by id */
    const char *command;
    char *leaks; /* the last record of leaks, in the copy; NULL: there is none */
    size_t leak_bytes;
    struct clp_history *history; /* in the copy; NULL: none was recorded */
    struct clp_engine engine;
    struct clp_views views; /* has one view: of the functions that are the file's own */
    struct clp_view view;
    size_t activations_left; /* how many more the file can hold */
    bool torn;               /* the file changed while it was copied */
    uint64_t end;            /* reading of the clock at which running bodies are ended */
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

/* Makes room for one more item, for the caller to fill. NULL: no memory. */
void *clp_live_append(struct clp_live_reader *reader, struct clp_live_list *list,
                      size_t item_bytes);

/* The clock by which the process recorded. */
struct clp_clock clp_live_clock(const struct clp_live_header *header);

#endif
