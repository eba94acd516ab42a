/* SPDX-License-Identifier: MIT */
#include "event_script.h"
#include "engine/called.h"
#include "engine/engine.h"
#include "engine/garbage.h"
#include "engine/reaping.h"
#include "engine/resident.h"
#include "snapshots.h"
#include "engine/stacks.h"
#include "engine/threads.h"
#include "engine/waiting.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 32
#define MAX_LINE 300
#define MAX_NAMED 16
#define MAX_EXPECTED 200

struct named_thread {
    char name[32];
    struct clp_thread *thread; /* NULL before its first event and after its end */
    uint64_t born;
};

struct run {
    struct clp_engine engine;
    struct clp_pages pages;
    struct clp_profile profile;
    struct named_thread threads[MAX_NAMED];
    struct named_thread *current;
    int64_t resident;
    bool plainly; /* by the ways in line, where they apply */
    bool taken;   /* the profile is there; no more events */
    const void *expected[MAX_EXPECTED]; /* lines and functions of the profile */
    size_t expected_count;
    bool expects_calls; /* then each context of the profile is expected */
    char *words[MAX_WORDS + 1];
    size_t word, word_count;
    char *message;
    int line_number;
    bool failed;
};

static void CLP_PRINTF_LIKE(2, 3) fail(struct run *run, const char *format, ...)
{
    va_list values;

    if (run->failed)
        return; /* the first failure explains the others */
    run->failed = true;
    int used = snprintf(run->message, EVENT_SCRIPT_MESSAGE, "line %d: ", run->line_number);
    va_start(values, format);
    vsnprintf(run->message + used, EVENT_SCRIPT_MESSAGE - (size_t)used, format, values);
    va_end(values);
}

/* ---- words ---- */

static void split(struct run *run, char *line)
{
    char *rest = NULL;

    line[strcspn(line, "#")] = 0;
    run->word = run->word_count = 0;
    for (char *word = strtok_r(line, " \t\r\n", &rest); word != NULL && run->word_count < MAX_WORDS;
         word = strtok_r(NULL, " \t\r\n", &rest))
        run->words[run->word_count++] = word;
}

static const char *next_word(struct run *run)
{
    if (run->word < run->word_count)
        return run->words[run->word++];
    fail(run, "a word is missing at the end");
    return "";
}

static bool take_word(struct run *run, const char *word)
{
    if (run->word >= run->word_count || strcmp(run->words[run->word], word) != 0)
        return false;
    run->word++;
    return true;
}

static int64_t next_number(struct run *run)
{
    const char *word = next_word(run);
    char *end;
    long long value = strtoll(word, &end, 10);

    if (end != word && *end == 'p') {
        value *= CLP_USAGE_UNIT;
        end++;
    }
    if (*word == 0 || *end != 0)
        fail(run, "'%s' is not a number", word);
    return value;
}

static uint32_t next_function(struct run *run)
{
    const char *name = next_word(run);

    for (uint32_t i = 0; i < run->engine.functions.count; i++) {
        if (strcmp(run->engine.functions.items[i].name, name) == 0)
            return i;
    }
    fail(run, "no function '%s'", name);
    return 0;
}

static const void *next_frame(struct run *run)
{
    const char *word = next_word(run);

    if (strcmp(word, "-") == 0)
        return NULL;
    if (!isalpha((unsigned char)word[0]) || word[1] != 0)
        fail(run, "a frame is a letter");
    return (const void *)(uintptr_t)(4096 + 64 * (unsigned char)word[0]);
}

/* ---- what a script sets up ---- */

static void add_function(struct run *run)
{
    char *name = (char *)(uintptr_t)next_word(run);
    int32_t lowest = (int32_t)next_number(run);
    struct clp_function function = {.file = (char[]){"script.py"}, .name = name,
                                    .first_line = lowest, .lowest_line = lowest};
    uint32_t number;

    function.line_count = (uint32_t)((int32_t)next_number(run) - lowest + 1);
    function.generator = take_word(run, "generator");
    function.awaits = take_word(run, "awaits");
    if (!run->failed && clp_functions_add(&run->engine.functions, &function, &number) != CLP_OK)
        fail(run, "out of memory");
}

