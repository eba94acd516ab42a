/* SPDX-License-Identifier: MIT */
/* The second half of a rewrite: writes the code and its tables. */
#include "rewrite.h"
#include "counted.h"
#include "layout.h"

/* ---- code ---- */

static void add_unit(struct clp_buf *code, uint8_t opcode, uint32_t argument)
{
    char unit[2] = {(char)opcode, (char)(argument & 0xFF)};

    clp_buf_add(code, unit, sizeof unit);
}

static void add_instruction(struct clp_buf *code, const struct clp_bytecode *bytecode,
                            uint8_t opcode, uint32_t argument, uint8_t prefixes)
{
    for (; prefixes > 0; prefixes--)
        add_unit(code, bytecode->extended_arg, argument >> (8 * prefixes));
    add_unit(code, opcode, argument);
}

static void add_probe(struct clp_buf *code, const struct clp_bytecode *bytecode,
                      uint32_t constant)
{
    if (constant == CLP_NOWHERE)
        return;
    add_instruction(code, bytecode, bytecode->load_const, constant, clp_layout_prefixes(constant));
    add_unit(code, bytecode->unary_negative, 0);
    add_unit(code, bytecode->pop_top, 0);
}

static void add_counter(const struct clp_layout *layout, uint32_t constant, struct clp_buf *code)
{
    const struct clp_bytecode *bytecode = layout->decoded->bytecode;

    if (constant == CLP_NOWHERE || !clp_counted_iterates(bytecode)) {
        add_probe(code, bytecode, constant);
        return;
    }
    add_instruction(code, bytecode, bytecode->load_const, constant, clp_layout_prefixes(constant));
    add_unit(code, bytecode->for_iter, 0);
    clp_buf_add_repeated(code, 0, (size_t)bytecode->op[bytecode->for_iter].caches * 2);
    if (bytecode->end_for != 0)
        add_unit(code, bytecode->end_for, 0);
}

/* Adds a probe with an operand that lies so deep in the stack; with 0 one without. */
static void add_operand_probe(struct clp_buf *code, const struct clp_bytecode *bytecode, uint32_t constant,
                              uint32_t depth)
{
    if (constant == CLP_NOWHERE || depth == 0) {
        add_probe(code, bytecode, constant);
        return;
    }
    add_instruction(code, bytecode, bytecode->copy, depth, clp_layout_prefixes(depth));
    add_instruction(code, bytecode, bytecode->load_const, constant, clp_layout_prefixes(constant));
    add_unit(code, bytecode->contains_op, 0);
    clp_buf_add_repeated(code, 0, (size_t)bytecode->op[bytecode->contains_op].caches * 2);
    add_unit(code, bytecode->pop_top, 0);
}

static void add_behind(const struct clp_layout *layout, uint32_t at, struct clp_buf *code)
{
    const struct clp_bytecode *bytecode = layout->decoded->bytecode;
    struct clp_behind behind = clp_layout_behind(layout, at);

    add_probe(code, bytecode, behind.resume_if);
    add_probe(code, bytecode, behind.suspend);
    add_probe(code, bytecode, behind.leave);
    if (layout->flow != NULL)
        add_counter(layout, behind.before, code);
    else
        add_operand_probe(code, bytecode, behind.before, layout->places[at].before_depth);
    if (behind.repeats_send) {
        add_unit(code, bytecode->jump_forward, 1);
        add_unit(code, bytecode->send,
                 clp_layout_destination(layout, at - 1) - layout->places[at].self);
    }
}

static uint32_t new_argument(const struct clp_layout *layout, uint32_t at, uint32_t next)
{
    const struct clp_instruction *item = &layout->decoded->items[at];

    if (item->target == CLP_NOWHERE)
        return item->argument;
    uint32_t to = clp_layout_destination(layout, at);
    return clp_decoded_is(layout->decoded, at, CLP_OP_BACKWARD) ? next - to : to - next;
}

static void add_arrivals(const struct clp_layout *layout, uint32_t at, struct clp_buf *code)
{
    const struct clp_bytecode *bytecode = layout->decoded->bytecode;
    uint32_t past = layout->places[at + 1].arrivals;

    for (uint32_t i = layout->places[at].arrivals; i < past; i++) {
        add_counter(layout, layout->flow->ways[layout->arrivals[i]].counter, code);
        if (i + 1 == past)
            break;
        uint32_t over = layout->flow->ways[layout->arrivals[i + 1]].address;
        add_instruction(code, bytecode, bytecode->jump_forward, over, clp_layout_prefixes(over));
    }
}

