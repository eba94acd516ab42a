/* SPDX-License-Identifier: MIT */
#include "emulated.h"
#include "engine/engine.h"
#include "engine/garbage.h"
#include "event_script.h"
#include "helpers.h"
#include "engine/reaping.h"
#include "engine/resident.h"
#include <criterion/parameterized.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>

/* ---- fixtures/events ---- */

struct fixture {
    char path[120];
    bool plainly;
};

static void free_fixtures(struct criterion_test_params *params)
{
    cr_free(params->params);
}

ParameterizedTestParameters(engine, keeps_to_the_script)
{
    glob_t found = {0};

    (void)glob("fixtures/events/*.txt", 0, NULL, &found);
    size_t count = 2 * found.gl_pathc;
    struct fixture *fixtures = cr_calloc(count + 1, sizeof *fixtures);
    for (size_t i = 0; i < count; i++) {
        snprintf(fixtures[i].path, sizeof fixtures[i].path, "%s", found.gl_pathv[i / 2]);
        fixtures[i].plainly = i % 2 != 0;
    }
    globfree(&found);
    return cr_make_param_array(struct fixture, fixtures, count, free_fixtures);
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 20000);

    cr_assert_not_null(file, "%s", path);
    cr_assert_not_null(text);
    cr_assert_lt(fread(text, 1, 19999, file), 19999, "%s is too long", path);
    fclose(file);
    return text;
}

ParameterizedTest(struct fixture *fixture, engine, keeps_to_the_script)
{
    char message[EVENT_SCRIPT_MESSAGE] = "";
    struct test_mem test;
    char *text = read_text(fixture->path);
    bool held = event_script_run(text, test_mem_init(&test, 0), fixture->plainly, message);

    free(text);
    cr_assert(held, "%s%s, %s", fixture->path, fixture->plainly ? " (plainly)" : "", message);
    test_mem_check_empty(&test);
}

/* ---- against a model ----
 *
 * A random program of calls, recursion, generators and threads, with exits and resumptions that
 * nobody tells and addresses used again. The model goes through the whole stack at every event and
 * adds what has passed to each different line and function on it: measures by definition, with
 * nothing of the engine's bookkeeping.
 *
 * Entering, lines and leaving are told in each of the ways that the engine has for them, by chance.
 * Those in line do nothing where they do not apply; then the others are told. Half the programs have
 * few addresses, which are used again soon; some run deep. */

enum { FUNCTIONS = 4, LINES = 3, THREADS = 3, FRAMES = 40, DEPTH = 150, STEPS = 2100 };
enum { NO_FRAME = -1 }; /* of a body that is never suspended */

struct cost_sum {
    uint64_t ticks;
    int64_t correction;
};

struct model_line {
    uint64_t hits, await, max, usage;
    struct cost_sum time, self;
    int64_t grown, released, self_increment, largest;
};

struct model_body {
    int frame, function, line; /* line -1: none began yet */
    bool recorded;             /* was suspended before */
    struct cost_sum counted; /* in its function's total */
    struct cost_sum stay;
    int64_t stay_rss;
    uint64_t carried;
    uint64_t pending; /* since the entry, for the first line to take */
    int64_t pending_rss;
    int64_t entry_cost;
};

struct model_thread {
    struct clp_thread *thread;
    struct model_body stack[DEPTH];
    int depth;
    uint64_t last, stopped;
    int64_t rss, last_rss; /* by its own doing */
    int64_t usage;         /* of the process, when it read last */
    int changes;           /* how many there were then */
};

struct model_record {
    bool valid;
    int function, line;
    uint64_t carried, since;
};

struct model {
    struct clp_engine engine;
    struct clp_pages pages;
    struct model_thread threads[THREADS];
    struct model_line lines[FUNCTIONS][LINES];
    struct cost_sum totals[FUNCTIONS];
    int64_t correction;
    struct model_record records[FRAMES];
    int suspended[FRAMES], suspended_function[FRAMES], suspended_count;
    bool taken[FRAMES];
    int64_t resident, read; /* now, and when it was last read */
    int64_t changes[STEPS], idle[STEPS]; /* what is left of each, and was taken by an idle thread */
    int change_count, closed;
    int64_t grown, released; /* of all changes, what no thread took */
    uint64_t now, random;
    bool foreign; /* max leaves the cost of foreign events out */
    bool deep;
    int frames;
    uint64_t *seen; /* by what */
};

/* How often a way in line applied, and what else the programs must have in them. */
enum {
    ENTERED, ENTERED_AGAIN, ENTERED_LATE, BEGAN, LEFT, LEFT_AGAIN, ENDED, ENDED_AGAIN, STACK_FULL,
    SUSPENDED, RESUMED, RESUMED_AGAIN, RESUMED_OVER, RESUMED_OTHER, TAKEN_LATE, TAKEN_IN_PART, RELEASE_REFUSED,
    CHANGE_CLOSED, TAKEN_FROM_IDLE, RELEASE_THEIRS, RELEASE_NOT_THEIRS, SEEN
};

static uint64_t pick(struct model *model, uint64_t count)
{
    model->random = model->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (model->random >> 33) % count;
}

static void add_sum(struct cost_sum *sum, uint64_t ticks, int64_t correction)
{
    sum->ticks += ticks;
    sum->correction += correction;
}

static struct model_body *top_of(struct model_thread *thread)
{
    return thread->depth == 0 ? NULL : &thread->stack[thread->depth - 1];
}

/* Does a body further out on the stack execute the same line? */
static bool line_is_open(const struct model_thread *thread, const struct model_body *body)
{
    for (const struct model_body *at = thread->stack; at != body; at++) {
        if (at->function == body->function && at->line == body->line)
            return true;
    }
    return false;
}

static bool function_is_open(const struct model_thread *thread, const struct model_body *body)
{
    for (const struct model_body *at = thread->stack; at != body; at++) {
        if (at->function == body->function)
            return true;
    }
    return false;
}

static struct model_line *line_of(struct model *model, const struct model_body *body)
{
    return &model->lines[body->function][body->line];
}

