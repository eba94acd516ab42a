/* SPDX-License-Identifier: MIT */
#include "pickle.h"
#include "base/escape.h"
#include "unpickle.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROTOCOL 0x80
#define HIGHEST_BYTE 15 /* the highest protocol that is taken for a pickle: later ones than today's 5 are recognised,
                         * too */
#define NANO 1e-9

static void restart(struct clp_buf *buf)
{
    buf->used = 0;
    clp_buf_add(buf, "", 0); /* adds the ending 0 */
}

/* ---- writing ---- */

/* The first bytes of the file. line_profiler 3, 4 and 5 all know the module under this path. Protocol 4 can be
 * read from Python 3.4 on. */
static const char beginning[] = "\x80\x04"
                                "\x8c\x1c" "line_profiler._line_profiler" "\x8c\x09" "LineStats"
                                "\x93)\x81}("
                                "\x8c\x07" "timings" "}(";

static void add_little(struct clp_buf *out, uint64_t number, size_t bytes)
{
    for (; bytes > 0; bytes--, number >>= 8)
        clp_buf_add(out, (const char[]){(char)(number & 0xff)}, 1);
}

static void add_number(struct clp_buf *out, uint64_t number)
{
    size_t bytes = number <= 0xff ? 1 : number <= 0xffff ? 2 : number <= INT32_MAX ? 4 : 9;
    static const char *const starts[] = {[1] = "K", [2] = "M", [4] = "J", [9] = "\x8a\x09"};

    clp_buf_add_text(out, starts[bytes]);
    add_little(out, number, bytes == 9 ? 8 : bytes);
    if (bytes == 9)
        clp_buf_add(out, "", 1); /* without this 0 the highest bit would be a sign */
}

static void add_real(struct clp_buf *out, double real)
{
    uint64_t bits;

    memcpy(&bits, &real, sizeof bits);
    clp_buf_add_text(out, "G");
    for (int shift = 56; shift >= 0; shift -= 8)
        add_little(out, bits >> shift & 0xff, 1);
}

/* Adds a text. Bytes that are no UTF-8 become \xNN, because Python refuses to read them. */
static void add_text(struct clp_buf *out, struct clp_buf *scratch, const char *text)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + strlen(text);

    restart(scratch);
    while (at < end) {
        size_t bytes = clp_escape_utf8_bytes(at, (size_t)(end - at));
        if (bytes == 0)
            clp_buf_add_format(scratch, "\\x%02x", *at);
        else
            clp_buf_add(scratch, (const char *)at, bytes);
        at += bytes == 0 ? 1 : bytes;
    }
    clp_buf_add_text(out, scratch->used <= 0xff ? "\x8c" : "\x8d");
    add_little(out, scratch->used, scratch->used <= 0xff ? 1 : 8);
    clp_buf_add(out, clp_buf_text(scratch), scratch->used);
    out->failed |= scratch->failed;
}

/* Adds a line number, or 0 for a number below 0, which a damaged live file may hold. */
static void add_line_number(struct clp_buf *out, int32_t line)
{
    add_number(out, line > 0 ? (uint64_t)line : 0);
}

/* Adds a line that ran. A line that has time but no hit was being executed when the profiler started. It gets
 * one hit, because line_profiler divides by the hits. */
static void add_line(struct clp_buf *out, const struct clp_profile_line *line)
{
    const struct clp_measures *measures = &line->measures;

    if (measures->hits == 0 && measures->time == 0)
        return;
    add_line_number(out, line->line);
    add_number(out, measures->hits != 0 ? measures->hits : 1);
    add_number(out, measures->time);
    clp_buf_add_text(out, "\x87");
}

static void add_function(struct clp_buf *out, struct clp_buf *scratch,
                         const struct clp_profile_function *function)
{
    add_text(out, scratch, function->file);
    add_line_number(out, function->first_line);
    add_text(out, scratch, function->name);
    clp_buf_add_text(out, "\x87](");
    for (size_t i = 0; i < function->line_count; i++)
        add_line(out, &function->lines[i]);
    clp_buf_add_text(out, "e");
}

