/* SPDX-License-Identifier: MIT */
#include "counted.h"

static bool is_exception(const struct clp_way *way)
{
    return way->kind == CLP_WAY_RAISE || way->kind == CLP_WAY_THROWN;
}

static bool is_caught(const struct clp_way *way)
{
    return is_exception(way) && (way->counted || way->asked);
}

/* ---- the plan ---- */

static void place_jump(struct clp_layout *layout, uint32_t number)
{
    const struct clp_way *way = &layout->flow->ways[number];
    struct clp_code_place *place = &layout->places[way->at];

    place->jump = number;
    if (!way->counted)
        return;
    if (layout->decoded->items[way->at].opcode == layout->decoded->bytecode->jump_forward)
        place->before = way->counter;
    else
        layout->places[way->target].arrivals++;
}

static void place_counter(struct clp_layout *layout, uint32_t number)
{
    const struct clp_way *way = &layout->flow->ways[number];

    if (way->kind == CLP_WAY_JUMP)
        place_jump(layout, number);
    else if (way->counted && (way->kind == CLP_WAY_FALL || way->kind == CLP_WAY_ENTER))
        layout->places[way->target].front = way->counter;
    else if (way->counted && way->kind == CLP_WAY_LEAVE)
        layout->places[way->at].before = way->counter;
}

static clp_status make_counters(struct clp_layout *layout, struct clp_way *way)
{
    clp_status status = CLP_OK;

    if (way->counted)
        status = clp_layout_add(layout, (struct clp_probe){CLP_PROBE_COUNT, 0, 0, 0}, &way->counter);
    if (status == CLP_OK && way->asked)
        status = clp_layout_add(layout, (struct clp_probe){CLP_PROBE_COUNT_ASKED, way->line, 0, 0}, &way->ask);
    return status;
}

/* Sorts the jumps that arrive at counters by where they arrive. places[].arrivals has their numbers at first, and then
 * where those of an instruction begin among them all. */
static clp_status list_arrivals(struct clp_layout *layout)
{
    const struct clp_flow *flow = layout->flow;
    uint32_t total = 0;

    for (uint32_t i = 0; i <= layout->decoded->count; i++) {
        uint32_t here = i < layout->decoded->count ? layout->places[i].arrivals : 0;
        layout->places[i].arrivals = total += here; /* the end of its own; each that is put there moves it to the front */
    }
    layout->arrivals = clp_mem_alloc(layout->decoded->mem, total, sizeof *layout->arrivals);
    layout->arrival_count = total;
    if (layout->arrivals == NULL && total != 0)
        return CLP_NO_MEMORY;
    for (uint32_t i = 0; i < flow->count; i++) {
        const struct clp_way *way = &flow->ways[i];
        if (way->kind == CLP_WAY_JUMP && way->counted && layout->places[way->at].before != way->counter)
            layout->arrivals[--layout->places[way->target].arrivals] = i;
    }
    for (uint32_t i = 0; i < layout->decoded->count; i++)
        layout->places[i].jumps_over = layout->places[i + 1].arrivals != layout->places[i].arrivals &&
                                       (layout->edges->flags[i] & CLP_EDGE_FALLS) != 0;
    return CLP_OK;
}

/* Since 3.13 an exception of a body that was called is looked up one unit before the call. That unit must not be one of
 * another node. */
static bool needs_pad(const struct clp_layout *layout, uint32_t at)
{
    const struct clp_code_place *place = &layout->places[at];

    return layout->decoded->bytecode->minor >= 13 && at > layout->decoded->entry &&
           layout->flow->nodes[at] != layout->flow->nodes[at - 1] && place->front == CLP_NOWHERE &&
           place->before == CLP_NOWHERE && place[1].arrivals == place->arrivals &&
           !clp_decoded_is(layout->decoded, at, CLP_OP_QUIET | CLP_OP_AT_HAND | CLP_OP_NEVER_STARTS);
}

