/* SPDX-License-Identifier: MIT */
#include "layout.h"
#include "around.h"
#include "counted.h"

/* ---- the plan ---- */

static clp_status want(struct clp_layout *layout, enum clp_probe_kind kind, int32_t line, uint32_t *constant)
{
    return clp_layout_want(layout, (struct clp_probe){kind, line, 0, 0}, constant);
}

static clp_status want_unlined(struct clp_layout *layout, enum clp_probe_kind kind)
{
    uint32_t constant;

    return want(layout, kind, 0, &constant);
}

static bool is_opcode(const struct clp_layout *layout, uint32_t at, uint8_t opcode)
{
    return layout->decoded->items[at].opcode == opcode;
}

static bool is_311(const struct clp_layout *layout)
{
    return layout->decoded->bytecode->minor == 11;
}

/* Is this instruction where a SEND goes when its delegate has ended? */
static bool ends_send(const struct clp_layout *layout, uint32_t at)
{
    const struct clp_decoded *decoded = layout->decoded;

    /* on 3.11 the loop around SEND ends right before it, and nothing else leads there backwards */
    if (!is_311(layout) || at == 0 || !clp_decoded_is(decoded, at - 1, CLP_OP_BACKWARD))
        return false;
    uint32_t loop = decoded->items[at - 1].target;
    return is_opcode(layout, loop, decoded->bytecode->send) && decoded->items[loop].target == at;
}

/* The return that ends the line which begins at `at`, if the line only returns a value at hand: all of it is
 * reached through the line's probe alone, and no handler covers it. Otherwise CLP_NOWHERE. */
static uint32_t trivial_return(const struct clp_layout *layout, uint32_t at)
{
    const struct clp_decoded *decoded = layout->decoded;
    int32_t line = decoded->items[at].line;
    uint16_t flags = layout->edges->flags[at];

    if ((flags & CLP_EDGE_UNCOUNTED) != 0 || ends_send(layout, at) ||
        (flags & (CLP_EDGE_FALLS | CLP_EDGE_FALL_COUNTS)) == CLP_EDGE_FALLS)
        return CLP_NOWHERE;
    for (uint32_t i = at; i < decoded->count; i++) {
        if (decoded->items[i].line != line || decoded->items[i].range != CLP_NOWHERE ||
            (i > at && (layout->edges->flags[i] & CLP_EDGE_JUMPED) != 0))
            return CLP_NOWHERE;
        if (clp_decoded_is(decoded, i, CLP_OP_LEAVES))
            return i;
        if (!clp_decoded_is(decoded, i, CLP_OP_TRIVIAL))
            return CLP_NOWHERE;
    }
    return CLP_NOWHERE;
}

static clp_status plan_line(struct clp_layout *layout, uint32_t at)
{
    struct clp_code_place *place = &layout->places[at];
    int32_t line = layout->decoded->items[at].line;
    uint32_t end = trivial_return(layout, at);

    if (end == CLP_NOWHERE)
        return want(layout, CLP_PROBE_LINE, line, &place->line);
    for (uint32_t i = at; i <= end; i++)
        layout->places[i].left = true;
    return want(layout, CLP_PROBE_LAST_LINE, line, &place->line);
}

/* Plans the probe behind a RESUME, and the probe of the line that begins at this instruction. */
static clp_status plan_front(struct clp_layout *layout, uint32_t at)
{
    const struct clp_decoded *decoded = layout->decoded;
    struct clp_code_place *place = &layout->places[at];
    uint16_t flags = layout->edges->flags[at];
    bool begins = clp_edges_begins(layout->edges, at);
    int32_t line = decoded->items[at].line;

    if (at == decoded->entry + 1 && begins && (flags & CLP_EDGE_JUMPED) == 0)
        return want(layout, CLP_PROBE_ENTER_LINE, line, &place->front);
    place->jumps_over =
        begins && (flags & (CLP_EDGE_FALLS | CLP_EDGE_FALL_COUNTS)) == CLP_EDGE_FALLS;
    if (begins && plan_line(layout, at) != CLP_OK)
        return CLP_NO_MEMORY;
    if (at == decoded->entry + 1)
        return want(layout, CLP_PROBE_ENTER, 0, &place->front);
    if (at > decoded->entry + 1 && is_opcode(layout, at - 1, decoded->bytecode->resume))
        return want(layout, CLP_PROBE_RESUME, 0, &place->front);
    return CLP_OK;
}

