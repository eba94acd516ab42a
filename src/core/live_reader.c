/* SPDX-License-Identifier: MIT */
/* The reading half of live.h. A copy of the file is walked three times: for its chunks and
 * records; for its blocks of counters; and for its threads, which are set up anew in an engine of
 * the reader's own, with activations whose blocks lie in the copy. That engine then ends what was
 * running, exactly as it would have in the process. */
#include "file.h"
#include "history.h"
#include "live.h"
#include "proc.h"
#include "snapshot.h"
#include <stdlib.h>
#include <string.h>

#define LARGEST_FILE ((size_t)1 << 36)
/* Counters of a damaged file are kept so far below the ends of their types that sums do not reach
 * them. */
#define LARGEST_COUNT ((int64_t)1 << 56)
#define LARGEST_CORRECTION ((int64_t)1 << 60)
/* A process that goes on may enter and leave functions while its file is copied. What that does to
 * the sums is small nearly always; a second copy is better. */
#define COPIES 3

struct place {
    const struct clp_chunk *chunk; /* in the copy */
    uint64_t address, bytes;       /* in the process */
};

struct text {
    const char *file, *text;
    size_t bytes;
};

struct in_flight {
    uint32_t function;
    int32_t line;
};

/* A growing array of the reader's. */
struct list {
    void *items;
    size_t count, room;
};

struct reader {
    struct clp_mem *mem;
    struct clp_fault *fault;
    struct clp_pages *pages; /* borrowed */
    char *bytes; /* the copy */
    size_t count;
    void *room; /* that the copy lies in */
    size_t room_bytes;
    const struct clp_live_header *header;
    struct list places;    /* struct place */
    struct list texts;     /* struct text */
    struct list blocks;    /* struct clp_block *, ascending */
    struct list bases;     /* struct clp_block *, to be taken off */
    struct list in_flight; /* struct in_flight */
    const char *command;
    struct clp_history *history; /* in the copy; NULL: none was recorded */
    struct clp_engine engine;
    struct clp_views views; /* one: of the functions that are the file's own */
    struct clp_view view;
    size_t activations_left; /* the file cannot hold more */
    bool torn;
    uint64_t end;            /* the clock's reading at which it ends what was running */
};

static clp_status refuse(struct reader *reader, clp_status status, const void *at,
                         const char *reason)
{
    *reader->fault = (struct clp_fault){
        .status = status,
        .offset = at == NULL ? 0 : (uint64_t)((const char *)at - reader->bytes),
        .reason = reason,
    };
    return status;
}

static void *append(struct reader *reader, struct list *list, size_t item_bytes)
{
    if (list->count == list->room &&
        clp_mem_grow(reader->mem, &list->items, &list->room, list->room * 2 + 64, item_bytes) !=
            CLP_OK)
        return NULL;
    return (char *)list->items + item_bytes * list->count++;
}

static void clear_list(struct reader *reader, struct list *list, size_t item_bytes)
{
    clp_mem_free(reader->mem, list->items, list->room, item_bytes);
}

static clp_status no_memory(struct reader *reader)
{
    return refuse(reader, CLP_NO_MEMORY, NULL, NULL);
}

/* ---- the header ---- */

bool clp_live_is(const char *bytes, size_t count)
{
    return count >= sizeof CLP_LIVE_MAGIC - 1 &&
           memcmp(bytes, CLP_LIVE_MAGIC, sizeof CLP_LIVE_MAGIC - 1) == 0;
}

static bool is_ended(const char *text, size_t room)
{
    return memchr(text, 0, room) != NULL;
}

static bool is_sane(const struct clp_live_header *header)
{
    return is_ended(header->boot, sizeof header->boot) &&
           is_ended(header->python, sizeof header->python) &&
           is_ended(header->tracer, sizeof header->tracer) &&
           is_ended(header->name, sizeof header->name) && header->rough_nanos > 0 &&
           header->rough_nanos < 1e6 && header->cost_error >= 0 && header->cost_error < 1e3 &&
           header->start >= 0 && header->start < 1e12 && header->bytes >= sizeof *header &&
           header->bytes % 64 == 0;
}

