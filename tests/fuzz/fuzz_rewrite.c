/* SPDX-License-Identifier: MIT */
/* Rewrites code made of bytes: as it stands in the input, or put together so that it can be decoded
 * and the rewriter has something to do. Refusing is fine; what is accepted must
 *   - come out again as it is when nothing is put in,
 *   - decode again with the probes in it, every instruction still there on its line,
 *   - and on every way from one instruction to the next meet the probes that belong to it, and no
 *     other: falling, jumping, and by an exception.
 * Nothing crashes, and nothing stays allocated, whichever allocation fails.
 *
 * An input is: the version, flags, the allocation that fails; then, as they stand, two bytes each
 * for the first line, the stack size, the number of constants, the sizes of code and of the
 * exception table, and then code, exception table and location table; or three bytes an
 * instruction and four a range (see make_code).
 *
 * Built with -DCLP_LIBFUZZER -fsanitize=fuzzer it is a fuzzer; otherwise it replays the files given
 * as arguments. */
#include "rewrite/layout.h"
#include "rewrite/opcode_table.h"
#include "rewrite/rewrite.h"
#define CLP_SHOW_FAILURE show_trial
#include "replay.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MADE = 64, MOST_RANGES = 6, MOST_EVENTS = 16, MADE_BYTES = 1 << 14 };

struct input {
    const uint8_t *at, *end;
};

/* Code put together, and its tables. */
struct made {
    uint8_t code[MADE_BYTES], exceptions[256], locations[MADE_BYTES];
    uint8_t opcode[MOST_MADE], argument[MOST_MADE], line[MOST_MADE], prefixes[MOST_MADE];
    uint32_t at[MOST_MADE], count;
};

struct memory {
    struct clp_mem mem; /* first: its context is the whole */
    size_t calls_left;  /* before the one that fails; 0: none does */
    bool failed;
};

/* A code object, and what came of it. */
struct trial {
    struct memory memory;
    struct clp_bytecode bytecode;
    struct clp_code code, new_code;
    struct clp_decoded old, new;
    struct clp_edges edges;
    struct clp_layout layout;
    struct clp_rewritten out, planned;
    uint32_t *old_of, *new_of; /* from an instruction of the one to that of the other */
    struct clp_probe events[MOST_EVENTS];
    size_t event_count;
};

static struct trial trial_now; /* static so that a failure can show it */

static void print_code(const char *what, const struct clp_decoded *decoded)
{
    fprintf(stderr, "%s: 3.%d\n", what, trial_now.bytecode.minor);
    for (uint32_t i = 0; i < decoded->count; i++) {
        const struct clp_instruction *item = &decoded->items[i];
        fprintf(stderr, "%4u at %4u  opcode %3d %5u  line %3d  to %3d  range %2d\n", i, item->at,
                item->opcode, item->argument, item->line, (int)item->target, (int)item->range);
    }
    for (uint32_t i = 0; i < decoded->range_count; i++) {
        const struct clp_handled_range *range = &decoded->ranges[i];
        fprintf(stderr, "range %u: %u to %u, handler %u, depth %u, lasti %d\n", i, range->first,
                range->past, range->handler, range->depth, range->lasti);
    }
}

static void show_trial(void)
{
    print_code("before", &trial_now.old);
    print_code("after", &trial_now.new);
}

static void *failing_resize(void *context, void *block, size_t old_bytes, size_t new_bytes)
{
    struct memory *memory = context;

    (void)old_bytes;
    if (new_bytes == 0) {
        free(block);
        return NULL;
    }
    if (memory->calls_left != 0 && --memory->calls_left == 0) {
        memory->failed = true;
        return NULL;
    }
    return realloc(block, new_bytes);
}