static void set_cost(struct run *run)
{
    const char *name = next_word(run);
    struct clp_costs costs = run->engine.costs;
    const struct { const char *name; int64_t *cost, *after; } table[] = {
        {"line", &costs.line, NULL},
        {"foreign", &costs.foreign, NULL},
        {"work", &costs.work, NULL},
        {"instruction", &costs.instruction, NULL},
        {"pace", &costs.pace, NULL},
        {"last", &costs.last_line, NULL},
        {"enter", &costs.enter.before, &costs.enter.after},
        {"leave", &costs.leave.before, &costs.leave.after},
        {"suspend", &costs.suspend.before, &costs.suspend.after},
        {"resume", &costs.resume.before, &costs.resume.after},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].name, name) == 0) {
            *table[i].cost = next_number(run);
            if (table[i].after != NULL)
                *table[i].after = next_number(run);
            clp_engine_set_costs(&run->engine, &costs);
            return;
        }
    }
    fail(run, "no cost of '%s'", name);
}

static void set_memory(struct run *run)
{
    run->engine.parts = CLP_PART_MEMORY;
    if (run->word < run->word_count)
        run->engine.rss_span = (uint64_t)next_number(run);
}

static void set_cpu(struct run *run)
{
    uint64_t span = (uint64_t)next_number(run);

    clp_engine_set_cpu_span(&run->engine, span, (uint64_t)next_number(run));
}

/* What the events around calls and operators cost, in the order of the fields. */
static void set_around(struct run *run)
{
    int64_t *costs = &run->engine.around.begin;

    for (size_t i = 0; i < sizeof run->engine.around / sizeof *costs; i++)
        costs[i] = next_number(run);
}

static void set_thread(struct run *run)
{
    const char *name = next_word(run);

    for (size_t i = 0; i < MAX_NAMED; i++) {
        struct named_thread *thread = &run->threads[i];
        if (thread->name[0] == 0)
            snprintf(thread->name, sizeof thread->name, "%s", name);
        if (strcmp(thread->name, name) == 0) {
            run->current = thread;
            return;
        }
    }
    fail(run, "too many threads");
}

/* ---- events ---- */

static uint32_t index_of(const struct clp_block *block, int32_t line)
{
    return (uint32_t)line - (uint32_t)block->lowest_line;
}

/* The line that begins with the body; false when the way in line does not apply. */
static bool enter_plainly(struct run *run, struct clp_thread *thread, uint32_t function,
                          int32_t line, uint64_t now)
{
    if (!run->plainly || !clp_engine_has_block(thread, function))
        return false;
    struct clp_block *block = thread->blocks[function];
    uint32_t index = index_of(block, line);
    return index < block->line_count &&
           clp_engine_enter_plain(thread, block, 0, clp_block_place(index),
                                  now - thread->stopped);
}

static void do_begin(struct run *run, struct clp_thread *thread, uint64_t now)
{
    uint32_t function = next_function(run);
    const void *frame = next_frame(run);
    int32_t line = (int32_t)next_number(run);

    if (run->failed || (frame == NULL && enter_plainly(run, thread, function, line, now)))
        return;
    clp_engine_enter(thread, function, frame, now);
    clp_engine_line(thread, line, now);
}

static void do_enter(struct run *run, struct clp_thread *thread, uint64_t now)
{
    uint32_t function = next_function(run);
    const void *frame = next_frame(run);

    if (!run->failed)
        clp_engine_enter(thread, function, frame, now);
}

static bool resume_plainly(const struct run *run, struct clp_thread *thread, uint32_t function, const void *frame,
                           uint64_t now)
{
    return run->plainly && clp_engine_has_block(thread, function) &&
           clp_engine_resume_plain(thread, thread->blocks[function], 0, frame, now) != NULL;
}