static clp_status check_header(struct reader *reader)
{
    const struct clp_live_header *header = reader->header;

    if (!clp_live_is(reader->bytes, reader->count))
        return refuse(reader, CLP_NOT_A_PROFILE, NULL, NULL);
    if (reader->count < sizeof *header)
        return refuse(reader, CLP_TRUNCATED, reader->bytes + reader->count, "in its header");
    if (header->byte_order != CLP_LIVE_BYTE_ORDER)
        return refuse(reader, CLP_UNSUPPORTED, &header->byte_order,
                      "written by a machine of another kind");
    if (header->version > CLP_LIVE_VERSION)
        return refuse(reader, CLP_TOO_NEW, &header->version, NULL);
    if (header->version != CLP_LIVE_VERSION || header->layout != clp_live_layout())
        return refuse(reader, CLP_UNSUPPORTED, &header->version,
                      "a live file is read by the clineprof that wrote it, this is another");
    if (!is_sane(header))
        return refuse(reader, CLP_CORRUPT, header->magic, "in its header");
    if (header->bytes > reader->count)
        return refuse(reader, CLP_TRUNCATED, reader->bytes + reader->count, "in its header");
    return CLP_OK;
}

/* ---- records ---- */

static clp_status add_own(struct reader *reader, uint32_t number)
{
    return clp_view_add(&reader->view, number, 0) == CLP_OK ? CLP_OK : no_memory(reader);
}

static clp_status read_own(struct reader *reader, const char *at, size_t bytes)
{
    uint32_t number;

    if (bytes != sizeof number)
        return refuse(reader, CLP_CORRUPT, at, "no function is like this");
    memcpy(&number, at, sizeof number);
    if (number >= reader->engine.functions.count)
        return refuse(reader, CLP_CORRUPT, at, "there is no such function");
    return add_own(reader, number);
}

static clp_status read_function(struct reader *reader, const char *at, size_t bytes)
{
    struct clp_live_function facts;
    const char *end = at + bytes, *file = at + sizeof facts;
    uint32_t number;

    if (bytes < sizeof facts + 2 || end[-1] != 0)
        return refuse(reader, CLP_CORRUPT, at, "no function is like this");
    memcpy(&facts, at, sizeof facts);
    const char *name = file + strlen(file) + 1;
    if (name >= end || name + strlen(name) + 1 != end || facts.first_line < 0 ||
        facts.lowest_line < 0 || facts.line_count > CLP_FUNCTION_MOST_LINES ||
        facts.lowest_line > INT32_MAX - (int32_t)facts.line_count)
        return refuse(reader, CLP_CORRUPT, at, "no function is like this");
    /* texts are copied, so the constants are safe */
    const struct clp_function wanted = {
        .file = (char *)(uintptr_t)file,
        .name = (char *)(uintptr_t)name,
        .first_line = facts.first_line,
        .lowest_line = facts.lowest_line,
        .line_count = facts.line_count,
        .generator = (facts.flags & CLP_LIVE_GENERATOR) != 0,
    };
    if (clp_functions_add(&reader->engine.functions, &wanted, &number) != CLP_OK)
        return no_memory(reader);
    if (number + 1 != reader->engine.functions.count)
        return refuse(reader, CLP_CORRUPT, at, "a function stands there twice");
    return (facts.flags & CLP_LIVE_FOREIGN) != 0 ? CLP_OK : add_own(reader, number);
}

static clp_status read_text(struct reader *reader, const char *at, uint32_t head, size_t bytes)
{
    struct text *text;

    if (head == 0 || head > bytes || memchr(at, 0, head) != at + head - 1)
        return refuse(reader, CLP_CORRUPT, at, "a text without a name");
    text = append(reader, &reader->texts, sizeof *text);
    if (text == NULL)
        return no_memory(reader);
    *text = (struct text){at, at + head, bytes - head};
    return CLP_OK;
}

static clp_status read_record(struct reader *reader, const struct clp_live_record *record)
{
    const char *at = (const char *)(record + 1);
    size_t bytes = (size_t)record->bytes;

    switch (record->kind) {
    case CLP_LIVE_FUNCTION:
        return read_function(reader, at, bytes);
    case CLP_LIVE_TEXT:
        return read_text(reader, at, record->head, bytes);
    case CLP_LIVE_COMMAND:
        if (bytes != 0 && at[bytes - 1] == 0)
            reader->command = at;
        return CLP_OK;
    case CLP_LIVE_OWN:
        return read_own(reader, at, bytes);
    default:
        return refuse(reader, CLP_CORRUPT, record, "no record is of this kind");
    }
}

static clp_status read_records(struct reader *reader, const struct clp_chunk *chunk)
{
    const char *at = (const char *)(chunk + 1);
    uint64_t left = chunk->used;
    clp_status status = CLP_OK;

    if (left > chunk->mapped - sizeof *chunk)
        return refuse(reader, CLP_CORRUPT, chunk, "more records than fit");
    while (left != 0 && status == CLP_OK) {
        const struct clp_live_record *record = (const void *)at;
        if (left < sizeof *record || left % 8 != 0 || record->bytes > left - sizeof *record)
            return refuse(reader, CLP_CORRUPT, at, "a record that is cut off");
        status = read_record(reader, record);
        uint64_t whole = (sizeof *record + record->bytes + 7) / 8 * 8;
        at += whole;
        left -= whole;
    }
    return status;
}