static void add_place(const struct clp_layout *layout, uint32_t at, struct clp_buf *code)
{
    const struct clp_bytecode *bytecode = layout->decoded->bytecode;
    const struct clp_code_place *place = &layout->places[at];
    uint32_t body = clp_decoded_body(layout->decoded, at);

    if (place->padded)
        add_unit(code, bytecode->nop, 0);
    if (layout->flow != NULL)
        add_counter(layout, place->front, code);
    else
        add_operand_probe(code, bytecode, place->front, place->front_depth);
    if (place->jumps_over)
        add_instruction(code, bytecode, bytecode->jump_forward, place->plain - place->counting,
                        clp_layout_prefixes(place->plain - place->counting));
    add_probe(code, bytecode, place->line);
    if (layout->flow != NULL)
        add_arrivals(layout, at, code);
    add_behind(layout, at, code);
    add_instruction(code, bytecode, layout->decoded->items[at].opcode,
                    new_argument(layout, at, place->self + place->prefixes + body),
                    place->prefixes);
    clp_buf_add_repeated(code, 0, ((size_t)body - 1) * 2);
}

/* Adds a block that asks for the place of an exception. The probe and the place, which the interpreter has put
 * below the exception, are the operands of one addition. Since 3.14 the place is no object. There the probe is
 * added to the exception, whose traceback nearly always tells the same place. The probe is the left operand,
 * because the class of the exception may define addition, too. */
static void add_ask(const struct clp_layout *layout, uint32_t constant, struct clp_buf *code)
{
    const struct clp_bytecode *bytecode = layout->decoded->bytecode;

    add_instruction(code, bytecode, bytecode->load_const, constant, clp_layout_prefixes(constant));
    add_unit(code, bytecode->copy, bytecode->minor >= 14 ? 2 : 3);
    add_unit(code, bytecode->binary_op, 0);
    clp_buf_add_repeated(code, 0, (size_t)bytecode->op[bytecode->binary_op].caches * 2);
    add_unit(code, bytecode->pop_top, 0);
}

/* Adds the blocks that count exceptions. */
static void add_catches(const struct clp_layout *layout, struct clp_buf *code)
{
    const struct clp_bytecode *bytecode = layout->decoded->bytecode;

    for (size_t i = 0; i < layout->flow->count; i++) {
        const struct clp_way *way = &layout->flow->ways[i];
        if (clp_counted_catch_units(layout, way) == 0)
            continue;
        if (way->asked)
            add_ask(layout, way->ask, code);
        add_counter(layout, way->counter, code);
        add_unit(code, bytecode->reraise, 1);
    }
}

static void add_code(const struct clp_layout *layout, struct clp_buf *code)
{
    const struct clp_bytecode *bytecode = layout->decoded->bytecode;
    uint32_t resume = clp_layout_constant(layout, CLP_PROBE_RESUME, 0);

    for (uint32_t i = 0; i < layout->decoded->count; i++)
        add_place(layout, i, code);
    if (layout->flow != NULL) {
        add_catches(layout, code);
        return;
    }
    for (size_t i = 0; i < (layout->decoded->range_count + 1) * CLP_BACK_BLOCKS; i++) {
        if (layout->backs[i] == CLP_NOWHERE)
            continue;
        add_probe(code, bytecode, resume);
        add_unit(code, bytecode->reraise, 1);
    }
    for (uint32_t i = 0; i < layout->decoded->range_count; i++) {
        if (layout->asks[i] == CLP_NOWHERE)
            continue;
        add_ask(layout, clp_layout_ask_constant(layout, i), code);
        add_unit(code, bytecode->reraise, 1);
    }
    if (layout->insert) {
        add_probe(code, bytecode, clp_layout_constant(layout, CLP_PROBE_LEAVE, 0));
        add_unit(code, bytecode->reraise, 1);
    }
}

/* ---- the exception table ---- */

/* A run of units whose exceptions go to the same handler. */
struct run {
    uint32_t start, end;
    uint32_t handler; /* CLP_NOWHERE: none */
    uint32_t depth;
    bool lasti;
    uint32_t range; /* range in the old table; runs of different ranges stay apart */
};