static clp_status plan_behind(struct clp_layout *layout, uint32_t at)
{
    const struct clp_decoded *decoded = layout->decoded;
    clp_status status = CLP_OK;

    if (is_opcode(layout, at, decoded->bytecode->yield_value))
        status = want_unlined(layout, CLP_PROBE_SUSPEND);
    else if (clp_decoded_is(decoded, at, CLP_OP_LEAVES) && !layout->places[at].left)
        status = want_unlined(layout, CLP_PROBE_LEAVE);
    if (status == CLP_OK && is_311(layout) && is_opcode(layout, at, decoded->bytecode->send))
        status = want_unlined(layout, CLP_PROBE_RESUME_IF);
    if (status == CLP_OK && (layout->edges->flags[at] & CLP_EDGE_RETHROWN) != 0) {
        layout->backs[clp_layout_back(layout, at)] = 0;
        status = want_unlined(layout, CLP_PROBE_RESUME);
    }
    if (status == CLP_OK && (layout->edges->flags[at] & CLP_EDGE_PLACE_ASKED) != 0) {
        uint32_t range = decoded->items[at].range, constant;
        layout->asks[range] = 0;
        status = want(layout, CLP_PROBE_LINE_ASKED,
                      decoded->items[decoded->ranges[range].handler].line, &constant);
    }
    return status;
}

static clp_status plan(struct clp_layout *layout)
{
    if (layout->flow != NULL)
        return clp_counted_plan(layout);
    clp_status status = want_unlined(layout, CLP_PROBE_LEAVE);

    for (uint32_t i = 0; i < layout->decoded->count && status == CLP_OK; i++) {
        status = plan_front(layout, i);
        if (status == CLP_OK)
            status = plan_behind(layout, i);
    }
    if (status == CLP_OK && layout->insert == CLP_INSERT_AROUND)
        status = clp_around_plan(layout);
    return status;
}

struct clp_behind clp_layout_behind(const struct clp_layout *layout, uint32_t at)
{
    const struct clp_bytecode *bytecode = layout->decoded->bytecode;
    struct clp_behind behind = {CLP_NOWHERE, CLP_NOWHERE, CLP_NOWHERE, layout->places[at].before, false};

    if (layout->flow != NULL)
        behind.repeats_send = behind.before != CLP_NOWHERE && at > 0 && is_311(layout) &&
                              is_opcode(layout, at - 1, bytecode->send);
    if (!layout->insert || layout->flow != NULL)
        return behind;
    if (ends_send(layout, at))
        behind.resume_if = clp_layout_constant(layout, CLP_PROBE_RESUME_IF, 0);
    if (is_opcode(layout, at, bytecode->yield_value)) {
        behind.suspend = clp_layout_constant(layout, CLP_PROBE_SUSPEND, 0);
        behind.repeats_send =
            is_311(layout) && at > 0 && is_opcode(layout, at - 1, bytecode->send);
    }
    if (clp_decoded_is(layout->decoded, at, CLP_OP_LEAVES) && !layout->places[at].left)
        behind.leave = clp_layout_constant(layout, CLP_PROBE_LEAVE, 0);
    return behind;
}

static uint32_t behind_units(const struct clp_layout *layout, uint32_t at)
{
    struct clp_behind behind = clp_layout_behind(layout, at);

    if (layout->flow != NULL)
        return clp_counted_units(layout, behind.before) + (behind.repeats_send ? 2 : 0);
    return clp_layout_probe_units(behind.resume_if) + clp_layout_probe_units(behind.suspend) +
           clp_layout_probe_units(behind.leave) + (behind.repeats_send ? 2 : 0) +
           clp_layout_operand_units(layout, behind.before, layout->places[at].before_depth);
}

uint32_t clp_layout_operand_units(const struct clp_layout *layout, uint32_t constant, uint32_t depth)
{
    const struct clp_bytecode *bytecode = layout->decoded->bytecode;

    if (constant == CLP_NOWHERE || depth == 0)
        return clp_layout_probe_units(constant);
    return 1u + clp_layout_prefixes(depth) + clp_layout_probe_units(constant) +
           bytecode->op[bytecode->contains_op].caches;
}

/* ---- addresses ---- */