clp_status clp_pickle_encode(const struct clp_profile *profile, struct clp_buf *out)
{
    struct clp_buf scratch;

    clp_buf_init(&scratch, out->mem);
    clp_buf_add(out, beginning, sizeof beginning - 1);
    for (size_t i = 0; i < profile->function_count; i++)
        add_function(out, &scratch, &profile->functions[i]);
    clp_buf_add_text(out, "u\x8c\x04" "unit");
    add_real(out, NANO);
    clp_buf_add_text(out, "ub.");
    clp_buf_clear(&scratch);
    return out->failed ? CLP_NO_MEMORY : CLP_OK;
}

/* ---- recognising a pickle ---- */

/* The length of a line, its end included, that holds nothing but a dotted name; 0 if the bytes start with no
 * such line. */
static size_t name_line(const char *bytes, size_t count)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
    size_t at = 0;

    while (at < count && bytes[at] != 0 && strchr(letters, bytes[at]) != NULL)
        at++;
    return at != 0 && at < count && bytes[at] == '\n' ? at + 1 : 0;
}

bool clp_pickle_is(const char *bytes, size_t count)
{
    if (count < 2)
        return false;
    if ((unsigned char)bytes[0] == PROTOCOL)
        return (unsigned char)bytes[1] <= HIGHEST_BYTE;
    size_t module = bytes[0] == 'c' ? name_line(bytes + 1, count - 1) : 0;
    return module != 0 && name_line(bytes + 1 + module, count - 1 - module) != 0;
}

/* ---- reading ---- */

/* An entry of a function's list. */
struct row {
    uint64_t hits, time;
    int32_t line;
};

struct decoder {
    struct clp_unpickled values;
    struct clp_profile *profile;
    struct clp_fault *fault;
    double scale;          /* nanoseconds per tick */
    /* The number of bytes of text that may still be copied. It is limited because a pickle can refer to one
     * text again and again. */
    size_t texts_left;
    struct clp_buf file, name;
    struct row *rows;      /* of the function being read */
    size_t row_room;
};

static clp_status refuse(struct decoder *decoder, const struct clp_pickled *at, const char *reason)
{
    return clp_fault_set(decoder->fault, CLP_CORRUPT, at->at, reason);
}

static clp_status no_memory(struct decoder *decoder)
{
    return clp_fault_set(decoder->fault, CLP_NO_MEMORY, 0, NULL);
}

/* Sets items[] to the items of a container of this kind. False if the value is not one, or does not have
 * `count` items. */
static bool take_items(const struct decoder *decoder, const struct clp_pickled *value,
                       enum clp_pickled_kind kind, const struct clp_pickled **items, size_t count)
{
    if (value->kind != kind || clp_unpickled_node(&decoder->values, value)->count != count)
        return false;
    uint32_t at = clp_unpickled_node(&decoder->values, value)->first;
    for (size_t i = 0; i < count; i++)
        items[i] = clp_unpickled_next(&decoder->values, &at);
    return true;
}

static clp_status take_text(struct decoder *decoder, const struct clp_pickled *value,
                            struct clp_buf *out, const char *wrong)
{
    restart(out);
    if (value->kind != CLP_PICKLED_TEXT)
        return refuse(decoder, value, wrong);
    if (value->as.text.bytes > decoder->texts_left)
        return clp_fault_set(decoder->fault, CLP_TOO_LARGE, value->at,
                             "one text for far too many functions");
    decoder->texts_left -= value->as.text.bytes;
    bool good = clp_unpickled_add_text(&decoder->values, value, out);
    if (out->failed)
        return no_memory(decoder);
    if (!good || strlen(clp_buf_text(out)) != out->used)
        return refuse(decoder, value, wrong);
    return CLP_OK;
}

static bool take_line_number(const struct clp_pickled *value, int32_t *line)
{
    if (value->kind != CLP_PICKLED_NUMBER || value->as.number > INT32_MAX)
        return false;
    *line = (int32_t)value->as.number;
    return true;
}

/* Takes a time in ticks. It may be a float, because programs that add up profiles make floats of times. */
static bool take_time(const struct decoder *decoder, const struct clp_pickled *value,
                      uint64_t *time)
{
    double real = value->kind == CLP_PICKLED_REAL ? value->as.real * decoder->scale : -1;

    if (value->kind == CLP_PICKLED_NUMBER) {
        *time = value->as.number;
        return clp_profile_scale_time(decoder->scale, time);
    }
    *time = 1; /* one tick, of `real` nanoseconds */
    return real >= 0 && clp_profile_scale_time(real, time);
}

