/* SPDX-License-Identifier: MIT */
#include "live_reader.h"
#include "engine/engine.h"
#include "os/file.h"
#include "live_copy.h"
#include "live_calls.h"
#include "live_lines.h"
#include "live_profile.h"
#include "live_samples.h"
#include "live_threads.h"
#include "live_ways.h"
#include <string.h>

#define LARGEST_FILE ((size_t)1 << 36)

/* How often a file is copied at most. The process may enter and leave functions while its file is copied. That
 * nearly always changes the sums little, but a second copy is better. A copy may also have the mark of something that
 * is complete, and what lies behind it as it was before: processors that reorder what they read (aarch64) may do so. */
#define COPIES 3

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
    return is_ended(header->who.boot, sizeof header->who.boot) &&
           is_ended(header->who.host, sizeof header->who.host) &&
           is_ended(header->who.rank, sizeof header->who.rank) &&
           is_ended(header->python, sizeof header->python) &&
           is_ended(header->tracer, sizeof header->tracer) &&
           is_ended(header->name, sizeof header->name) && header->rough_nanos > 0 &&
           header->rough_nanos < 1e6 && header->cost_error >= 0 && header->cost_error < 1e3 &&
           header->start >= 0 && header->start < 1e12 && header->bytes >= sizeof *header &&
           header->bytes % 64 == 0;
}

/* The first bytes of the header are written last, so without them the process has counted nothing. */
static clp_status check_magic(struct clp_live_reader *reader)
{
    static const char nothing[sizeof CLP_LIVE_MAGIC - 1];
    size_t there = reader->count < sizeof nothing ? reader->count : sizeof nothing;

    if (memcmp(reader->bytes, nothing, there) == 0)
        return refuse(reader, CLP_NOT_BEGUN, NULL, NULL);
    if (memcmp(reader->bytes, CLP_LIVE_MAGIC, there) != 0)
        return refuse(reader, CLP_NOT_A_PROFILE, NULL, NULL);
    return CLP_OK;
}

static clp_status check_header(struct clp_live_reader *reader)
{
    const struct clp_live_header *header = reader->header;
    clp_status status = check_magic(reader);

    if (status != CLP_OK)
        return status;
    if (reader->count < sizeof *header)
        return refuse(reader, CLP_TRUNCATED, reader->bytes + reader->count, "in its header");
    if (header->byte_order != CLP_LIVE_BYTE_ORDER)
        return refuse(reader, CLP_UNSUPPORTED, &header->byte_order,
                      "written by a machine of another kind");
    if (header->version > CLP_LIVE_VERSION)
        return refuse(reader, CLP_TOO_NEW, &header->version, NULL);
    if (header->version != CLP_LIVE_VERSION || header->layout != clp_live_layout())
        return refuse(reader, CLP_UNSUPPORTED, &header->version,
                      "another version of clineprof wrote this live file, and only that one reads it");
    if (!is_sane(header))
        return refuse(reader, CLP_CORRUPT, header->magic, "in its header");
    if (header->bytes > reader->count)
        return refuse(reader, CLP_TRUNCATED, reader->bytes + reader->count, "in its header");
    if (reader->count / CLP_PAGES_BLOCK < header->size)
        return refuse(reader, CLP_TRUNCATED, reader->bytes + reader->count, NULL);
    return CLP_OK;
}

/* ---- records ---- */

static clp_status add_own(struct clp_live_reader *reader, uint32_t number)
{
    return clp_view_add(&reader->view, number, 0) == CLP_OK ? CLP_OK : no_memory(reader);
}

static clp_status read_own(struct clp_live_reader *reader, const char *at, size_t bytes)
{
    uint32_t number;

    if (bytes != sizeof number)
        return refuse(reader, CLP_CORRUPT, at, "no function is like this");
    memcpy(&number, at, sizeof number);
    if (number >= reader->engine.functions.count)
        return refuse(reader, CLP_CORRUPT, at, "there is no such function");
    return add_own(reader, number);
}

/* Are these the lines of a function, ascending from its lowest? */
static bool are_lines(const struct clp_live_function *facts, const int32_t *lines)
{
    uint32_t count = facts->line_count;

    if (facts->lowest_line < 0 || (count != 0 && lines[0] != facts->lowest_line))
        return false;
    for (uint32_t i = 1; i < count; i++)
        if (lines[i] <= lines[i - 1])
            return false;
    return count == 0 || lines[count - 1] - lines[0] < (int32_t)CLP_FUNCTION_MOST_LINES;
}