static uint32_t next_byte(struct input *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

static uint32_t next_two(struct input *input)
{
    uint32_t low = next_byte(input);

    return low | next_byte(input) << 8;
}

/* ---- code as it stands in the input ---- */

static const uint8_t *take(struct input *input, size_t wanted, size_t *bytes)
{
    const uint8_t *start = input->at;
    size_t left = (size_t)(input->end - input->at);

    *bytes = wanted < left ? wanted : left;
    input->at += *bytes;
    return start;
}

static void read_code(struct clp_code *code, struct input *input)
{
    code->first_line = (int32_t)next_two(input);
    code->stack_size = (int32_t)next_two(input);
    code->const_count = next_two(input);
    size_t code_bytes = next_two(input), exception_bytes = next_two(input);
    code->code = take(input, code_bytes, &code->code_bytes);
    code->exceptions = take(input, exception_bytes, &code->exception_bytes);
    code->locations = take(input, SIZE_MAX, &code->location_bytes);
}

/* ---- code put together ---- */

/* Half of the choices are instructions that the rewriter knows by name. */
static uint8_t choose(const struct clp_bytecode *bytecode, uint32_t choice)
{
    const uint8_t special[] = {
        bytecode->yield_value, bytecode->resume,  bytecode->send,         bytecode->for_iter,
        bytecode->end_for,     bytecode->pop_top, bytecode->end_for_tail, bytecode->reraise,
        bytecode->load_const,  bytecode->jump_forward,
    };
    uint32_t known = 0;

    if (choice < 100)
        return special[choice % sizeof special];
    for (int i = 255; choice < 155 && i >= 0; i--) { /* what may be a jump, in any version */
        if (clp_bytecode_is(bytecode, (uint8_t)i, CLP_OP_TARGET | CLP_OP_LEAVES) &&
            known++ % 16 == choice % 16)
            return (uint8_t)i;
    }
    for (uint32_t i = choice; i < choice + 256; i++) {
        if (clp_bytecode_is(bytecode, (uint8_t)i, CLP_OP_KNOWN))
            return (uint8_t)i;
    }
    return bytecode->pop_top;
}

static bool is(const struct clp_bytecode *bytecode, const struct made *made, uint32_t i, int flags)
{
    return clp_bytecode_is(bytecode, made->opcode[i], flags);
}

/* An opcode, an argument or target, and a line for each instruction. */
static void choose_instructions(struct made *made, const struct clp_bytecode *bytecode,
                                struct input *input)
{
    uint32_t wanted = next_byte(input) % (MOST_MADE - 3), prelude = next_byte(input) % 4;

    for (uint32_t i = 0; i <= wanted + prelude % 3; i++) {
        uint8_t opcode = choose(bytecode, next_byte(input));
        made->opcode[i] = opcode == 0 || opcode == bytecode->extended_arg ? bytecode->pop_top
                                                                          : opcode;
        made->argument[i] = (uint8_t)next_byte(input);
        made->line[i] = (uint8_t)next_byte(input);
        made->count = i + 1;
    }
    made->opcode[prelude % 3] = bytecode->resume;
    for (int i = 0; i < 256; i++) {
        if (clp_bytecode_is(bytecode, (uint8_t)i, CLP_OP_LEAVES))
            made->opcode[made->count] = (uint8_t)i;
    }
    made->line[made->count] = (uint8_t)next_byte(input);
    made->count++;
}

static uint32_t body_of(const struct made *made, const struct clp_bytecode *bytecode, uint32_t i)
{
    return made->prefixes[i] + 1u + bytecode->op[made->opcode[i]].caches;
}

/* How far the jump leads: somewhere before or behind it, as it must. */
static uint32_t distance(const struct made *made, const struct clp_bytecode *bytecode, uint32_t i)
{
    uint32_t next = made->at[i] + body_of(made, bytecode, i);
    uint32_t before = i + 1, behind = made->count - before;

    if (is(bytecode, made, i, CLP_OP_BACKWARD))
        return next - made->at[made->argument[i] * before / 256];
    return behind == 0 ? 0 : made->at[before + made->argument[i] * behind / 256] - next;
}

static void write_code(struct made *made, const struct clp_bytecode *bytecode,
                       struct clp_code *code)
{
    size_t at = 0;

    for (uint32_t pass = 0, unit = 0; pass < 4; pass++, unit = 0) {
        for (uint32_t i = 0; i < made->count; i++) {
            made->at[i] = unit;
            made->prefixes[i] = is(bytecode, made, i, CLP_OP_TARGET) && pass > 0 &&
                                (made->prefixes[i] || distance(made, bytecode, i) > 200);
            unit += body_of(made, bytecode, i);
        }
    }
    for (uint32_t i = 0; i < made->count; i++) {
        uint32_t argument = is(bytecode, made, i, CLP_OP_TARGET) ? distance(made, bytecode, i)
                                                                 : made->argument[i];
        if (made->prefixes[i]) {
            made->code[at++] = bytecode->extended_arg;
            made->code[at++] = (uint8_t)(argument >> 8);
        }
        made->code[at++] = made->opcode[i];
        made->code[at++] = (uint8_t)argument;
        for (int cache = bytecode->op[made->opcode[i]].caches * 2; cache > 0; cache--)
            made->code[at++] = 0;
    }
    code->code = made->code;
    code->code_bytes = at;
}

/* One of a few lines, or none. An entry has at most eight units. */
static void write_locations(struct made *made, const struct clp_bytecode *bytecode,
                            struct clp_code *code)
{
    uint8_t *at = made->locations;
    int line = code->first_line;

    for (uint32_t i = 0; i < made->count; i++) {
        for (uint32_t left = body_of(made, bytecode, i), now; left > 0; left -= now) {
            int wanted = 1 + made->line[i] % 5, delta = wanted - line;
            now = left < 8 ? left : 8;
            if (made->line[i] > 220) {
                *at++ = (uint8_t)(128 | 15 << 3 | (now - 1));
                continue;
            }
            *at++ = (uint8_t)(128 | 13 << 3 | (now - 1));
            *at++ = (uint8_t)(delta < 0 ? -delta * 2 + 1 : delta * 2);
            line = wanted;
        }
    }
    code->locations = made->locations;
    code->location_bytes = (size_t)(at - made->locations);
}

static uint8_t *write_number(uint8_t *at, uint32_t number, uint8_t start)
{
    *at++ = (uint8_t)(start | 64 | (number >> 12 & 63));
    *at++ = (uint8_t)(64 | (number >> 6 & 63));
    *at++ = (uint8_t)(number & 63);
    return at;
}

static void write_ranges(struct made *made, const struct clp_bytecode *bytecode,
                         struct clp_code *code, struct input *input)
{
    uint32_t ranges = next_byte(input) % MOST_RANGES, first = 0;
    uint8_t *at = made->exceptions;

    for (uint32_t i = 0; i < ranges; i++) {
        first += next_byte(input) % 8;
        uint32_t past = first + 1 + next_byte(input) % 12;
        uint32_t handler = next_byte(input) % made->count, depth = next_byte(input);
        if (past > made->count)
            break;
        uint32_t end = made->at[past - 1] + body_of(made, bytecode, past - 1);
        at = write_number(at, made->at[first], 128);
        at = write_number(at, end - made->at[first], 0);
        at = write_number(at, made->at[handler], 0);
        at = write_number(at, depth, 0);
        first = past;
    }
    code->exceptions = made->exceptions;
    code->exception_bytes = (size_t)(at - made->exceptions);
}

static void make_code(struct made *made, const struct clp_bytecode *bytecode,
                      struct clp_code *code, struct input *input)
{
    *code = (struct clp_code){.first_line = 1, .stack_size = 3, .const_count = 256};
    made->count = 0;
    choose_instructions(made, bytecode, input);
    write_code(made, bytecode, code);
    write_locations(made, bytecode, code);
    write_ranges(made, bytecode, code, input);
}

/* ---- the ways through the new code ---- */

static void note(struct trial *trial, enum clp_probe_kind kind, int32_t line)
{
    require(trial->event_count < MOST_EVENTS, "a way without an end");
    trial->events[trial->event_count++] = (struct clp_probe){kind, line, 0, 0};
}

/* A probe around a call or an operator, which may stand anywhere. */
static bool is_around(enum clp_probe_kind kind)
{
    return kind >= CLP_PROBE_CALL && kind <= CLP_PROBE_ITERATED;
}

/* Two probes in one count as two. */
static void take_probe(struct trial *trial, uint32_t constant)
{
    require(constant >= trial->code.const_count &&
                constant - trial->code.const_count < trial->out.probe_count,
            "there is no such probe");
    struct clp_probe probe = trial->out.probes[constant - trial->code.const_count];
    if (is_around(probe.kind))
        return;
    if (probe.kind == CLP_PROBE_ENTER_LINE)
        note(trial, CLP_PROBE_ENTER, 0);
    note(trial, probe.kind == CLP_PROBE_ENTER_LINE ? CLP_PROBE_LINE : probe.kind, probe.line);
}

/* Goes on from an instruction of the new code to the next one that was there before, taking the
 * probes on the way; CLP_NOWHERE when the body is left. */
static uint32_t arrive(struct trial *trial, uint32_t at)
{
    const struct clp_bytecode *bytecode = &trial->bytecode;

    while (trial->old_of[at] == CLP_NOWHERE) {
        const struct clp_instruction *item = &trial->new.items[at];
        if (item->opcode == bytecode->copy) {
            require(item[1].opcode == bytecode->load_const && item[2].opcode == bytecode->contains_op &&
                        item[3].opcode == bytecode->pop_top, "half a probe with an operand");
            take_probe(trial, item[1].argument);
            at += 4;
        } else if (item->opcode == bytecode->load_const) {
            take_probe(trial, item->argument);
            bool asks = item[1].opcode == bytecode->copy &&
                        item[1].argument == (bytecode->minor >= 14 ? 2u : 3u);
            at += asks;
            item += asks;
            require(item[1].opcode == (asks ? bytecode->binary_op : bytecode->unary_negative) &&
                        item[2].opcode == bytecode->pop_top, "half a probe");
            at += 3;
        } else if (item->opcode == bytecode->jump_forward) {
            at = item->target;
        } else {
            require(item->opcode == bytecode->reraise, "a strange instruction was put in");
            if (item->range == CLP_NOWHERE)
                return CLP_NOWHERE;
            at = trial->new.ranges[item->range].handler;
        }
    }
    return trial->old_of[at];
}

/* What is expected next must be what was met next. */
static void expect(const struct trial *trial, size_t *place, enum clp_probe_kind kind, int32_t line)
{
    require(*place < trial->event_count, "a probe is missing");
    struct clp_probe met = trial->events[*place];
    bool last = kind == CLP_PROBE_LINE && met.kind == CLP_PROBE_LAST_LINE;

    require((last || met.kind == kind) && met.line == line, "another probe was expected");
    ++*place;
}

/* The probes right before an instruction, whatever way it is reached, and no more. */
static void expect_rest(const struct trial *trial, size_t place, uint32_t to)
{
    const struct clp_decoded *old = &trial->old;
    bool last = place > 0 && trial->events[place - 1].kind == CLP_PROBE_LAST_LINE;

    require(!last || trial->layout.places[to].left, "a body is left too early");
    if (clp_layout_behind(&trial->layout, to).resume_if != CLP_NOWHERE)
        expect(trial, &place, CLP_PROBE_RESUME_IF, 0);
    if (old->items[to].opcode == trial->bytecode.yield_value)
        expect(trial, &place, CLP_PROBE_SUSPEND, 0);
    if (clp_decoded_is(old, to, CLP_OP_LEAVES) && !trial->layout.places[to].left)
        expect(trial, &place, CLP_PROBE_LEAVE, 0);
    require(place == trial->event_count, "a probe too many");
}

/* A body that has been left ends without a way back, and there is one way in. */
static void check_left(const struct trial *trial, uint32_t from, uint32_t to)
{
    const struct clp_code_place *places = trial->layout.places;
    bool last = trial->event_count > 0 &&
                trial->events[trial->event_count - 1].kind == CLP_PROBE_LAST_LINE;

    require(!places[from].left || places[to].left, "a body goes on that has been left");
    require(!places[to].left || last || places[from].left, "a body ends without being left");
    require(!places[from].left || trial->event_count == 0, "an event in a body that has been left");
}

static void check_way(struct trial *trial, uint32_t from, uint32_t to, bool falls)
{
    uint8_t resume = trial->bytecode.resume;
    size_t place = 0;

    if (falls && from == trial->old.entry)
        expect(trial, &place, CLP_PROBE_ENTER, 0);
    else if (falls && trial->old.items[from].opcode == resume && from > trial->old.entry)
        expect(trial, &place, CLP_PROBE_RESUME, 0);
    if (clp_edge_counts(&trial->edges, from, to))
        expect(trial, &place, CLP_PROBE_LINE, trial->old.items[to].line);
    expect_rest(trial, place, to);
    check_left(trial, from, to);
}

/* Is this the end of a loop, so that FOR_ITER goes on where it does? */
static bool ends_loop(const struct trial *trial, uint32_t at)
{
    const struct clp_bytecode *bytecode = &trial->bytecode;
    const struct clp_instruction *items = trial->old.items;

    return bytecode->end_for != 0 &&
           (items[at].opcode == bytecode->end_for ||
            (bytecode->skips_tail && at > 0 && items[at].opcode == bytecode->end_for_tail &&
             items[at - 1].opcode == bytecode->end_for));
}

/* Nobody goes from an END_FOR to what follows it, and FOR_ITER, which does, stands on its line
 * wherever a compiler made both. Other code gets what holds for any of them. */
static bool disputed(const struct trial *trial, uint32_t from, uint32_t to)
{
    return ends_loop(trial, to - 1) &&
           clp_edge_counts(&trial->edges, from, to) !=
               ((trial->edges.flags[to] & CLP_EDGE_FALL_COUNTS) != 0);
}

static void check_fall(struct trial *trial, uint32_t from)
{
    if (from + 1 == trial->old.count || clp_decoded_is(&trial->old, from, CLP_OP_NO_NEXT))
        return;
    trial->event_count = 0;
    require(arrive(trial, trial->new_of[from] + 1) == from + 1, "it goes on somewhere else");
    if (!disputed(trial, from, from + 1))
        check_way(trial, from, from + 1, true);
}

/* FOR_ITER arrives behind the END_FOR it names. */
static void check_exhausted(struct trial *trial, uint32_t from, uint32_t end)
{
    uint32_t tail = trial->bytecode.skips_tail;
    uint32_t to = end + 1 + tail, last = trial->new_of[end + tail];

    require(trial->old.items[end].opcode == trial->bytecode.end_for, "a loop has no end");
    require(last == trial->new_of[end] + tail, "something stands within a loop's end");
    trial->event_count = 0;
    require(arrive(trial, last + 1) == to, "a loop goes on somewhere else");
    if (!disputed(trial, from, to))
        check_way(trial, from, to, false);
}

static void check_jump(struct trial *trial, uint32_t from)
{
    const struct clp_bytecode *bytecode = &trial->bytecode;
    uint32_t to = trial->old.items[from].target;
    uint32_t arrives = trial->new.items[trial->new_of[from]].target;

    if (to == CLP_NOWHERE)
        return;
    bool loop = trial->old.items[from].opcode == bytecode->for_iter && bytecode->end_for != 0;
    if (loop || !clp_decoded_is(&trial->old, from, CLP_OP_GOES)) {
        require(trial->old_of[arrives] == to, "it names something else");
        if (loop)
            check_exhausted(trial, from, to);
        return;
    }
    trial->event_count = 0;
    require(arrive(trial, arrives) == to, "a jump leads somewhere else");
    check_way(trial, from, to, false);
}

static bool same_range(const struct clp_handled_range *one, const struct clp_handled_range *other)
{
    return one->depth == other->depth && one->lasti == other->lasti;
}

/* Of an exception at an instruction that has a handler. */
static void check_handled(struct trial *trial, uint32_t from)
{
    const struct clp_handled_range *old = &trial->old.ranges[trial->old.items[from].range];
    uint32_t range = trial->new.items[trial->new_of[from]].range;
    size_t place = 0;

    require(range != CLP_NOWHERE, "a handler was lost");
    const struct clp_handled_range *new = &trial->new.ranges[range];
    bool rethrown = (trial->edges.flags[from] & CLP_EDGE_RETHROWN) != 0;
    bool asked = !rethrown && (trial->edges.flags[from] & CLP_EDGE_PLACE_ASKED) != 0;
    if (rethrown || asked) {
        require(new->depth == old->depth && new->lasti, "the stack is cut elsewhere");
        uint32_t reraise = new->handler + (asked ? 4 : 3);
        range = trial->new.items[reraise].range;
        require(range != CLP_NOWHERE, "a handler was lost behind a resumption");
        require(trial->new.items[reraise].argument == 1, "the place is lost");
    }
    require(same_range(&trial->new.ranges[range], old), "a handler finds another stack");
    trial->event_count = 0;
    require(arrive(trial, new->handler) == old->handler, "another handler");
    if (rethrown)
        expect(trial, &place, CLP_PROBE_RESUME, 0);
    else if (asked)
        expect(trial, &place, CLP_PROBE_LINE_ASKED, trial->old.items[old->handler].line);
    if (clp_edge_throw_counts(&trial->edges, from, old->handler))
        expect(trial, &place, CLP_PROBE_LINE, trial->old.items[old->handler].line);
    expect_rest(trial, place, old->handler);
    check_left(trial, from, old->handler);
}

/* Of an exception that nothing handles. */
static void check_unhandled(struct trial *trial, uint32_t from)
{
    uint32_t range = trial->new.items[trial->new_of[from]].range;
    bool rethrown = (trial->edges.flags[from] & CLP_EDGE_RETHROWN) != 0;
    size_t place = 0;
    bool outside = from <= trial->old.entry || trial->layout.places[from].left ||
                   clp_decoded_is(&trial->old, from, CLP_OP_LEAVES);

    if (!rethrown && outside) {
        require(range == CLP_NOWHERE, "left where nothing has been entered");
        return;
    }
    require(range != CLP_NOWHERE, "an exception leaves unseen");
    require(trial->new.ranges[range].depth == 0 && trial->new.ranges[range].lasti,
            "the stack is cut elsewhere");
    trial->event_count = 0;
    require(arrive(trial, trial->new.ranges[range].handler) == CLP_NOWHERE, "it is handled");
    if (rethrown)
        expect(trial, &place, CLP_PROBE_RESUME, 0);
    expect(trial, &place, CLP_PROBE_LEAVE, 0);
    require(place == trial->event_count, "a probe too many");
}

/* ---- the new code against the old ---- */

/* Finds every old instruction in the new code. */
static void match(struct trial *trial)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < trial->new.count; i++)
        trial->old_of[i] = CLP_NOWHERE;
    for (uint32_t i = 0; i < trial->old.count; i++) {
        const struct clp_code_place *place = &trial->layout.places[i];
        const struct clp_instruction *old = &trial->old.items[i];
        for (; at < trial->new.count && trial->new.items[at].at < place->self; at++)
            require(trial->new.items[at].line == old->line, "a probe lies on another line");
        require(at < trial->new.count && trial->new.items[at].at == place->self,
                "an instruction is not where it was planned");
        const struct clp_instruction *new = &trial->new.items[at];
        require(new->opcode == old->opcode && new->line == old->line, "an instruction has changed");
        require(old->target != CLP_NOWHERE || new->argument == old->argument,
                "an argument has changed");
        trial->old_of[at] = i;
        trial->new_of[i] = at++;
    }
}