static void add_number(struct clp_buf *table, uint32_t number, uint8_t first)
{
    int digits = 1;

    while (digits < 6 && number >> (6 * digits) != 0)
        digits++;
    while (digits-- > 0) {
        char byte = (char)((number >> (6 * digits) & 63u) | (digits > 0 ? 64u : 0u) | first);
        clp_buf_add(table, &byte, 1);
        first = 0;
    }
}

static void add_run(struct clp_buf *table, const struct run *run)
{
    if (run->handler == CLP_NOWHERE || run->start == run->end)
        return;
    add_number(table, run->start, 128);
    add_number(table, run->end - run->start, 0);
    add_number(table, run->handler, 0);
    add_number(table, run->depth << 1 | run->lasti, 0);
}

static struct run in_range(const struct clp_layout *layout, uint32_t range, bool counts)
{
    return (struct run){
        .handler = clp_layout_handler(layout, range, counts),
        .depth = layout->decoded->ranges[range].depth,
        .lasti = layout->decoded->ranges[range].lasti,
        .range = range,
    };
}

/* The run of an exception that nothing in the old table handles. */
static struct run leaving(const struct clp_layout *layout)
{
    return (struct run){
        .handler = layout->leave_block, .depth = 0, .lasti = true, .range = CLP_NOWHERE};
}

/* The run of an instruction in code with counters. */
static struct run counted_run_of(const struct clp_layout *layout, uint32_t at)
{
    const struct clp_way *way = clp_counted_catch(layout, at);
    uint32_t range = layout->decoded->items[at].range;
    struct run run = {.handler = CLP_NOWHERE, .range = range};

    if (range != CLP_NOWHERE)
        run = in_range(layout, range, false);
    if (way != NULL) {
        run.handler = way->address;
        run.lasti = true;
    }
    return run;
}

static struct run run_of(const struct clp_layout *layout, uint32_t at)
{
    static const struct run nothing = {.handler = CLP_NOWHERE, .range = CLP_NOWHERE};
    const struct clp_decoded *decoded = layout->decoded;
    uint32_t range = decoded->items[at].range;
    struct run run;

    if (layout->flow != NULL)
        return counted_run_of(layout, at);
    if (layout->insert && (layout->edges->flags[at] & CLP_EDGE_RETHROWN) != 0) {
        run = leaving(layout);
        run.handler = layout->backs[clp_layout_back(layout, at)];
        run.depth = range != CLP_NOWHERE ? decoded->ranges[range].depth : 0;
        return run;
    }
    if (layout->insert && (layout->edges->flags[at] & CLP_EDGE_PLACE_ASKED) != 0) {
        run = in_range(layout, range, false);
        run.handler = layout->asks[range];
        run.lasti = true;
        return run;
    }
    if (range != CLP_NOWHERE)
        return in_range(layout, range,
                        layout->insert && clp_edge_throw_counts(layout->edges, at,
                                                                decoded->ranges[range].handler));
    /* before the body is entered and after it has been left, there is nothing to leave */
    if (!layout->insert || at <= decoded->entry || clp_decoded_is(decoded, at, CLP_OP_LEAVES) ||
        layout->places[at].left)
        return nothing;
    return leaving(layout);
}

static bool same_way(const struct run *one, const struct run *other)
{
    return one->handler == other->handler && one->depth == other->depth &&
           one->lasti == other->lasti && one->range == other->range;
}

/* Adds runs for the `back` blocks: each re-raises to where the exception would have gone directly. */
static void add_back_runs(const struct clp_layout *layout, struct clp_buf *table)
{
    uint32_t units =
        clp_layout_probe_units(clp_layout_constant(layout, CLP_PROBE_RESUME, 0)) + 1;

    for (uint32_t i = 0; i < (layout->decoded->range_count + 1) * CLP_BACK_BLOCKS; i++) {
        uint32_t range = i / CLP_BACK_BLOCKS;
        if (layout->backs[i] == CLP_NOWHERE)
            continue;
        struct run run = range < layout->decoded->range_count
                             ? in_range(layout, range, i % CLP_BACK_BLOCKS != 0)
                             : leaving(layout);
        run.start = layout->backs[i];
        run.end = run.start + units;
        add_run(table, &run);
    }
}

