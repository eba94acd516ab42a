/* SPDX-License-Identifier: MIT */
/* Reading code objects through their public faces: co_lines(), co_code and co_exceptiontable. */
#include "code_lines.h"
#include "rewrite/edges.h"
#include "engine/functions.h"
#include <limits.h>

#define NO_LINE CLP_SHAPE_NO_LINE

/* The line of every code unit; owned. */
struct unit_lines {
    int32_t *lines;
    size_t count;
};

static bool take_range(PyObject *range, struct unit_lines *into)
{
    int start, end;
    PyObject *line;

    if (!PyArg_ParseTuple(range, "iiO", &start, &end, &line))
        return false;
    long number = line == Py_None ? NO_LINE : PyLong_AsLong(line);
    if (number == -1 && PyErr_Occurred())
        return false;
    for (int at = start / 2; at < end / 2 && (size_t)at < into->count; at++)
        into->lines[at] = (int32_t)number;
    return true;
}

static bool fill_unit_lines(PyCodeObject *code, struct unit_lines *into)
{
    PyObject *ranges = PyObject_CallMethod((PyObject *)code, "co_lines", NULL);
    PyObject *range;
    bool done = true;

    if (ranges == NULL)
        return false;
    while (done && (range = PyIter_Next(ranges)) != NULL) {
        done = take_range(range, into);
        Py_DECREF(range);
    }
    Py_DECREF(ranges);
    return done && !PyErr_Occurred();
}

static void fill_span(struct clp_code_lines *shape, PyCodeObject *code, const struct unit_lines *units)
{
    int32_t lowest = INT32_MAX, highest = 0;

    for (size_t i = 0; i < units->count; i++) {
        int32_t line = units->lines[i];
        if (line == NO_LINE)
            continue;
        lowest = line < lowest ? line : lowest;
        highest = line > highest ? line : highest;
    }
    if (lowest > highest) /* no line at all */
        lowest = highest = code->co_firstlineno;
    shape->lowest_line = lowest;
    shape->line_count = (uint32_t)(highest - lowest) + 1;
}

static void drop_starts(struct clp_code_lines *shape, struct clp_mem *mem)
{
    clp_mem_free(mem, shape->starts, shape->unit_count, sizeof *shape->starts);
    shape->starts = NULL;
}

#if PY_VERSION_HEX >= 0x030B0000

/* ---- where lines may begin ---- */

struct scan {
    const struct clp_opcodes *opcodes;
    const unsigned char *code; /* two bytes a unit, caches zeroed */
    const int32_t *lines;      /* by unit */
    int32_t *starts;           /* by unit: the marks */
    size_t count;
};

static void mark(const struct scan *scan, size_t unit)
{
    if (unit >= scan->count || scan->opcodes->never_starts[scan->code[unit * 2]])
        return;
    scan->starts[unit] = scan->lines[unit];
}

static size_t next_instruction(const struct scan *scan, size_t unit)
{
    do
        unit++;
    while (unit < scan->count && scan->code[unit * 2] == scan->opcodes->cache);
    return unit;
}

/* A line begins where the line differs from the instruction before, or right behind a RESUME. */
static void mark_changes(const struct scan *scan)
{
    int32_t before = NO_LINE;
    bool resumed = true;

    for (size_t unit = 0; unit < scan->count; unit = next_instruction(scan, unit)) {
        int32_t line = scan->lines[unit];
        if (line == NO_LINE || line != before || resumed)
            mark(scan, unit);
        before = line;
        resumed = scan->opcodes->resumes[scan->code[unit * 2]];
    }
}

/* Calls visit(scan, from, target) for every jump. */
static void walk_jumps(const struct scan *scan,
                       void (*visit)(const struct scan *scan, size_t from, size_t target))
{
    size_t argument = 0, next;

    for (size_t unit = 0; unit < scan->count; unit = next) {
        unsigned char opcode = scan->code[unit * 2];
        next = next_instruction(scan, unit);
        argument = argument << 8 | scan->code[unit * 2 + 1];
        if (opcode == scan->opcodes->extended_arg)
            continue;
        if (scan->opcodes->jump[opcode] > 0)
            visit(scan, unit, next + argument);
        else if (scan->opcodes->jump[opcode] < 0 && argument <= next)
            visit(scan, unit, next - argument);
        argument = 0;
    }
}

/* Marks where a jump arrives. FOR_ITER and SEND may skip the instruction they name, so the one
 * behind it counts as reached too: one more place to look at does no harm. */
static void mark_target(const struct scan *scan, size_t from, size_t target)
{
    mark(scan, target);
    if (target > from)
        mark(scan, target + 1);
}

/* One number of the exception table: six bits a byte, 64 on all but the last (cpython,
 * Objects/exception_handling_notes.txt). */
