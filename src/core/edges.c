/* SPDX-License-Identifier: MIT */
/* Sources: maybe_call_line_trace in Python/ceval.c of 3.11; initialize_lines and
 * _Py_call_instrumentation_line in Python/instrumentation.c since 3.12.
 *
 * 3.11: a line begins where the line differs from that of the instruction executed before, after a
 * jump backwards (but to SEND), and behind the first RESUME.
 *
 * Since 3.12: at marked instructions, when the line differs or the instruction before is a RESUME.
 * Marked are changes of line in the order of the code, targets of jumps, and handlers. In 3.12 the
 * instruction before is misread after an inlined call; here it is the one it should be. */
#include "edges.h"

static int minor_of(const struct clp_decoded *decoded)
{
    return decoded->bytecode->minor;
}

static bool never_starts(const struct clp_decoded *decoded, uint32_t at)
{
    return clp_bytecode_is(decoded->bytecode, clp_decoded_first_opcode(decoded, at),
                           CLP_OP_NEVER_STARTS);
}

/* ---- marks ---- */

/* Where FOR_ITER goes when it is exhausted: past the END_FOR that it names, since 3.12. */
static uint32_t goes_to(const struct clp_decoded *decoded, uint32_t from)
{
    const struct clp_bytecode *bytecode = decoded->bytecode;
    uint32_t target = decoded->items[from].target;

    if (decoded->items[from].opcode != bytecode->for_iter || bytecode->end_for == 0 ||
        decoded->items[target].opcode != bytecode->end_for)
        return target;
    target++;
    if (bytecode->skips_tail && target < decoded->count &&
        decoded->items[target].opcode == bytecode->end_for_tail)
        target++;
    return target;
}

static void mark(struct clp_edges *edges, uint32_t at)
{
    if (at < edges->decoded->count && edges->decoded->items[at].line != CLP_NO_LINE)
        edges->flags[at] |= CLP_EDGE_MARKED;
}

static void mark_changes(struct clp_edges *edges)
{
    const struct clp_decoded *decoded = edges->decoded;
    int32_t before = CLP_NO_LINE;

    for (uint32_t i = decoded->entry; i < decoded->count; i++) {
        if (never_starts(decoded, i))
            continue;
        if (decoded->items[i].line != before)
            mark(edges, i);
        before = decoded->items[i].line;
    }
}

/* Targets are marked whatever they are, and FOR_ITER and SEND mark the instruction behind the one
 * they name; of handlers, all but END_ASYNC_FOR. */
static void mark_targets(struct clp_edges *edges)
{
    const struct clp_decoded *decoded = edges->decoded;

    for (uint32_t i = decoded->entry; i < decoded->count; i++) {
        uint8_t opcode = decoded->items[i].opcode;
        if (!clp_decoded_is(decoded, i, CLP_OP_GOES))
            continue;
        mark(edges, decoded->items[i].target +
                        (opcode == decoded->bytecode->for_iter ||
                         opcode == decoded->bytecode->send));
    }
    for (size_t i = 0; i < decoded->range_count; i++) {
        if (!never_starts(decoded, decoded->ranges[i].handler))
            mark(edges, decoded->ranges[i].handler);
    }
}

/* On 3.11 whatever has a line may begin it, once the body is entered. */
static void mark_all(struct clp_edges *edges)
{
    for (uint32_t i = edges->decoded->entry + 1; i < edges->decoded->count; i++) {
        if (!never_starts(edges->decoded, i))
            mark(edges, i);
    }
}

/* ---- edges ---- */

static bool counts_by_order(const struct clp_decoded *decoded, uint32_t from, uint32_t to)
{
    return from <= decoded->entry ||
           (to < from && clp_decoded_first_opcode(decoded, to) != decoded->bytecode->send);
}

bool clp_edge_counts(const struct clp_edges *edges, uint32_t from, uint32_t to)
{
    const struct clp_decoded *decoded = edges->decoded;

    if ((edges->flags[to] & CLP_EDGE_MARKED) == 0)
        return false;
    if (decoded->items[from].line != decoded->items[to].line)
        return true;
    if (minor_of(decoded) == 11)
        return counts_by_order(decoded, from, to);
    return decoded->items[from].opcode == decoded->bytecode->resume;
}

/* Since 3.13 a body into which an exception is thrown stands at its RESUME already. */
bool clp_edge_throw_counts(const struct clp_edges *edges, uint32_t from, uint32_t handler)
{
    const struct clp_decoded *decoded = edges->decoded;

    if (minor_of(decoded) >= 13 && decoded->items[from].opcode == decoded->bytecode->yield_value)
        from++;
    return clp_edge_counts(edges, from, handler);
}