static clp_status take_row(struct decoder *decoder, const struct clp_pickled *value,
                           struct row *row)
{
    const struct clp_pickled *items[3];

    if (!take_items(decoder, value, CLP_PICKLED_TUPLE, items, 3))
        return refuse(decoder, value, "a line that is no tuple of three");
    if (!take_line_number(items[0], &row->line))
        return refuse(decoder, items[0], "a line's number is none");
    if (items[1]->kind != CLP_PICKLED_NUMBER)
        return refuse(decoder, items[1], "a line's hits are no number in their range");
    row->hits = items[1]->as.number;
    if (!take_time(decoder, items[2], &row->time))
        return refuse(decoder, items[2], "a line's time is no number in its range");
    return CLP_OK;
}

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;

    return a->line < b->line ? -1 : a->line > b->line;
}

static bool reserve_rows(struct decoder *decoder, size_t count)
{
    void *rows = decoder->rows;
    bool done = count <= decoder->row_room ||
                clp_mem_grow(decoder->profile->mem, &rows, &decoder->row_room, count,
                             sizeof *decoder->rows) == CLP_OK;

    decoder->rows = rows;
    return done;
}

/* Reads a function's list into decoder->rows, by ascending lines. The list is nearly always in that order
 * already. */
static clp_status take_rows(struct decoder *decoder, const struct clp_pickled *value,
                            size_t *count)
{
    const struct clp_pickled *item;
    bool ascending = true;

    if (value->kind != CLP_PICKLED_LIST)
        return refuse(decoder, value, "a function's lines are no list");
    struct clp_pickled_node *node = clp_unpickled_node(&decoder->values, value);
    if (node->used)
        return refuse(decoder, value, "one list of lines for two functions");
    node->used = true;
    if (!reserve_rows(decoder, node->count))
        return no_memory(decoder);
    uint32_t at = node->first;
    for (*count = 0; (item = clp_unpickled_next(&decoder->values, &at)) != NULL; ++*count) {
        struct row *row = &decoder->rows[*count];
        if (take_row(decoder, item, row) != CLP_OK)
            return decoder->fault->status;
        ascending = ascending && (*count == 0 || row[-1].line < row->line);
    }
    if (!ascending)
        qsort(decoder->rows, *count, sizeof *decoder->rows, compare_rows);
    return CLP_OK;
}

static clp_status fill_lines(struct decoder *decoder, struct clp_profile_function *function,
                             size_t count)
{
    struct clp_measures sum = {0};

    for (size_t i = 0; i < count; i++) {
        const struct row *row = &decoder->rows[i];
        struct clp_measures measures = {.hits = row->hits, .time = row->time,
                                        .raw_time = row->time};
        if (clp_profile_add_line(decoder->profile, function, row->line, &measures) != CLP_OK)
            return no_memory(decoder);
        clp_measures_merge(&sum, &measures);
    }
    function->total = sum.time;
    function->raw_total = sum.time;
    return CLP_OK;
}

static clp_status take_function(struct decoder *decoder, const struct clp_pickled *key,
                                const struct clp_pickled *lines)
{
    const struct clp_pickled *items[3];
    struct clp_profile_function *function;
    size_t before = decoder->profile->function_count, count = 0;
    int32_t first_line;

    if (!take_items(decoder, key, CLP_PICKLED_TUPLE, items, 3))
        return refuse(decoder, key, "a function's key is no tuple of three");
    if (take_text(decoder, items[0], &decoder->file, "a function's file is no plain text") !=
            CLP_OK ||
        take_text(decoder, items[2], &decoder->name, "a function's name is no plain text") !=
            CLP_OK)
        return decoder->fault->status;
    if (!take_line_number(items[1], &first_line))
        return refuse(decoder, items[1], "a function's first line is no line number");
    if (take_rows(decoder, lines, &count) != CLP_OK)
        return decoder->fault->status;
    if (clp_profile_add_function(decoder->profile, clp_buf_text(&decoder->file),
                                 clp_buf_text(&decoder->name), first_line, &function) != CLP_OK)
        return no_memory(decoder);
    if (decoder->profile->function_count == before)
        return refuse(decoder, key, "a function that was listed before");
    return fill_lines(decoder, function, count);
}