/* Room for a probe on top of it all, and for one in the blocks at the end. */
static void check_stack(const struct trial *trial)
{
    require(trial->out.stack_size > trial->code.stack_size + (trial->layout.insert == CLP_INSERT_AROUND),
            "no room for a probe");
    for (size_t i = 0; i < trial->new.range_count; i++)
        require(trial->out.stack_size >= (int32_t)trial->new.ranges[i].depth + 3,
                "no room for what is re-raised");
}

/* 3.11 expects a SEND before its YIELD_VALUE, and goes to the instruction before its target. */
static void check_delegation(const struct trial *trial, uint32_t yield)
{
    const struct clp_instruction *old = &trial->old.items[yield];

    if (trial->bytecode.minor != 11 || yield == 0 || old->opcode != trial->bytecode.yield_value ||
        old[-1].opcode != trial->bytecode.send)
        return;
    const struct clp_instruction *send = &trial->new.items[trial->new_of[yield] - 1];
    require(send->opcode == trial->bytecode.send && send->prefixes == 0, "a SEND is missing");
    require(trial->old_of[send->target - 1] == old[-1].target - 1,
            "what a delegate raises is raised somewhere else");
}

static void check_ways(struct trial *trial)
{
    match(trial);
    check_stack(trial);
    for (uint32_t i = 0; i < trial->old.count; i++) {
        check_delegation(trial, i);
        check_fall(trial, i);
        check_jump(trial, i);
        if (trial->old.items[i].range != CLP_NOWHERE)
            check_handled(trial, i);
        else
            check_unhandled(trial, i);
    }
}