static void lay_out(struct clp_layout *layout)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < layout->decoded->count; i++) {
        struct clp_code_place *place = &layout->places[i];
        place->block = at;
        uint32_t front = at + place->padded +
                         (layout->flow != NULL ? clp_counted_units(layout, place->front)
                                               : clp_layout_operand_units(layout, place->front, place->front_depth));
        uint32_t arriving = layout->flow != NULL ? clp_counted_lay_out_arrivals(layout, i)
                                                 : clp_layout_probe_units(place->line);
        place->counting = front + (place->jumps_over ? 1u + clp_layout_prefixes(arriving) : 0);
        place->plain = place->counting + arriving;
        place->self = place->plain + behind_units(layout, i);
        at = place->self + place->prefixes + clp_decoded_body(layout->decoded, i);
    }
    layout->end = at;
}

static uint32_t distance(const struct clp_layout *layout, uint32_t from)
{
    uint32_t next = layout->places[from].self + layout->places[from].prefixes +
                    clp_decoded_body(layout->decoded, from);
    uint32_t to = clp_layout_destination(layout, from);

    return clp_decoded_is(layout->decoded, from, CLP_OP_BACKWARD) ? next - to : to - next;
}

/* Gives each jump the prefixes that its distance needs now. True if a jump has grown; no jump ever shrinks. */
static bool widen_jumps(struct clp_layout *layout)
{
    bool grown = false;

    for (uint32_t i = 0; i < layout->decoded->count; i++) {
        if (!clp_decoded_is(layout->decoded, i, CLP_OP_TARGET))
            continue;
        uint8_t needed = clp_layout_prefixes(distance(layout, i));
        if (needed > layout->places[i].prefixes) {
            layout->places[i].prefixes = needed;
            grown = true;
        }
    }
    return grown;
}

uint32_t clp_layout_destination(const struct clp_layout *layout, uint32_t from)
{
    const struct clp_decoded *decoded = layout->decoded;
    uint32_t target = decoded->items[from].target;
    const struct clp_code_place *place = &layout->places[target];

    if (!clp_decoded_is(decoded, from, CLP_OP_GOES) ||
        (is_opcode(layout, from, decoded->bytecode->for_iter) &&
         is_opcode(layout, target, decoded->bytecode->end_for)))
        return place->self;
    if (layout->flow != NULL) {
        uint32_t way = layout->places[from].jump;
        bool arrives = way != CLP_NOWHERE && layout->flow->ways[way].counted &&
                       layout->places[from].before != layout->flow->ways[way].counter;
        return arrives ? place->plain - layout->flow->ways[way].address : place->plain;
    }
    if (layout->insert && clp_edge_counts(layout->edges, from, target))
        return place->counting;
    return place->plain;
}

/* ---- blocks at the end ---- */

uint32_t clp_layout_back(const struct clp_layout *layout, uint32_t at)
{
    const struct clp_decoded *decoded = layout->decoded;
    uint32_t range = decoded->items[at].range;

    if (range == CLP_NOWHERE)
        return (uint32_t)decoded->range_count * CLP_BACK_BLOCKS;
    return range * CLP_BACK_BLOCKS +
           clp_edge_throw_counts(layout->edges, at, decoded->ranges[range].handler);
}

uint32_t clp_layout_handler(const struct clp_layout *layout, uint32_t range, bool counts)
{
    const struct clp_code_place *place = &layout->places[layout->decoded->ranges[range].handler];

    return counts ? place->counting : place->plain;
}

uint32_t clp_layout_ask_constant(const struct clp_layout *layout, uint32_t range)
{
    const struct clp_decoded *decoded = layout->decoded;

    return clp_layout_constant(layout, CLP_PROBE_LINE_ASKED,
                               decoded->items[decoded->ranges[range].handler].line);
}

static size_t back_count(const struct clp_layout *layout)
{
    return (layout->decoded->range_count + 1) * CLP_BACK_BLOCKS;
}

