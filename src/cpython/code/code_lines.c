/* SPDX-License-Identifier: MIT */
#include "code_lines.h"
#include "rewrite/edges.h"
#include "engine/functions.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- which lines hold code ---- */

/* Makes room for the lines of `most` places in the code. False: no memory. */
static bool begin_lines(struct clp_code_lines *shape, struct clp_mem *mem, size_t most)
{
    shape->line_count = 0;
    shape->line_room = most;
    shape->lines = clp_mem_alloc(mem, most, sizeof *shape->lines);
    return shape->lines != NULL || most == 0;
}

/* Adds a line, in any order. The same line may come again. */
static void add_line(struct clp_code_lines *shape, int32_t line)
{
    if (line != CLP_NO_LINE && (shape->line_count == 0 || shape->lines[shape->line_count - 1] != line))
        shape->lines[shape->line_count++] = line;
}

static int compare_lines(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;

    return a < b ? -1 : a > b;
}

static void drop_doubles(struct clp_code_lines *shape)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < shape->line_count; i++)
        if (kept == 0 || shape->lines[i] != shape->lines[kept - 1])
            shape->lines[kept++] = shape->lines[i];
    shape->line_count = kept;
}

/* Puts the lines in order once all are added. Code without lines has its first line. False: no memory. */
static bool end_lines(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code)
{
    void *lines = shape->lines;

    if (shape->line_count != 0)
        qsort(shape->lines, shape->line_count, sizeof *shape->lines, compare_lines);
    drop_doubles(shape);
    bool done = clp_mem_grow(mem, &lines, &shape->line_room, shape->line_count, sizeof *shape->lines) == CLP_OK;
    shape->lines = lines;
    if (shape->line_count == 0)
        clp_code_lines_set_one(shape, code->co_firstlineno);
    else
        shape->lowest_line = shape->lines[0];
    return done;
}

void clp_code_lines_set_one(struct clp_code_lines *shape, int32_t line)
{
    shape->lowest_line = line;
    shape->line_count = 1;
}

uint32_t clp_code_lines_find(const struct clp_code_lines *shape, int32_t line)
{
    const int32_t *found = shape->lines == NULL ? NULL
        : bsearch(&line, shape->lines, shape->line_count, sizeof line, compare_lines);

    return found != NULL ? (uint32_t)(found - shape->lines) : 0;
}

/* Reads the line of a range of co_lines(); CLP_NO_LINE where it has none, or is empty. */
static int32_t line_of_range(PyObject *range)
{
    int start, end;
    PyObject *line;

    if (!PyArg_ParseTuple(range, "iiO", &start, &end, &line) || line == Py_None || start == end)
        return CLP_NO_LINE;
    return (int32_t)PyLong_AsLong(line);
}

/* Notes that a line begins in each range. How many instructions run is not known. False: no memory, or an exception is
 * set. */
static bool note_lines(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code, PyObject *ranges)
{
    if (!begin_lines(shape, mem, (size_t)PyList_GET_SIZE(ranges)))
        return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(ranges); i++)
        add_line(shape, line_of_range(PyList_GET_ITEM(ranges, i)));
    if (PyErr_Occurred() || !end_lines(shape, mem, code))
        return false;
    shape->instructions = clp_mem_alloc(mem, shape->line_count, 1);
    if (shape->instructions != NULL && shape->lines != NULL)
        memset(shape->instructions, 1, shape->line_count);
    return shape->instructions != NULL;
}

/* Reads the lines from co_lines(), for code that cannot be decoded. False with an exception set. */
static bool ask_lines(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code)
{
    PyObject *iterator = PyObject_CallMethod((PyObject *)code, "co_lines", NULL);
    PyObject *ranges = iterator != NULL ? PySequence_List(iterator) : NULL;
    bool done = ranges != NULL && note_lines(shape, mem, code, ranges);

    if (!done && !PyErr_Occurred())
        PyErr_NoMemory();
    Py_XDECREF(iterator);
    Py_XDECREF(ranges);
    return done;
}

#if CLP_HAS_PROBES

/* ---- decoded instructions ---- */

