/* SPDX-License-Identifier: MIT */
/* The formats are described in CPython's InternalDocs/code_objects.md (locations) and
 * InternalDocs/exception_handling.md (before 3.13 in Objects/locations.md and exception_handling_notes.txt),
 * and in Lib/dis.py. */
#include "decoded.h"
#include <limits.h>

/* Limits the size of code, so that a unit's index fits 32 bits with all that is inserted, and in every product
 * here. */
#define MOST_UNITS (1u << 24)
#define MOST_DEPTH (1u << 20)

static clp_status refuse(const char **reason, const char *why)
{
    *reason = why;
    return CLP_CORRUPT;
}

/* ---- instructions ---- */

static clp_status add_instruction(struct clp_decoded *decoded, struct clp_instruction item)
{
    if (decoded->count == decoded->room &&
        clp_mem_grow(decoded->mem, (void **)&decoded->items, &decoded->room,
                     decoded->room * 2 + 64, sizeof item) != CLP_OK)
        return CLP_NO_MEMORY;
    decoded->items[decoded->count++] = item;
    return CLP_OK;
}

/* Are the cache units there, and unused? They hold zeros in the code that the interpreter gives out. */
static bool caches_fit(const struct clp_decoded *decoded, uint32_t unit, uint32_t caches)
{
    if (caches >= decoded->units - unit)
        return false;
    for (uint32_t i = 1; i <= caches; i++) {
        if (decoded->code->code[(unit + i) * 2] != 0)
            return false;
    }
    return true;
}

static clp_status read_instructions(struct clp_decoded *decoded, const char **reason)
{
    const struct clp_bytecode *bytecode = decoded->bytecode;
    const uint8_t *code = decoded->code->code;
    struct clp_instruction item = {.target = CLP_NOWHERE, .range = CLP_NOWHERE,
                                   .line = CLP_NO_LINE};

    for (uint32_t unit = 0; unit < decoded->units; unit++) {
        uint8_t opcode = code[unit * 2];
        if (!clp_bytecode_is(bytecode, opcode, CLP_OP_KNOWN))
            return refuse(reason, "it holds an instruction that this version does not have");
        item.argument = item.argument << 8 | code[unit * 2 + 1];
        if (opcode == bytecode->extended_arg) {
            if (++item.prefixes > 3)
                return refuse(reason, "an argument has more than four bytes");
            continue;
        }
        item.opcode = opcode;
        item.at = unit - item.prefixes;
        if (!caches_fit(decoded, unit, bytecode->op[opcode].caches))
            return refuse(reason, "an instruction's cache is missing or in use");
        if (add_instruction(decoded, item) != CLP_OK)
            return CLP_NO_MEMORY;
        unit += bytecode->op[opcode].caches;
        item.argument = 0;
        item.prefixes = 0;
    }
    if (item.prefixes > 0 || decoded->count == 0)
        return refuse(reason, "it ends in the middle of an instruction");
    return CLP_OK;
}

/* The instruction that begins at this unit, or CLP_NOWHERE. */
static uint32_t instruction_at(const struct clp_decoded *decoded, uint32_t unit)
{
    size_t low = 0, high = decoded->count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (decoded->items[middle].at < unit)
            low = middle + 1;
        else
            high = middle;
    }
    return low < decoded->count && decoded->items[low].at == unit ? (uint32_t)low : CLP_NOWHERE;
}

/* The argument of the RESUME with which generator expressions begin since 3.15, before the generator is made.
 * No tool is told of what runs until then. (RESUME_AT_GEN_EXPR_START in
 * Include/internal/pycore_opcode_utils.h.) */
#define RESUME_BEFORE_GENERATOR 4

static bool enters(const struct clp_decoded *decoded, const struct clp_instruction *item)
{
    return item->opcode == decoded->bytecode->resume &&
           (decoded->bytecode->minor < 15 || item->argument != RESUME_BEFORE_GENERATOR);
}

static clp_status find_targets(struct clp_decoded *decoded, const char **reason)
{
    decoded->entry = CLP_NOWHERE;
    for (uint32_t i = 0; i < decoded->count; i++) {
        struct clp_instruction *item = &decoded->items[i];
        if (decoded->entry == CLP_NOWHERE && enters(decoded, item))
            decoded->entry = i;
        if (!clp_decoded_is(decoded, i, CLP_OP_TARGET))
            continue;
        uint32_t next = item->at + item->prefixes + clp_decoded_body(decoded, i);
        bool backward = clp_decoded_is(decoded, i, CLP_OP_BACKWARD);
        if (item->argument > (backward ? next : decoded->units - next))
            return refuse(reason, "a jump leads out of the code");
        if (backward && item->argument == 0)
            return refuse(reason, "a jump backward leads forward");
        item->target = instruction_at(decoded, backward ? next - item->argument
                                                        : next + item->argument);
        if (item->target == CLP_NOWHERE)
            return refuse(reason, "a jump leads into the middle of an instruction");
    }
    if (decoded->entry == CLP_NOWHERE)
        return refuse(reason, "it has no RESUME instruction");
    if (!clp_decoded_is(decoded, (uint32_t)decoded->count - 1, CLP_OP_NO_NEXT))
        return refuse(reason, "it runs over its end");
    return CLP_OK;
}