/* ---- chunks ---- */

static clp_status note_history(struct reader *reader, const struct clp_chunk *chunk)
{
    if (chunk->mapped - sizeof *chunk < sizeof *reader->history || reader->history != NULL)
        return refuse(reader, CLP_CORRUPT, chunk, "memory over time that cannot be");
    reader->history = (void *)(reader->bytes + ((const char *)(chunk + 1) - reader->bytes));
    return CLP_OK;
}

static clp_status read_chunk(struct reader *reader, const struct clp_chunk *chunk, size_t left)
{
    struct place *place;

    if (chunk->mapped < sizeof *chunk || chunk->mapped % 64 != 0)
        return refuse(reader, CLP_CORRUPT, chunk, "no part of the file has this size");
    if (chunk->mapped > left)
        return refuse(reader, CLP_TRUNCATED, reader->bytes + reader->count, NULL);
    place = append(reader, &reader->places, sizeof *place);
    if (place == NULL)
        return no_memory(reader);
    *place = (struct place){chunk, chunk->address, chunk->mapped};
    if (chunk->kind == CLP_CHUNK_RECORDS)
        return read_records(reader, chunk);
    if (chunk->kind == CLP_CHUNK_HISTORY)
        return note_history(reader, chunk);
    if (chunk->kind != CLP_CHUNK_AREAS)
        return refuse(reader, CLP_CORRUPT, chunk, "no part of the file is of this kind");
    return CLP_OK;
}

static clp_status read_chunks(struct reader *reader)
{
    size_t at = (size_t)reader->header->bytes;
    clp_status status = CLP_OK;

    while (status == CLP_OK && reader->count - at >= sizeof(struct clp_chunk)) {
        const struct clp_chunk *chunk = (const void *)(reader->bytes + at);
        if (chunk->kind == 0)
            return CLP_OK; /* the process died while it made this one */
        status = read_chunk(reader, chunk, reader->count - at);
        at += chunk->mapped;
    }
    return status;
}

/* Calls `take` with each area of each chunk that is of this kind. */
static clp_status each_area(struct reader *reader, enum clp_area_kind kind,
                            clp_status (*take)(struct reader *, struct clp_area *, size_t bytes))
{
    clp_status status = CLP_OK;

    for (size_t i = 0; i < reader->places.count; i++) {
        const struct clp_chunk *chunk = ((struct place *)reader->places.items)[i].chunk;
        char *at = reader->bytes + ((const char *)(chunk + 1) - reader->bytes);
        size_t left = chunk->mapped - sizeof *chunk;
        while (chunk->kind == CLP_CHUNK_AREAS && left >= 64 && status == CLP_OK) {
            struct clp_area *area = (void *)at;
            if (area->kind == CLP_AREA_NONE)
                break;
            if (area->kind > CLP_AREA_BASE || area->class < CLP_POOL_LEAST_CLASS ||
                area->class >= CLP_POOL_CLASSES || (size_t)1 << area->class > left)
                return refuse(reader, CLP_CORRUPT, area, "counters that cannot be");
            if (area->kind == (uint32_t)kind)
                status = take(reader, area, (size_t)1 << area->class);
            at += (size_t)1 << area->class;
            left -= (size_t)1 << area->class;
        }
    }
    return status;
}

/* ---- blocks ---- */

static void limit_to(int64_t *value, int64_t largest)
{
    if (*value > largest)
        *value = largest;
    if (*value < -largest)
        *value = -largest;
}

static void limit(int64_t *value)
{
    limit_to(value, LARGEST_COUNT);
}

static void limit_count(uint64_t *value)
{
    if (*value > (uint64_t)LARGEST_COUNT)
        *value = (uint64_t)LARGEST_COUNT;
}

static void limit_correction(uint64_t *value)
{
    if (*value > (uint64_t)LARGEST_CORRECTION)
        *value = (uint64_t)LARGEST_CORRECTION;
}

static void tidy_cell(struct clp_cell *cell)
{
    limit_count(&cell->hits);
    limit_count(&cell->self);
    limit_correction(&cell->self_correction);
    limit(&cell->nested);
    limit_to(&cell->nested_correction, LARGEST_CORRECTION);
    limit(&cell->max);
    limit_count(&cell->await);
}

static void tidy_rss(struct clp_rss_cell *rss)
{
    limit(&rss->grown);
    limit(&rss->released);
    limit(&rss->self_increment);
    limit(&rss->largest);
}

static void tidy_heap(struct clp_heap_cell *heap)
{
    limit_count(&heap->allocated);
    limit_count(&heap->blocks);
}

