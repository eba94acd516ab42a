/* SPDX-License-Identifier: MIT */
#include "live.h"
#include "engine/devices.h"
#include "timeline/history.h"
#include <errno.h>
#include <string.h>

#define LOG_BYTES ((size_t)64 * 1024)

uint64_t clp_live_layout(void)
{
    const size_t sizes[] = {sizeof(struct clp_live_header), sizeof(struct clp_chunk),
                            sizeof(struct clp_block),       sizeof(struct clp_cell),
                            sizeof(struct clp_rss_cell),    sizeof(struct clp_thread),
                            sizeof(struct clp_heap_cell),   sizeof(struct clp_history),
                            sizeof(struct clp_activation),  offsetof(struct clp_thread, outside),
                            sizeof(struct clp_call),        sizeof(struct clp_call_area),
                            sizeof(struct clp_call_sum),    sizeof(struct clp_gc_cell),
                            sizeof(struct clp_cpu_cell),    sizeof(struct clp_tally_cell),
                            sizeof(struct clp_called_cell), sizeof(struct clp_device_cell),
                            sizeof(void *)};
    uint64_t hash = 0;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        hash = hash * 1000003 + sizes[i];
    return hash;
}

static void fill_header(const struct clp_live *live, const struct clp_live_header *start, size_t bytes)
{
    struct clp_live_header *header = live->header;

    *header = *start;
    memset(header->magic, 0, sizeof header->magic);
    header->version = CLP_LIVE_VERSION;
    header->byte_order = CLP_LIVE_BYTE_ORDER;
    header->layout = clp_live_layout();
    header->bytes = (uint32_t)bytes;
    header->size = clp_pages_size(live->pages);
    header->locked = live->pages->locked;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(header->magic, CLP_LIVE_MAGIC, sizeof header->magic);
}

/* Maps a chunk in the file. NULL where the memory would not be in the file, because it is of no use there. */
static void *map_in_file(struct clp_live *live, size_t bytes, size_t *mapped)
{
    void *block;

    if (!clp_pages_in_file(live->pages))
        return NULL;
    block = clp_pages_map(live->pages, bytes, mapped);
    if (block == NULL || clp_pages_in_file(live->pages))
        return block;
    clp_pages_unmap(live->pages, block, *mapped);
    return NULL;
}

clp_status clp_live_open(struct clp_live *live, struct clp_pages *pages, struct clp_mem *mem,
                         const char *path, const struct clp_live_header *start,
                         struct clp_fault *fault)
{
    size_t mapped;
    clp_status status = clp_pages_open(pages, mem, path, fault);

    if (status != CLP_OK)
        return status;
    struct clp_live_header *header = clp_pages_map(pages, sizeof *header, &mapped);
    if (header == NULL || !clp_pages_in_file(pages)) {
        *fault = (struct clp_fault){.status = CLP_IO, .os_error = pages->error};
        if (header != NULL)
            clp_pages_unmap(pages, header, mapped);
        clp_pages_remove(pages, path);
        return CLP_IO;
    }
    *live = (struct clp_live){.pages = pages, .header = header};
    fill_header(live, start, mapped);
    clp_devices_mirror(header->devices);
    pages->full = &header->incomplete;
    pages->size = &header->size;
    return CLP_OK;
}

static bool is_of_engine(const struct clp_live *live, const void *piece)
{
    return piece != live->header && ((const struct clp_chunk *)piece)->kind != CLP_CHUNK_RECORDS;
}

void clp_live_close(struct clp_live *live)
{
    struct clp_pages *pages = live->pages;

    clp_devices_mirror(NULL);
    for (size_t i = pages->piece_count + pages->left_count; i-- > 0;) {
        const struct clp_piece piece = pages->pieces[i];
        if (!is_of_engine(live, piece.address))
            clp_pages_unmap(pages, piece.address, piece.bytes);
    }
    clp_pages_close(pages);
    *live = (struct clp_live){0};
}

clp_status clp_live_adopt(struct clp_live *live, const struct clp_engine *engine, struct clp_fault *fault)
{
    for (struct clp_chunk *chunk = engine->pool.chunks; chunk != NULL; chunk = chunk->next) {
        if (clp_pages_adopt(live->pages, chunk, chunk->mapped))
            continue;
        *fault = (struct clp_fault){.status = CLP_IO, .os_error = live->pages->error};
        return CLP_IO;
    }
    live->foreign = true;
    for (size_t i = 0; i < engine->functions.count; i++)
        clp_live_note_function(live, &engine->functions.items[i]);
    for (size_t i = 0; i < engine->callee_names.count; i++)
        clp_live_note_callee(live, engine->callee_names.items[i]);
    return CLP_OK;
}

clp_status clp_live_fork(struct clp_live *live, const char *path,
                         const struct clp_live_header *start, struct clp_fault *fault)
{
    struct clp_live_header *header = live->header;

    if (live->pages == NULL || live->pages->left_count == 0) {
        *fault = (struct clp_fault){.status = CLP_IO, .os_error = ENOENT};
        return CLP_IO;
    }
    if (live->pages->error != 0) { /* what came after the parent's file was full is in no piece */
        *fault = (struct clp_fault){.status = CLP_IO, .os_error = live->pages->error};
        return CLP_IO;
    }
    /* without its magic the file is no live file until it is mapped: a live file that no process has is taken
     * for that of an ended process */
    memset(header->magic, 0, sizeof header->magic);
    clp_status status = clp_pages_fork_file(live->pages, path, fault);
    if (status == CLP_OK)
        fill_header(live, start, header->bytes);
    else
        live->log = NULL;
    return status;
}

