/* SPDX-License-Identifier: MIT */
#include "around.h"

#define MOST_OPEN_CALLS 64 /* calls within the arguments of calls; deeper ones have no probes */
#define ADD 0
#define ADD_IN_PLACE 13

/* The values for calls whose arguments are being loaded, up to 3.12: how each gets to its callable. There the stack
 * has two values below the arguments: a method and its object, or nothing and the callable. The first may not be
 * copied, because it may be nothing. So the probe gets the second one, and the name of the method if it may be one. */
struct open_calls {
    uint32_t names[MOST_OPEN_CALLS]; /* 1 more than the number of the name; 0: no method */
    size_t count;
};

const char *clp_operator_text(uint32_t which)
{
    static const char *const texts[CLP_OPERATORS] = {
        "+",  "&",  "//",  "<<",  "@",  "*",  "%",  "|",  "**",  ">>",  "-",  "/",  "^",
        "+=", "&=", "//=", "<<=", "@=", "*=", "%=", "|=", "**=", ">>=", "-=", "/=", "^=",
        "[]", "<", "<=", "==", "!=", ">", ">=", "in", "unary operator", "for",
    };

    return which < CLP_OPERATORS ? texts[which] : "operator";
}

static uint8_t opcode_at(const struct clp_layout *layout, uint32_t at)
{
    return layout->decoded->items[at].opcode;
}

static bool is_one_of(uint8_t opcode, const uint8_t *opcodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (opcodes[i] != 0 && opcode == opcodes[i])
            return true;
    return false;
}

static uint32_t comparison(int minor, uint32_t argument)
{
    return minor == 11 ? argument : argument >> (minor == 12 ? 4 : 5);
}

static uint32_t operator_of(const struct clp_layout *layout, uint32_t at)
{
    const struct clp_bytecode *bytecode = layout->decoded->bytecode;
    const struct clp_instruction *item = &layout->decoded->items[at];
    const uint8_t subscripts[] = {bytecode->binary_subscr, bytecode->binary_slice, bytecode->store_subscr,
                                  bytecode->store_slice, bytecode->delete_subscr};

    if (item->opcode == bytecode->binary_op)
        return CLP_OPERATOR_BINARY + (item->argument <= CLP_OPERATOR_SUBSCRIPT ? item->argument : 0);
    if (item->opcode == bytecode->compare_op)
        return CLP_OPERATOR_COMPARE + comparison(bytecode->minor, item->argument) % 6;
    if (item->opcode == bytecode->contains_op)
        return CLP_OPERATOR_CONTAINS;
    if (item->opcode == bytecode->get_iter)
        return CLP_OPERATOR_ITERATION;
    return is_one_of(item->opcode, subscripts, sizeof subscripts) ? CLP_OPERATOR_SUBSCRIPT : CLP_OPERATOR_UNARY;
}

/* Is it reached from the instruction before it alone, without the begin of a line? */
static bool only_falls(const struct clp_layout *layout, uint32_t at)
{
    return (layout->edges->flags[at] & CLP_EDGE_JUMPED) == 0 && layout->places[at].line == CLP_NOWHERE;
}

/* Does the event of this probe begin an operator that follows? Where a body is entered or goes on, Python functions may
 * have been entered before, which are none of the operator's. */
static bool begins_operators(const struct clp_layout *layout, uint32_t constant)
{
    if (constant == CLP_NOWHERE)
        return false;
    enum clp_probe_kind kind = layout->out->probes[constant - layout->decoded->code->const_count].kind;
    return kind != CLP_PROBE_ENTER && kind != CLP_PROBE_RESUME;
}