/* The result as the code of another rewrite. */
static struct clp_code as_code(const struct trial *trial, const struct clp_rewritten *out)
{
    struct clp_code code = trial->code;

    code.code = (const uint8_t *)clp_buf_text(&out->code);
    code.code_bytes = out->code.used;
    code.exceptions = (const uint8_t *)clp_buf_text(&out->exceptions);
    code.exception_bytes = out->exceptions.used;
    code.locations = (const uint8_t *)clp_buf_text(&out->locations);
    code.location_bytes = out->locations.used;
    code.stack_size = out->stack_size;
    return code;
}

static bool same_buf(const struct clp_buf *one, const struct clp_buf *other)
{
    return one->used == other->used &&
           memcmp(clp_buf_text(one), clp_buf_text(other), one->used) == 0;
}

/* What the rewriter has written goes through it unchanged. (Where lines begin is asked even when
 * nothing is put in; in made up code with probes one may begin within a loop's end.) */
static void check_stable(struct trial *trial)
{
    const char *reason;
    struct clp_rewritten again;

    clp_status status = clp_rewrite(&again, &trial->memory.mem, &trial->bytecode, &trial->new_code,
                                    CLP_INSERT_NOTHING, &reason);
    if (status == CLP_UNSUPPORTED)
        return;
    require(status == CLP_OK, reason);
    require(same_buf(&again.code, &trial->out.code) &&
                same_buf(&again.exceptions, &trial->out.exceptions) &&
                same_buf(&again.locations, &trial->out.locations) &&
                again.stack_size == trial->out.stack_size && again.probe_count == 0,
            "with nothing put in, something changes");
    clp_rewritten_clear(&again);
}