static void do_resume(struct run *run, struct clp_thread *thread, uint64_t now)
{
    uint32_t function = next_function(run);
    const void *frame = next_frame(run);

    if (!run->failed && !resume_plainly(run, thread, function, frame, now))
        clp_engine_resume(thread, function, frame, now);
}

static void do_align(struct run *run, struct clp_thread *thread, uint64_t now)
{
    uint32_t function = next_function(run);
    const void *frame = next_frame(run);

    if (run->failed)
        return;
    if (clp_engine_align(thread, function, frame, now) != thread->top ||
        thread->top->frame != frame || !clp_engine_is_running(thread, frame) ||
        thread->top->block->function != function)
        fail(run, "aligning did not put the frame on top");
}

static bool line_plainly(const struct run *run, struct clp_thread *thread, int32_t line,
                         uint64_t now)
{
    const struct clp_block *block = thread->top->block;
    uint32_t index = index_of(block, line);

    return run->plainly && index < block->line_count &&
           clp_engine_line_plain(thread, clp_block_place(index), now - thread->stopped);
}

static void do_line(struct run *run, struct clp_thread *thread, uint64_t now)
{
    int32_t line = (int32_t)next_number(run);

    if (thread->top == thread->stack)
        fail(run, "a line, but nothing is on the stack");
    else if (!line_plainly(run, thread, line, now))
        clp_engine_line(thread, line, now);
}

static void do_last(struct run *run, struct clp_thread *thread, uint64_t now)
{
    int32_t line = (int32_t)next_number(run);

    if (thread->top == thread->stack) {
        fail(run, "a last line, but nothing is on the stack");
        return;
    }
    uint32_t index = index_of(thread->top->block, line);
    if (!run->plainly || index >= thread->top->block->line_count ||
        !clp_engine_last_line_plain(thread, clp_block_place(index), now - thread->stopped))
        clp_engine_last_line(thread, line, now);
}

static void do_leave(struct run *run, struct clp_thread *thread, uint64_t now)
{
    if (!run->plainly || thread->top == thread->stack ||
        !clp_engine_leave_plain(thread, now - thread->stopped))
        clp_engine_leave(thread, now);
}

static void do_suspend(struct run *run, struct clp_thread *thread, uint64_t now)
{
    if (!run->plainly || !clp_engine_suspend_plain(thread, now))
        clp_engine_suspend(thread, now);
}

static void do_foreign(struct run *run, struct clp_thread *thread, uint64_t now)
{
    (void)now;
    clp_engine_add_cost(thread, run->engine.costs.foreign);
}

/* To the stack of another greenlet. */
static void do_switch(struct run *run, struct clp_thread *thread, uint64_t now)
{
    const void *from = next_frame(run), *to = next_frame(run);

    if (!run->failed)
        clp_engine_switch_stack(thread, from, to, now);
}

static void do_unwind(struct run *run, struct clp_thread *thread, uint64_t now)
{
    (void)run;
    clp_engine_unwind(thread, now);
}

static void do_collect(struct run *run, struct clp_thread *thread, uint64_t now)
{
    clp_garbage_begin(&run->engine, thread, now);
}

static void do_collected(struct run *run, struct clp_thread *thread, uint64_t now)
{
    (void)thread;
    clp_garbage_end(&run->engine, now);
}

/* The callee that the next words name: its kind, and its name. */
static struct clp_callee next_callee(struct run *run)
{
    bool library = take_word(run, "library");
    const char *name = next_word(run);

    return (struct clp_callee){library ? CLP_CALLED_LIBRARY : CLP_CALLED_NATIVE,
                               clp_callee_names_add(&run->engine.callee_names, name, strlen(name))};
}

/* A call, or one of something that is not counted. */
static void do_call(struct run *run, struct clp_thread *thread, uint64_t now)
{
    if (!clp_called_counts(thread))
        fail(run, "a call on no line");
    else if (take_word(run, "-"))
        clp_called_skip(thread);
    else
        clp_called_begin(thread, next_callee(run), now);
}

static void do_called(struct run *run, struct clp_thread *thread, uint64_t now)
{
    (void)run;
    if (clp_called_counts(thread) && clp_called_ends(thread))
        clp_called_end(thread, now);
}