/* Does an instruction begin right behind an event, but for values that are at hand, whichever way leads to it? */
static bool follows_event(const struct clp_layout *layout, uint32_t at)
{
    for (;; at--) {
        const struct clp_code_place *place = &layout->places[at];
        uint16_t flags = layout->edges->flags[at];
        if ((flags & CLP_EDGE_JUMPED) != 0 && (place->line == CLP_NOWHERE || (flags & CLP_EDGE_UNCOUNTED) != 0))
            return false;
        if ((place->line != CLP_NOWHERE && !place->jumps_over) || place->front != CLP_NOWHERE)
            return place->line != CLP_NOWHERE || begins_operators(layout, place->front);
        if (at == 0 || !clp_decoded_is(layout->decoded, at - 1, CLP_OP_AT_HAND))
            return false;
    }
}

/* May a probe stand right before this instruction, where nothing but the instruction before leads? */
static bool has_room(const struct clp_layout *layout, uint32_t at)
{
    return at < layout->decoded->count && layout->places[at].front == CLP_NOWHERE &&
           !clp_decoded_is(layout->decoded, at, CLP_OP_NEVER_STARTS);
}

/* Where the probe stands that tells of the end of the operator. Strings grow in place only where the sum is stored
 * right away (`text += more`), so nothing may stand between. */
static uint32_t end_of(const struct clp_layout *layout, uint32_t at)
{
    const struct clp_bytecode *bytecode = layout->decoded->bytecode;
    const struct clp_instruction *item = &layout->decoded->items[at];
    const uint8_t stores[] = {bytecode->store_fast, bytecode->store_fast_load_fast, bytecode->store_fast_store_fast};

    if (item->opcode == bytecode->binary_op && (item->argument == ADD || item->argument == ADD_IN_PLACE) &&
        at + 1 < layout->decoded->count && only_falls(layout, at + 1) &&
        is_one_of(opcode_at(layout, at + 1), stores, sizeof stores))
        return at + 2;
    return at + 1;
}

static clp_status mark(struct clp_layout *layout, uint32_t at)
{
    if (follows_event(layout, at))
        return CLP_OK;
    return clp_layout_want(layout, (struct clp_probe){.kind = CLP_PROBE_MARK}, &layout->places[at].before);
}

static clp_status plan_operator(struct clp_layout *layout, uint32_t at)
{
    uint32_t end = end_of(layout, at);
    clp_status status;

    if (!has_room(layout, end))
        return CLP_OK;
    status = mark(layout, at);
    if (status != CLP_OK)
        return status;
    return clp_layout_want(layout, (struct clp_probe){CLP_PROBE_OPERATED, 0, operator_of(layout, at), 0},
                           &layout->places[end].front);
}

static clp_status plan_iteration(struct clp_layout *layout, uint32_t at)
{
    clp_status status;

    if (!has_room(layout, at + 1))
        return CLP_OK;
    status = mark(layout, at);
    if (status != CLP_OK)
        return status;
    /* the iterator lies below its value; since 3.15 a slot for the place in a list or tuple is between them */
    layout->places[at + 1].front_depth = layout->decoded->bytecode->minor >= 15 ? 3 : 2;
    return clp_layout_want(layout, (struct clp_probe){.kind = CLP_PROBE_ITERATED, .site = at}, &layout->places[at + 1].front);
}

/* ---- calls ---- */

/* 1 more than the number of the method's name, if the instruction loads a method; 0: it does not. */
static uint32_t method_of(const struct clp_layout *layout, uint32_t at)
{
    const struct clp_bytecode *bytecode = layout->decoded->bytecode;
    const struct clp_instruction *item = &layout->decoded->items[at];

    if (bytecode->load_method != 0 && item->opcode == bytecode->load_method)
        return item->argument + 1;
    if (bytecode->minor >= 12 && item->opcode == bytecode->load_attr && (item->argument & 1) != 0)
        return (item->argument >> 1) + 1;
    if (bytecode->load_super_attr != 0 && item->opcode == bytecode->load_super_attr && (item->argument & 1) != 0)
        return (item->argument >> 2) + 1;
    return 0;
}

