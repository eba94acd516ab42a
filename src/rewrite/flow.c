/* SPDX-License-Identifier: MIT */
#include "flow.h"
#include <math.h>
#include <stdlib.h>

/* How often ways are run is guessed: a loop runs ten times, each branch half of the time, an exception seldom. */
#define LOOP 10.0
#define DEEPEST_LOOP 12
#define BRANCH 0.5
#define EXCEPTION 1e-3
#define JUMP 1.5 /* a counter on a jump costs another jump, so the tree takes jumps first */
#define BACK 4.0 /* and those back to the head of a loop before all else: they are run most */
#define NEVER INFINITY

static bool is_311(const struct clp_decoded *decoded)
{
    return decoded->bytecode->minor == 11;
}

/* ---- nodes ---- */

/* Is the instruction one of those that belong to no body: before it begins, and a RESUME? The END_FOR that FOR_ITER
 * jumps past is never run, nor is what it jumps past with it. */
static bool is_outside(const struct clp_decoded *decoded, uint32_t at)
{
    const struct clp_bytecode *bytecode = decoded->bytecode;

    return at <= decoded->entry || clp_decoded_is_opcode(decoded, at, bytecode->resume) ||
           clp_decoded_is_opcode(decoded, at, bytecode->end_for) ||
           (bytecode->skips_tail && clp_decoded_is_opcode(decoded, at - 1, bytecode->end_for));
}

static bool ends_node(const struct clp_decoded *decoded, uint32_t at)
{
    return is_outside(decoded, at) || clp_decoded_is_opcode(decoded, at, decoded->bytecode->yield_value) ||
           clp_decoded_is(decoded, at, CLP_OP_GOES | CLP_OP_NO_NEXT | CLP_OP_LEAVES);
}

static void number_nodes(struct clp_flow *flow)
{
    const struct clp_edges *edges = flow->edges;
    const struct clp_decoded *decoded = edges->decoded;

    flow->node_count = CLP_FLOW_OUTSIDE + 1;
    for (uint32_t i = 0; i < decoded->count; i++) {
        if (is_outside(decoded, i))
            flow->nodes[i] = CLP_FLOW_OUTSIDE;
        else if (ends_node(decoded, i - 1) || (edges->flags[i] & (CLP_EDGE_JUMPED | CLP_EDGE_FALL_COUNTS)) != 0)
            flow->nodes[i] = flow->node_count++;
        else
            flow->nodes[i] = flow->nodes[i - 1];
    }
}

/* ---- ways ---- */

struct builder {
    struct clp_flow *flow;
    const struct clp_decoded *decoded;
    uint8_t *depth;   /* by instruction: how many loops it lies in */
    uint32_t *fronts; /* by instruction: the way that falls to it; or CLP_NOWHERE */
    uint32_t *raised; /* by RAISED_WAYS of a range: the way that was added last for it; or CLP_NOWHERE */
    uint32_t *thrown;
    bool failed;
};

/* Exceptions in a range that begin the handler's line, do not begin it, or are asked. */
#define RAISED_WAYS 3

static void note_loop(struct builder *builder, uint32_t head, uint32_t end)
{
    for (uint32_t i = head; i <= end; i++)
        builder->depth[i] = (uint8_t)(builder->depth[i] + (builder->depth[i] < DEEPEST_LOOP));
}

static void find_loops(struct builder *builder)
{
    const struct clp_decoded *decoded = builder->decoded;

    for (uint32_t i = decoded->entry; i < decoded->count; i++) {
        if (clp_decoded_is(decoded, i, CLP_OP_GOES) && decoded->items[i].target <= i)
            note_loop(builder, decoded->items[i].target, i);
    }
}

static double weight_of(const struct builder *builder, uint32_t at, uint32_t target)
{
    uint8_t depth = builder->depth[at];

    if (target != CLP_NOWHERE && builder->depth[target] < depth)
        depth = builder->depth[target];
    return pow(LOOP, depth);
}