static void do_mark(struct run *run, struct clp_thread *thread, uint64_t now)
{
    (void)run;
    clp_called_mark(thread, now);
}

static void do_operated(struct run *run, struct clp_thread *thread, uint64_t now)
{
    clp_called_since(thread, next_callee(run), run->engine.around.operated, now);
}

static void do_look(struct run *run, struct clp_thread *thread, uint64_t now)
{
    (void)thread;
    clp_called_look(&run->engine, now);
}

static void do_end(struct run *run, struct clp_thread *thread, uint64_t now)
{
    (void)now;
    thread->ended = true;
    run->current->thread = NULL;
}

static void do_reap(struct run *run, struct clp_thread *thread, uint64_t now)
{
    (void)thread, (void)now;
    clp_engine_reap(&run->engine);
}

static const struct {
    const char *name;
    void (*act)(struct run *run, struct clp_thread *thread, uint64_t now);
} events[] = {
    {"enter", do_enter},     {"resume", do_resume},   {"align", do_align}, {"line", do_line},
    {"leave", do_leave},     {"suspend", do_suspend}, {"end", do_end},     {"reap", do_reap},
    {"foreign", do_foreign}, {"unwind", do_unwind},   {"begin", do_begin},
    {"last", do_last},       {"switch", do_switch},   {"collect", do_collect}, {"collected", do_collected},
    {"call", do_call},       {"called", do_called},   {"mark", do_mark},   {"operated", do_operated},
    {"look", do_look},
};

static struct clp_thread *current_thread(struct run *run, uint64_t now)
{
    struct named_thread *current = run->current;

    if (current->thread == NULL) {
        current->thread = clp_engine_new_thread(&run->engine, now, run->resident);
        current->born = now;
    }
    if (current->thread == NULL)
        fail(run, "out of memory");
    return current->thread;
}

/* The words behind `name`, taken out of the line, so that events read their own from the front. */
static bool take_option(struct run *run, const char *name, int64_t *value)
{
    for (size_t i = run->word; i + 1 < run->word_count; i++) {
        if (strcmp(run->words[i], name) != 0)
            continue;
        size_t kept = run->word;
        run->word = i + 1;
        *value = next_number(run);
        run->word = kept;
        for (run->word_count -= 2; i < run->word_count; i++)
            run->words[i] = run->words[i + 2];
        return true;
    }
    return false;
}

static void run_event(struct run *run)
{
    uint64_t now = (uint64_t)next_number(run);
    int64_t still = 0, grows = 0, frees = 0, waits = -1, used, queued, skipped;
    (void)take_option(run, "rss", &run->resident);
    bool shared = take_option(run, "grows", &grows) | take_option(run, "frees", &frees) |
                  take_option(run, "waits", &waits);
    (void)take_option(run, "still", &still);
    bool has_used = take_option(run, "used", &used), has_queued = take_option(run, "queued", &queued);
    bool has_skipped = take_option(run, "skipped", &skipped);
    const char *name = next_word(run);
    struct clp_thread *thread = current_thread(run, now);

    if (run->taken)
        fail(run, "an event after an expectation");
    for (size_t i = 0; i < sizeof events / sizeof *events && !run->failed; i++) {
        if (strcmp(events[i].name, name) != 0)
            continue;
        if ((run->engine.parts & CLP_PART_MEMORY) && clp_engine_wants_rss(thread, now)) {
            if (shared)
                clp_engine_share_rss(thread, run->resident,
                                     (struct clp_rss_bounds){(uint64_t)grows, (uint64_t)frees,
                                                             waits == 0, waits == 0 || waits == 1});
            else
                clp_engine_note_rss(thread, run->resident);
            thread->reads++;
            uint64_t cost = clp_read_cost_of(&run->engine.read_cost, (uint64_t)still);
            now += (uint64_t)still - cost;
            still = (int64_t)cost;
        }
        if (clp_engine_wants_cpu(thread, now) || (has_used && thread->waiting.at == 0)) {
            if (!has_used)
                fail(run, "used is missing");
            uint64_t waited = clp_waiting_note(thread, now, (uint64_t)used);
            if (has_queued)
                clp_waiting_note_queue(thread, (uint64_t)queued, waited);
        }
        events[i].act(run, thread, now);
        if (has_skipped)
            clp_waiting_skip(thread, now + (uint64_t)still, (uint64_t)skipped);
        clp_engine_stand_still(thread, (uint64_t)still);
        return;
    }
    fail(run, "no event '%s'", name);
}