clp_status clp_counted_plan(struct clp_layout *layout)
{
    struct clp_flow *flow = layout->flow;
    clp_status status;

    /* exceptions last: a constant whose number is large takes an instruction more to load */
    for (int caught = 0; caught <= 1; caught++) {
        for (uint32_t i = 0; i < flow->count; i++) {
            if (is_exception(&flow->ways[i]) != caught)
                continue;
            if (make_counters(layout, &flow->ways[i]) != CLP_OK)
                return CLP_NO_MEMORY;
            place_counter(layout, i);
        }
    }
    status = list_arrivals(layout);
    for (uint32_t i = 0; i < layout->decoded->count; i++)
        layout->places[i].padded = needs_pad(layout, i);
    return status;
}

/* ---- addresses ---- */

uint32_t clp_counted_units(const struct clp_layout *layout, uint32_t constant)
{
    const struct clp_bytecode *bytecode = layout->decoded->bytecode;

    if (constant == CLP_NOWHERE || !clp_counted_iterates(bytecode))
        return clp_layout_probe_units(constant);
    return 2u + clp_layout_prefixes(constant) + bytecode->op[bytecode->for_iter].caches + (bytecode->end_for != 0);
}

uint32_t clp_counted_lay_out_arrivals(const struct clp_layout *layout, uint32_t at)
{
    uint32_t first = layout->places[at].arrivals, past = layout->places[at + 1].arrivals, units = 0;

    for (uint32_t i = past; i-- > first;) {
        struct clp_way *way = &layout->flow->ways[layout->arrivals[i]];
        uint32_t jump = i + 1 == past ? 0 : 1u + clp_layout_prefixes(units); /* over the pieces behind it */
        units += jump + clp_counted_units(layout, way->counter);
        way->address = units;
    }
    return units;
}

uint32_t clp_counted_catch_units(const struct clp_layout *layout, const struct clp_way *way)
{
    if (!is_caught(way))
        return 0;
    return (way->asked ? clp_layout_ask_units(layout, way->ask) : 1u) + clp_counted_units(layout, way->counter);
}

uint32_t clp_counted_lay_out_catches(const struct clp_layout *layout, uint32_t address)
{
    for (size_t i = 0; i < layout->flow->count; i++) {
        struct clp_way *way = &layout->flow->ways[i];
        if (!is_caught(way))
            continue;
        way->address = address;
        address += clp_counted_catch_units(layout, way);
    }
    return address;
}

const struct clp_way *clp_counted_catch(const struct clp_layout *layout, uint32_t at)
{
    uint32_t number = layout->flow->catches[at];

    return number != CLP_NOWHERE && is_caught(&layout->flow->ways[number]) ? &layout->flow->ways[number] : NULL;
}

/* ---- what is told about the code ---- */

static clp_status add_span(struct clp_rewritten *out, struct clp_flow_span span)
{
    const struct clp_flow_span *last = out->span_count > 0 ? &out->spans[out->span_count - 1] : NULL;

    if (last != NULL && last->node == span.node && last->line == span.line)
        return CLP_OK;
    if (out->span_count == out->span_room &&
        clp_mem_grow(out->mem, (void **)&out->spans, &out->span_room, out->span_room * 2 + 32, sizeof *out->spans) != CLP_OK)
        return CLP_NO_MEMORY;
    out->spans[out->span_count++] = span;
    return CLP_OK;
}

clp_status clp_counted_write(const struct clp_layout *layout)
{
    clp_status status = clp_flow_write(layout->flow, layout->decoded->code->const_count, layout->out);

    for (uint32_t i = 0; i < layout->decoded->count && status == CLP_OK; i++)
        status = add_span(layout->out, (struct clp_flow_span){layout->places[i].block, layout->flow->nodes[i],
                                                               layout->decoded->items[i].line});
    if (status == CLP_OK)
        status = add_span(layout->out, (struct clp_flow_span){layout->end, CLP_FLOW_OUTSIDE, CLP_NO_LINE});
    return status;
}