static const unsigned char *read_varint(const unsigned char *at, const unsigned char *end,
                                        size_t *value)
{
    *value = 0;
    while (at < end) {
        *value = *value << 6 | (*at & 63u);
        if ((*at++ & 64u) == 0)
            break;
    }
    return at;
}

static void mark_handlers(const struct scan *scan, const unsigned char *table, size_t bytes)
{
    const unsigned char *end = table + bytes;

    while (table < end) {
        size_t start, size, handler, depth;
        table = read_varint(table, end, &start);
        table = read_varint(table, end, &size);
        table = read_varint(table, end, &handler);
        table = read_varint(table, end, &depth);
        mark(scan, handler);
    }
}

/* ---- what runs when a line begins ---- */

/* Has the instruction room behind it for what it is adapted by? A jump back has some for other ends. */
static bool adapts(const struct scan *scan, size_t unit)
{
    return scan->opcodes->jump[scan->code[unit * 2]] >= 0 && next_instruction(scan, unit) != unit + 1;
}

/* Instructions from here on, up to the next line or the first jump. */
static unsigned count_from(const struct scan *scan, size_t unit)
{
    int32_t line = scan->lines[unit];
    unsigned count = 0;

    for (; unit < scan->count && scan->lines[unit] == line && count < CLP_FUNCTION_MOST_INSTRUCTIONS;
         unit = next_instruction(scan, unit)) {
        count++;
        if (scan->opcodes->jump[scan->code[unit * 2]] != 0)
            break;
    }
    return count;
}

/* Of a line that begins in several places, the fewest; and whether the first of them adapts. */
static bool fill_counts(struct clp_code_lines *shape, struct clp_mem *mem, const struct scan *scan)
{
    if (shape->line_count > CLP_FUNCTION_MOST_LINES)
        return true;
    shape->instructions = clp_mem_alloc(mem, shape->line_count, 1);
    if (shape->instructions == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t unit = 0; unit < scan->count; unit++) {
        if (scan->starts[unit] <= 0)
            continue;
        uint8_t *least = &shape->instructions[scan->starts[unit] - shape->lowest_line];
        unsigned count = count_from(scan, unit);
        if (*least == 0)
            *least = (uint8_t)(count | (adapts(scan, unit) ? CLP_FUNCTION_ADAPTS : 0));
        else if (count < (*least & CLP_FUNCTION_MOST_INSTRUCTIONS))
            *least = (uint8_t)(count | (*least & CLP_FUNCTION_ADAPTS));
    }
    return true;
}

/* ---- where a loop within one line comes round ---- */

static void mark_loop(const struct scan *scan, size_t from, size_t target)
{
    if (target < from && scan->lines[from] == scan->lines[target])
        mark(scan, CLP_JUMP_TOLD_AT_SOURCE ? from : target);
}

/* The interpreter keeps an instruction's line as a one-byte drift from a straight slope of one line
 * per sixteen units; where that does not fit it scans the line table at each event. */
static bool line_events_scan(PyCodeObject *code, const struct unit_lines *units)
{
    for (size_t i = 0; CLP_LINE_EVENTS_SCAN && i < units->count; i++) {
        long drift = (long)units->lines[i] - code->co_firstlineno - (long)(i >> 4);
        if (units->lines[i] != NO_LINE && (drift > 127 || drift < -126))
            return true;
    }
    return false;
}

/* `starts`, and what runs from there. */
static bool fill_starts(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code,
                        const struct clp_opcodes *opcodes, const unsigned char *bytes,
                        const struct unit_lines *units)
{
    PyObject *table = PyObject_GetAttrString((PyObject *)code, "co_exceptiontable");
    bool done = false;

    if (table == NULL)
        return false;
    shape->starts = clp_mem_alloc(mem, units->count, sizeof *shape->starts);
    if (shape->starts != NULL) {
        struct scan scan = {opcodes, bytes, units->lines, shape->starts, units->count};
        mark_changes(&scan);
        walk_jumps(&scan, mark_target);
        mark_handlers(&scan, (const unsigned char *)PyBytes_AsString(table),
                      (size_t)PyBytes_Size(table));
        done = fill_counts(shape, mem, &scan);
    } else {
        PyErr_NoMemory();
    }
    shape->asks_places = PyBytes_Size(table) > 0;
    Py_DECREF(table);
    return done;
}

static bool fill_yields(struct clp_code_lines *shape, struct clp_mem *mem,
                        const struct clp_opcodes *opcodes, const unsigned char *bytes)
{
    shape->yields = clp_mem_alloc(mem, shape->unit_count, sizeof *shape->yields);
    if (shape->yields == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = shape->unit_count; i-- > 0;) {
        if (bytes[i * 2] != opcodes->yield_value)
            continue;
        shape->first_yield = (int)i * 2;
        shape->yields[i] = true;
        if (i + 1 < shape->unit_count) /* where 3.13 has the frame stand already */
            shape->yields[i + 1] = true;
    }
    return true;
}