/* ---- expectations ---- */

static void note_expected(struct run *run, const void *item)
{
    if (run->expected_count == MAX_EXPECTED)
        fail(run, "too many expectations");
    else
        run->expected[run->expected_count++] = item;
}

static bool is_expected(const struct run *run, const void *item)
{
    for (size_t i = 0; i < run->expected_count; i++) {
        if (run->expected[i] == item)
            return true;
    }
    return false;
}

static void compare(struct run *run, const char *what, int64_t found, int64_t expected)
{
    if (found != expected)
        fail(run, "%s is %lld, expected %lld", what, (long long)found, (long long)expected);
}

static void expect_function(struct run *run, const struct clp_profile_function *function)
{
    int64_t total = next_number(run), raw_self = 0;

    compare(run, "total", (int64_t)function->total, total);
    if (!take_word(run, "own"))
        fail(run, "own is missing");
    int64_t own = next_number(run);
    int64_t raw_total = take_word(run, "raw_total") ? next_number(run) : total;
    compare(run, "raw_total", (int64_t)function->raw_total, raw_total);
    for (size_t i = 0; i < function->line_count; i++)
        raw_self += (int64_t)function->lines[i].measures.raw_self;
    compare(run, "the sum of raw_self", raw_self, own);
    note_expected(run, function);
}