static void add_ask_runs(const struct clp_layout *layout, struct clp_buf *table)
{
    for (uint32_t i = 0; i < layout->decoded->range_count; i++) {
        if (layout->asks[i] == CLP_NOWHERE)
            continue;
        struct run run = in_range(layout, i, false);
        run.start = layout->asks[i];
        run.end =
            run.start + clp_layout_ask_units(layout, clp_layout_ask_constant(layout, i));
        add_run(table, &run);
    }
}

/* Adds runs for the blocks that count exceptions. Those that leave the body have none. */
static void add_catch_runs(const struct clp_layout *layout, struct clp_buf *table)
{
    for (size_t i = 0; i < layout->flow->count; i++) {
        const struct clp_way *way = &layout->flow->ways[i];
        uint32_t units = clp_counted_catch_units(layout, way);
        if (units == 0 || way->range == CLP_NOWHERE)
            continue;
        struct run run = in_range(layout, way->range, false);
        run.start = way->address;
        run.end = run.start + units;
        add_run(table, &run);
    }
}

static void add_exceptions(const struct clp_layout *layout, struct clp_buf *table)
{
    struct run run = {.handler = CLP_NOWHERE};

    for (uint32_t i = 0; i < layout->decoded->count; i++) {
        struct run next = run_of(layout, i);
        if (i > 0 && same_way(&run, &next))
            continue;
        next.start = run.end = layout->places[i].block;
        add_run(table, &run);
        run = next;
    }
    run.end = layout->end;
    add_run(table, &run);
    if (layout->flow != NULL)
        add_catch_runs(layout, table);
    if (!layout->insert || layout->flow != NULL)
        return;
    add_back_runs(layout, table);
    add_ask_runs(layout, table);
}

static int32_t needed_stack(const struct clp_layout *layout)
{
    /* a probe takes one value, and one with an operand two; in the blocks at the end it lies above the exception and its place, and a copy
     * of one of those lies above it where the place is asked for */
    uint32_t most = 3;

    if (!layout->insert)
        return layout->decoded->code->stack_size;
    for (size_t i = 0; i < layout->decoded->range_count; i++) {
        uint32_t needed = layout->decoded->ranges[i].depth + 3 +
                          (layout->flow != NULL || layout->asks[i] != CLP_NOWHERE);
        if (needed > most)
            most = needed;
    }
    int32_t with_probe = layout->decoded->code->stack_size + (layout->insert == CLP_INSERT_AROUND ? 2 : 1);
    return with_probe > (int32_t)most ? with_probe : (int32_t)most;
}

/* ---- the location table ---- */

enum { MOST_UNITS = 8, ONE_LINE = 10, NO_COLUMNS = 13, NONE = 15 };

static void add_head(struct clp_buf *table, uint8_t form, uint32_t units)
{
    char head = (char)(128u | (uint32_t)form << 3 | (units - 1));

    clp_buf_add(table, &head, 1);
}

/* Adds an entry for more units of the location. Its line is the line of the entry before. */
static void add_again(struct clp_buf *table, const struct clp_location *location, uint32_t units)
{
    bool has_delta = location->form >= NO_COLUMNS && location->form < NONE;

    add_head(table,
             location->form > ONE_LINE && location->form < NO_COLUMNS ? ONE_LINE : location->form,
             units);
    if (has_delta)
        clp_buf_add(table, "", 1);
    clp_buf_add(table, (const char *)location->columns, location->column_bytes);
}

static void add_location(struct clp_buf *table, const struct clp_location *location,
                         uint32_t units)
{
    uint32_t now = units < MOST_UNITS ? units : MOST_UNITS;

    if (units == 0)
        return;
    add_head(table, location->form, now);
    clp_buf_add(table, (const char *)location->payload, location->payload_bytes);
    for (units -= now; units > 0; units -= now) {
        now = units < MOST_UNITS ? units : MOST_UNITS;
        add_again(table, location, now);
    }
}

/* The new address of a unit of the old code, together with what stands before its instruction. *at is the
 * number of the instruction that the unit lies in; the search starts at the instruction of the last call. */