/* Adds the way and returns its number; CLP_NOWHERE: there is no memory. */
static uint32_t add_way(struct builder *builder, struct clp_way way)
{
    struct clp_flow *flow = builder->flow;

    way.counter = way.ask = CLP_NOWHERE;
    way.from = way.kind == CLP_WAY_ENTER || way.kind == CLP_WAY_THROWN || way.kind == CLP_WAY_SENT
                   ? CLP_FLOW_OUTSIDE
                   : flow->nodes[way.at];
    way.to = way.target != CLP_NOWHERE ? flow->nodes[way.target] : CLP_FLOW_OUTSIDE;
    way.line = (way.begins || way.asked) ? builder->decoded->items[way.target].line : CLP_NO_LINE;
    if (flow->count == flow->room &&
        clp_mem_grow(builder->decoded->mem, (void **)&flow->ways, &flow->room, flow->room * 2 + 64,
                     sizeof *flow->ways) != CLP_OK) {
        builder->failed = true;
        return CLP_NOWHERE;
    }
    flow->ways[flow->count] = way;
    return (uint32_t)flow->count++;
}

/* Adds the way to the next instruction, or past the end of a loop. A counter would stand before that instruction. */
static void add_fall(struct builder *builder, uint32_t at, uint32_t to, double part)
{
    const struct clp_decoded *decoded = builder->decoded;
    bool enters = clp_decoded_is_opcode(decoded, at, decoded->bytecode->resume);
    bool splits_end = clp_decoded_is_opcode(decoded, to, decoded->bytecode->end_for_tail) &&
                      clp_decoded_is_opcode(decoded, to - 1, decoded->bytecode->end_for);
    /* 3.11 looks for the SEND right before a YIELD_VALUE; the counter of what leaves there brings one of its own */
    bool splits_send = is_311(decoded) && clp_decoded_is_opcode(decoded, at, decoded->bytecode->send);
    uint32_t other = builder->fronts[to]; /* past the end of another loop: a counter would count both */

    if (other != CLP_NOWHERE)
        builder->flow->ways[other].weight = NEVER;
    builder->fronts[to] = add_way(
        builder, (struct clp_way){
                     .kind = enters ? CLP_WAY_ENTER : CLP_WAY_FALL,
                     .at = at,
                     .target = to,
                     .range = CLP_NOWHERE,
                     .begins = clp_edge_counts(builder->flow->edges, at, to),
                     .weight = splits_end || splits_send || other != CLP_NOWHERE ? NEVER : part * weight_of(builder, at, to),
                 });
}

/* On 3.11 a SEND goes right to the instruction behind its loop, and so does what a delegate returns within throw(). */
static void add_sent(struct builder *builder, uint32_t at, uint32_t to)
{
    add_way(builder, (struct clp_way){.kind = CLP_WAY_SENT, .at = at, .target = to, .range = CLP_NOWHERE,
                                      .begins = clp_edge_counts(builder->flow->edges, at, to), .weight = NEVER});
}

static void add_jump(struct builder *builder, uint32_t at, double part)
{
    const struct clp_decoded *decoded = builder->decoded;
    uint32_t to = clp_edges_goes_to(decoded, at);
    bool sends = is_311(decoded) && clp_decoded_is_opcode(decoded, at, decoded->bytecode->send);

    if (to != decoded->items[at].target) {
        add_fall(builder, at, to, part / LOOP);
        return;
    }
    add_way(builder, (struct clp_way){
                         .kind = CLP_WAY_JUMP,
                         .at = at,
                         .target = to,
                         .range = CLP_NOWHERE,
                         .begins = clp_edge_counts(builder->flow->edges, at, to),
                         .weight = sends ? NEVER : part * (to <= at ? BACK : JUMP) * weight_of(builder, at, to),
                     });
    if (sends)
        add_sent(builder, at, to);
}