static void note_fall(struct clp_edges *edges, uint32_t from, uint32_t to)
{
    edges->flags[to] |= CLP_EDGE_FALLS;
    if (clp_edge_counts(edges, from, to))
        edges->flags[to] |= CLP_EDGE_FALL_COUNTS;
}

static void note_jump(struct clp_edges *edges, bool counts, uint32_t to)
{
    edges->flags[to] |= CLP_EDGE_JUMPED | (counts ? CLP_EDGE_COUNTED : CLP_EDGE_UNCOUNTED);
}

static bool is_opcode(const struct clp_decoded *decoded, uint32_t at, uint8_t opcode)
{
    return at < decoded->count && opcode != 0 && decoded->items[at].opcode == opcode;
}

/* A body is suspended at YIELD_VALUE; 3.11 moves it to the end of the loop around SEND before it
 * raises what a delegate did not handle. */
static bool may_be_thrown_into(const struct clp_decoded *decoded, uint32_t at)
{
    const struct clp_bytecode *bytecode = decoded->bytecode;

    if (is_opcode(decoded, at, bytecode->yield_value))
        return is_opcode(decoded, at + 1, bytecode->resume);
    if (at == 0 || at == decoded->entry)
        return false;
    if (is_opcode(decoded, at, bytecode->resume))
        return is_opcode(decoded, at - 1, bytecode->yield_value);
    return minor_of(decoded) == 11 && is_opcode(decoded, at - 1, bytecode->resume) &&
           at - 1 != decoded->entry && clp_decoded_is(decoded, at, CLP_OP_BACKWARD) &&
           is_opcode(decoded, decoded->items[at].target, bytecode->send);
}

static void note_edges_from(struct clp_edges *edges, uint32_t from)
{
    const struct clp_decoded *decoded = edges->decoded;
    const struct clp_instruction *item = &decoded->items[from];

    if (from + 1 < decoded->count && !clp_decoded_is(decoded, from, CLP_OP_NO_NEXT))
        note_fall(edges, from, from + 1);
    if (clp_decoded_is(decoded, from, CLP_OP_GOES)) {
        uint32_t to = goes_to(decoded, from);
        if (to != item->target)
            note_fall(edges, from, to); /* it arrives where END_FOR would go on */
        else
            note_jump(edges, clp_edge_counts(edges, from, to), to);
    }
    if (may_be_thrown_into(decoded, from))
        edges->flags[from] |= CLP_EDGE_RETHROWN;
    if (item->range != CLP_NOWHERE) {
        uint32_t handler = decoded->ranges[item->range].handler;
        note_jump(edges, clp_edge_throw_counts(edges, from, handler), handler);
    }
}

/* END_FOR and what is glued to it let nothing in between. */
static bool splits_loop_end(const struct clp_edges *edges, uint32_t at)
{
    const struct clp_bytecode *bytecode = edges->decoded->bytecode;

    return at > 0 && clp_edges_begins(edges, at) &&
           is_opcode(edges->decoded, at - 1, bytecode->end_for) &&
           is_opcode(edges->decoded, at, bytecode->end_for_tail);
}

static bool goes_past_end(const struct clp_decoded *decoded, uint32_t at)
{
    return clp_decoded_is(decoded, at, CLP_OP_GOES) && goes_to(decoded, at) >= decoded->count;
}

clp_status clp_edges_init(struct clp_edges *edges, const struct clp_decoded *decoded,
                          const char **reason)
{
    clp_status status = CLP_UNSUPPORTED;

    *edges = (struct clp_edges){.decoded = decoded};
    edges->flags = clp_mem_alloc(decoded->mem, decoded->count, sizeof *edges->flags);
    if (edges->flags == NULL) {
        *reason = clp_status_text(CLP_NO_MEMORY);
        return CLP_NO_MEMORY;
    }
    if (minor_of(decoded) == 11) {
        mark_all(edges);
    } else {
        mark_changes(edges);
        mark_targets(edges);
    }
    for (uint32_t i = 0; i < decoded->count; i++) {
        *reason = "a loop in it has no end";
        if (goes_past_end(decoded, i))
            goto out;
        note_edges_from(edges, i);
    }
    for (uint32_t i = 0; i < decoded->count; i++) {
        *reason = "a line begins in the midst of a loop's end";
        if (splits_loop_end(edges, i))
            goto out;
    }
    status = CLP_OK;
out:
    if (status != CLP_OK)
        clp_edges_clear(edges);
    return status;
}

void clp_edges_clear(struct clp_edges *edges)
{
    clp_mem_free(edges->decoded->mem, edges->flags, edges->decoded->count, sizeof *edges->flags);
    edges->flags = NULL;
}