/* ---- the exception table ---- */

/* Reads a number of six bits a byte, the highest bits first. All bytes but the last have 64 set. */
static bool read_number(const uint8_t **at, const uint8_t *end, uint32_t *number)
{
    uint32_t value = 0;

    for (int digits = 0; *at < end && digits < 5; digits++) {
        uint8_t byte = *(*at)++;
        value = value << 6 | (byte & 63u);
        if ((byte & 64u) == 0) {
            *number = value;
            return true;
        }
    }
    return false;
}

static clp_status add_range(struct clp_decoded *decoded, struct clp_handled_range range)
{
    if (decoded->range_count == decoded->range_room &&
        clp_mem_grow(decoded->mem, (void **)&decoded->ranges, &decoded->range_room,
                     decoded->range_room * 2 + 8, sizeof range) != CLP_OK)
        return CLP_NO_MEMORY;
    for (uint32_t i = range.first; i < range.past; i++)
        decoded->items[i].range = (uint32_t)decoded->range_count;
    decoded->ranges[decoded->range_count++] = range;
    return CLP_OK;
}

static clp_status read_range(struct clp_decoded *decoded, const uint8_t **at, const uint8_t *end,
                             const char **reason)
{
    uint32_t start, size, handler, depth;

    if (*at == end || (**at & 128u) == 0 || !read_number(at, end, &start) ||
        !read_number(at, end, &size) || !read_number(at, end, &handler) ||
        !read_number(at, end, &depth))
        return refuse(reason, "its exception table is damaged");
    if (start > decoded->units || size == 0 || size > decoded->units - start)
        return refuse(reason, "its exception table names places out of the code");
    struct clp_handled_range range = {
        .first = instruction_at(decoded, start),
        .past = start + size == decoded->units ? (uint32_t)decoded->count
                                               : instruction_at(decoded, start + size),
        .handler = instruction_at(decoded, handler),
        .depth = depth >> 1,
        .lasti = depth & 1,
    };
    if (range.first == CLP_NOWHERE || range.past == CLP_NOWHERE || range.handler == CLP_NOWHERE)
        return refuse(reason, "its exception table cuts an instruction in two");
    if (decoded->range_count > 0 &&
        range.first < decoded->ranges[decoded->range_count - 1].past)
        return refuse(reason, "ranges of its exception table overlap");
    if (range.depth > MOST_DEPTH)
        return refuse(reason, "its exception table keeps more values than a stack can hold");
    return add_range(decoded, range);
}

static clp_status read_ranges(struct clp_decoded *decoded, const char **reason)
{
    const uint8_t *at = decoded->code->exceptions;
    const uint8_t *end = at + decoded->code->exception_bytes;
    clp_status status = CLP_OK;

    while (at < end && status == CLP_OK)
        status = read_range(decoded, &at, end, reason);
    return status;
}

/* ---- the location table ---- */

enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NONE = 15 };

/* Reads a number of six bits a byte, the lowest bits first, and moves *at behind it. */
static bool read_low_first(const uint8_t **at, const uint8_t *end, uint32_t *number)
{
    uint32_t value = 0;

    for (unsigned shift = 0; *at < end && shift < 36; shift += 6) {
        uint8_t byte = *(*at)++;
        if (shift == 30 && (byte & 63u) > 3)
            return false;
        value |= (uint32_t)(byte & 63u) << shift;
        if ((byte & 64u) == 0) {
            *number = value;
            return true;
        }
    }
    return false;
}

static bool read_delta(const uint8_t **at, const uint8_t *end, int32_t *delta)
{
    uint32_t number;

    if (!read_low_first(at, end, &number))
        return false;
    *delta = (number & 1) != 0 ? -(int32_t)(number >> 1) : (int32_t)(number >> 1);
    return true;
}

static bool read_payload(const uint8_t **at, const uint8_t *end, struct clp_location *location)
{
    uint32_t skipped;
    size_t plain = 0;

    if (location->form == NONE)
        return true;
    location->has_line = true;
    if (location->form >= NO_COLUMNS) {
        if (!read_delta(at, end, &location->line_delta))
            return false;
        location->columns = *at;
        for (int i = 0; location->form == LONG && i < 3; i++) {
            if (!read_low_first(at, end, &skipped))
                return false;
        }
        return true;
    }
    plain = location->form >= ONE_LINE ? 2 : 1;
    location->line_delta = location->form >= ONE_LINE ? location->form - ONE_LINE : 0;
    if ((size_t)(end - *at) < plain)
        return false;
    *at += plain;
    return true;
}