void clp_live_set_name(struct clp_live *live, const char *name)
{
    size_t bytes = strlen(name);

    if (live->pages == NULL || live->header == NULL)
        return;
    if (bytes >= sizeof live->header->name)
        bytes = sizeof live->header->name - 1;
    while (bytes > 0 && (name[bytes] & 0xc0) == 0x80) /* keeps no half of a character */
        bytes--;
    memcpy(live->header->name, name, bytes);
    live->header->name[bytes] = 0;
}

void clp_live_note_user(struct clp_live *live)
{
    live->header->user = clp_identity_user();
}

int clp_live_error(const struct clp_live *live)
{
    return live->pages != NULL ? live->pages->error : 0;
}

/* ---- records ---- */

static struct clp_chunk *new_chunk(struct clp_live *live, enum clp_chunk_kind kind, size_t bytes)
{
    size_t mapped;
    struct clp_chunk *chunk = map_in_file(live, sizeof *chunk + bytes, &mapped);

    if (chunk == NULL)
        return NULL;
    chunk->mapped = mapped;
    chunk->address = (uintptr_t)chunk;
    __atomic_store_n(&chunk->kind, (uint32_t)kind, __ATOMIC_RELEASE);
    return chunk;
}

struct part {
    const void *bytes;
    size_t count;
};

#define PARTS 5

static void put(struct clp_chunk *chunk, struct clp_live_record record,
                const struct part parts[PARTS])
{
    char *at = (char *)(chunk + 1) + chunk->used;
    size_t whole = CLP_LIVE_ALIGNED(sizeof record + record.bytes);

    memcpy(at, &record, sizeof record);
    at += sizeof record;
    for (int i = 0; i < PARTS; i++) {
        if (parts[i].count != 0)
            memcpy(at, parts[i].bytes, parts[i].count);
        at += parts[i].count;
    }
    __atomic_store_n(&chunk->used, chunk->used + whole, __ATOMIC_RELEASE);
}

/* Writes a large record into a chunk of its own, which need not stay in memory. */
static void add_large(struct clp_live *live, struct clp_live_record record,
                      const struct part parts[PARTS])
{
    struct clp_chunk *chunk =
        new_chunk(live, CLP_CHUNK_RECORDS, CLP_LIVE_ALIGNED(sizeof record + record.bytes));

    if (chunk == NULL)
        return;
    put(chunk, record, parts);
    if (!live->keeps)
        clp_pages_unmap(live->pages, chunk, chunk->mapped);
}

static void add_record(struct clp_live *live, struct clp_live_record record,
                       const struct part parts[PARTS])
{
    size_t whole;

    if (live->pages == NULL || !clp_pages_in_file(live->pages))
        return; /* stops for good: functions' numbers are their places, so none may be left out */
    clp_live_note_user(live);
    for (int i = 0; i < PARTS; i++)
        record.bytes += parts[i].count;
    whole = CLP_LIVE_ALIGNED(sizeof record + record.bytes);
    if (whole > LOG_BYTES / 4) {
        add_large(live, record, parts);
        return;
    }
    if (live->log == NULL || live->log->mapped - sizeof *live->log - live->log->used < whole)
        live->log = new_chunk(live, CLP_CHUNK_RECORDS, LOG_BYTES - sizeof *live->log);
    if (live->log != NULL)
        put(live->log, record, parts);
}

void clp_live_note_function(void *listener, const struct clp_function *function)
{
    struct clp_live *live = listener;
    const struct clp_live_function facts = {
        .first_line = function->first_line,
        .lowest_line = function->lowest_line,
        .line_count = function->line_count,
        .flags = (function->generator ? CLP_LIVE_GENERATOR : 0) |
                 (live->foreign ? CLP_LIVE_FOREIGN : 0) |
                 (function->instructions != NULL ? CLP_LIVE_INSTRUCTIONS : 0),
    };
    const struct part parts[PARTS] = {
        {&facts, sizeof facts},
        {function->lines, function->line_count * sizeof *function->lines},
        {function->file, strlen(function->file) + 1},
        {function->name, strlen(function->name) + 1},
        {function->instructions, function->instructions != NULL ? function->line_count : 0}};

    add_record(live, (struct clp_live_record){.kind = CLP_LIVE_FUNCTION, .text = function->text},
               parts);
}

void clp_live_note_callee(void *listener, const char *name)
{
    const struct part parts[PARTS] = {{name, strlen(name) + 1}};

    add_record(listener, (struct clp_live_record){.kind = CLP_LIVE_CALLEE}, parts);
}

void clp_live_note_own(struct clp_live *live, uint32_t function)
{
    const struct part parts[PARTS] = {{&function, sizeof function}};

    add_record(live, (struct clp_live_record){.kind = CLP_LIVE_OWN}, parts);
}

void clp_live_note_text(struct clp_live *live, uint32_t number, const char *text, size_t bytes)
{
    const struct part parts[PARTS] = {{text, bytes}};

    add_record(live, (struct clp_live_record){.kind = CLP_LIVE_TEXT, .text = number}, parts);
}

void clp_live_note_command(struct clp_live *live, const char *command)
{
    const struct part parts[PARTS] = {{command, strlen(command) + 1}};

    add_record(live, (struct clp_live_record){.kind = CLP_LIVE_COMMAND}, parts);
}

void clp_live_note_looked(struct clp_live *live, const char *record, size_t bytes)
{
    const struct part parts[PARTS] = {{record, bytes}};

    add_record(live, (struct clp_live_record){.kind = CLP_LIVE_LEAKS}, parts);
}

struct clp_history *clp_live_new_history(struct clp_live *live)
{
    if (live->pages == NULL)
        return NULL;
    struct clp_chunk *chunk = new_chunk(live, CLP_CHUNK_HISTORY, sizeof(struct clp_history));

    return chunk != NULL ? (struct clp_history *)(void *)(chunk + 1) : NULL;
}