/* Adds the way of an exception at this instruction, unless its node has the same way already. */
static void add_exception(struct builder *builder, uint32_t at)
{
    const struct clp_edges *edges = builder->flow->edges;
    const struct clp_decoded *decoded = builder->decoded;
    bool thrown = builder->flow->nodes[at] == CLP_FLOW_OUTSIDE || (edges->flags[at] & CLP_EDGE_RETHROWN) != 0;
    bool asked = !thrown && (edges->flags[at] & CLP_EDGE_PLACE_ASKED) != 0;
    uint32_t range = decoded->items[at].range;
    uint32_t handler = range != CLP_NOWHERE ? decoded->ranges[range].handler : CLP_NOWHERE;

    if (clp_decoded_is(decoded, at, CLP_OP_LEAVES) || (clp_decoded_is(decoded, at, CLP_OP_QUIET) && !thrown) ||
        (thrown && handler == CLP_NOWHERE))
        return;
    bool begins = !asked && handler != CLP_NOWHERE && clp_edge_throw_counts(edges, at, handler);
    uint32_t *latest = (thrown ? builder->thrown : builder->raised) +
                       (range != CLP_NOWHERE ? range : decoded->range_count) * RAISED_WAYS + (asked ? 2 : begins);
    if (*latest == CLP_NOWHERE || (!thrown && builder->flow->ways[*latest].from != builder->flow->nodes[at]))
        *latest = add_way(builder, (struct clp_way){
                                       .kind = thrown ? CLP_WAY_THROWN : CLP_WAY_RAISE,
                                       .at = at,
                                       .target = handler,
                                       .range = range,
                                       .begins = begins,
                                       .asked = asked,
                                       .weight = EXCEPTION * weight_of(builder, at, CLP_NOWHERE),
                                   });
    builder->flow->catches[at] = *latest;
}

static void add_ways_from(struct builder *builder, uint32_t at)
{
    const struct clp_decoded *decoded = builder->decoded;
    uint32_t next = at + 1;
    bool falls = next < decoded->count && !clp_decoded_is(decoded, at, CLP_OP_NO_NEXT | CLP_OP_LEAVES);
    bool outside = builder->flow->nodes[at] == CLP_FLOW_OUTSIDE;
    bool yields = clp_decoded_is_opcode(decoded, at, decoded->bytecode->yield_value);

    if (clp_decoded_is(decoded, at, CLP_OP_LEAVES) || yields)
        add_way(builder, (struct clp_way){.kind = CLP_WAY_LEAVE, .at = at, .target = CLP_NOWHERE, .range = CLP_NOWHERE,
                                          .weight = weight_of(builder, at, CLP_NOWHERE)});
    else if (falls && (outside ? at == decoded->entry || (at > decoded->entry && clp_decoded_is_opcode(decoded, at, decoded->bytecode->resume))
                               : builder->flow->nodes[next] != builder->flow->nodes[at]))
        add_fall(builder, at, next, clp_decoded_is(decoded, at, CLP_OP_GOES) ? BRANCH : 1);
    if (!outside && clp_decoded_is(decoded, at, CLP_OP_GOES))
        add_jump(builder, at, falls ? BRANCH : 1);
    add_exception(builder, at);
}

/* Lets what never raises be caught as what follows it: since 3.13 an exception of a body that was called is looked up one
 * unit before the call. */
static void spread_catches(struct clp_flow *flow)
{
    const struct clp_decoded *decoded = flow->edges->decoded;

    for (uint32_t i = (uint32_t)decoded->count - 1; i-- > 0;) {
        if (flow->catches[i] == CLP_NOWHERE && flow->nodes[i] == flow->nodes[i + 1] && flow->nodes[i] != CLP_FLOW_OUTSIDE &&
            decoded->items[i].range == decoded->items[i + 1].range)
            flow->catches[i] = flow->catches[i + 1];
    }
}

static clp_status build(struct builder *builder)
{
    const struct clp_decoded *decoded = builder->decoded;

    find_loops(builder);
    for (uint32_t i = 0; i < decoded->count; i++)
        add_ways_from(builder, i);
    spread_catches(builder->flow);
    return builder->failed ? CLP_NO_MEMORY : CLP_OK;
}

/* ---- the spanning tree ---- */