bool clp_location_read(const uint8_t **at, const uint8_t *end, struct clp_location *location)
{
    if (*at == end || (**at & 128u) == 0)
        return false;
    *location = (struct clp_location){.units = (**at & 7u) + 1,
                                      .form = (uint8_t)(**at >> 3 & 15u),
                                      .payload = *at + 1,
                                      .columns = *at + 1};
    ++*at;
    if (!read_payload(at, end, location))
        return false;
    location->payload_bytes = (size_t)(*at - location->payload);
    location->column_bytes = (size_t)(*at - location->columns);
    return true;
}

/* Does not go above first_line, because the code of a lambda may lie within a statement that begins above it. */
int32_t clp_statements_line(const struct clp_statements *statements, int32_t first_line,
                            int32_t line)
{
    if (line < 0 || (size_t)line >= statements->count)
        return line;
    int32_t start = statements->starts[line];
    if (start > line || start < first_line)
        return line < first_line ? line : first_line;
    return start;
}

/* Gives every instruction the line of its first unit. */
static clp_status read_lines(struct clp_decoded *decoded, const char **reason)
{
    const uint8_t *at = decoded->code->locations;
    const uint8_t *end = at + decoded->code->location_bytes;
    int64_t line = decoded->code->first_line;
    uint32_t unit = 0;
    size_t next = 0;
    struct clp_location location;

    while (at < end) {
        if (!clp_location_read(&at, end, &location))
            return refuse(reason, "its line table is damaged");
        line += location.line_delta;
        if (line < -1 || line > INT32_MAX)
            return refuse(reason, "its line table names a line that cannot be");
        unit += location.units;
        for (; next < decoded->count && decoded->items[next].at < unit; next++)
            decoded->items[next].line =
                location.has_line ? clp_statements_line(&decoded->code->statements,
                                                        decoded->code->first_line, (int32_t)line)
                                  : CLP_NO_LINE;
        if (unit > decoded->units)
            break;
    }
    if (unit != decoded->units)
        return refuse(reason, "its line table is not as long as its code");
    return CLP_OK;
}

/* ---- the whole code object ---- */

/* The number of NOPs at the end of the code: a compiler never ends code with one. */
static uint32_t count_appended(const struct clp_code *code, const struct clp_bytecode *bytecode)
{
    uint32_t units = (uint32_t)(code->code_bytes / 2), count = 0;

    while (count < units && code->code[(units - count - 1) * 2] == bytecode->nop &&
           code->code[(units - count - 1) * 2 + 1] == 0)
        count++;
    return count;
}

static clp_status decode(struct clp_decoded *decoded, const char **reason)
{
    clp_status status = read_instructions(decoded, reason);

    if (status == CLP_OK)
        status = find_targets(decoded, reason);
    if (status == CLP_OK)
        status = read_ranges(decoded, reason);
    if (status == CLP_OK)
        status = read_lines(decoded, reason);
    return status;
}

clp_status clp_decoded_init(struct clp_decoded *decoded, struct clp_mem *mem,
                            const struct clp_bytecode *bytecode, const struct clp_code *code,
                            const char **reason)
{
    *decoded = (struct clp_decoded){.bytecode = bytecode, .code = code, .mem = mem};
    if (code->code_bytes / 2 > MOST_UNITS || code->const_count > MOST_UNITS ||
        code->stack_size > (int32_t)MOST_UNITS) {
        *reason = "it is too large";
        return CLP_TOO_LARGE;
    }
    if (code->code_bytes % 2 != 0)
        return refuse(reason, "it ends in the middle of an instruction");
    decoded->appended = count_appended(code, bytecode);
    decoded->units = (uint32_t)(code->code_bytes / 2) - decoded->appended;
    clp_status status = decode(decoded, reason);
    if (status == CLP_NO_MEMORY)
        *reason = clp_status_text(status);
    if (status != CLP_OK)
        clp_decoded_clear(decoded);
    return status;
}

void clp_decoded_clear(struct clp_decoded *decoded)
{
    clp_mem_free(decoded->mem, decoded->items, decoded->room, sizeof *decoded->items);
    clp_mem_free(decoded->mem, decoded->ranges, decoded->range_room, sizeof *decoded->ranges);
    decoded->items = NULL;
    decoded->ranges = NULL;
    decoded->count = decoded->room = decoded->range_count = decoded->range_room = 0;
}