/* This much passes for everything on the stack. */
static void pass(struct model *model, struct model_thread *thread, uint64_t ticks,
                 int64_t correction, int64_t rss)
{
    struct model_body *top = top_of(thread);

    model->correction += correction;
    for (struct model_body *at = thread->stack; at < thread->stack + thread->depth; at++) {
        if (!function_is_open(thread, at)) {
            add_sum(&model->totals[at->function], ticks, correction);
            add_sum(&at->counted, ticks, correction);
        }
        if (at->line < 0)
            continue;
        if (!line_is_open(thread, at))
            add_sum(&line_of(model, at)->time, ticks, correction);
        add_sum(&at->stay, ticks, correction);
        at->stay_rss += rss;
    }
    if (top == NULL)
        return;
    if (top->line < 0) {
        top->pending += ticks;
        top->pending_rss += rss;
        return;
    }
    add_sum(&line_of(model, top)->self, ticks, correction);
    line_of(model, top)->self_increment += rss;
}

static void pass_until(struct model *model, struct model_thread *thread, uint64_t now)
{
    uint64_t at = now - thread->stopped;

    pass(model, thread, at - thread->last, 0, thread->rss - thread->last_rss);
    thread->last = at;
    thread->last_rss = thread->rss;
}

static void end_stay(struct model *model, struct model_thread *thread)
{
    struct model_body *top = top_of(thread);

    if (top->line < 0)
        return;
    struct model_line *line = line_of(model, top);
    uint64_t usage = (uint64_t)thread->usage / CLP_USAGE_UNIT;
    uint64_t correction =
        top->stay.correction > 0 ? (uint64_t)top->stay.correction / CLP_CORRECTION_ONE : 0;
    line->usage = usage > line->usage ? usage : line->usage;
    if (line_is_open(thread, top))
        return;
    top->carried += top->stay.ticks > correction ? top->stay.ticks - correction : 0;
    line->max = top->carried > line->max ? top->carried : line->max;
    line->grown += top->stay_rss > 0 ? top->stay_rss : 0;
    line->released -= top->stay_rss < 0 ? top->stay_rss : 0;
    line->largest = llabs(top->stay_rss) > line->largest ? llabs(top->stay_rss) : line->largest;
}

static void take_pending(struct model *model, struct model_thread *thread)
{
    struct model_body *top = top_of(thread);
    struct model_line *line = line_of(model, top);

    add_sum(&line->self, top->pending, top->entry_cost);
    line->self_increment += top->pending_rss;
    if (!line_is_open(thread, top))
        add_sum(&line->time, top->pending, top->entry_cost);
    top->stay.ticks += top->pending;
    top->stay_rss += top->pending_rss;
}

static void model_line(struct model *model, struct model_thread *thread, int index)
{
    struct model_body *top = top_of(thread);
    bool first = top->line < 0;

    pass_until(model, thread, model->now);
    end_stay(model, thread);
    top->line = index;
    top->carried = 0;
    top->stay = (struct cost_sum){0};
    top->stay_rss = 0;
    line_of(model, top)->hits++;
    if (first)
        take_pending(model, thread);
    pass(model, thread, 0, model->engine.costs.line, 0);
}

static void model_go_in(struct model *model, struct model_thread *thread, struct model_body body,
                        struct clp_cost cost)
{
    pass_until(model, thread, model->now);
    pass(model, thread, 0, cost.before, 0);
    if (thread->depth > 0)
        top_of(thread)->pending = 0, top_of(thread)->pending_rss = 0;
    body.entry_cost = cost.after;
    thread->stack[thread->depth++] = body;
    pass(model, thread, 0, cost.after, 0);
}

static void model_go_out(struct model *model, struct model_thread *thread, uint64_t now,
                         struct clp_cost cost)
{
    const struct model_body *top = top_of(thread);

    pass_until(model, thread, now);
    pass(model, thread, 0, cost.before, 0);
    end_stay(model, thread);
    if (top->line < 0) {
        model->totals[top->function].ticks -= top->counted.ticks;
        model->totals[top->function].correction -= top->counted.correction;
    }
    thread->depth--;
    pass(model, thread, 0, cost.after, 0);
}

static void model_go(struct model *model, struct model_thread *thread, uint64_t now,
                     struct clp_cost cost)
{
    struct model_body *top = top_of(thread);

    if (top->recorded)
        model->records[top->frame].valid = false;
    if (top->frame != NO_FRAME)
        model->taken[top->frame] = false;
    model_go_out(model, thread, now, cost);
}

static void model_leave(struct model *model, struct model_thread *thread, uint64_t now)
{
    model_go(model, thread, now, model->engine.costs.leave);
}

static void model_suspend(struct model *model, struct model_thread *thread)
{
    struct model_body *top = top_of(thread);

    model_go_out(model, thread, model->now, model->engine.costs.suspend);
    model->records[top->frame] = (struct model_record){true, top->function, top->line,
                                                       top->carried, model->now};
}

static void model_resume(struct model *model, struct model_thread *thread, int function, int frame,
                         struct clp_cost cost)
{
    struct model_body body = {.frame = frame, .function = function, .line = -1};
    struct model_record *record = &model->records[frame];

    record->valid = record->valid && record->function == function;
    if (record->valid) {
        body.recorded = true;
        body.line = record->line;
        body.carried = record->carried;
    }
    model_go_in(model, thread, body, cost);
    if (body.line >= 0 && model->engine.functions.items[function].awaits)
        line_of(model, &body)->await += model->now - record->since;
}

/* ---- the random program; each step tells the engine and the model ---- */

static const void *address(int frame)
{
    return frame == NO_FRAME ? NULL : (const void *)(uintptr_t)(4096 + 64 * frame);
}

/* What a tracer would note of the function that runs. */
static uint64_t code_of(int function)
{
    return 64 * ((uint64_t)function + 1);
}

static bool is_generator(const struct model *model, int function)
{
    return model->engine.functions.items[function].generator;
}

/* A frame that nothing runs on, if there is one. */
static bool find_frame(struct model *model, int *frame)
{
    *frame = (int)pick(model, (uint64_t)model->frames);
    for (int i = 0; i < model->frames && model->taken[*frame]; i++)
        *frame = (*frame + 1) % model->frames;
    return !model->taken[*frame];
}