static clp_status read_function(struct clp_live_reader *reader, const char *at, uint32_t text,
                                size_t bytes)
{
    struct clp_live_function facts;
    const int32_t *lines = (const int32_t *)(const void *)(at + sizeof facts); /* records are aligned to 8 bytes */
    const char *end = at + bytes;
    uint32_t number;

    if (bytes < sizeof facts)
        return refuse(reader, CLP_CORRUPT, at, "no function is like this");
    memcpy(&facts, at, sizeof facts);
    if ((bytes - sizeof facts) / sizeof *lines < facts.line_count || !are_lines(&facts, lines))
        return refuse(reader, CLP_CORRUPT, at, "no function is like this");
    const char *file = (const char *)(lines + facts.line_count);
    size_t counts = (facts.flags & CLP_LIVE_INSTRUCTIONS) != 0 ? facts.line_count : 0;
    if ((size_t)(end - file) < counts + 2 || (end -= counts)[-1] != 0)
        return refuse(reader, CLP_CORRUPT, at, "no function is like this");
    const char *name = file + strlen(file) + 1;
    if (name >= end || name + strlen(name) + 1 != end || facts.first_line < 0)
        return refuse(reader, CLP_CORRUPT, at, "no function is like this");
    /* clp_functions_add copies everything, so the casts from const are safe */
    const struct clp_function wanted = {
        .file = (char *)(uintptr_t)file,
        .name = (char *)(uintptr_t)name,
        .first_line = facts.first_line,
        .lowest_line = facts.lowest_line,
        .line_count = facts.line_count,
        .lines = lines,
        .text = text,
        .instructions = counts != 0 ? (uint8_t *)(uintptr_t)end : NULL,
        .generator = (facts.flags & CLP_LIVE_GENERATOR) != 0,
    };
    if (clp_functions_add(&reader->engine.functions, &wanted, &number) != CLP_OK)
        return no_memory(reader);
    if (number + 1 != reader->engine.functions.count)
        return refuse(reader, CLP_CORRUPT, at, "a function stands there twice");
    return (facts.flags & CLP_LIVE_FOREIGN) != 0 ? CLP_OK : add_own(reader, number);
}

static clp_status read_text(struct clp_live_reader *reader, const char *at, uint32_t number,
                            size_t bytes)
{
    struct clp_live_text *text;

    if (number == CLP_TEXT_NONE || number == CLP_TEXT_CHANGED)
        return refuse(reader, CLP_CORRUPT, at, "a text without a number");
    text = clp_live_append(reader, &reader->texts, sizeof *text);
    if (text == NULL)
        return no_memory(reader);
    *text = (struct clp_live_text){number, at, bytes};
    return CLP_OK;
}

/* Names are told apart by their numbers, so the same name may not come twice. */
static clp_status read_callee(struct clp_live_reader *reader, const char *at, size_t bytes)
{
    struct clp_callee_names *names = &reader->engine.callee_names;
    size_t before = names->count;

    if (bytes == 0 || memchr(at, 0, bytes) != at + bytes - 1)
        return refuse(reader, CLP_CORRUPT, at, "no callee is called like this");
    if (clp_callee_names_add(names, at, bytes - 1) == 0)
        return no_memory(reader);
    if (names->count == before)
        return refuse(reader, CLP_CORRUPT, at, "a callee stands there twice");
    return CLP_OK;
}

static clp_status read_record(struct clp_live_reader *reader, const struct clp_live_record *record)
{
    const char *at = (const char *)(record + 1);
    size_t bytes = (size_t)record->bytes;

    switch (record->kind) {
    case CLP_LIVE_FUNCTION:
        return read_function(reader, at, record->text, bytes);
    case CLP_LIVE_TEXT:
        return read_text(reader, at, record->text, bytes);
    case CLP_LIVE_COMMAND:
        if (bytes != 0 && at[bytes - 1] == 0)
            reader->command = at;
        return CLP_OK;
    case CLP_LIVE_LEAKS:
        reader->leaks = reader->bytes + (at - reader->bytes);
        reader->leak_bytes = bytes;
        return CLP_OK;
    case CLP_LIVE_CALLEE:
        return read_callee(reader, at, bytes);
    case CLP_LIVE_OWN:
        return read_own(reader, at, bytes);
    default:
        return refuse(reader, CLP_CORRUPT, record, "no record is of this kind");
    }
}