/* False: no memory. */
static bool read_lines(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code,
                       const struct clp_decoded *decoded)
{
    if (!begin_lines(shape, mem, decoded->count))
        return false;
    for (size_t i = 0; i < decoded->count; i++)
        add_line(shape, decoded->items[i].line);
    return end_lines(shape, mem, code);
}

/* Returns the code unit of the instruction itself, behind its prefixes. */
static uint32_t unit_of(const struct clp_instruction *item)
{
    return item->at + item->prefixes;
}

static void mark_yields(struct clp_code_lines *shape, const struct clp_decoded *decoded)
{
    for (size_t i = decoded->count; i-- > 0;) {
        uint32_t unit = unit_of(&decoded->items[i]);
        if (decoded->items[i].opcode != decoded->bytecode->yield_value)
            continue;
        shape->first_yield = (int)unit * 2;
        shape->marks[unit] |= CLP_UNIT_YIELDS;
        if (unit + 1 < shape->unit_count) /* on 3.13 a frame that yields already stands at the next unit */
            shape->marks[unit + 1] |= CLP_UNIT_YIELDS;
    }
}

static void mark_loops(struct clp_code_lines *shape, const struct clp_decoded *decoded)
{
    for (uint32_t i = 0; i < decoded->count; i++) {
        const struct clp_instruction *from = &decoded->items[i];
        if (!clp_decoded_is(decoded, i, CLP_OP_GOES) || from->target >= i || from->line == CLP_NO_LINE ||
            decoded->items[from->target].line != from->line)
            continue;
        uint32_t unit = CLP_JUMP_TOLD_AT_SOURCE ? unit_of(from) : decoded->items[from->target].at;
        shape->marks[unit] |= CLP_UNIT_LOOPS;
    }
}

/* ---- what runs when a line begins ---- */

/* Is the instruction much slower if the interpreter does not adapt it (PEP 659)? Such instructions have cache units
 * behind them. The step of a loop is hardly slower, and a jump back has cache units for other purposes. */
static bool adapts(const struct clp_decoded *decoded, uint32_t at)
{
    uint8_t opcode = clp_decoded_first_opcode(decoded, at);

    return decoded->bytecode->op[opcode].caches > 0 &&
           !clp_decoded_is(decoded, at, CLP_OP_TARGET);
}

/* Counts the instructions from `at` on, with their prefixes, up to the next line or the first jump. At most
 * CLP_FUNCTION_MOST_INSTRUCTIONS. */
static unsigned count_from(const struct clp_decoded *decoded, uint32_t at)
{
    int32_t line = decoded->items[at].line;
    unsigned count = 0;
    bool jumped = false;

    for (; at < decoded->count && decoded->items[at].line == line && !jumped; at++) {
        count += 1u + decoded->items[at].prefixes;
        jumped = clp_decoded_is(decoded, at, CLP_OP_TARGET);
    }
    return count < CLP_FUNCTION_MOST_INSTRUCTIONS ? count : CLP_FUNCTION_MOST_INSTRUCTIONS;
}

/* Do all ways through the line that begins at `at` come to an instruction to which one of them jumps? */
static bool merges(const struct clp_edges *edges, uint32_t at)
{
    const struct clp_decoded *decoded = edges->decoded;
    int32_t line = decoded->items[at].line;
    uint32_t farthest = at; /* to which a way jumps */

    for (uint32_t i = at; i < decoded->count && decoded->items[i].line == line; i++) {
        bool goes = clp_decoded_is(decoded, i, CLP_OP_GOES);
        if (i > at && clp_edges_begins(edges, i))
            return false;
        if (i > at && farthest == i)
            return true;
        if (clp_decoded_is(decoded, i, CLP_OP_NO_NEXT) && !goes)
            return false;
        if (goes && decoded->items[i].target > farthest)
            farthest = decoded->items[i].target;
    }
    return false;
}

/* Fills shape->instructions. A line that may begin in several places gets the fewest instructions of them, and the
 * flags of its last place: a loop begins there again and again. False: out of memory. */