static void check_against_old(struct trial *trial, enum clp_insertion insert)
{
    struct clp_mem *mem = &trial->memory.mem;
    const char *reason;

    require(clp_decoded_init(&trial->old, mem, &trial->bytecode, &trial->code, &reason) == CLP_OK &&
                clp_edges_init(&trial->edges, &trial->old, &reason) == CLP_OK,
            "it is accepted once only");
    trial->planned = (struct clp_rewritten){.mem = mem};
    require(clp_layout_init(&trial->layout, &trial->edges, NULL, &trial->planned, insert, &reason) == CLP_OK, "it is laid out once only");
    trial->old_of = malloc(trial->new.count * sizeof *trial->old_of);
    trial->new_of = malloc(trial->old.count * sizeof *trial->new_of);
    require(trial->old_of != NULL && trial->new_of != NULL, "out of memory");
    if (insert)
        check_ways(trial);
    else
        match(trial);
    free(trial->old_of);
    free(trial->new_of);
    clp_mem_free(mem, trial->planned.probes, trial->planned.probe_room, sizeof(struct clp_probe));
    clp_layout_clear(&trial->layout);
    clp_edges_clear(&trial->edges);
    clp_decoded_clear(&trial->old);
}

/* Every counter is on one way, or on none but a line, and each way without a counter follows from those before it. */
static void check_counts(const struct clp_rewritten *out)
{
    uint8_t *left = calloc(out->node_count, 1), *seen = calloc(out->probe_count + 1, 1);

    require(left != NULL && seen != NULL, "out of memory");
    for (size_t i = 0; i < out->edge_count; i++) {
        const struct clp_flow_edge *edge = &out->edges[i];
        require(edge->from < out->node_count && edge->to < out->node_count, "a way without a node");
        require(edge->counter != CLP_FLOW_DERIVED || edge->from != edge->to, "a way that follows from nothing");
        require(!left[edge->counter == CLP_FLOW_DERIVED && edge->by_from ? edge->from : edge->to] ||
                    edge->counter != CLP_FLOW_DERIVED, "two ways follow from one node");
        if (edge->counter == CLP_FLOW_DERIVED)
            left[edge->by_from ? edge->from : edge->to] = 1;
        else
            require(edge->counter < out->probe_count && !seen[edge->counter]++, "a counter on two ways");
    }
    for (size_t i = 1; i < out->span_count; i++)
        require(out->spans[i - 1].unit < out->spans[i].unit && out->spans[i].node < out->node_count, "nodes in no order");
    free(left);
    free(seen);
}