struct weighed {
    double weight;
    uint32_t way;
};

static int by_weight(const void *one, const void *other)
{
    const struct weighed *a = one, *b = other;

    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return a->way < b->way ? -1 : a->way > b->way;
}

static uint32_t tree_of(uint32_t *parents, uint32_t node)
{
    while (parents[node] != node)
        node = parents[node] = parents[parents[node]];
    return node;
}

/* Kruskal's algorithm, with the heaviest ways first. Ways that close a circle are counted. */
static clp_status choose(struct clp_flow *flow, struct weighed *order, uint32_t *parents)
{
    for (uint32_t i = 0; i < flow->count; i++)
        order[i] = (struct weighed){flow->ways[i].weight, i};
    for (uint32_t i = 0; i < flow->node_count; i++)
        parents[i] = i;
    qsort(order, flow->count, sizeof *order, by_weight);
    for (uint32_t i = 0; i < flow->count; i++) {
        struct clp_way *way = &flow->ways[order[i].way];
        uint32_t from = tree_of(parents, way->from), to = tree_of(parents, way->to);
        way->counted = from == to;
        parents[from] = to;
        if (way->counted && way->weight == NEVER)
            return CLP_UNSUPPORTED;
    }
    return CLP_OK;
}

static clp_status find_tree(struct clp_flow *flow, const char **reason)
{
    struct clp_mem *mem = flow->edges->decoded->mem;
    struct weighed *order = clp_mem_alloc(mem, flow->count, sizeof *order);
    uint32_t *parents = clp_mem_alloc(mem, flow->node_count, sizeof *parents);
    clp_status status = CLP_NO_MEMORY;

    if (order != NULL && parents != NULL)
        status = choose(flow, order, parents);
    if (status == CLP_UNSUPPORTED)
        *reason = "ways in it cannot be counted apart";
    clp_mem_free(mem, order, flow->count, sizeof *order);
    clp_mem_free(mem, parents, flow->node_count, sizeof *parents);
    return status;
}

/* ---- the whole graph ---- */

static uint32_t *new_numbers(const struct clp_decoded *decoded, size_t count)
{
    uint32_t *numbers = clp_mem_alloc(decoded->mem, count, sizeof *numbers);

    for (size_t i = 0; numbers != NULL && i < count; i++)
        numbers[i] = CLP_NOWHERE;
    return numbers;
}

static clp_status find_ways(struct clp_flow *flow)
{
    const struct clp_decoded *decoded = flow->edges->decoded;
    size_t raised = (decoded->range_count + 1) * RAISED_WAYS;
    struct builder builder = {
        .flow = flow,
        .decoded = decoded,
        .depth = clp_mem_alloc(decoded->mem, decoded->count, sizeof *builder.depth),
        .fronts = new_numbers(decoded, decoded->count),
        .raised = new_numbers(decoded, raised),
        .thrown = new_numbers(decoded, raised),
    };
    clp_status status = CLP_NO_MEMORY;

    if (builder.depth != NULL && builder.fronts != NULL && builder.raised != NULL && builder.thrown != NULL)
        status = build(&builder);
    clp_mem_free(decoded->mem, builder.depth, decoded->count, sizeof *builder.depth);
    clp_mem_free(decoded->mem, builder.fronts, decoded->count, sizeof *builder.fronts);
    clp_mem_free(decoded->mem, builder.raised, raised, sizeof *builder.raised);
    clp_mem_free(decoded->mem, builder.thrown, raised, sizeof *builder.thrown);
    return status;
}

clp_status clp_flow_init(struct clp_flow *flow, const struct clp_edges *edges, const char **reason)
{
    const struct clp_decoded *decoded = edges->decoded;
    clp_status status = CLP_NO_MEMORY;

    *flow = (struct clp_flow){.edges = edges};
    flow->nodes = clp_mem_alloc(decoded->mem, decoded->count, sizeof *flow->nodes);
    flow->catches = new_numbers(decoded, decoded->count);
    *reason = clp_status_text(CLP_NO_MEMORY);
    if (flow->nodes != NULL && flow->catches != NULL) {
        number_nodes(flow);
        status = find_ways(flow);
    }
    if (status == CLP_OK)
        status = find_tree(flow, reason);
    if (status != CLP_OK)
        clp_flow_clear(flow);
    return status;
}