static void lay_out_blocks(struct clp_layout *layout)
{
    uint32_t resume = clp_layout_constant(layout, CLP_PROBE_RESUME, 0);
    uint32_t at = layout->end;

    if (layout->flow != NULL) {
        layout->total = clp_counted_lay_out_catches(layout, at);
        return;
    }
    for (size_t i = 0; i < back_count(layout); i++) {
        if (layout->backs[i] == CLP_NOWHERE)
            continue;
        layout->backs[i] = at;
        at += clp_layout_probe_units(resume) + 1;
    }
    for (uint32_t i = 0; i < layout->decoded->range_count; i++) {
        if (layout->asks[i] == CLP_NOWHERE)
            continue;
        layout->asks[i] = at;
        at += clp_layout_ask_units(layout, clp_layout_ask_constant(layout, i));
    }
    layout->leave_block = at;
    if (layout->insert)
        at += clp_layout_probe_units(clp_layout_constant(layout, CLP_PROBE_LEAVE, 0)) + 1;
    layout->total = at;
}

/* Can the repeated SEND do its work? 3.11 raises what a delegate did not handle at the unit before the one to
 * which that SEND leads; this must be the end of the loop around the delegation. And 3.11 reads one byte of the
 * distance. */
static bool fits_repeated_send(const struct clp_layout *layout, uint32_t yield)
{
    uint32_t send = yield - 1;
    uint32_t target = layout->decoded->items[send].target;

    return clp_layout_destination(layout, send) == layout->places[target].block &&
           target > 0 && (layout->edges->flags[target - 1] & CLP_EDGE_RETHROWN) != 0 &&
           layout->places[target].block - layout->places[yield].self <= 0xFF;
}

static bool fits(const struct clp_layout *layout)
{
    for (uint32_t i = 0; i < layout->decoded->count; i++) {
        if (clp_layout_behind(layout, i).repeats_send && !fits_repeated_send(layout, i))
            return false;
    }
    return true;
}

/* ---- the whole layout ---- */

static clp_status allocate(struct clp_layout *layout)
{
    const struct clp_decoded *decoded = layout->decoded;

    layout->places = clp_mem_alloc(decoded->mem, decoded->count + 1, sizeof *layout->places);
    layout->backs = clp_mem_alloc(decoded->mem, back_count(layout), sizeof *layout->backs);
    layout->asks = clp_mem_alloc(decoded->mem, decoded->range_count, sizeof *layout->asks);
    if (layout->places == NULL || layout->backs == NULL ||
        (layout->asks == NULL && decoded->range_count != 0))
        return CLP_NO_MEMORY;
    for (uint32_t i = 0; i < decoded->count; i++) {
        layout->places[i].front = layout->places[i].line = layout->places[i].before = CLP_NOWHERE;
        layout->places[i].jump = CLP_NOWHERE;
        layout->places[i].prefixes = decoded->items[i].prefixes;
    }
    for (size_t i = 0; i < back_count(layout); i++)
        layout->backs[i] = CLP_NOWHERE;
    for (size_t i = 0; i < decoded->range_count; i++)
        layout->asks[i] = CLP_NOWHERE;
    return CLP_OK;
}

clp_status clp_layout_init(struct clp_layout *layout, const struct clp_edges *edges, struct clp_flow *flow,
                           struct clp_rewritten *out, enum clp_insertion insert, const char **reason)
{
    const struct clp_decoded *decoded = edges->decoded;

    *layout = (struct clp_layout){.decoded = decoded, .edges = edges, .flow = flow, .out = out, .insert = insert};
    clp_hashmap_init(&layout->constants, decoded->mem);
    clp_status status = allocate(layout);
    if (status == CLP_OK && insert)
        status = plan(layout);
    if (status == CLP_OK) {
        do
            lay_out(layout);
        while (widen_jumps(layout));
        lay_out_blocks(layout);
        if (fits(layout))
            return CLP_OK;
        status = CLP_UNSUPPORTED;
    }
    *reason = status == CLP_NO_MEMORY ? clp_status_text(status)
                                      : "a delegation in it is not laid out as the compiler does";
    clp_layout_clear(layout);
    return status;
}

void clp_layout_clear(struct clp_layout *layout)
{
    struct clp_mem *mem = layout->decoded->mem;

    clp_mem_free(mem, layout->places, layout->decoded->count + 1, sizeof *layout->places);
    clp_mem_free(mem, layout->arrivals, layout->arrival_count, sizeof *layout->arrivals);
    clp_mem_free(mem, layout->backs, back_count(layout), sizeof *layout->backs);
    clp_mem_free(mem, layout->asks, layout->decoded->range_count, sizeof *layout->asks);
    clp_hashmap_clear(&layout->constants);
    layout->places = NULL;
    layout->arrivals = NULL;
    layout->backs = layout->asks = NULL;
}