static clp_status read_records(struct clp_live_reader *reader, const struct clp_chunk *chunk)
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

static clp_status note_history(struct clp_live_reader *reader, const struct clp_chunk *chunk)
{
    if (chunk->mapped - sizeof *chunk < sizeof *reader->history || reader->history != NULL)
        return refuse(reader, CLP_CORRUPT, chunk, "memory over time that cannot be");
    reader->history = (void *)(reader->bytes + ((const char *)(chunk + 1) - reader->bytes));
    return CLP_OK;
}

static clp_status read_chunk(struct clp_live_reader *reader, const struct clp_chunk *chunk,
                             size_t left)
{
    struct clp_live_place *place;

    if (chunk->mapped < sizeof *chunk || chunk->mapped % 64 != 0)
        return refuse(reader, CLP_CORRUPT, chunk, "no part of the file has this size");
    if (chunk->mapped > left)
        return refuse(reader, CLP_TRUNCATED, reader->bytes + reader->count, NULL);
    place = clp_live_append(reader, &reader->places, sizeof *place);
    if (place == NULL)
        return no_memory(reader);
    *place = (struct clp_live_place){chunk, chunk->address, chunk->mapped};
    if (chunk->kind == CLP_CHUNK_RECORDS)
        return read_records(reader, chunk);
    if (chunk->kind == CLP_CHUNK_HISTORY)
        return note_history(reader, chunk);
    if (chunk->kind != CLP_CHUNK_AREAS)
        return refuse(reader, CLP_CORRUPT, chunk, "no part of the file is of this kind");
    return CLP_OK;
}

static clp_status read_chunks(struct clp_live_reader *reader)
{
    size_t at = (size_t)reader->header->bytes;
    clp_status status = CLP_OK;

    while (status == CLP_OK && reader->count - at >= sizeof(struct clp_chunk)) {
        const struct clp_chunk *chunk = (const void *)(reader->bytes + at);
        if (chunk->kind == 0)
            return CLP_OK; /* the process died while it made this chunk */
        status = read_chunk(reader, chunk, reader->count - at);
        at += chunk->mapped;
    }
    return status;
}