void clp_flow_clear(struct clp_flow *flow)
{
    const struct clp_decoded *decoded = flow->edges->decoded;

    clp_mem_free(decoded->mem, flow->nodes, decoded->count, sizeof *flow->nodes);
    clp_mem_free(decoded->mem, flow->catches, decoded->count, sizeof *flow->catches);
    clp_mem_free(decoded->mem, flow->ways, flow->room, sizeof *flow->ways);
    flow->nodes = flow->catches = NULL;
    flow->ways = NULL;
    flow->count = flow->room = 0;
}

/* ---- the order in which ways can be counted ---- */

/* The ways of the tree that are left at a node. `ways` is the exclusive or of their numbers, so the last one is known. */
struct left {
    uint32_t count, ways;
};

static struct clp_flow_edge edge_of(const struct clp_flow *flow, const struct clp_way *way)
{
    return (struct clp_flow_edge){
        .from = way->from,
        .to = way->to,
        .counter = CLP_FLOW_DERIVED,
        .line = way->begins ? way->line : CLP_NO_LINE,
        .enters = way->kind == CLP_WAY_ENTER && way->at == flow->edges->decoded->entry,
    };
}

static void write_counted(const struct clp_flow *flow, uint32_t first, struct clp_rewritten *out)
{
    for (size_t i = 0; i < flow->count; i++) {
        const struct clp_way *way = &flow->ways[i];
        struct clp_flow_edge edge = edge_of(flow, way);
        if (way->counted) {
            edge.counter = way->counter - first;
            out->edges[out->edge_count++] = edge;
        }
        if (way->asked)
            out->edges[out->edge_count++] =
                (struct clp_flow_edge){.from = way->to, .to = way->to, .counter = way->ask - first, .line = way->line};
    }
}

static void leave_way(struct left *left, uint32_t way)
{
    left->count--;
    left->ways ^= way;
}

/* Writes the last way of this node, and then that of the node at its other end if only one is left there, and so on. */
static void write_from(const struct clp_flow *flow, struct left *left, uint32_t node, struct clp_rewritten *out)
{
    while (left[node].count == 1) {
        uint32_t number = left[node].ways;
        const struct clp_way *way = &flow->ways[number];
        struct clp_flow_edge edge = edge_of(flow, way);
        edge.by_from = way->from == node;
        out->edges[out->edge_count++] = edge;
        leave_way(&left[way->from], number);
        leave_way(&left[way->to], number);
        node = edge.by_from ? way->to : way->from;
    }
}

static void write_tree(const struct clp_flow *flow, struct left *left, struct clp_rewritten *out)
{
    for (uint32_t i = 0; i < flow->count; i++) {
        const struct clp_way *way = &flow->ways[i];
        if (way->counted)
            continue;
        left[way->from].count++;
        left[way->from].ways ^= i;
        left[way->to].count++;
        left[way->to].ways ^= i;
    }
    for (uint32_t i = 0; i < flow->node_count; i++)
        write_from(flow, left, i, out);
}

clp_status clp_flow_write(const struct clp_flow *flow, uint32_t first, struct clp_rewritten *out)
{
    struct left *left = clp_mem_alloc(out->mem, flow->node_count, sizeof *left);

    out->node_count = flow->node_count;
    out->edges = clp_mem_alloc(out->mem, flow->count * 2, sizeof *out->edges); /* some have one that asks, too */
    out->edge_room = flow->count * 2;
    bool done = left != NULL && out->edges != NULL;
    if (done) {
        write_counted(flow, first, out);
        write_tree(flow, left, out);
    }
    clp_mem_free(out->mem, left, flow->node_count, sizeof *left);
    return done ? CLP_OK : CLP_NO_MEMORY;
}