static clp_status take_timings(struct decoder *decoder, const struct clp_pickled *timings)
{
    const struct clp_pickled *key;

    if (timings->kind != CLP_PICKLED_DICT)
        return refuse(decoder, timings, "\"timings\" are no dict");
    uint32_t at = clp_unpickled_node(&decoder->values, timings)->first;
    while ((key = clp_unpickled_next(&decoder->values, &at)) != NULL) {
        const struct clp_pickled *lines = clp_unpickled_next(&decoder->values, &at);
        if (take_function(decoder, key, lines) != CLP_OK)
            return decoder->fault->status;
    }
    return CLP_OK;
}

static clp_status take_unit(struct decoder *decoder, const struct clp_pickled *value)
{
    double unit = value->kind == CLP_PICKLED_REAL     ? value->as.real
                  : value->kind == CLP_PICKLED_NUMBER ? (double)value->as.number
                                                      : 0;

    if (!(isfinite(unit) && unit > 0))
        return refuse(decoder, value, "\"unit\" is not a positive number of seconds");
    decoder->scale = unit / NANO;
    return CLP_OK;
}

static bool is_text(struct decoder *decoder, const struct clp_pickled *value, const char *text)
{
    restart(&decoder->name);
    return value->kind == CLP_PICKLED_TEXT && value->as.text.bytes < 64 &&
           clp_unpickled_add_text(&decoder->values, value, &decoder->name) &&
           strcmp(clp_buf_text(&decoder->name), text) == 0;
}

/* Reads the attributes of LineStats. Attributes that a later version may have added are ignored. */
static clp_status take_state(struct decoder *decoder, const struct clp_pickled *state)
{
    const struct clp_pickled *key, *timings = NULL, *unit = NULL;
    uint32_t at = clp_unpickled_node(&decoder->values, state)->first;

    while ((key = clp_unpickled_next(&decoder->values, &at)) != NULL) {
        const struct clp_pickled *value = clp_unpickled_next(&decoder->values, &at);
        if (is_text(decoder, key, "timings"))
            timings = value;
        else if (is_text(decoder, key, "unit"))
            unit = value;
    }
    if (decoder->name.failed)
        return no_memory(decoder);
    if (timings == NULL)
        return refuse(decoder, state, "\"timings\" are missing");
    if (unit == NULL)
        return refuse(decoder, state, "\"unit\" is missing");
    if (take_unit(decoder, unit) != CLP_OK)
        return decoder->fault->status;
    return take_timings(decoder, timings);
}

static clp_status take_root(struct decoder *decoder)
{
    const struct clp_pickled *root = &decoder->values.root, *state;

    if (root->kind == CLP_PICKLED_OBJECT) {
        if (take_items(decoder, root, CLP_PICKLED_OBJECT, &state, 1))
            return take_state(decoder, state);
        return refuse(decoder, root, "line_profiler's statistics without their content");
    }
    (void)clp_fault_set(decoder->fault, CLP_NOT_A_PROFILE, root->at,
                        "the pickle holds no statistics of line_profiler, but");
    snprintf(decoder->fault->found, sizeof decoder->fault->found, "%s",
             clp_pickled_kind_text(root));
    return CLP_NOT_A_PROFILE;
}

clp_status clp_pickle_decode(const char *bytes, size_t count, struct clp_profile *profile,
                             struct clp_fault *fault)
{
    struct clp_mem *mem = profile->mem;
    struct decoder decoder = {.profile = profile, .fault = fault};

    clp_status status = clp_unpickle(&decoder.values, mem, bytes, count, fault);
    if (status != CLP_OK)
        return status;
    decoder.texts_left = 64 * count + ((size_t)1 << 20);
    clp_buf_init(&decoder.file, mem);
    clp_buf_init(&decoder.name, mem);
    status = take_root(&decoder);
    if (status != CLP_OK)
        clp_profile_clear(profile);
    clp_unpickled_clear(&decoder.values);
    clp_buf_clear(&decoder.file);
    clp_buf_clear(&decoder.name);
    clp_mem_free(mem, decoder.rows, decoder.row_room, sizeof *decoder.rows);
    return status;
}