static bool fill_loops(struct clp_code_lines *shape, struct clp_mem *mem, const struct scan *scan)
{
    shape->loops = clp_mem_alloc(mem, scan->count, sizeof *shape->loops);
    if (shape->loops == NULL) {
        PyErr_NoMemory();
        return false;
    }
    walk_jumps(scan, mark_loop);
    for (size_t i = 0; i < scan->count; i++)
        shape->loops[i] = scan->starts[i] > 0;
    return true;
}

/* Bodies that suspend keep LINE events whatever they cost: what begins a line behind a resumption, and
 * behind an `async for`, instructions do not show. */
static bool fill_instructions(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code,
                              const struct clp_opcodes *opcodes, const struct unit_lines *units)
{
    bool suspends = (code->co_flags & CLP_SUSPENDS) != 0;
    PyObject *bytes = PyCode_GetCode(code);

    if (bytes == NULL)
        return false;
    const unsigned char *text = (const unsigned char *)PyBytes_AS_STRING(bytes);
    bool done = fill_starts(shape, mem, code, opcodes, text, units) &&
                (!suspends || fill_yields(shape, mem, opcodes, text));
    if (suspends || !line_events_scan(code, units))
        drop_starts(shape, mem);
    Py_DECREF(bytes);
    return done;
}

static bool find_loops(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code,
                       const struct clp_opcodes *opcodes, const struct unit_lines *units)
{
    int32_t *marks;
    PyObject *bytes = PyCode_GetCode(code);
    bool done = false;

    marks = clp_mem_alloc(mem, units->count, sizeof *marks);
    if (marks == NULL)
        PyErr_NoMemory();
    if (bytes != NULL && marks != NULL) {
        const unsigned char *text = (const unsigned char *)PyBytes_AS_STRING(bytes);
        struct scan scan = {opcodes, text, units->lines, marks, units->count};
        done = fill_loops(shape, mem, &scan);
    }
    Py_XDECREF(bytes);
    clp_mem_free(mem, marks, units->count, sizeof *marks);
    return done;
}

#else

/* 3.10 tells a suspended frame itself, and has no LINE events. */
static bool fill_instructions(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code,
                              const struct clp_opcodes *opcodes, const struct unit_lines *units)
{
    (void)shape, (void)mem, (void)code, (void)opcodes, (void)units;
    return true;
}

static bool find_loops(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code,
                       const struct clp_opcodes *opcodes, const struct unit_lines *units)
{
    return fill_instructions(shape, mem, code, opcodes, units);
}

#endif

static bool read_unit_lines(struct unit_lines *units, struct clp_mem *mem, PyCodeObject *code)
{
    units->count = clp_compat_code_units(code);
    units->lines = clp_mem_alloc(mem, units->count, sizeof *units->lines);
    if (units->lines == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = 0; i < units->count; i++)
        units->lines[i] = NO_LINE;
    if (fill_unit_lines(code, units))
        return true;
    clp_mem_free(mem, units->lines, units->count, sizeof *units->lines);
    return false;
}

bool clp_code_lines_init(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code,
                         const struct clp_opcodes *opcodes)
{
    struct unit_lines units;

    *shape = (struct clp_code_lines){.unit_count = clp_compat_code_units(code), .first_yield = INT_MAX};
    if (!read_unit_lines(&units, mem, code))
        return false;
    fill_span(shape, code, &units);
    bool done = fill_instructions(shape, mem, code, opcodes, &units);
    clp_mem_free(mem, units.lines, units.count, sizeof *units.lines);
    if (!done)
        clp_code_lines_clear(shape, mem);
    return done;
}

bool clp_code_lines_find_loops(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code,
                            const struct clp_opcodes *opcodes)
{
    struct unit_lines units;

    if (!read_unit_lines(&units, mem, code))
        return false;
    bool done = find_loops(shape, mem, code, opcodes, &units);
    clp_mem_free(mem, units.lines, units.count, sizeof *units.lines);
    return done;
}

#if CLP_HAS_PROBES

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
        if (use != NULL)
            use(data, code, &decoded);
        clp_decoded_clear(&decoded);
    }
    Py_DECREF(bytes);
    return status;
}

#endif

int32_t clp_code_lines_line_raised(PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    int line = PyCode_Addr2Line(code, clp_compat_frame_offset(frame));

    Py_DECREF(code);
    return line;
}

#if CLP_LINE_EVENTS_REPEAT || CLP_TRACE_EVENTS_STRAY