static bool fill_counts(struct clp_code_lines *shape, struct clp_mem *mem, const struct clp_edges *edges)
{
    const struct clp_decoded *decoded = edges->decoded;

    shape->instructions = clp_mem_alloc(mem, shape->line_count, 1);
    for (uint32_t i = 0; shape->instructions != NULL && i < decoded->count; i++) {
        if (!clp_edges_may_begin(edges, i))
            continue;
        uint8_t *least = &shape->instructions[clp_code_lines_find(shape, decoded->items[i].line)];
        unsigned count = count_from(decoded, i);
        if (*least != 0 && count > (*least & CLP_FUNCTION_MOST_INSTRUCTIONS))
            count = *least & CLP_FUNCTION_MOST_INSTRUCTIONS;
        *least = (uint8_t)(count | (adapts(decoded, i) ? CLP_FUNCTION_ADAPTS : 0) |
                           (merges(edges, i) ? CLP_FUNCTION_MERGES : 0));
    }
    return shape->instructions != NULL;
}

/* ---- where lines may begin ---- */

/* Are LINE events slow in this code? The interpreter stores the line of an instruction in one byte, as the distance
 * from a straight slope of one line per sixteen units. Where this distance does not fit into the byte, it scans the
 * line table at every event. */
static bool line_events_scan(const struct clp_decoded *decoded)
{
    for (size_t i = 0; CLP_LINE_EVENTS_SCAN && i < decoded->count; i++) {
        const struct clp_instruction *item = &decoded->items[i];
        long drift = (long)item->line - decoded->code->first_line - (long)(item->at >> 4);
        if (item->line != CLP_NO_LINE && (drift > 127 || drift < -126))
            return true;
    }
    return false;
}

/* Fills shape->starts for code whose LINE events are slow. Bodies that can be suspended keep LINE events at any cost,
 * because the instructions do not show what begins a line behind a resumption and behind an `async for`. False: out of
 * memory. */
static bool fill_starts(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code,
                        const struct clp_edges *edges)
{
    const struct clp_decoded *decoded = edges->decoded;

    if ((code->co_flags & CLP_SUSPENDS) != 0 || !line_events_scan(decoded))
        return true;
    shape->starts = clp_mem_alloc(mem, shape->unit_count, sizeof *shape->starts);
    for (uint32_t i = 0; shape->starts != NULL && i < decoded->count; i++) {
        int32_t line = decoded->items[i].line;
        if (line == CLP_NO_LINE || clp_edges_may_begin(edges, i))
            shape->starts[decoded->items[i].at] = line;
    }
    shape->asks_places = decoded->range_count > 0;
    return shape->starts != NULL;
}

/* ---- events of lines that do not begin ---- */

static void set_repeats(struct clp_code_lines *shape, const struct clp_edges *edges, uint32_t at, int repeats)
{
    uint8_t *marks = &shape->marks[edges->decoded->items[at].at];

    *marks = (uint8_t)((*marks & ~(CLP_UNIT_REPEATS | CLP_UNIT_REPEATS_BY_PLACE)) | repeats);
}

/* Marks instructions that follow a call on the same line and that are also reached by jumps from other lines: a line
 * event there while the line is running comes from the return of the call. An instruction that is also reached by a
 * jump without a line is not marked, because nobody could tell the two cases apart. */
static void mark_behind_calls(struct clp_code_lines *shape, const struct clp_edges *edges)
{
    const int ways = CLP_EDGE_FALLS | CLP_EDGE_FALL_COUNTS | CLP_EDGE_COUNTED;
    const struct clp_decoded *decoded = edges->decoded;

    for (uint32_t i = 1; i < decoded->count; i++) {
        if ((edges->flags[i] & ways) == (CLP_EDGE_FALLS | CLP_EDGE_COUNTED) &&
            clp_decoded_body(decoded, i - 1) > 1)
            set_repeats(shape, edges, i, CLP_UNIT_REPEATS);
    }
    for (uint32_t i = 0; i < decoded->count; i++) {
        const struct clp_instruction *item = &decoded->items[i];
        if (item->line == CLP_NO_LINE && item->target != CLP_NOWHERE &&
            clp_edges_may_begin(edges, item->target))
            set_repeats(shape, edges, item->target, 0);
    }
}