static void set_measure(struct run *run, struct clp_measures *measures, const char *name,
                        int64_t value)
{
#define SET(field, type, ...)            \
    if (strcmp(name, #field) == 0) {     \
        measures->field = (type)value;   \
        return;                          \
    }
    CLP_MEASURE_TABLE(SET, CLP_MEASURE_SKIP)
#undef SET
    fail(run, "no measure '%s'", name);
}

static struct clp_measures expected_measures(struct run *run)
{
    struct clp_measures measures = {0};
    bool raw_time = false, raw_self = false;

    while (run->word < run->word_count && !run->failed) {
        const char *name = next_word(run);
        raw_time = raw_time || strcmp(name, "raw_time") == 0;
        raw_self = raw_self || strcmp(name, "raw_self") == 0;
        set_measure(run, &measures, name, next_number(run));
    }
    if (!raw_time)
        measures.raw_time = measures.time;
    if (!raw_self)
        measures.raw_self = measures.self;
    return measures;
}

static void expect_line(struct run *run, const struct clp_profile_function *function)
{
    int64_t line = next_number(run);
    struct clp_measures wanted = expected_measures(run);

    for (size_t i = 0; i < function->line_count; i++) {
        if (function->lines[i].line != line)
            continue;
        const struct clp_measures *found = &function->lines[i].measures;
#define COMPARE(field, type, ...)   \
    compare(run, #field, (int64_t)found->field, (int64_t)wanted.field);
        CLP_MEASURE_TABLE(COMPARE, CLP_MEASURE_SKIP)
#undef COMPARE
        note_expected(run, &function->lines[i]);
        return;
    }
    fail(run, "line %lld never ran", (long long)line);
}

static bool is_edge(const struct run *run, const struct clp_profile_call *call, const char *caller,
                    int64_t line, uint32_t callee)
{
    const struct clp_profile_call *parent =
        call->parent != 0 ? &run->profile.calls[call->parent - 1] : NULL;
    const char *name = parent != NULL ? run->profile.functions[parent->function].name : "-";

    return call->function == callee && call->line == line && strcmp(name, caller) == 0;
}

/* Expects the sums of all contexts of an edge: CALLER LINE CALLEE calls .. time .. */
static void expect_call(struct run *run)
{
    const char *caller = next_word(run);
    int64_t line = next_number(run);
    uint32_t callee = next_function(run);
    struct clp_profile_call sum = {0};

    run->expects_calls = true;
    for (size_t i = 0; i < run->profile.call_count; i++) {
        const struct clp_profile_call *call = &run->profile.calls[i];
        if (!is_edge(run, call, caller, line, callee))
            continue;
        sum.calls += call->calls;
        sum.time += call->time;
        sum.again += call->again;
        sum.increment += call->increment;
        note_expected(run, call);
    }
    compare(run, "calls", (int64_t)sum.calls, take_word(run, "calls") ? next_number(run) : 0);
    compare(run, "time", (int64_t)sum.time, take_word(run, "time") ? next_number(run) : 0);
    compare(run, "again", (int64_t)sum.again, take_word(run, "again") ? next_number(run) : 0);
    compare(run, "increment", sum.increment, take_word(run, "increment") ? next_number(run) : 0);
}

static bool expect_number(struct run *run)
{
    const struct { const char *name; uint64_t value; } table[] = {
        {"overhead", run->profile.meta.overhead}, {"reads", run->profile.meta.reads},
        {"events", run->profile.meta.events},     {"suspended", run->engine.suspended.count},
        {"lost", run->engine.lost},
        {"contexts", run->profile.call_count},
        {"others_grown", run->profile.meta.others_grown},
        {"others_released", run->profile.meta.others_released},
        {"gc_outside", run->profile.meta.gc_outside},
        {"gc_outside_runs", run->profile.meta.gc_outside_runs},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (take_word(run, table[i].name)) {
            compare(run, table[i].name, (int64_t)table[i].value, next_number(run));
            return true;
        }
    }
    return false;
}

static void run_expect(struct run *run)
{
    if (!run->taken && test_snapshot_take(&run->engine, 1, &run->profile) != CLP_OK)
        fail(run, "no snapshot");
    run->taken = true;
    if (expect_number(run))
        return;
    if (take_word(run, "call")) {
        expect_call(run);
        return;
    }
    uint32_t number = next_function(run);
    if (run->failed)
        return;
    if (take_word(run, "total"))
        expect_function(run, &run->profile.functions[number]);
    else
        expect_line(run, &run->profile.functions[number]);
}

static void check_complete(struct run *run)
{
    for (size_t i = 0; i < run->profile.function_count; i++) {
        const struct clp_profile_function *function = &run->profile.functions[i];
        if (!is_expected(run, function))
            fail(run, "no expectation for function %s", function->name);
        for (size_t j = 0; j < function->line_count; j++) {
            if (!is_expected(run, &function->lines[j]))
                fail(run, "no expectation for %s line %d", function->name, function->lines[j].line);
        }
    }
    for (size_t i = 0; run->expects_calls && i < run->profile.call_count; i++) {
        const struct clp_profile_call *call = &run->profile.calls[i];
        if (!is_expected(run, call))
            fail(run, "no expectation for a call of %s from line %d",
                 run->profile.functions[call->function].name, call->line);
    }
    if (!run->taken)
        fail(run, "the script expects nothing");
}

/* ---- what must always hold ---- */

static bool recurs(const struct run *run, const struct clp_profile_call *call)
{
    const struct clp_profile_call *above = call;

    while (above->parent != 0) {
        above = &run->profile.calls[above->parent - 1];
        if (above->function == call->function)
            return true;
    }
    return false;
}

static bool has_recursion(const struct run *run)
{
    for (size_t i = 0; i < run->profile.call_count; i++)
        if (recurs(run, &run->profile.calls[i]))
            return true;
    return false;
}

/* Without recursion a function's time is the sum of its callers' times. */
static void check_callers(struct run *run, uint32_t function)
{
    uint64_t sum = 0, slack = 1;

    for (size_t i = 0; i < run->profile.call_count; i++) {
        if (run->profile.calls[i].function == function) {
            sum += run->profile.calls[i].time;
            slack++;
        }
    }
    uint64_t total = run->profile.functions[function].total;
    if (sum > total + slack || total > sum + slack)
        fail(run, "the callers of %s have %llu of its %llu ns", run->profile.functions[function].name,
             (unsigned long long)sum, (unsigned long long)total);
}

/* Every tick and every correction of a thread went to one line's self or to its bin. */
static void check_sums(struct run *run, const struct named_thread *named)
{
    const struct clp_thread *thread = named->thread;
    uint64_t self = thread->outside.self;
    int64_t correction = thread->outside.self_correction;

    for (size_t i = 0; i < thread->block_room; i++) {
        const struct clp_block *block = thread->blocks[i];
        for (uint32_t line = 0; block != NULL && line < block->line_count; line++) {
            self += block->cells[line].self;
            correction += (int64_t)clp_cell_self_correction(&block->cells[line], run->engine.costs.line);
        }
    }
    compare(run, "all self time of a thread", (int64_t)self, (int64_t)(thread->last - named->born));
    if (correction > thread->correction)
        fail(run, "more correction went to lines than there is");
}

static void check_idle(struct run *run, const struct clp_thread *thread)
{
    compare(run, "open of the bin", (int64_t)thread->outside.open, 1); /* open throughout */
    for (size_t i = 0; i < thread->block_room; i++) {
        const struct clp_block *block = thread->blocks[i];
        for (uint32_t line = 0; block != NULL && line < block->line_count; line++)
            compare(run, "open of a line", (int64_t)block->cells[line].open, 0);
        compare(run, "running", block == NULL ? 0 : (int64_t)block->running, 0);
    }
}

static void check_invariants(struct run *run)
{
    for (uint32_t i = 0; i < run->profile.function_count && !has_recursion(run); i++)
        check_callers(run, i);
    for (size_t i = 0; i < MAX_NAMED; i++) {
        const struct clp_thread *thread = run->threads[i].thread;
        if (thread == NULL)
            continue;
        check_sums(run, &run->threads[i]);
        if (thread->top == thread->stack)
            check_idle(run, thread);
    }
}

/* ---- a whole script ---- */

static void run_line(struct run *run)
{
    if (run->word_count == 0)
        return;
    if (isdigit((unsigned char)run->words[0][0]))
        run_event(run);
    else if (take_word(run, "function"))
        add_function(run);
    else if (take_word(run, "cost"))
        set_cost(run);
    else if (take_word(run, "memory"))
        set_memory(run);
    else if (take_word(run, "cpu"))
        set_cpu(run);
    else if (take_word(run, "callees"))
        run->engine.parts |= CLP_PART_CALLED;
    else if (take_word(run, "around"))
        set_around(run);
    else if (take_word(run, "thread"))
        set_thread(run);
    else if (take_word(run, "expect"))
        run_expect(run);
    if (run->word != run->word_count)
        fail(run, "'%s' is not understood", run->words[run->word]);
}

bool event_script_run(const char *text, struct clp_mem *mem, bool plainly,
                      char message[EVENT_SCRIPT_MESSAGE])
{
    struct run run = {.current = &run.threads[0], .message = message, .plainly = plainly};

    snprintf(run.threads[0].name, sizeof run.threads[0].name, "main");
    clp_engine_init(&run.engine, mem, &run.pages);
    clp_profile_init(&run.profile, mem);
    for (const char *at = text; *at != 0 && !run.failed;) {
        size_t length = strcspn(at, "\n");
        char line[MAX_LINE];
        run.line_number++;
        if (length >= sizeof line)
            fail(&run, "the line is too long");
        snprintf(line, sizeof line, "%.*s", (int)length, at);
        at += length + (at[length] == '\n');
        split(&run, line);
        run_line(&run);
    }
    check_complete(&run);
    check_invariants(&run);
    clp_profile_clear(&run.profile);
    clp_engine_clear(&run.engine);
    compare(&run, "bytes still held", (int64_t)mem->bytes, 0);
    compare(&run, "pages still mapped", (int64_t)run.pages.bytes, 0);
    return !run.failed;
}