/* Calls `take` with each area of this kind, in all chunks. */
static clp_status each_area(struct clp_live_reader *reader, enum clp_area_kind kind,
                            clp_status (*take)(struct clp_live_reader *, struct clp_area *,
                                               size_t bytes))
{
    clp_status status = CLP_OK;

    for (size_t i = 0; i < reader->places.count; i++) {
        const struct clp_chunk *chunk = ((struct clp_live_place *)reader->places.items)[i].chunk;
        char *at = reader->bytes + ((const char *)(chunk + 1) - reader->bytes);
        size_t left = chunk->mapped - sizeof *chunk;
        while (chunk->kind == CLP_CHUNK_AREAS && left >= 64 && status == CLP_OK) {
            struct clp_area *area = (void *)at;
            if (area->kind == CLP_AREA_NONE)
                break;
            if (area->kind > CLP_AREA_LAST || area->class < CLP_POOL_LEAST_CLASS ||
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

/* ---- the whole file ---- */

/* The tree of calls. */
static clp_status take_calls(struct clp_live_reader *reader)
{
    clp_status status = each_area(reader, CLP_AREA_CALLS, clp_live_take_calls);

    if (status == CLP_OK)
        status = clp_live_make_calls(reader);
    if (status == CLP_OK)
        status = each_area(reader, CLP_AREA_CALL_SUM, clp_live_take_call_sum);
    if (status == CLP_OK)
        status = each_area(reader, CLP_AREA_CALL_BASE, clp_live_take_call_base);
    if (status == CLP_OK)
        status = each_area(reader, CLP_AREA_SAMPLED_CALLS, clp_live_take_sampled_calls);
    return status == CLP_OK ? clp_live_make_sampled_calls(reader) : status;
}

static clp_status read_all(struct clp_live_reader *reader, uint64_t now,
                           struct clp_profile *profile)
{
    clp_status status = check_header(reader);

    if (status != CLP_OK)
        return status;
    reader->engine.parts = reader->header->parts & CLP_PARTS_ALL;
    reader->end = now;
    reader->view.base = reader->header->inherited;
    clp_live_tidy_totals(&reader->view.base);
    status = read_chunks(reader);
    if (status == CLP_OK)
        status = each_area(reader, CLP_AREA_BLOCK, clp_live_take_block);
    if (status == CLP_OK)
        status = each_area(reader, CLP_AREA_BASE, clp_live_take_base);
    if (status == CLP_OK)
        status = each_area(reader, CLP_AREA_WAYS, clp_live_take_ways);
    if (status == CLP_OK)
        status = take_calls(reader);
    if (status == CLP_OK)
        status = each_area(reader, CLP_AREA_THREAD, clp_live_take_thread);
    if (status == CLP_OK)
        status = each_area(reader, CLP_AREA_TENSORS, clp_live_take_tensors);
    if (status == CLP_OK) /* after the threads, which search among the copy's blocks */
        status = each_area(reader, CLP_AREA_SAMPLES, clp_live_take_samples);
    if (status != CLP_OK)
        return status;
    clp_live_take_costs(reader);
    status = clp_live_make_profile(reader, profile);
    return status == CLP_OK ? CLP_OK : no_memory(reader);
}

static void clear_list(struct clp_live_reader *reader, struct clp_live_list *list,
                       size_t item_bytes)
{
    clp_mem_free(reader->mem, list->items, list->room, item_bytes);
}

static void clear_reader(struct clp_live_reader *reader)
{
    clear_list(reader, &reader->places, sizeof(struct clp_live_place));
    clear_list(reader, &reader->texts, sizeof(struct clp_live_text));
    clear_list(reader, &reader->blocks, sizeof(struct clp_block *));
    clear_list(reader, &reader->bases, sizeof(struct clp_block *));
    clear_list(reader, &reader->in_flight, sizeof(struct clp_live_in_flight));
    clear_list(reader, &reader->calls, sizeof(struct clp_live_call));
    clear_list(reader, &reader->sampled, sizeof(struct clp_live_sampled_call));
    clp_view_clear(&reader->view, 0);
    clp_views_clear(&reader->views);
    clp_engine_clear(&reader->engine);
    clp_mem_free(reader->mem, reader->room, reader->room_bytes, 1);
}

/* Copies the file to where the reader may change it, with the alignment that it had in the process. There is
 * room for a header even behind a shorter file. */
static bool make_copy(struct clp_live_reader *reader, const struct clp_buf *bytes)
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
    struct clp_live_reader reader = {.mem = mem, .fault = fault, .pages = pages, .count = count};

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
        *about = (struct clp_live_about){.pid = reader.header->who.pid,
                                         .parent = reader.header->parent,
                                         .incomplete = reader.header->incomplete != 0,
                                         .torn = reader.torn};
        memcpy(about->name, reader.header->name, sizeof about->name);
        memcpy(about->host, reader.header->who.host, sizeof about->host);
    }
    clear_reader(&reader);
    if (status != CLP_OK) {
        clp_profile_clear(profile);
        clp_profile_init(profile, mem);
    }
    return status;
}

/* Finds out from the header whether the process still runs, and reads its clock if it does. */
static void look_up_process(const char *path, const struct clp_buf *bytes,
                            struct clp_live_about *about, uint64_t *now)
{
    struct clp_live_header header;

    if (bytes->used < sizeof header)
        return;
    memcpy(&header, clp_buf_text(bytes), sizeof header);
    if (!is_ended(header.who.boot, sizeof header.who.boot))
        return;
    enum clp_life life = clp_identity_life(&header.who, path, header.locked != 0);
    about->running = life == CLP_LIFE_RUNS;
    about->unknown = life == CLP_LIFE_UNKNOWN;
    if (about->running && clp_identity_same_boot(&header.who)) {
        const struct clp_clock clock = clp_live_clock(&header);
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
    about->unknown = process.unknown;
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
        if (!about->running || (status == CLP_OK && !about->torn) || i == COPIES)
            break;
        clp_profile_clear(profile);
        clp_profile_init(profile, mem);
    }
    if (status == CLP_OK)
        clp_live_lines_add(path, profile);
    fault->status = status;
    return status;
}