struct repeats {
    struct clp_code_lines *shape;
    struct clp_mem *mem;
    bool failed;
};

/* Instructions that a call on the same line falls to, and that jumps from other lines lead to: an event here
 * while the line is running comes from the call. Of a jump that has no line itself nobody could tell. */
static void mark_behind_calls(struct clp_code_lines *shape, const struct clp_edges *edges)
{
    const int ways = CLP_EDGE_FALLS | CLP_EDGE_FALL_COUNTS | CLP_EDGE_COUNTED;
    const struct clp_decoded *decoded = edges->decoded;

    for (uint32_t i = 1; i < decoded->count; i++) {
        if ((edges->flags[i] & ways) == (CLP_EDGE_FALLS | CLP_EDGE_COUNTED) &&
            clp_decoded_body(decoded, i - 1) > 1)
            shape->repeats[decoded->items[i].at] = CLP_REPEATS_ALWAYS;
    }
    for (uint32_t i = 0; i < decoded->count; i++) {
        const struct clp_instruction *item = &decoded->items[i];
        if (item->line == NO_LINE && item->target != CLP_NOWHERE &&
            clp_edges_may_begin(edges, item->target))
            shape->repeats[decoded->items[item->target].at] = CLP_REPEATS_NEVER;
    }
}

/* Handlers that begin a line from some places, and from others do not. */
static void mark_handlers_asking(struct clp_code_lines *shape, const struct clp_edges *edges)
{
    const struct clp_decoded *decoded = edges->decoded;

    for (size_t i = 0; i < decoded->range_count; i++) {
        uint32_t handler = decoded->ranges[i].handler;
        if (!clp_edges_may_begin(edges, handler) ||
            (edges->flags[handler] & (CLP_EDGE_UNCOUNTED | CLP_EDGE_MAY_COUNT)) == 0)
            continue;
        shape->repeats[decoded->items[handler].at] = CLP_REPEATS_BY_PLACE;
        shape->asks_places = true;
    }
}

static void mark_repeats(void *data, PyCodeObject *code, const struct clp_decoded *decoded)
{
    struct repeats *repeats = data;
    struct clp_code_lines *shape = repeats->shape;
    struct clp_edges edges;
    const char *reason;

    (void)code;
    shape->repeats = clp_mem_alloc(repeats->mem, shape->unit_count, sizeof *shape->repeats);
    repeats->failed = shape->repeats == NULL;
    if (repeats->failed || clp_edges_init(&edges, decoded, &reason) != CLP_OK)
        return; /* strange code: what the interpreter says goes */
    for (uint32_t i = 0; i < decoded->count; i++)
        shape->repeats[decoded->items[i].at] =
            clp_edges_may_begin(&edges, i) ? CLP_REPEATS_NEVER : CLP_REPEATS_ALWAYS;
    if (CLP_CALLS_HIDE_LINES)
        mark_behind_calls(shape, &edges);
    mark_handlers_asking(shape, &edges);
    clp_edges_clear(&edges);
}

bool clp_code_lines_find_repeats(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code,
                                 const struct clp_bytecode *bytecode)
{
    struct repeats repeats = {shape, mem, false};
    const char *reason;

    (void)clp_code_lines_decode(code, mem, bytecode, mark_repeats, &repeats, &reason);
    if (repeats.failed)
        PyErr_NoMemory();
    return !PyErr_Occurred();
}

#else

bool clp_code_lines_find_repeats(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code,
                                 const struct clp_bytecode *bytecode)
{
    (void)shape, (void)mem, (void)code, (void)bytecode;
    return true;
}

#endif

bool clp_code_lines_copy_lines(struct clp_code_lines *copy, struct clp_mem *mem, const struct clp_code_lines *shape)
{
    *copy = (struct clp_code_lines){.lowest_line = shape->lowest_line, .line_count = shape->line_count};
    if (shape->instructions == NULL)
        return true;
    copy->instructions = clp_mem_alloc(mem, shape->line_count, 1);
    if (copy->instructions == NULL) {
        *copy = (struct clp_code_lines){0};
        PyErr_NoMemory();
        return false;
    }
    memcpy(copy->instructions, shape->instructions, shape->line_count);
    return true;
}

void clp_code_lines_clear(struct clp_code_lines *shape, struct clp_mem *mem)
{
    drop_starts(shape, mem);
    clp_mem_free(mem, shape->instructions, shape->line_count, 1);
    clp_mem_free(mem, shape->yields, shape->unit_count, sizeof *shape->yields);
    clp_mem_free(mem, shape->loops, shape->unit_count, sizeof *shape->loops);
    clp_mem_free(mem, shape->repeats, shape->unit_count, sizeof *shape->repeats);
    *shape = (struct clp_code_lines){.first_yield = INT_MAX};
}