static int32_t file_line(int function, int index)
{
    return 10 * (function + 1) + index;
}

static void model_change(struct model *model)
{
    int open = 0;

    if (model->resident == model->read)
        return;
    *(model->resident > model->read ? &model->grown : &model->released) +=
        llabs(model->resident - model->read);
    model->changes[model->change_count++] = model->resident - model->read;
    model->read = model->resident;
    for (int i = model->change_count - 1; i >= model->closed; i--) {
        open += model->changes[i] != 0;
        if (open > CLP_OPEN_CHANGES) {
            model->closed = i + 1;
            model->seen[CHANGE_CLOSED]++;
            return;
        }
    }
}

/* What of a change the thread takes. */
static int64_t model_part(struct model *model, int64_t bytes, struct clp_rss_bounds *reach, bool now)
{
    uint64_t size = (uint64_t)llabs(bytes);

    if (bytes > 0) {
        uint64_t part = size < reach->grown ? size : reach->grown;
        model->seen[TAKEN_IN_PART] += part != 0 && part < size;
        reach->grown -= part;
        return (int64_t)part;
    }
    if (size > reach->released && (now && !reach->ran_through && reach->never_waited))
        model->seen[model->grown < model->released ? RELEASE_NOT_THEIRS : RELEASE_THEIRS]++;
    if (size > reach->released &&
        !(now && (reach->ran_through ||
                  (reach->never_waited && model->grown < model->released)))) {
        model->seen[RELEASE_REFUSED]++;
        return 0;
    }
    reach->released -= size < reach->released ? size : reach->released;
    return bytes;
}

static void model_share(struct model *model, struct model_thread *thread, struct clp_rss_bounds reach)
{
    int before = model->change_count;

    model_change(model);
    int first = thread->changes > model->closed ? thread->changes : model->closed;
    for (int i = first; i < model->change_count; i++) {
        int64_t part = model->changes[i] == 0
                           ? 0 : model_part(model, model->changes[i], &reach, i >= before);
        int64_t fresh = model->changes[i] - model->idle[i];
        fresh = llabs(part) < llabs(fresh) ? part : fresh;
        *(part > 0 ? &model->grown : &model->released) -= llabs(fresh);
        if (thread->depth == 0) {
            model->idle[i] += fresh;
            continue;
        }
        model->seen[TAKEN_LATE] += part != 0 && i < before;
        model->seen[TAKEN_FROM_IDLE] += part != fresh;
        model->changes[i] -= part;
        model->idle[i] -= part - fresh;
        thread->rss += part;
    }
}

static struct clp_rss_bounds some_reach(struct model *model)
{
    return (struct clp_rss_bounds){pick(model, 6) * 4096, pick(model, 6) * 4096, pick(model, 3) == 0,
                                   pick(model, 2) == 0};
}

static void read_rss(struct model *model, struct model_thread *thread)
{
    if (pick(model, 3) == 0)
        model->resident += ((int64_t)pick(model, 9) - 4) * 4096;
    if (model->engine.parts == 0 || !clp_engine_wants_rss(thread->thread, model->now))
        return;
    if (pick(model, 4) == 0) {
        clp_engine_note_rss(thread->thread, model->resident);
        thread->rss += model->resident - model->read;
        model->read = model->resident;
    } else {
        struct clp_rss_bounds reach = some_reach(model);
        clp_engine_share_rss(thread->thread, model->resident, reach);
        model_share(model, thread, reach);
    }
    thread->usage = model->resident;
    thread->changes = model->change_count;
}

/* The line, in line if that applies; a line that the function does not have has no place. */
static void tell_line(struct model *model, struct model_thread *thread, int function, int index)
{
    struct clp_thread *told = thread->thread;
    size_t place = clp_block_place((uint32_t)index);
    uint64_t at = model->now - told->stopped;

    if (index == LINES || pick(model, 2) == 0) {
        clp_engine_line(told, file_line(function, index), model->now);
        return;
    }
    if (clp_engine_line_plain(told, place, at))
        model->seen[BEGAN]++;
    else
        clp_engine_line_special(told, place, at);
}

static void step_line(struct model *model, struct model_thread *thread)
{
    int index = (int)pick(model, LINES + 1);
    const struct model_body *top = top_of(thread);

    if (top == NULL)
        return;
    read_rss(model, thread);
    tell_line(model, thread, top->function, index);
    if (index < LINES)
        model_line(model, thread, index);
}

/* A body begins, and one of its lines. True if the way in line applied: then it has no frame. */
static bool enter_plainly(struct model *model, struct model_thread *thread, int function, int index)
{
    struct clp_thread *told = thread->thread;

    if (is_generator(model, function) || !clp_engine_has_block(told, (uint32_t)function))
        return false;
    struct clp_block *block = told->blocks[function];
    bool again = block->cells[index].open != 0, late = clp_engine_current_line(told) < 0;
    if (!clp_engine_enter_plain(told, block, code_of(function), clp_block_place((uint32_t)index),
                                model->now - told->stopped)) {
        model->seen[STACK_FULL] += told->top == told->last_activation;
        return false;
    }
    model->seen[ENTERED]++;
    model->seen[ENTERED_AGAIN] += again;
    model->seen[ENTERED_LATE] += late;
    return true;
}

/* All that a tracer may ask about the body on top. */
static void check_entered(const struct model_thread *thread, int function, int frame)
{
    const struct clp_activation *top = thread->thread->top;

    cr_assert_eq(top->block, thread->thread->blocks[function]);
    cr_assert_eq(top->frame, address(frame));
    cr_assert(top->code == 0 || top->code == code_of(function));
    cr_assert(!top->continued && top->suspended == NULL);
    cr_assert_eq(top->special, thread->thread->rss != thread->thread->last_rss);
}

/* The body that runs at `frame` on, with its first line unless index is -1. */
static void model_enter(struct model *model, struct model_thread *thread, int function, int frame,
                        int index)
{
    struct model_body body = {.frame = frame, .function = function, .line = -1};

    if (frame != NO_FRAME)
        model->taken[frame] = true;
    model_go_in(model, thread, body, model->engine.costs.enter);
    if (index >= 0 && index < LINES)
        model_line(model, thread, index);
}

