/* SPDX-License-Identifier: MIT */
/* The rules come from maybe_call_line_trace in Python/ceval.c of 3.11, and from initialize_lines and
 * _Py_call_instrumentation_line in Python/instrumentation.c since 3.12.
 *
 * 3.11: a line begins where the line differs from that of the instruction executed before, after a jump
 * backwards (except to a SEND), and behind the first RESUME.
 *
 * Since 3.12: a line begins at a marked instruction when the line differs from that of the instruction executed
 * before, or when that one is a RESUME. Marked are changes of line in the order of the code, targets of jumps,
 * and handlers. After an inlined call 3.12 misreads which instruction was executed before; here it is always
 * the right one. */
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

uint32_t clp_edges_goes_to(const struct clp_decoded *decoded, uint32_t from)
{
    const struct clp_bytecode *bytecode = decoded->bytecode;
    uint32_t target = decoded->items[from].target;

    if (decoded->items[from].opcode != bytecode->for_iter || bytecode->end_for == 0 ||
        clp_decoded_first_opcode(decoded, target) != bytecode->end_for)
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

/* Marks the targets of jumps, whatever they are. For FOR_ITER and SEND the instruction behind the target is
 * marked. Marks all handlers but END_ASYNC_FOR. */
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

/* Marks every instruction that has a line: on 3.11 each may begin its line, once the body is entered. */
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

/* Does this RERAISE restore the place of the exception, so that the instruction there counts as executed
 * before? */
static bool restores_place(const struct clp_decoded *decoded, uint32_t at)
{
    return decoded->items[at].opcode == decoded->bytecode->reraise &&
           decoded->items[at].argument != 0;
}

/* Since 3.13 a body into which an exception is thrown already stands at the RESUME behind its YIELD_VALUE. */
bool clp_edge_throw_counts(const struct clp_edges *edges, uint32_t from, uint32_t handler)
{
    const struct clp_decoded *decoded = edges->decoded;

    if (restores_place(decoded, from))
        return (edges->flags[from] & CLP_EDGE_PLACE_COUNTS) != 0;
    if (minor_of(decoded) >= 13 && decoded->items[from].opcode == decoded->bytecode->yield_value)
        from++;
    return clp_edge_counts(edges, from, handler);
}

/* The most instructions looked at from the start of a handler to the RERAISE that ends it without handling the
 * exception. An `async with` has the most. */
#define HANDLER_REACH 32

uint32_t clp_edges_reraise_of(const struct clp_decoded *decoded, uint32_t handler)
{
    uint32_t i = handler;

    for (int steps = 0; steps < HANDLER_REACH && i < decoded->count; steps++) {
        if (restores_place(decoded, i))
            return i;
        if (clp_decoded_is(decoded, i, CLP_OP_NO_NEXT))
            return CLP_NOWHERE;
        /* a SEND there ends at some time */
        i = decoded->items[i].opcode == decoded->bytecode->send ? decoded->items[i].target : i + 1;
    }
    return CLP_NOWHERE;
}

/* How many of the places from which an exception comes to a handler begin the handler's line, and how many do
 * not. */
struct tally {
    size_t counting, others;
};

/* For each RERAISE, the list of ranges whose handlers it ends. What it raises again was raised in these ranges. */
struct sources {
    uint32_t *first; /* by instruction: the first range */
    uint32_t *next;  /* by range: the next range */
};

#define DEEPEST_HANDLER 8 /* how many handlers that end in a RERAISE with the place may lie in each other */

static void add_places(const struct clp_edges *edges, const struct sources *sources, uint32_t end,
                       uint32_t handler, int depth, struct tally *tally);

/* Counts an exception at `from` that arrives at the handler, directly or through other handlers. */
static void add_place(const struct clp_edges *edges, const struct sources *sources, uint32_t from,
                      uint32_t handler, int depth, struct tally *tally)
{
    if (clp_decoded_is(edges->decoded, from, CLP_OP_QUIET))
        return;
    if (restores_place(edges->decoded, from)) {
        if (depth < DEEPEST_HANDLER)
            add_places(edges, sources, from, handler, depth + 1, tally);
    } else if (clp_edge_throw_counts(edges, from, handler)) {
        tally->counting++;
    } else {
        tally->others++;
    }
}

/* Counts every exception that the RERAISE `end` may raise again. */
static void add_places(const struct clp_edges *edges, const struct sources *sources, uint32_t end,
                       uint32_t handler, int depth, struct tally *tally)
{
    for (uint32_t i = sources->first[end]; i != CLP_NOWHERE; i = sources->next[i]) {
        const struct clp_handled_range *range = &edges->decoded->ranges[i];
        for (uint32_t from = range->first; from < range->past; from++)
            add_place(edges, sources, from, handler, depth, tally);
    }
}

static void find_sources(const struct clp_decoded *decoded, const struct sources *sources)
{
    for (size_t i = 0; i < decoded->count; i++)
        sources->first[i] = CLP_NOWHERE;
    for (uint32_t i = 0; i < decoded->range_count; i++) {
        const struct clp_handled_range *range = &decoded->ranges[i];
        uint32_t end = range->lasti ? clp_edges_reraise_of(decoded, range->handler) : CLP_NOWHERE;
        if (end == CLP_NOWHERE)
            continue;
        sources->next[i] = sources->first[end];
        sources->first[end] = i;
    }
}

/* Decides whether the RERAISE `end` begins its handler's line. Nearly always this is the same for all places.
 * Where it is not (a `with` of several managers on one line), the exception is asked for its place on the way
 * to the handler. */
static void note_place(struct clp_edges *edges, const struct sources *sources, uint32_t end)
{
    const struct clp_decoded *decoded = edges->decoded;
    struct tally tally = {0};

    if (sources->first[end] == CLP_NOWHERE || decoded->items[end].range == CLP_NOWHERE)
        return;
    uint32_t handler = decoded->ranges[decoded->items[end].range].handler;
    if ((edges->flags[handler] & CLP_EDGE_MARKED) == 0)
        return; /* no line begins there */
    add_places(edges, sources, end, handler, 0, &tally);
    if (tally.counting != 0 && tally.others != 0) {
        edges->flags[end] |= CLP_EDGE_PLACE_ASKED;
        edges->flags[handler] |= CLP_EDGE_MAY_COUNT;
    } else if (tally.counting != 0) {
        edges->flags[end] |= CLP_EDGE_PLACE_COUNTS;
    }
}

static clp_status note_places(struct clp_edges *edges)
{
    const struct clp_decoded *decoded = edges->decoded;
    struct sources sources = {
        .first = clp_mem_alloc(decoded->mem, decoded->count, sizeof *sources.first),
        .next = clp_mem_alloc(decoded->mem, decoded->range_count, sizeof *sources.next),
    };
    bool done = sources.first != NULL && (sources.next != NULL || decoded->range_count == 0);

    if (done) {
        find_sources(decoded, &sources);
        for (uint32_t i = 0; i < decoded->count; i++)
            note_place(edges, &sources, i);
    }
    clp_mem_free(decoded->mem, sources.first, decoded->count, sizeof *sources.first);
    clp_mem_free(decoded->mem, sources.next, decoded->range_count, sizeof *sources.next);
    return done ? CLP_OK : CLP_NO_MEMORY;
}

static void note_fall(struct clp_edges *edges, uint32_t from, uint32_t to)
{
    edges->flags[to] |= CLP_EDGE_FALLS;
    if (clp_edge_counts(edges, from, to))
        edges->flags[to] |= CLP_EDGE_FALL_COUNTS;
}

static void note_jump(struct clp_edges *edges, bool counts, uint32_t to)
{
    edges->flags[to] |=
        (uint16_t)(CLP_EDGE_JUMPED | (counts ? CLP_EDGE_COUNTED : CLP_EDGE_UNCOUNTED));
}

/* May an exception have been thrown into the body while it is suspended at this instruction? A body is
 * suspended at YIELD_VALUE. 3.11 moves it to the end of the loop around SEND before it raises what a delegate
 * did not handle. */
static bool may_be_thrown_into(const struct clp_decoded *decoded, uint32_t at)
{
    const struct clp_bytecode *bytecode = decoded->bytecode;

    if (clp_decoded_is_opcode(decoded, at, bytecode->yield_value))
        return clp_decoded_is_opcode(decoded, at + 1, bytecode->resume);
    if (at == 0 || at == decoded->entry)
        return false;
    if (clp_decoded_is_opcode(decoded, at, bytecode->resume))
        return clp_decoded_is_opcode(decoded, at - 1, bytecode->yield_value);
    return minor_of(decoded) == 11 && clp_decoded_is_opcode(decoded, at - 1, bytecode->resume) &&
           at - 1 != decoded->entry && clp_decoded_is(decoded, at, CLP_OP_BACKWARD) &&
           clp_decoded_is_opcode(decoded, decoded->items[at].target, bytecode->send);
}

static void note_edges_from(struct clp_edges *edges, uint32_t from)
{
    const struct clp_decoded *decoded = edges->decoded;
    const struct clp_instruction *item = &decoded->items[from];

    if (from + 1 < decoded->count && !clp_decoded_is(decoded, from, CLP_OP_NO_NEXT))
        note_fall(edges, from, from + 1);
    if (clp_decoded_is(decoded, from, CLP_OP_GOES)) {
        uint32_t to = clp_edges_goes_to(decoded, from);
        if (to != item->target)
            note_fall(edges, from, to); /* FOR_ITER arrives where END_FOR would continue */
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

/* Does a line begin between END_FOR and the instruction that must follow it? */
static bool splits_loop_end(const struct clp_edges *edges, uint32_t at)
{
    const struct clp_bytecode *bytecode = edges->decoded->bytecode;

    return at > 0 && clp_edges_begins(edges, at) &&
           clp_decoded_is_opcode(edges->decoded, at - 1, bytecode->end_for) &&
           clp_decoded_is_opcode(edges->decoded, at, bytecode->end_for_tail);
}

/* Is there no END_FOR (3.13: END_FOR and POP_TOP) where this FOR_ITER leads? The interpreter continues behind
 * them without looking whether they are there. */
static bool lacks_end(const struct clp_decoded *decoded, uint32_t at)
{
    const struct clp_bytecode *bytecode = decoded->bytecode;

    return bytecode->end_for != 0 && clp_decoded_is_opcode(decoded, at, bytecode->for_iter) &&
           clp_edges_goes_to(decoded, at) != decoded->items[at].target + 1 + bytecode->skips_tail;
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
    *reason = clp_status_text(CLP_NO_MEMORY);
    if (note_places(edges) != CLP_OK) {
        status = CLP_NO_MEMORY;
        goto out;
    }
    for (uint32_t i = 0; i < decoded->count; i++) {
        *reason = "a loop in it has no end";
        if (lacks_end(decoded, i))
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