static uint32_t new_unit(const struct clp_layout *layout, uint32_t unit, uint32_t *at)
{
    const struct clp_decoded *decoded = layout->decoded;

    if (unit == decoded->units)
        return layout->end;
    while (*at + 1 < decoded->count && decoded->items[*at + 1].at <= unit)
        ++*at;
    const struct clp_instruction *item = &decoded->items[*at];
    if (item->at == unit)
        return layout->places[*at].block;
    return layout->places[*at].self + layout->places[*at].prefixes - item->prefixes +
           (unit - item->at);
}

static void add_locations(const struct clp_layout *layout, struct clp_buf *table)
{
    const struct clp_code *code = layout->decoded->code;
    const uint8_t *at = code->locations, *end = at + code->location_bytes;
    uint32_t unit = 0, written = 0, instruction = 0;
    struct clp_location location;

    while (at < end && clp_location_read(&at, end, &location)) {
        unit += location.units;
        uint32_t now = new_unit(layout, unit, &instruction);
        add_location(table, &location, now - written);
        written = now;
    }
    location = (struct clp_location){.form = NONE};
    add_location(table, &location, layout->total - written);
}

/* ---- the whole rewrite ---- */

static clp_status write_out(const struct clp_layout *layout, struct clp_rewritten *out,
                            const char **reason)
{
    add_code(layout, &out->code);
    add_exceptions(layout, &out->exceptions);
    add_locations(layout, &out->locations);
    out->stack_size = needed_stack(layout);
    clp_status status = layout->flow != NULL ? clp_counted_write(layout) : CLP_OK;
    if (status == CLP_OK && !out->code.failed && !out->exceptions.failed && !out->locations.failed)
        return CLP_OK;
    *reason = clp_status_text(CLP_NO_MEMORY);
    return CLP_NO_MEMORY;
}

static clp_status rewrite(struct clp_rewritten *out, const struct clp_decoded *decoded,
                          enum clp_insertion insert, const char **reason)
{
    struct clp_edges edges;
    struct clp_flow flow = {0};
    struct clp_layout layout;
    clp_status status = clp_edges_init(&edges, decoded, reason);

    if (status != CLP_OK)
        return status;
    if (insert == CLP_INSERT_COUNTS)
        status = clp_flow_init(&flow, &edges, reason);
    if (status == CLP_OK)
        status = clp_layout_init(&layout, &edges, insert == CLP_INSERT_COUNTS ? &flow : NULL, out, insert, reason);
    if (status == CLP_OK) {
        status = write_out(&layout, out, reason);
        clp_layout_clear(&layout);
    }
    if (flow.edges != NULL)
        clp_flow_clear(&flow);
    clp_edges_clear(&edges);
    return status;
}

clp_status clp_rewrite(struct clp_rewritten *out, struct clp_mem *mem,
                       const struct clp_bytecode *bytecode, const struct clp_code *code,
                       enum clp_insertion insert, const char **reason)
{
    struct clp_decoded decoded;
    clp_status status = clp_decoded_init(&decoded, mem, bytecode, code, reason);

    *out = (struct clp_rewritten){.mem = mem};
    clp_buf_init(&out->code, mem);
    clp_buf_init(&out->exceptions, mem);
    clp_buf_init(&out->locations, mem);
    if (status != CLP_OK)
        return status;
    if (decoded.appended == 0)
        status = rewrite(out, &decoded, insert, reason);
    else {
        *reason = "something has appended instructions, to know it by its bytes";
        status = CLP_UNSUPPORTED;
    }
    clp_decoded_clear(&decoded);
    if (status != CLP_OK)
        clp_rewritten_clear(out);
    return status;
}

void clp_rewritten_clear(struct clp_rewritten *rewritten)
{
    clp_buf_clear(&rewritten->code);
    clp_buf_clear(&rewritten->exceptions);
    clp_buf_clear(&rewritten->locations);
    clp_mem_free(rewritten->mem, rewritten->probes, rewritten->probe_room,
                 sizeof *rewritten->probes);
    clp_mem_free(rewritten->mem, rewritten->edges, rewritten->edge_room, sizeof *rewritten->edges);
    clp_mem_free(rewritten->mem, rewritten->spans, rewritten->span_room, sizeof *rewritten->spans);
    rewritten->probes = NULL;
    rewritten->edges = NULL;
    rewritten->spans = NULL;
    rewritten->probe_count = rewritten->probe_room = 0;
    rewritten->edge_count = rewritten->edge_room = rewritten->span_count = rewritten->span_room = 0;
}