/* The exit of the body on top was not told, and another one begins at its address. */
static void enter_over(struct model *model, struct model_thread *thread, int function)
{
    int frame = top_of(thread)->frame;

    clp_engine_enter(thread->thread, (uint32_t)function, address(frame), model->now);
    if (is_generator(model, function))
        model->records[frame].valid = false;
    model_leave(model, thread, model->now);
    model_enter(model, thread, function, frame, -1);
}

static void enter_new(struct model *model, struct model_thread *thread, int function)
{
    int index = (int)pick(model, LINES + 2) - 1; /* none, one, or one that is not there */
    int frame = NO_FRAME;
    bool known = (is_generator(model, function) || pick(model, 2) == 0);

    if (known && !find_frame(model, &frame))
        return;
    read_rss(model, thread);
    if (index < 0) {
        clp_engine_enter(thread->thread, (uint32_t)function, address(frame), model->now);
    } else if (index < LINES && pick(model, 2) == 0 &&
               enter_plainly(model, thread, function, index)) {
        frame = NO_FRAME;
        cr_assert_eq(thread->thread->top->code, code_of(function));
    } else {
        clp_engine_enter(thread->thread, (uint32_t)function, address(frame), model->now);
        tell_line(model, thread, function, index);
    }
    if (is_generator(model, function))
        model->records[frame].valid = false;
    check_entered(thread, function, frame);
    model_enter(model, thread, function, frame, index);
}

static void step_enter(struct model *model, struct model_thread *thread)
{
    int function = (int)pick(model, FUNCTIONS);
    const struct model_body *top = top_of(thread);
    bool without_line = top != NULL && top->line < 0;

    if (thread->depth == DEPTH || (without_line && model->engine.costs.line != 0))
        return;
    if (top != NULL && top->frame != NO_FRAME && pick(model, 20) == 0) {
        read_rss(model, thread);
        enter_over(model, thread, function);
    } else {
        enter_new(model, thread, function);
    }
}

static void step_leave(struct model *model, struct model_thread *thread)
{
    if (thread->depth == 0)
        return;
    read_rss(model, thread);
    bool again = thread->thread->top->cell->open != 0;
    if (pick(model, 2) == 0 &&
        clp_engine_leave_plain(thread->thread, model->now - thread->thread->stopped))
        model->seen[again ? LEFT_AGAIN : LEFT]++;
    else
        clp_engine_leave(thread->thread, model->now);
    model_leave(model, thread, model->now);
    cr_assert_eq(thread->thread->top, thread->thread->stack + thread->depth);
}

/* The line has no interval, unless it is the body's first; what it does happens behind the event. */
static void model_last_line(struct model *model, struct model_thread *thread, int index)
{
    const struct clp_costs *costs = &model->engine.costs;
    struct clp_cost cost = {-costs->line - costs->work, costs->last_line + costs->work};

    if (index == LINES) /* there is none */
        cost.before = 0;
    else if (top_of(thread)->line < 0)
        cost.before += costs->line;
    if (index < LINES)
        model_line(model, thread, index);
    model_go(model, thread, model->now, cost);
}

/* A line that only leaves the body. */
static void step_last_line(struct model *model, struct model_thread *thread)
{
    int index = (int)pick(model, LINES + 1);
    struct clp_thread *told = thread->thread;
    const struct model_body *top = top_of(thread);

    if (top == NULL)
        return;
    read_rss(model, thread);
    size_t place = clp_block_place((uint32_t)index);
    bool again = index < LINES && told->top->block->cells[index].open != 0;
    if (index < LINES && pick(model, 2) == 0 &&
        clp_engine_last_line_plain(told, place, model->now - told->stopped))
        model->seen[again ? ENDED_AGAIN : ENDED]++;
    else
        clp_engine_last_line(told, file_line(top->function, index), model->now);
    model_last_line(model, thread, index);
    cr_assert_eq(told->top, told->stack + thread->depth);
}

static void step_suspend(struct model *model, struct model_thread *thread)
{
    const struct model_body *top = top_of(thread);

    if (top == NULL || !is_generator(model, top->function))
        return;
    read_rss(model, thread);
    if (pick(model, 2) == 0 && clp_engine_suspend_plain(thread->thread, model->now))
        model->seen[SUSPENDED]++;
    else
        clp_engine_suspend(thread->thread, model->now);
    model->suspended[model->suspended_count] = top->frame;
    model->suspended_function[model->suspended_count++] = top->function;
    model_suspend(model, thread);
}

/* True if the way in line applied. */
static bool resume_plainly(struct model *model, struct model_thread *thread, int function, int frame)
{
    struct clp_thread *told = thread->thread;

    if (!clp_engine_has_block(told, (uint32_t)function))
        return false;
    bool again = told->top->cell->open != 0;
    struct clp_activation *top =
        clp_engine_resume_plain(told, told->blocks[function], code_of(function), address(frame), model->now);
    if (top == NULL)
        return false;
    cr_assert(top == told->top && top->frame == address(frame) && top->code == code_of(function));
    model->seen[again ? RESUMED_AGAIN : RESUMED]++;
    return true;
}

/* The exit of the body on top was not told, nor its suspension, and it resumes. */
static void resume_over(struct model *model, struct model_thread *thread)
{
    const struct model_body *top = top_of(thread);
    int function = top->function, frame = top->frame;

    if (!resume_plainly(model, thread, function, frame))
        clp_engine_resume(thread->thread, (uint32_t)function, address(frame), model->now);
    model_leave(model, thread, model->now);
    model->taken[frame] = true;
    model_resume(model, thread, function, frame, model->engine.costs.resume);
    model->seen[RESUMED_OVER]++;
}

/* Resumes a body; sometimes nobody tells, and a line shows it; sometimes another body, which was
 * selected while it was suspended, has the address. */