/* Marks the handlers that begin a line for exceptions from some places, but not for exceptions from others. */
static void mark_handlers_asking(struct clp_code_lines *shape, const struct clp_edges *edges)
{
    const struct clp_decoded *decoded = edges->decoded;

    for (size_t i = 0; i < decoded->range_count; i++) {
        uint32_t handler = decoded->ranges[i].handler;
        if (!clp_edges_may_begin(edges, handler) ||
            (edges->flags[handler] & (CLP_EDGE_UNCOUNTED | CLP_EDGE_MAY_COUNT)) == 0)
            continue;
        set_repeats(shape, edges, handler, CLP_UNIT_REPEATS_BY_PLACE);
        shape->asks_places = true;
    }
}

static void mark_repeats(struct clp_code_lines *shape, const struct clp_edges *edges)
{
    for (uint32_t i = 0; i < edges->decoded->count; i++)
        set_repeats(shape, edges, i, clp_edges_may_begin(edges, i) ? 0 : CLP_UNIT_REPEATS);
    if (CLP_CALLS_HIDE_LINES)
        mark_behind_calls(shape, edges);
    mark_handlers_asking(shape, edges);
}

/* ---- all of it ---- */

clp_status clp_code_lines_decode(PyCodeObject *code, struct clp_mem *mem,
                                 const struct clp_bytecode *bytecode, clp_decoded_use *use, void *data,
                                 const char **reason)
{
    PyObject *bytes = PyCode_GetCode(code);
    struct clp_decoded decoded;

    if (bytes == NULL)
        return CLP_NO_MEMORY;
    struct clp_code parts = clp_code_lines_code(code, bytes);
    clp_status status = clp_decoded_init(&decoded, mem, bytecode, &parts, reason);
    if (status == CLP_OK) {
        use(data, code, &decoded);
        clp_decoded_clear(&decoded);
    }
    Py_DECREF(bytes);
    return status;
}

struct reading {
    struct clp_code_lines *shape;
    struct clp_mem *mem;
    bool failed;
};

static void read_decoded(void *data, PyCodeObject *code, const struct clp_decoded *decoded)
{
    struct reading *reading = data;
    struct clp_code_lines *shape = reading->shape;
    struct clp_edges edges;
    const char *reason;

    shape->marks = clp_mem_alloc(reading->mem, shape->unit_count, 1);
    reading->failed = shape->marks == NULL || !read_lines(shape, reading->mem, code, decoded);
    if (reading->failed)
        return;
    shape->entry = (int)unit_of(&decoded->items[decoded->entry]) * 2;
    mark_yields(shape, decoded);
    if (CLP_COUNTS_AS_LINE)
        mark_loops(shape, decoded);
    clp_status status = clp_edges_init(&edges, decoded, &reason);
    reading->failed = status == CLP_NO_MEMORY;
    if (status != CLP_OK)
        return; /* the code's jumps are not understood: the tracer believes every event of the interpreter */
    reading->failed = !fill_counts(shape, reading->mem, &edges) ||
                      !fill_starts(shape, reading->mem, code, &edges);
    if (CLP_COUNTS_AS_LINE && decoded->bytecode->known)
        mark_repeats(shape, &edges);
    clp_edges_clear(&edges);
}

/* Reads the code. Where its instructions are not known, only the lines are read. */
static bool read_code(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code,
                      const struct clp_bytecode *bytecode)
{
    struct reading reading = {shape, mem, false};
    const char *reason;
    clp_status status = clp_code_lines_decode(code, mem, bytecode, read_decoded, &reading, &reason);

    if ((reading.failed || status == CLP_NO_MEMORY) && !PyErr_Occurred())
        PyErr_NoMemory();
    if (status == CLP_CORRUPT && bytecode->known) {
        shape->damage = reason;
        clp_code_lines_set_one(shape, code->co_firstlineno);
        return true;
    }
    return !PyErr_Occurred() && (status == CLP_OK || ask_lines(shape, mem, code));
}

#else

static bool read_code(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code,
                      const struct clp_bytecode *bytecode)
{
    (void)bytecode;
    return ask_lines(shape, mem, code);
}

#endif

