/* SPDX-License-Identifier: MIT */
#include "counted_code.h"
#include <string.h>

static void fill(struct clp_ways *ways, const struct clp_code_lines *lines, const struct clp_rewritten *rewritten)
{
    struct clp_way_from_to *items = ways->items;

    for (size_t i = 0; i < rewritten->edge_count; i++) {
        const struct clp_flow_edge *edge = &rewritten->edges[i];
        items[i] = (struct clp_way_from_to){
            .from = edge->from,
            .to = edge->to,
            .counter = edge->counter != CLP_FLOW_DERIVED ? edge->counter : CLP_WAY_DERIVED,
            .cell = edge->line >= 0 ? clp_code_lines_find(lines, edge->line) : CLP_NO_CELL,
            .flags = (edge->enters ? CLP_WAY_CALLS : 0u) | (edge->by_from ? CLP_WAY_BY_FROM : 0u),
        };
    }
    clp_area_set_kind(&ways->area, CLP_AREA_WAYS);
}

struct clp_counted *clp_counted_new(struct clp_recorder *recorder, uint32_t function, const struct clp_code_lines *lines,
                                    const struct clp_rewritten *rewritten)
{
    struct clp_counted *counted = clp_mem_alloc(&recorder->mem, 1, sizeof *counted);

    if (counted == NULL)
        goto no_memory;
    counted->spans = clp_mem_alloc(&recorder->mem, rewritten->span_count, sizeof *counted->spans);
    if (counted->spans == NULL)
        goto no_memory;
    counted->span_count = rewritten->span_count;
    memcpy(counted->spans, rewritten->spans, rewritten->span_count * sizeof *counted->spans);
    counted->ways = clp_ways_new(&recorder->engine, function, rewritten->node_count, (uint32_t)rewritten->edge_count,
                                 (uint32_t)rewritten->probe_count);
    if (counted->ways == NULL)
        goto no_memory;
    counted->asked = clp_mem_alloc(&recorder->mem, counted->ways->counter_count, sizeof *counted->asked);
    if (counted->asked == NULL)
        goto no_memory;
    for (size_t i = 0; i < rewritten->probe_count; i++)
        counted->asked[i] = rewritten->probes[i].line;
    fill(counted->ways, lines, rewritten);
    return counted;
no_memory:
    clp_counted_free(recorder, counted);
    PyErr_NoMemory();
    return NULL;
}

void clp_counted_free(struct clp_recorder *recorder, struct clp_counted *counted)
{
    if (counted == NULL)
        return;
    if (counted->ways != NULL) {
        clp_mem_free(&recorder->mem, counted->asked, counted->ways->counter_count, sizeof *counted->asked);
        counted->ways->gone = 1;
    }
    clp_mem_free(&recorder->mem, counted->spans, counted->span_count, sizeof *counted->spans);
    clp_mem_free(&recorder->mem, counted, 1, sizeof *counted);
}

bool clp_counted_has_run(const struct clp_counted *counted)
{
    for (uint32_t i = 0; i < counted->ways->counter_count; i++) {
        if (counted->ways->counters[i] != 0)
            return true;
    }
    return false;
}

uint32_t clp_counted_node(const struct clp_counted *counted, int offset)
{
    size_t low = 0, high = counted->span_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((int)counted->spans[middle].unit * 2 <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? counted->spans[low - 1].node : CLP_FLOW_OUTSIDE;
}

/* Does the line of this cell ever begin? `begin[cell]` says so. */
static void find_beginnings(struct clp_ways *ways, bool *begin, uint32_t cells)
{
    for (uint32_t i = 0; i < ways->way_count; i++) {
        if (ways->items[i].cell < cells)
            begin[ways->items[i].cell] = true;
    }
}

/* Instructions of no line, of one that never begins, and those before the body count for the line before them. */
static void fill_cells(const struct clp_counted *counted, const struct clp_code_lines *lines, const bool *begin,
                       uint32_t *cells, uint32_t units)
{
    for (size_t i = 0; i < counted->span_count; i++) {
        const struct clp_flow_span *span = &counted->spans[i];
        uint32_t past = i + 1 < counted->span_count ? span[1].unit : units;
        uint32_t cell = span->line >= 0 ? clp_code_lines_find(lines, span->line) : CLP_NO_CELL;
        if (cell >= lines->line_count || !begin[cell])
            cell = CLP_NO_CELL;
        for (uint32_t unit = span->unit; unit < past; unit++)
            cells[unit] = cell;
    }
}

void clp_counted_begin(struct clp_recorder *recorder, struct clp_counted *counted, PyObject *code, uint32_t function,
                       const struct clp_code_lines *lines)
{
    uint32_t units = (uint32_t)clp_compat_code_units((PyCodeObject *)code);
    uint32_t *cells = clp_mem_alloc(&recorder->mem, units, sizeof *cells);

    clp_ways_begin(&recorder->engine, counted->ways, function);
    bool *begin = clp_mem_alloc(&recorder->mem, lines->line_count, sizeof *begin);
    if (cells != NULL && begin != NULL) {
        find_beginnings(counted->ways, begin, lines->line_count);
        fill_cells(counted, lines, begin, cells, units);
        if (clp_sampled_code_add(&recorder->stack_sampler, code, function, cells, units))
            counted->sampled = code;
    }
    clp_mem_free(&recorder->mem, cells, units, sizeof *cells);
    clp_mem_free(&recorder->mem, begin, lines->line_count, sizeof *begin);
}

void clp_counted_end(struct clp_recorder *recorder, struct clp_counted *counted)
{
    if (counted->sampled != NULL)
        clp_sampled_code_remove(&recorder->stack_sampler, counted->sampled);
    counted->sampled = NULL;
}