static void step_resume(struct model *model, struct model_thread *thread)
{
    const struct model_body *top = top_of(thread);

    if (top != NULL && top->line >= 0 && is_generator(model, top->function) && pick(model, 20) == 0) {
        read_rss(model, thread);
        resume_over(model, thread);
        return;
    }
    if (model->suspended_count == 0 || thread->depth == DEPTH)
        return;
    int place = (int)pick(model, (uint64_t)model->suspended_count);
    int frame = model->suspended[place], function = model->suspended_function[place];
    bool untold = pick(model, 6) == 0;
    model->suspended_count--;
    model->suspended[place] = model->suspended[model->suspended_count];
    model->suspended_function[place] = model->suspended_function[model->suspended_count];
    if (pick(model, 6) == 0) { /* gen is 2 and 3 */
        function = 5 - function;
        model->seen[RESUMED_OTHER]++;
    }
    read_rss(model, thread);
    if (untold)
        cr_assert_eq(clp_engine_align(thread->thread, (uint32_t)function, address(frame),
                                      model->now), thread->thread->top);
    else if (pick(model, 2) == 0 || !resume_plainly(model, thread, function, frame))
        clp_engine_resume(thread->thread, (uint32_t)function, address(frame), model->now);
    model_resume(model, thread, function, frame,
                 untold ? (struct clp_cost){0} : model->engine.costs.resume);
}

/* A suspended body is collected: its address is free, its record stays until it is noticed. */
static void step_collect(struct model *model)
{
    if (model->suspended_count > 0)
        model->taken[model->suspended[--model->suspended_count]] = false;
}

/* Of the bodies of this function that have no frame: its depth. */
static int innermost(const struct model_thread *thread, int function)
{
    int depth = thread->depth;

    while (thread->stack[depth - 1].frame != NO_FRAME ||
           thread->stack[depth - 1].function != function)
        depth--;
    return depth;
}

static void step_align(struct model *model, struct model_thread *thread)
{
    if (thread->depth == 0)
        return;
    int depth = 1 + (int)pick(model, (uint64_t)thread->depth);
    const struct model_body *body = &thread->stack[depth - 1];
    if (body->frame == NO_FRAME) /* known by nothing but its function: the innermost is meant */
        depth = innermost(thread, body->function);
    read_rss(model, thread);
    cr_assert_eq(clp_engine_align(thread->thread, (uint32_t)body->function, address(body->frame),
                                  model->now), thread->thread->stack + depth);
    while (thread->depth > depth)
        model_leave(model, thread, model->now);
}

static void step_foreign(struct model *model, struct model_thread *thread)
{
    if (!model->foreign)
        return;
    clp_engine_add_cost(thread->thread, model->engine.costs.foreign);
    pass(model, thread, 0, model->engine.costs.foreign, 0);
}

static void start_thread(struct model *model, struct model_thread *thread)
{
    if (model->read != 0)
        model_change(model);
    model->read = model->resident;
    *thread = (struct model_thread){.last = model->now, .rss = model->resident,
                                    .last_rss = model->resident, .usage = model->resident,
                                    .changes = model->change_count};
    thread->thread = clp_engine_new_thread(&model->engine, model->now, model->resident);
    cr_assert_not_null(thread->thread);
}

/* Its stack is left as it is: what is on it ended at the thread's last event. */
static void end_thread(struct model *model, struct model_thread *thread)
{
    uint64_t last = thread->thread->last + thread->thread->stopped;

    thread->thread->ended = true;
    clp_engine_reap(&model->engine);
    while (thread->depth > 0)
        model_leave(model, thread, last);
    thread->thread = NULL;
}

static void step_somehow(struct model *model, struct model_thread *thread)
{
    switch (pick(model, 21)) {
    case 0: case 1: case 2: step_enter(model, thread); break;
    case 3: step_leave(model, thread); break;
    case 4: step_last_line(model, thread); break;
    case 5: case 6: step_suspend(model, thread); break;
    case 7: case 8: step_resume(model, thread); break;
    case 9: step_foreign(model, thread); break;
    case 11: (pick(model, 2) == 0 ? step_leave : step_last_line)(model, thread); break;
    case 10:
        switch (pick(model, 12)) {
        case 0: step_align(model, thread); break;
        case 1: step_collect(model); break;
        case 2: end_thread(model, thread); break;
        default: break;
        }
        break;
    default: step_line(model, thread); break;
    }
}

static void check_records(const struct model *model)
{
    size_t valid = 0;

    for (int i = 0; i < FRAMES; i++)
        valid += model->records[i].valid;
    cr_assert_eq(model->engine.suspended.count, valid);
}

static void step(struct model *model)
{
    struct model_thread *thread = &model->threads[pick(model, model->deep ? 1 : THREADS)];

    model->now += pick(model, 4) == 0 ? pick(model, 1000) : pick(model, 20);
    if (thread->thread == NULL)
        start_thread(model, thread);
    if (model->deep && pick(model, 2) == 0)
        step_enter(model, thread);
    else
        step_somehow(model, thread);
    check_records(model);
    if (thread->thread != NULL && pick(model, 4) == 0) {
        uint64_t still = pick(model, 50);
        clp_engine_stand_still(thread->thread, still);
        thread->stopped += still;
        model->now += still;
    }
}