bool clp_code_lines_init(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code,
                         const struct clp_bytecode *bytecode)
{
    *shape = (struct clp_code_lines){.unit_count = clp_compat_code_units(code), .first_yield = INT_MAX};
    bool done = read_code(shape, mem, code, bytecode);

    if (!done)
        clp_code_lines_clear(shape, mem);
    return done;
}

int32_t clp_code_lines_line_raised(PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    int line = PyCode_Addr2Line(code, clp_compat_frame_offset(frame));

    Py_DECREF(code);
    return line;
}

/* ---- lines of statements ---- */

/* Adds the lines on which the statements begin to the lines, and gives each line its instructions again. False: no
 * memory. */
static bool add_first_lines(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code,
                            const struct clp_statements *statements)
{
    struct clp_code_lines whole = {.lines = NULL};

    if (!begin_lines(&whole, mem, 2 * (size_t)shape->line_count))
        return false;
    for (uint32_t i = 0; i < shape->line_count; i++) {
        add_line(&whole, shape->lines[i]);
        add_line(&whole, clp_statements_line(statements, code->co_firstlineno, shape->lines[i]));
    }
    whole.instructions = end_lines(&whole, mem, code) ? clp_mem_alloc(mem, whole.line_count, 1) : NULL;
    if (whole.instructions == NULL) {
        clp_code_lines_clear(&whole, mem);
        return false;
    }
    for (uint32_t i = 0; i < shape->line_count; i++)
        whole.instructions[clp_code_lines_find(&whole, shape->lines[i])] = shape->instructions[i];
    clp_mem_free(mem, shape->instructions, shape->line_count, 1);
    clp_mem_free(mem, shape->lines, shape->line_room, sizeof *shape->lines);
    shape->instructions = whole.instructions;
    shape->lines = whole.lines;
    shape->line_count = whole.line_count;
    shape->line_room = whole.line_room;
    shape->lowest_line = whole.lowest_line;
    return true;
}

bool clp_code_lines_fold(struct clp_code_lines *shape, struct clp_mem *mem, struct clp_statements statements,
                         PyCodeObject *code)
{
    if (shape->instructions == NULL || shape->lines == NULL || statements.count == 0)
        return true;
    if (!add_first_lines(shape, mem, code, &statements)) {
        PyErr_NoMemory();
        return false;
    }
    for (uint32_t i = 0; i < shape->line_count; i++) {
        uint32_t first = clp_code_lines_find(shape, clp_statements_line(&statements, code->co_firstlineno, shape->lines[i]));
        if (shape->instructions[i] == 0 || first >= i)
            continue;
        if (shape->instructions[first] == 0)
            shape->instructions[first] = shape->instructions[i];
        shape->instructions[i] = 0;
    }
    return true;
}

bool clp_code_lines_copy_lines(struct clp_code_lines *copy, struct clp_mem *mem, const struct clp_code_lines *shape)
{
    *copy = (struct clp_code_lines){.lowest_line = shape->lowest_line};
    if (shape->lines == NULL) {
        clp_code_lines_set_one(copy, shape->lowest_line);
        return true;
    }
    bool done = begin_lines(copy, mem, shape->line_count);
    copy->line_count = shape->line_count;
    if (shape->instructions != NULL)
        copy->instructions = clp_mem_alloc(mem, shape->line_count, 1);
    if (!done || (shape->instructions != NULL && copy->instructions == NULL)) {
        clp_code_lines_clear(copy, mem);
        PyErr_NoMemory();
        return false;
    }
    memcpy(copy->lines, shape->lines, shape->line_count * sizeof *shape->lines);
    if (copy->instructions != NULL)
        memcpy(copy->instructions, shape->instructions, shape->line_count);
    return true;
}

void clp_code_lines_clear(struct clp_code_lines *shape, struct clp_mem *mem)
{
    clp_mem_free(mem, shape->lines, shape->line_room, sizeof *shape->lines);
    clp_mem_free(mem, shape->instructions, shape->line_count, 1);
    clp_mem_free(mem, shape->starts, shape->unit_count, sizeof *shape->starts);
    clp_mem_free(mem, shape->marks, shape->unit_count, 1);
    *shape = (struct clp_code_lines){.first_yield = INT_MAX};
}