static void check_accepted(struct trial *trial, enum clp_insertion insert)
{
    const char *reason;

    trial->memory.calls_left = 0;
    trial->new_code = as_code(trial, &trial->out);
    require(clp_decoded_init(&trial->new, &trial->memory.mem, &trial->bytecode, &trial->new_code,
                             &reason) == CLP_OK, reason);
    check_stable(trial);
    if (insert == CLP_INSERT_COUNTS)
        check_counts(&trial->out);
    else
        check_against_old(trial, insert);
    clp_decoded_clear(&trial->new);
}

static void try(struct trial *trial, enum clp_insertion insert, size_t fail_at)
{
    struct memory *memory = &trial->memory;
    const char *reason = NULL;

    *memory = (struct memory){.calls_left = fail_at};
    memory->mem = clp_mem_system();
    memory->mem.resize = failing_resize;
    memory->mem.context = memory;
    clp_status status = clp_rewrite(&trial->out, &memory->mem, &trial->bytecode, &trial->code,
                                    insert, &reason);
    require(memory->failed == (status == CLP_NO_MEMORY), "a failed allocation is not told");
    if (status == CLP_OK) {
        check_accepted(trial, insert);
    } else {
        require(reason != NULL, "refused without a reason");
        require(trial->out.code.used + trial->out.probe_count == 0, "a refusal left something");
        require(memory->mem.bytes == 0, "a refusal left memory behind");
    }
    clp_rewritten_clear(&trial->out);
    require(memory->mem.bytes == 0, "memory was not given back");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    static struct made made;
    struct trial *trial = &trial_now;
    struct input input = {bytes, bytes + count};

    int minor = CLP_OPCODE_FIRST_MINOR + (int)(next_byte(&input) % CLP_OPCODE_VERSIONS);
    require(clp_bytecode_init(&trial->bytecode, minor), "no version");
    uint32_t flags = next_byte(&input), fail_at = next_byte(&input);
    if ((flags & 1) != 0)
        make_code(&made, &trial->bytecode, &trial->code, &input);
    else
        read_code(&trial->code, &input);
    try(trial, CLP_INSERT_NOTHING, 0);
    for (enum clp_insertion insert = CLP_INSERT_LINES; insert <= CLP_INSERT_COUNTS; insert++)
        try(trial, insert, (flags & 2) != 0 ? fail_at : 0);
    return 0;
}