static void tidy_block(struct clp_block *block)
{
    limit_count(&block->total);
    limit_correction(&block->total_correction);
    for (uint32_t i = 0; i < block->line_count; i++) {
        tidy_cell(&block->cells[i]);
        if (block->rss != NULL)
            tidy_rss(&block->rss[i]);
        if (block->heap != NULL)
            tidy_heap(&block->heap[i]);
    }
}

static clp_status take_into(struct reader *reader, struct list *list, struct clp_area *area,
                            size_t bytes)
{
    struct clp_block *block = (struct clp_block *)area, **slot;
    const struct clp_functions *functions = &reader->engine.functions;
    bool with_rss = reader->engine.with_rss;

    if (bytes < sizeof *block || block->function >= functions->count)
        return CLP_OK; /* of a function that came when the file could not grow */
    const struct clp_function *function = &functions->items[block->function];
    if (block->line_count != function->line_count || block->lowest_line != function->lowest_line ||
        clp_block_bytes(block->line_count, with_rss) > bytes)
        return refuse(reader, CLP_CORRUPT, area, "counters of no function");
    slot = append(reader, list, sizeof(struct clp_block *));
    if (slot == NULL)
        return no_memory(reader);
    *slot = block;
    block->latest = NULL;
    clp_block_place_memory(block, with_rss);
    tidy_block(block);
    return CLP_OK;
}

static clp_status take_block(struct reader *reader, struct clp_area *area, size_t bytes)
{
    return take_into(reader, &reader->blocks, area, bytes);
}

static clp_status take_base(struct reader *reader, struct clp_area *area, size_t bytes)
{
    return take_into(reader, &reader->bases, area, bytes);
}

/* ---- threads ---- */

/* `bytes` bytes of the copy that lie where the process had this address, or NULL. */
static void *translate(const struct reader *reader, const void *pointer, size_t bytes)
{
    uint64_t address = (uint64_t)(uintptr_t)pointer;
    const struct place *places = reader->places.items;

    for (size_t i = 0; i < reader->places.count; i++) {
        uint64_t at = address - places[i].address;
        if (at < places[i].bytes && bytes <= places[i].bytes - at && at % 8 == 0)
            return reader->bytes + ((const char *)places[i].chunk - reader->bytes) + at;
    }
    return NULL;
}

static int compare_blocks(const void *key, const void *item)
{
    const char *a = key, *b = *(char *const *)item;

    return a < b ? -1 : a > b;
}

static struct clp_block *find_block(const struct reader *reader, const void *pointer)
{
    const void *at = translate(reader, pointer, sizeof(struct clp_block));
    struct clp_block **found =
        at == NULL || reader->blocks.count == 0
            ? NULL
            : bsearch(at, reader->blocks.items, reader->blocks.count, sizeof *found,
                      compare_blocks);

    return found != NULL ? *found : NULL;
}

/* The cell of the block, both as the process had them; the thread's bin for any other pointer. */
static struct clp_cell *find_cell(struct clp_thread *thread, struct clp_block *block,
                                  const struct clp_activation *from)
{
    uintptr_t start = (uintptr_t)from->block + offsetof(struct clp_block, cells);
    uintptr_t at = (uintptr_t)from->cell - start;

    if (at % sizeof(struct clp_cell) != 0 || at / sizeof(struct clp_cell) >= block->line_count)
        return &thread->outside;
    return &block->cells[at / sizeof(struct clp_cell)];
}

/* A byte of a foreign file need not be 0 or 1. */
static bool is_set(const bool *flag)
{
    unsigned char byte;

    memcpy(&byte, flag, 1);
    return byte != 0;
}

/* A reading of a clock that now stands at `now`, and not too long ago. */
static uint64_t earlier(uint64_t value, uint64_t now)
{
    return now - value <= (uint64_t)LARGEST_COUNT ? value : now;
}

static uint64_t earlier_correction(uint64_t value, uint64_t now)
{
    return now - value <= (uint64_t)LARGEST_CORRECTION ? value : now;
}

/* Puts the activation on the thread's stack; false when it is none. */
static bool revive(struct reader *reader, struct clp_thread *thread,
                   const struct clp_activation *from)
{
    struct clp_block *block = find_block(reader, from->block);

    if (block == NULL)
        return false;
    *++thread->top = (struct clp_activation){
        .block = block,
        .cell = find_cell(thread, block, from),
        .special = is_set(&from->special),
        .continued = is_set(&from->continued),
        .start = earlier(from->start, thread->last),
        .start_correction = earlier_correction(from->start_correction, thread->correction),
        .start_rss = from->start_rss,
        .carried = from->carried,
        .entered = earlier(from->entered, thread->last),
        .entered_correction = earlier_correction(from->entered_correction, thread->correction),
        .entry_cost = from->entry_cost,
    };
    limit(&thread->top->start_rss);
    limit_count(&thread->top->carried);
    limit_count(&thread->top->entry_cost);
    if (!reader->engine.with_rss)
        thread->top->start_rss = thread->rss;
    return true;
}