static void compare_line(const struct model *model, uint64_t seed, int function, int index)
{
    const struct model_line *line = &model->lines[function][index];
    const struct clp_block *block = model->engine.ended->blocks[function];
    const struct clp_cell *cell = &block->cells[index];
    int64_t correction = (int64_t)clp_cell_self_correction(cell, model->engine.costs.line);
    const struct { const char *name; uint64_t found, expected; } table[] = {
        {"hits", cell->hits, line->hits},
        {"time", clp_cell_time(cell), line->time.ticks},
        {"time correction", (uint64_t)(correction + cell->nested_correction),
         (uint64_t)line->time.correction},
        {"self", cell->self, line->self.ticks},
        {"self correction", (uint64_t)correction, (uint64_t)line->self.correction},
        {"await", cell->await, line->await},
        {"max", (uint64_t)cell->max, model->foreign ? (uint64_t)cell->max : line->max},
        {"usage", cell->usage, line->usage},
        {"open", cell->open, 0},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        cr_assert_eq(table[i].found, table[i].expected, "seed %lu, %d:%d, %s: %lu, expected %lu",
                     seed, function, index, table[i].name, table[i].found, table[i].expected);
    if (block->rss == NULL)
        return;
    cr_assert_eq(block->rss[index].grown, line->grown, "seed %lu", seed);
    cr_assert_eq(block->rss[index].released, line->released, "seed %lu", seed);
    cr_assert_eq(block->rss[index].self_increment, line->self_increment, "seed %lu", seed);
    cr_assert_eq(llabs(block->rss[index].largest), line->largest, "seed %lu", seed);
}

static void compare_function(const struct model *model, uint64_t seed, int function)
{
    const struct clp_thread *ended = model->engine.ended;

    if ((size_t)function >= ended->block_room || ended->blocks[function] == NULL) {
        cr_assert_eq(model->totals[function].ticks, 0, "seed %lu", seed);
        return;
    }
    cr_assert_eq(ended->blocks[function]->running, 0, "seed %lu", seed);
    cr_assert_eq(ended->blocks[function]->total, model->totals[function].ticks, "seed %lu", seed);
    cr_assert_eq(ended->blocks[function]->total_correction, model->totals[function].correction,
                 "seed %lu", seed);
    for (int i = 0; i < LINES; i++)
        compare_line(model, seed, function, i);
}

static void add_functions(struct model *model)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        char name[] = {(char)('a' + i), 0};
        struct clp_function function = {.file = (char[]){"f.py"}, .name = name,
                                        .first_line = 10 * (i + 1), .lowest_line = 10 * (i + 1),
                                        .line_count = LINES, .generator = i >= 2,
                                        .awaits = i == 3};
        uint32_t number;
        cr_assert_eq(clp_functions_add(&model->engine.functions, &function, &number), CLP_OK);
    }
}

/* Up to 20 ticks, or less than nothing. */
static int64_t some(struct model *model)
{
    return (int64_t)pick(model, 6000) - 1000;
}

static struct clp_cost some_cost(struct model *model)
{
    return (struct clp_cost){some(model), some(model)};
}

static void set_up(struct model *model, struct clp_mem *mem, uint64_t seed)
{
    *model = (struct model){.random = seed, .now = 1000, .resident = 4096 * 100000,
                            .deep = seed % 16 == 5, .frames = seed % 10 < 5 ? 4 : FRAMES};
    clp_engine_init(&model->engine, mem, &model->pages);
    add_functions(model);
    model->engine.parts = seed % 3 != 0 ? CLP_PART_MEMORY : 0;
    model->engine.rss_span = seed % 2 == 0 ? 0 : pick(model, 100);
    if (seed % 4 < 2)
        return;
    struct clp_costs costs = {.line = 1 + (int64_t)pick(model, 5000), .enter = some_cost(model),
                              .leave = some_cost(model), .suspend = some_cost(model),
                              .resume = some_cost(model), .foreign = (int64_t)pick(model, 5000),
                              .last_line = some(model), .work = (int64_t)pick(model, 500)};
    clp_engine_set_costs(&model->engine, &costs);
    model->foreign = seed % 8 > 5;
}

static void run_model(uint64_t seed, uint64_t seen[SEEN])
{
    struct test_mem test;
    static struct model model;

    set_up(&model, test_mem_init(&test, 0), seed);
    model.seen = seen;
    for (int steps = (int)(20 + pick(&model, model.deep ? 2000 : 400)); steps > 0; steps--)
        step(&model);
    for (int i = 0; i < THREADS; i++) {
        if (model.threads[i].thread != NULL)
            end_thread(&model, &model.threads[i]);
    }
    if (model.engine.ended != NULL) {
        cr_assert_eq(model.engine.ended->correction, model.correction, "seed %lu", seed);
        cr_assert_eq(model.engine.ended->others_grown, model.grown, "seed %lu", seed);
        cr_assert_eq(model.engine.ended->others_released, model.released, "seed %lu", seed);
        for (int i = 0; i < FUNCTIONS; i++)
            compare_function(&model, seed, i);
    }
    clp_engine_clear(&model.engine);
    cr_assert_eq(model.pages.bytes, 0);
    test_mem_check_empty(&test);
}

Test(engine, agrees_with_the_model)
{
    uint64_t seen[SEEN] = {0};

    for (uint64_t seed = 0; seed < 3000; seed++)
        run_model(seed, seen);
    for (int i = 0; i < SEEN; i++)
        cr_assert_gt(seen[i], 20, "what is numbered %d happened only %lu times", i, seen[i]);
}

/* ---- out of memory ---- */

enum { MANY = 40, DEEP = 150 };

static void add_many_functions(struct clp_engine *engine)
{
    for (int i = 0; i < MANY; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "f%d", i);
        struct clp_function function = {.file = (char[]){"f.py"}, .name = name, .first_line = 1,
                                        .lowest_line = 1, .line_count = 2, .generator = true};
        uint32_t number;
        cr_assert_eq(clp_functions_add(&engine->functions, &function, &number), CLP_OK);
    }
}

/* As a tracer does: an event of a body that is not on top, and cannot be put there, is dropped. */
static void line_in(struct clp_thread *thread, int frame, uint64_t now)
{
    if (thread->top->frame == address(frame) ||
        clp_engine_align(thread, (uint32_t)frame % MANY, address(frame), now) != NULL)
        clp_engine_line(thread, 2, now);
}

static void leave_or_suspend(struct clp_thread *thread, int frame, uint64_t now)
{
    if (thread->top->frame != address(frame))
        return;
    if (frame % 3 == 0)
        clp_engine_suspend(thread, now);
    else
        clp_engine_leave(thread, now);
}

/* Many functions, a deep stack, many suspended bodies: all that asks for memory. */
static void run_deep(struct clp_thread *thread, uint64_t now)
{
    for (int frame = 0; frame < DEEP; frame++) {
        bool was_broken = thread->broken;
        struct clp_activation *top =
            clp_engine_enter(thread, (uint32_t)frame % MANY, address(frame), now++);
        cr_assert(!was_broken || top == NULL, "a broken thread went on recording");
        cr_assert_eq(top == NULL, thread->broken);
        line_in(thread, frame, now++);
    }
    for (int frame = DEEP - 1; frame >= 0; frame--) {
        line_in(thread, frame, now++);
        leave_or_suspend(thread, frame, now++);
    }
    for (int frame = 0; frame < DEEP; frame += 3) {
        clp_engine_resume(thread, (uint32_t)frame % MANY, address(frame), now++);
        line_in(thread, frame, now++);
        leave_or_suspend(thread, frame, now++);
    }
    clp_engine_unwind(thread, now);
}