/* Notes an instruction that loads the callable of a call to come. */
static void note_open(const struct clp_layout *layout, uint32_t at, struct open_calls *open)
{
    const struct clp_bytecode *bytecode = layout->decoded->bytecode;
    const struct clp_instruction *item = &layout->decoded->items[at];
    uint32_t method = method_of(layout, at);

    if (method == 0 && item->opcode != bytecode->push_null &&
        (item->opcode != bytecode->load_global || (item->argument & 1) == 0))
        return;
    if (open->count < MOST_OPEN_CALLS)
        open->names[open->count] = method;
    open->count++;
}

/* Takes the innermost open call, which is made at `at`. False: its callable is not known to be at the place of the
 * second value. */
static bool take_open(const struct clp_layout *layout, uint32_t at, struct open_calls *open, uint32_t *name)
{
    const struct clp_bytecode *bytecode = layout->decoded->bytecode;
    const uint8_t iterations[] = {bytecode->get_iter, bytecode->get_aiter};

    if (open->count == 0 || (at > 0 && is_one_of(opcode_at(layout, at - 1), iterations, sizeof iterations)))
        return false; /* a decorator, the end of a `with`, a comprehension */
    open->count--;
    if (open->count >= MOST_OPEN_CALLS)
        return false;
    *name = open->names[open->count];
    return true;
}

/* How deep the callable lies in the stack, counted from 1; 0: the instruction makes no call. */
static uint32_t callable_depth(const struct clp_layout *layout, uint32_t at)
{
    const struct clp_bytecode *bytecode = layout->decoded->bytecode;
    const struct clp_instruction *item = &layout->decoded->items[at];
    uint32_t below = bytecode->minor >= 13; /* since then the callable lies below its object */

    if (item->opcode == bytecode->call_function_ex)
        return bytecode->minor >= 14 ? 4 : 2 + below + (item->argument & 1);
    if (bytecode->call_kw != 0 && item->opcode == bytecode->call_kw)
        return item->argument + 3;
    if (item->opcode == (bytecode->precall != 0 ? bytecode->precall : bytecode->call))
        return item->argument + 1 + below;
    return 0;
}

static clp_status plan_call(struct clp_layout *layout, uint32_t at, uint32_t depth, struct open_calls *open)
{
    const struct clp_bytecode *bytecode = layout->decoded->bytecode;
    bool is_pair = bytecode->precall != 0 && opcode_at(layout, at) == bytecode->precall;
    uint32_t begin = at, end = at + 1 + is_pair, name = 0;
    clp_status status;

    if (bytecode->kw_names != 0 && at > 0 && opcode_at(layout, at - 1) == bytecode->kw_names && only_falls(layout, at))
        begin--;
    if (bytecode->minor < 13 && !take_open(layout, begin, open, &name))
        return CLP_OK;
    if (!has_room(layout, end) || (is_pair && !only_falls(layout, at + 1)) ||
        layout->places[begin].before != CLP_NOWHERE)
        return CLP_OK;
    layout->places[begin].before_depth = depth;
    status = clp_layout_want(layout, (struct clp_probe){CLP_PROBE_CALL, 0, name, at}, &layout->places[begin].before);
    if (status != CLP_OK)
        return status;
    return clp_layout_want(layout, (struct clp_probe){.kind = CLP_PROBE_CALLED}, &layout->places[end].front);
}

clp_status clp_around_plan(struct clp_layout *layout)
{
    const struct clp_decoded *decoded = layout->decoded;
    struct open_calls open = {.count = 0};
    clp_status status = CLP_OK;

    for (uint32_t i = decoded->entry + 1; i < decoded->count && status == CLP_OK; i++) {
        uint32_t depth = callable_depth(layout, i);
        if (depth != 0)
            status = plan_call(layout, i, depth, &open);
        else if (clp_decoded_is(decoded, i, CLP_OP_OPERATES))
            status = plan_operator(layout, i);
        else if (opcode_at(layout, i) == decoded->bytecode->for_iter)
            status = plan_iteration(layout, i);
        note_open(layout, i, &open);
    }
    return status;
}