static bool note_in_flight(struct reader *reader, const struct clp_thread *thread)
{
    const struct clp_activation *top = thread->top;
    struct in_flight *line;

    if (top->cell == &thread->outside)
        return true;
    line = append(reader, &reader->in_flight, sizeof *line);
    if (line == NULL)
        return false;
    *line = (struct in_flight){top->block->function, clp_engine_current_line(thread)};
    return true;
}

/* How many activations lie above the floor of the stack; *stack is that, in the copy. 0 when there
 * is none, or the process was just exchanging it. */
static size_t depth_of(const struct reader *reader, const struct clp_thread *thread,
                       const struct clp_activation **stack)
{
    size_t bytes = (size_t)((uintptr_t)thread->top - (uintptr_t)thread->stack);
    size_t depth = bytes / sizeof **stack;

    if (depth == 0 || bytes % sizeof **stack != 0 || depth >= reader->count / sizeof **stack)
        return 0;
    *stack = translate(reader, thread->stack, bytes + sizeof **stack);
    return *stack != NULL ? depth : 0;
}

static void copy_state(const struct reader *reader, struct clp_thread *into,
                       const struct clp_thread *from)
{
    clp_engine_copy_clock(into, from);
    into->reads = from->reads;
    into->others_grown = from->others_grown;
    into->others_released = from->others_released;
    limit(&into->others_grown);
    limit(&into->others_released);
    into->rss = reader->engine.with_rss ? from->rss : 0;
    limit(&into->rss);
    into->last_rss = into->rss;
}

static clp_status take_thread(struct reader *reader, struct clp_area *area, size_t bytes)
{
    const struct clp_thread *from = (const struct clp_thread *)area;
    const struct clp_activation *stack = NULL;
    struct clp_thread *thread;

    if (bytes < sizeof *from)
        return refuse(reader, CLP_CORRUPT, area, "no thread is so small");
    size_t depth = depth_of(reader, from, &stack);
    if (depth > reader->activations_left)
        return refuse(reader, CLP_CORRUPT, area, "threads that share a stack");
    reader->activations_left -= depth;
    thread = clp_engine_new_thread(&reader->engine, 0, 0);
    if (thread == NULL || !clp_engine_reserve(thread, depth + 1))
        return no_memory(reader);
    copy_state(reader, thread, from);
    for (size_t i = 1; i <= depth && revive(reader, thread, &stack[i]); i++) {
        if (!note_in_flight(reader, thread))
            return no_memory(reader);
    }
    if (from->last + from->stopped > reader->end)
        reader->end = from->last + from->stopped;
    return CLP_OK;
}

static void tidy_costs(struct clp_costs *costs)
{
    uint64_t *values = (uint64_t *)costs;

    for (size_t i = 0; i < sizeof *costs / sizeof *values; i++)
        limit_count(&values[i]);
}

_Static_assert(sizeof(struct clp_costs) % sizeof(uint64_t) == 0, "costs are numbers");

/* `open` and `running` are counted anew from the stacks, so that they agree whatever was copied
 * first. */
static void forget_open(struct reader *reader)
{
    for (size_t i = 0; i < reader->blocks.count; i++) {
        struct clp_block *block = ((struct clp_block **)reader->blocks.items)[i];
        for (uint32_t j = 0; j < block->line_count; j++) {
            reader->torn |= block->cells[j].open != 0;
            block->cells[j].open = 0;
        }
        block->running = 0;
    }
}

static void count_open(struct reader *reader, int32_t by)
{
    for (struct clp_thread *thread = reader->engine.threads; thread != NULL;
         thread = thread->next) {
        for (struct clp_activation *at = thread->stack; at != thread->top; at++) {
            at->cell->open += (uint32_t)by;
            at[1].block->running += (uint32_t)by;
        }
    }
}

static void settle_open(struct reader *reader)
{
    count_open(reader, -1); /* nothing is left of what the process counted, or the copy is torn */
    forget_open(reader);
    for (struct clp_thread *thread = reader->engine.threads; thread != NULL; thread = thread->next)
        thread->outside.open = 1;
    count_open(reader, 1);
}

static void unwind_all(struct reader *reader)
{
    for (struct clp_thread *thread = reader->engine.threads; thread != NULL;
         thread = thread->next) {
        thread->last = earlier(thread->last, reader->end - thread->stopped);
        clp_engine_unwind(thread, reader->end);
    }
}