static uint64_t hits_in(const struct clp_thread *thread)
{
    uint64_t hits = 0;

    for (size_t i = 0; i < thread->block_room; i++)
        hits += thread->blocks[i] == NULL ? 0 : thread->blocks[i]->cells[1].hits;
    return hits;
}

static void check_idle(const struct clp_thread *thread)
{
    cr_assert_eq(thread->top, thread->stack);
    cr_assert_eq(thread->outside.open, 1);
    for (size_t i = 0; i < thread->block_room; i++) {
        if (thread->blocks[i] == NULL)
            continue;
        cr_assert_eq(thread->blocks[i]->running, 0);
        cr_assert_eq(thread->blocks[i]->cells[1].open, 0);
    }
}

/* True when the failure happened; the engine is used with the memory that comes back afterwards. */
static bool run_failing(size_t fail_at)
{
    const uint64_t all = 2 * DEEP + DEEP / 3;
    struct test_mem test;
    struct clp_pages pages = {0};
    struct clp_engine engine;
    struct clp_thread *threads[2];

    clp_engine_init(&engine, test_mem_init(&test, 0), &pages);
    add_many_functions(&engine);
    test.calls = 0;
    test.fail_at = fail_at;
    for (int i = 0; i < 2; i++) {
        threads[i] = clp_engine_new_thread(&engine, 0, 0);
        if (threads[i] == NULL)
            continue;
        run_deep(threads[i], 10);
        check_idle(threads[i]);
        cr_assert_eq(hits_in(threads[i]) == all, !threads[i]->broken, "failure %zu", fail_at);
        threads[i]->ended = true;
    }
    bool lost = engine.lost;
    cr_assert_eq(lost, threads[0] == NULL || threads[1] == NULL || threads[0]->broken ||
                       threads[1]->broken);
    cr_assert(threads[0] == NULL || threads[1] == NULL ||
              !(threads[0]->broken && threads[1]->broken), "one failure broke both threads");
    uint64_t hits = (threads[0] == NULL ? 0 : hits_in(threads[0])) +
                    (threads[1] == NULL ? 0 : hits_in(threads[1]));
    clp_engine_reap(&engine);
    clp_engine_reap(&engine); /* what the first could not merge */
    cr_assert_null(engine.threads);
    cr_assert(engine.ended == NULL ? hits == 0 : hits_in(engine.ended) == hits);
    bool failed = test_mem_failed(&test);
    cr_assert(failed || !lost);
    clp_engine_clear(&engine);
    cr_assert_eq(pages.bytes, 0);
    test_mem_check_empty(&test);
    return failed;
}

Test(engine, out_of_memory_breaks_one_thread_for_good_and_no_other)
{
    size_t fail_at = 1;

    while (run_failing(fail_at))
        fail_at++;
    cr_assert_gt(fail_at, 20, "the program asked for memory %zu times", fail_at - 1);
}

Test(engine, no_pages_is_out_of_memory_too)
{
    struct test_mem test;
    struct clp_pages pages = {0};
    struct clp_engine engine;
    struct rlimit before, none;
    struct clp_function huge = {.file = (char[]){"f.py"}, .name = (char[]){"huge"},
                                .first_line = 1, .lowest_line = 1, .line_count = 1u << 22};
    uint32_t number;

    test_skip_if_emulated();
    clp_engine_init(&engine, test_mem_init(&test, 0), &pages);
    add_many_functions(&engine);
    cr_assert_eq(clp_functions_add(&engine.functions, &huge, &number), CLP_OK);
    struct clp_thread *thread = clp_engine_new_thread(&engine, 0, 0);
    cr_assert_not_null(clp_engine_enter(thread, number - 1, address(0), 1));
    clp_engine_line(thread, 1, 1);
    getrlimit(RLIMIT_AS, &before);
    none = before;
    none.rlim_cur = 1 << 20;
    setrlimit(RLIMIT_AS, &none);
    struct clp_activation *top = clp_engine_enter(thread, number, address(1), 2);
    setrlimit(RLIMIT_AS, &before);
    cr_assert_null(top);
    cr_assert(thread->broken && engine.lost);
    clp_engine_leave(thread, 3);
    cr_assert_eq(thread->blocks[number - 1]->total, 2);
    clp_engine_clear(&engine);
    cr_assert_eq(pages.bytes, 0);
    test_mem_check_empty(&test);
}

/* ---- what costs must not grow with ---- */

Test(engine, a_million_calls_take_no_more_memory_than_one)
{
    struct test_mem test;
    struct clp_pages pages = {0};
    struct clp_engine engine;

    clp_engine_init(&engine, test_mem_init(&test, 0), &pages);
    add_many_functions(&engine);
    struct clp_thread *thread = clp_engine_new_thread(&engine, 0, 0);
    uint64_t now = 1, bytes = 0, mapped = 0;
    for (int i = 0; i < 1000000; i++) {
        clp_engine_enter(thread, 7, address(i % 5), now++);
        clp_engine_line(thread, 2, now++);
        clp_engine_suspend(thread, now++); /* and is collected */
        if (i == 10)
            bytes = engine.mem->bytes, mapped = pages.bytes;
    }
    cr_assert_eq(engine.mem->bytes, bytes);
    cr_assert_eq(pages.bytes, mapped);
    cr_assert_eq(hits_in(thread), 1000000);
    clp_engine_clear(&engine);
    test_mem_check_empty(&test);
}

Test(engine, ten_thousand_threads_leave_one_behind)
{
    struct test_mem test;
    struct clp_pages pages = {0};
    struct clp_engine engine;
    uint64_t bytes = 0, mapped = 0;

    clp_engine_init(&engine, test_mem_init(&test, 0), &pages);
    add_many_functions(&engine);
    for (uint64_t i = 0; i < 10000; i++) {
        struct clp_thread *thread = clp_engine_new_thread(&engine, i, 0);
        clp_engine_enter(thread, (uint32_t)i % MANY, address(0), i);
        clp_engine_line(thread, 2, i);
        clp_engine_end_thread(thread);
        clp_engine_reap(&engine);
        if (i == 100)
            bytes = engine.mem->bytes, mapped = pages.bytes;
    }
    cr_assert_eq(engine.mem->bytes, bytes);
    cr_assert_eq(pages.bytes, mapped);
    cr_assert_eq(hits_in(engine.ended), 10000);
    cr_assert_null(engine.threads);
    clp_engine_clear(&engine);
    cr_assert_eq(pages.bytes, 0);
    test_mem_check_empty(&test);
}