/* ---- the profile ---- */

/* The copy of a process that runs on may hold a callee's time twice or not at all. */
static void settle(struct clp_block *block)
{
    tidy_block(block);
    for (uint32_t i = 0; i < block->line_count; i++) {
        struct clp_cell *cell = &block->cells[i];
        if ((int64_t)clp_cell_time(cell) < 0)
            cell->nested = 0;
    }
}

static void not_below_zero(uint64_t *value)
{
    if ((int64_t)*value < 0)
        *value = 0;
}

/* What a damaged file says of it may be more than there is. */
static void take_off(struct clp_block *block, const struct clp_block *base)
{
    clp_block_subtract(block, base);
    not_below_zero(&block->total);
    for (uint32_t i = 0; i < block->line_count; i++) {
        struct clp_cell *cell = &block->cells[i];
        not_below_zero(&cell->hits);
        not_below_zero(&cell->self);
        not_below_zero(&cell->await);
        if (block->heap != NULL) {
            not_below_zero(&block->heap[i].allocated);
            not_below_zero(&block->heap[i].blocks);
        }
        if (block->rss != NULL) {
            not_below_zero((uint64_t *)&block->rss[i].grown);
            not_below_zero((uint64_t *)&block->rss[i].released);
        }
    }
    settle(block);
}

static void take_bases_off(const struct reader *reader, const struct clp_thread *sums)
{
    for (size_t i = 0; i < reader->bases.count; i++) {
        const struct clp_block *base = ((struct clp_block **)reader->bases.items)[i];
        if (sums->blocks[base->function] != NULL)
            take_off(sums->blocks[base->function], base);
    }
}

/* The sum of each function's blocks, where a snapshot looks for them. */
static bool add_sums(struct reader *reader)
{
    struct clp_functions *functions = &reader->engine.functions;
    struct clp_thread *thread = clp_engine_new_thread(&reader->engine, 0, 0);

    if (thread == NULL ||
        clp_mem_grow(reader->mem, (void **)&thread->blocks, &thread->block_room, functions->count,
                     sizeof(struct clp_block *)) != CLP_OK)
        return functions->count == 0;
    for (size_t i = 0; i < reader->blocks.count; i++) {
        struct clp_block *block = ((struct clp_block **)reader->blocks.items)[i];
        settle(block);
        if (thread->blocks[block->function] == NULL)
            thread->blocks[block->function] = block;
        else
            clp_block_merge(thread->blocks[block->function], block);
    }
    take_bases_off(reader, thread);
    for (size_t i = 0; i < functions->count; i++) {
        if (thread->blocks[i] == NULL)
            functions->items[i].line_count = 0; /* never ran: no need to make room for its lines */
    }
    return true;
}

/* They lie in the copy, not in the engine's pool. */
static void drop_sums(struct clp_engine *engine)
{
    if (engine->threads == NULL)
        return;
    for (size_t i = 0; i < engine->threads->block_room; i++)
        engine->threads->blocks[i] = NULL;
}

static struct clp_clock clock_of(const struct clp_live_header *header)
{
    return (struct clp_clock){.counter = header->counter != 0,
                              .rough_nanos = header->rough_nanos,
                              .start_ticks = header->start_ticks,
                              .start_nanos = header->clock_nanos};
}

static bool same_boot(const struct clp_live_header *header)
{
    char boot[sizeof header->boot];

    clp_proc_boot(boot, sizeof boot);
    return boot[0] != 0 && strcmp(boot, header->boot) == 0;
}

/* While the machine has not started anew, its two clocks tell the ratio better every second. */
static double rate_of(const struct clp_live_header *header)
{
    struct clp_clock clock = clock_of(header);
    double rate = same_boot(header) ? clp_clock_nanos_per_tick(&clock) : header->rough_nanos;

    return rate > header->rough_nanos * 0.99 && rate < header->rough_nanos * 1.01
               ? rate
               : header->rough_nanos;
}

static clp_status fill_meta(const struct reader *reader, double rate, struct clp_profile *profile)
{
    const struct clp_live_header *header = reader->header;
    struct clp_profile_meta *meta = &profile->meta;
    double wall = (double)(reader->end - header->began) * rate;

    meta->pid = header->pid;
    meta->start = header->start;
    meta->wall = reader->end > header->began && wall < 1e18 ? (uint64_t)wall : 0;
    meta->overhead_error = (uint64_t)((double)meta->overhead * header->cost_error);
    meta->own_bytes = reader->count;
    meta->memory_step = header->memory_step;
    meta->inexact_memory = header->memory_step != 0;
    clp_status status = clp_profile_set_text(profile, &meta->python, header->python);
    if (status == CLP_OK)
        status = clp_profile_set_text(profile, &meta->tracer, header->tracer);
    if (status == CLP_OK && meta->has_memory && header->memory < CLP_MEMORY_MODES)
        status = clp_profile_set_text(profile, &meta->memory, clp_memory_name(header->memory));
    if (status == CLP_OK && reader->command != NULL)
        status = clp_profile_set_text(profile, &meta->command, reader->command);
    return status;
}

static const struct text *find_text(const struct reader *reader, const char *file)
{
    const struct text *texts = reader->texts.items;

    for (size_t i = 0; i < reader->texts.count; i++) {
        if (strcmp(texts[i].file, file) == 0)
            return &texts[i];
    }
    return NULL;
}

static clp_status fill_texts(const struct reader *reader, struct clp_profile *profile)
{
    struct clp_source_walk walk = {0};
    const struct text *text = NULL;
    clp_status status = CLP_OK;

    for (size_t i = 0; i < profile->function_count && status == CLP_OK; i++) {
        struct clp_profile_function *function = &profile->functions[i];
        if (text == NULL || strcmp(text->file, function->file) != 0) {
            text = find_text(reader, function->file);
            if (text == NULL)
                continue;
            walk = (struct clp_source_walk){.text = {text->text, text->bytes}};
        }
        status = clp_profile_cut_source(profile, function, &walk);
    }
    return status;
}

static clp_status mark_in_flight(const struct reader *reader, struct clp_profile *profile)
{
    const struct in_flight *lines = reader->in_flight.items;

    for (size_t i = 0; i < reader->in_flight.count; i++) {
        const struct clp_function *from = &reader->engine.functions.items[lines[i].function];
        struct clp_profile_function *function;
        if (!clp_view_has(&reader->view, lines[i].function))
            continue;
        if (clp_profile_add_function(profile, from->file, from->name, from->first_line,
                                     &function) != CLP_OK)
            return CLP_NO_MEMORY;
        for (size_t j = 0; j < function->line_count; j++)
            function->lines[j].running |= function->lines[j].line == lines[i].line;
    }
    return CLP_OK;
}

static clp_status fill_history(const struct reader *reader, double rate,
                               struct clp_profile *profile)
{
    const struct clp_clock clock = clock_of(reader->header);
    struct clp_samples samples;

    if (reader->history == NULL || reader->header->parent != 0) /* a fork's is its parent's */
        return CLP_OK;
    clp_history_tidy(reader->history, &samples);
    return clp_history_add(reader->history, &samples,
                           &(struct clp_history_origin){.pid = reader->header->pid,
                                                        .functions = &reader->engine.functions,
                                                        .clock = &clock,
                                                        .nanos_per_tick = rate},
                           profile);
}

static clp_status make_profile(struct reader *reader, struct clp_profile *profile)
{
    const struct clp_ended ended = {.from = &reader->engine}; /* it has been unwound */
    double rate = rate_of(reader->header);

    settle_open(reader);
    unwind_all(reader);
    if (!add_sums(reader))
        return CLP_NO_MEMORY;
    clp_status status = clp_snapshot_take_view(&reader->view, &ended, reader->engine.with_rss, rate,
                                               profile);
    drop_sums(&reader->engine);
    if (status == CLP_OK)
        status = fill_history(reader, rate, profile);
    if (status == CLP_OK)
        status = mark_in_flight(reader, profile);
    if (status == CLP_OK)
        status = fill_texts(reader, profile);
    if (status == CLP_OK)
        status = fill_meta(reader, rate, profile);
    return status;
}

/* ---- the whole ---- */

static clp_status read_all(struct reader *reader, uint64_t now, struct clp_profile *profile)
{
    struct clp_costs costs;
    clp_status status = check_header(reader);

    if (status != CLP_OK)
        return status;
    reader->engine.with_rss = reader->header->with_rss != 0;
    reader->end = now;
    reader->view.base = reader->header->inherited;
    status = read_chunks(reader);
    if (status == CLP_OK)
        status = each_area(reader, CLP_AREA_BLOCK, take_block);
    if (status == CLP_OK)
        status = each_area(reader, CLP_AREA_BASE, take_base);
    if (status == CLP_OK)
        status = each_area(reader, CLP_AREA_THREAD, take_thread);
    if (status != CLP_OK)
        return status;
    costs = reader->header->costs;
    tidy_costs(&costs);
    clp_engine_set_costs(&reader->engine, &costs);
    status = make_profile(reader, profile);
    return status == CLP_OK ? CLP_OK : no_memory(reader);
}