/* ---- threads of the system ---- */

#define WORKERS 8

struct work {
    pthread_mutex_t lock; /* stands for the interpreter's */
    struct clp_engine engine;
};

/* The last thing that a thread does is without the lock. */
static void *record_and_end(void *data)
{
    struct work *work = data;
    struct clp_thread *thread = NULL;

    for (uint64_t i = 0; i < 100; i++) {
        pthread_mutex_lock(&work->lock);
        if (thread == NULL)
            thread = clp_engine_new_thread(&work->engine, 1, 0);
        clp_engine_enter(thread, 0, address(0), 2 * i + 1);
        clp_engine_line(thread, 2, 2 * i + 1);
        clp_engine_leave(thread, 2 * i + 2);
        pthread_mutex_unlock(&work->lock);
    }
    clp_engine_end_thread(thread);
    return NULL;
}

static bool reap(struct work *work)
{
    pthread_mutex_lock(&work->lock);
    clp_engine_reap(&work->engine);
    bool all = work->engine.threads == NULL && work->engine.ended != NULL &&
               hits_in(work->engine.ended) == WORKERS * 100;
    pthread_mutex_unlock(&work->lock);
    return all;
}

/* For `SANITIZER=thread make unit`. */
Test(engine, threads_are_reaped_as_they_end)
{
    struct clp_pages pages = {0};
    struct clp_mem mem = clp_mem_system();
    struct work work = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[WORKERS];

    clp_engine_init(&work.engine, &mem, &pages);
    add_many_functions(&work.engine);
    for (int i = 0; i < WORKERS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, record_and_end, &work), 0);
    while (!reap(&work))
        sched_yield();
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    clp_engine_clear(&work.engine);
}

/* Between its events the thread looks at its stack without the lock, as an allocator's hook does. */
static void *record_and_look(void *data)
{
    struct work *work = data;
    struct clp_thread *thread = NULL;
    uint64_t seen = 0;

    for (uint64_t i = 0; i < 1000; i++) {
        pthread_mutex_lock(&work->lock);
        if (thread == NULL)
            thread = clp_engine_new_thread(&work->engine, 1, 0);
        clp_engine_enter(thread, (uint32_t)i % MANY, address(0), i + 1);
        clp_engine_line(thread, 2, i + 1);
        pthread_mutex_unlock(&work->lock);
        const struct clp_activation *top = clp_engine_top(thread);
        seen += top->cell != &thread->outside && top->block->function < MANY && top->cell->hits != 0;
    }
    clp_engine_end_thread(thread);
    cr_expect_geq(seen, 1, "in a thousand looks there was never a line on top");
    return NULL;
}

static void unwind_all(struct work *work)
{
    pthread_mutex_lock(&work->lock);
    for (struct clp_thread *thread = work->engine.threads; thread != NULL; thread = thread->next)
        clp_engine_unwind(thread, 2000);
    pthread_mutex_unlock(&work->lock);
}

/* For `SANITIZER=thread make unit`. */
Test(engine, others_unwind_a_stack_that_its_thread_looks_at)
{
    struct clp_pages pages = {0};
    struct clp_mem mem = clp_mem_system();
    struct work work = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[WORKERS];

    clp_engine_init(&work.engine, &mem, &pages);
    add_many_functions(&work.engine);
    for (int i = 0; i < WORKERS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, record_and_look, &work), 0);
    for (int i = 0; i < 2000; i++)
        unwind_all(&work);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    unwind_all(&work);
    clp_engine_reap(&work.engine);
    cr_assert_eq(hits_in(work.engine.ended), WORKERS * 1000);
    clp_engine_clear(&work.engine);
}

Test(engine, every_thread_knows_how_quick_a_change_can_be)
{
    struct test_mem test;
    struct clp_pages pages = {0};
    struct clp_engine engine;

    clp_engine_init(&engine, test_mem_init(&test, 0), &pages);
    engine.parts = CLP_PART_MEMORY;
    clp_engine_set_rss_span(&engine, 100);
    const struct clp_thread *old = clp_engine_new_thread(&engine, 0, 0);
    cr_expect(!clp_engine_wants_read(old, 99) && clp_engine_wants_read(old, 100));
    clp_engine_set_rss_span(&engine, 50);
    const struct clp_thread *new = clp_engine_new_thread(&engine, 0, 0);
    cr_expect(!clp_engine_wants_read(old, 49) && clp_engine_wants_read(old, 50));
    cr_expect(!clp_engine_wants_read(new, 49) && clp_engine_wants_read(new, 50));
    clp_engine_clear(&engine);
}

/* A thread that never ran a selected function has no counters, nor has anybody at the start. */
Test(engine, a_collection_in_a_thread_without_counters_is_outside_all_lines)
{
    struct test_mem test;
    struct clp_pages pages = {0};
    struct clp_engine engine;
    struct clp_engine_totals totals;

    clp_engine_init(&engine, test_mem_init(&test, 0), &pages);
    clp_garbage_begin(&engine, NULL, 10);
    clp_garbage_end(&engine, 40);
    clp_engine_sum(&engine, &totals);
    cr_expect(totals.gc_outside.ticks == 30 && totals.gc_outside.runs == 1);
    const struct clp_thread *thread = clp_engine_new_thread(&engine, 50, 0);
    clp_garbage_begin(&engine, NULL, 60);
    clp_garbage_end(&engine, 65);
    cr_expect(thread->gc_outside.ticks == 35 && thread->gc_outside.runs == 2);
    clp_engine_sum(&engine, &totals);
    cr_expect(totals.gc_outside.ticks == 35 && totals.gc_outside.runs == 2);
    clp_engine_clear(&engine);
}