static void clear_reader(struct reader *reader)
{
    clear_list(reader, &reader->places, sizeof(struct place));
    clear_list(reader, &reader->texts, sizeof(struct text));
    clear_list(reader, &reader->blocks, sizeof(struct clp_block *));
    clear_list(reader, &reader->bases, sizeof(struct clp_block *));
    clear_list(reader, &reader->in_flight, sizeof(struct in_flight));
    clp_view_clear(&reader->view, 0);
    clp_views_clear(&reader->views);
    clp_engine_clear(&reader->engine);
    clp_mem_free(reader->mem, reader->room, reader->room_bytes, 1);
}

/* Aligned as the process had it, and open to change; a header can be read in any case. */
static bool make_copy(struct reader *reader, const struct clp_buf *bytes)
{
    const size_t line = 64;

    reader->room_bytes = bytes->used + sizeof *reader->header + line;
    reader->room = clp_mem_alloc(reader->mem, reader->room_bytes, 1);
    if (reader->room == NULL)
        return false;
    reader->bytes = (char *)reader->room + (line - (uintptr_t)reader->room % line);
    memcpy(reader->bytes, clp_buf_text(bytes), bytes->used);
    reader->header = (const void *)reader->bytes;
    return true;
}

clp_status clp_live_decode(const struct clp_buf *bytes, uint64_t now, struct clp_pages *pages,
                           struct clp_profile *profile, struct clp_live_about *about,
                           struct clp_fault *fault)
{
    struct clp_mem *mem = profile->mem;
    size_t count = bytes->used;
    struct reader reader = {.mem = mem, .fault = fault, .pages = pages, .count = count};

    *fault = (struct clp_fault){.status = CLP_OK};
    reader.activations_left = count / sizeof(struct clp_activation);
    clp_engine_init(&reader.engine, mem, pages);
    clp_views_init(&reader.views, &reader.engine, pages);
    clp_view_init(&reader.view, &reader.views, false);
    (void)clp_view_set_counting(&reader.view, true, 0); /* fails only where something runs */
    if (!make_copy(&reader, bytes))
        return no_memory(&reader);
    clp_status status = read_all(&reader, now, profile);
    if (status == CLP_OK) {
        *about = (struct clp_live_about){.pid = reader.header->pid,
                                         .parent = reader.header->parent,
                                         .incomplete = reader.header->incomplete != 0,
                                         .torn = reader.torn};
        memcpy(about->name, reader.header->name, sizeof about->name);
    }
    clear_reader(&reader);
    if (status != CLP_OK) {
        clp_profile_clear(profile);
        clp_profile_init(profile, mem);
    }
    return status;
}

/* What the header says of a process that may still live. */
static void look_up_process(const char *path, const struct clp_buf *bytes,
                            struct clp_live_about *about, uint64_t *now)
{
    struct clp_live_header header;

    if (bytes->used < sizeof header)
        return;
    memcpy(&header, clp_buf_text(bytes), sizeof header);
    about->running = clp_proc_maps(header.pid, path);
    if (about->running && is_ended(header.boot, sizeof header.boot) && same_boot(&header)) {
        const struct clp_clock clock = clock_of(&header);
        *now = clp_clock_read(&clock);
    }
}

static clp_status read_once(const char *path, const struct clp_live_self *self,
                            struct clp_profile *profile, struct clp_live_about *about,
                            struct clp_fault *fault)
{
    struct clp_live_about process = {.running = self != NULL};
    struct clp_pages pages = {0};
    struct clp_buf bytes;
    uint64_t now = 0;

    clp_buf_init(&bytes, profile->mem);
    clp_status status = clp_file_read(path, LARGEST_FILE, &bytes, fault);
    if (status == CLP_OK && self != NULL)
        now = clp_clock_read(self->clock);
    else if (status == CLP_OK)
        look_up_process(path, &bytes, &process, &now);
    if (status == CLP_OK)
        status = clp_live_decode(&bytes, now, self != NULL ? self->pages : &pages, profile, about,
                                 fault);
    about->running = process.running;
    clp_buf_clear(&bytes);
    return status;
}

clp_status clp_live_read(const char *path, const struct clp_live_self *self,
                         struct clp_profile *profile, struct clp_live_about *about,
                         struct clp_fault *fault)
{
    struct clp_mem *mem = profile->mem;
    clp_status status;

    for (int i = 1;; i++) {
        *about = (struct clp_live_about){0};
        status = read_once(path, self, profile, about, fault);
        if (status != CLP_OK || !about->running || !about->torn || i == COPIES)
            break;
        clp_profile_clear(profile);
        clp_profile_init(profile, mem);
    }
    fault->status = status;
    return status;
}
