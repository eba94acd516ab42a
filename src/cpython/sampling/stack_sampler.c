/* SPDX-License-Identifier: MIT */
#include "stack_sampler.h"
#include "base/random.h"
#include <math.h>
#include <pthread.h>
#include <string.h>

/* Seconds from one sample to the next, on average: a ten-thousandth of the time that the sampler has run. */
#define SHARE 1e-4
#define SHORTEST 1e-3
#define LONGEST 20e-3
/* How much of a processor samples may take: one that the program needs itself, or one of several. */
#define MOST_COST_ALONE 0.01
#define MOST_COST 0.05
/* At least and at most so many times the average */
#define LEAST 0.5
#define MOST 1.5
#define COSTED 16 /* samples, of which the cost is known together */
#define TRIES 3
/* For what has called a function: where another sample has told that, and where none has. */
#define LOOKS 2
#define FIRST_LOOKS 20
#define NEARLY_ALL 0.9 /* of the time since the last sample */
#define MOST_THREADS 10000 /* in the list, which may be damaged when it is read */

struct clp_sampler_room {
    struct clp_stack_reader reader;
    struct clp_sampled_line lines[CLP_STACK_MOST], again[CLP_STACK_MOST];
    struct clp_sampled_thread threads[CLP_SAMPLED_THREADS];
};

/* Is global because the handler of a fork takes no argument, and cannot be unregistered. */
static struct clp_stack_sampler *forked;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- a sample of one thread; in the helper ---- */

/* What is known of the thread; anew if nothing is. */
static struct clp_sampled_thread *known_thread(struct clp_stack_sampler *sampler, const struct clp_raw_thread *raw)
{
    struct clp_sampled_thread *known = &sampler->room->threads[raw->id % CLP_SAMPLED_THREADS];

    if (known->id != raw->id)
        *known = (struct clp_sampled_thread){.id = raw->id, .at = sampler->last, .used = UINT64_MAX};
    return known;
}

/* Finds the lines of selected functions on the stack that was read, into `lines`. A frame that does not fit is left out; then
 * the result is false. */
static bool find_lines(struct clp_stack_sampler *sampler, struct clp_sampled_line *lines, struct clp_sampled_stack *found)
{
    const struct clp_stack *stack = &sampler->room->reader.stack;
    bool fit = true;

    *found = (struct clp_sampled_stack){.lines = lines};
    for (size_t i = 0; i < stack->count; i++) {
        enum clp_sampled_place place =
            clp_sampled_codes_find(&sampler->codes, &stack->frames[i], &lines[found->count]);
        found->doubtful |= place == CLP_SAMPLED_LINE && i == 0 && stack->doubtful;
        found->left += place == CLP_SAMPLED_LINE && i < stack->left;
        found->count += place == CLP_SAMPLED_LINE;
        fit &= place != CLP_SAMPLED_WRONG;
    }
    return fit;
}

/* Reads the stack, and finds the lines of selected functions on it. False: it cannot be read this time. */
static bool read_lines(struct clp_stack_sampler *sampler, const struct clp_raw_thread *raw, struct clp_stack_hint *hint,
                       struct clp_sampled_stack *found)
{
    bool whole = false, fit = false;

    for (int tries = 0; tries < TRIES && !fit; tries++) {
        if (!clp_stack_reader_read(&sampler->room->reader, raw, hint))
            continue;
        fit = find_lines(sampler, sampler->room->lines, found);
        whole = true;
    }
    return whole;
}

/* Where the innermost function was left meanwhile, looks whether it runs again, and where that is certain takes what has
 * called it now. A loop of short calls may be in step with what passes between the reads of one look, so that no sample
 * would ever tell. */
static void look_again(struct clp_stack_sampler *sampler, const struct clp_raw_thread *raw, struct clp_stack_hint *hint,
                       struct clp_sampled_stack *found)
{
    struct clp_sampled_line *again = sampler->room->again;
    struct clp_sampled_stack now;
    bool known = found->count == 0 || clp_stack_samples_know(&sampler->samples, found->lines[0].function);

    for (int i = 0; i < (known ? LOOKS : FIRST_LOOKS) && found->count != 0 && (found->left != 0 || found->doubtful); i++) {
        if (!clp_stack_reader_read(&sampler->room->reader, raw, hint) || !find_lines(sampler, again, &now) ||
            now.count == 0 || now.left != 0 || now.doubtful || again[0].function != found->lines[0].function)
            continue;
        again[0] = found->lines[0];
        *found = now;
    }
}

/* A thread that has the interpreter's lock runs. Another one runs C code if its processor time has gone on while its stack
 * was read. That cannot be seen where this helper has taken its processor; so who used nearly all of the time runs, too. */
static enum clp_sampled_state state_of(const struct clp_stack_sampler *sampler, const struct clp_raw_thread *raw,
                                       const struct clp_sampled_thread *known, uint64_t used, uint64_t ticks)
{
    bool used_all = known->used != UINT64_MAX &&
                    (double)(used - known->used) >= NEARLY_ALL * (double)ticks * sampler->clock->rough_nanos;

    if (raw->holds_lock || used_all || clp_thread_cpu_nanos_of((int)raw->number) != used)
        return CLP_SAMPLED_RUNS;
    return used != 0 && known->used == used ? CLP_SAMPLED_STILL : CLP_SAMPLED_WAITS;
}

static void sample_thread(struct clp_stack_sampler *sampler, const struct clp_raw_thread *raw, uint64_t now)
{
    struct clp_sampled_thread *known = known_thread(sampler, raw);
    uint64_t used = clp_thread_cpu_nanos_of((int)raw->number);
    struct clp_sampled_stack found;

    if (known->idle == sampler->changes && !raw->holds_lock && used != 0 && known->used == used) {
        known->at = now; /* it has not run since, so it is where it was */
        return;
    }
    if (!read_lines(sampler, raw, &known->hint, &found)) { /* the next sample counts for this one, too */
        sampler->dropped++;
        return;
    }
    look_again(sampler, raw, &known->hint, &found);
    if (found.count != 0) {
        uint64_t weight = now - known->at;
        clp_stack_samples_add(&sampler->samples, &found, weight, state_of(sampler, raw, known, used, weight));
        sampler->taken++;
    }
    known->idle = found.count == 0 ? sampler->changes : 0;
    known->at = now;
    known->used = used;
}

/* ---- a sample of all threads; in the helper ---- */

static void sample_threads(struct clp_stack_sampler *sampler, uint64_t now)
{
    struct clp_stack_reader *reader = &sampler->room->reader;
    const PyThreadState *state = clp_raw_first_thread(reader->interpreter), *before = NULL;
    struct clp_raw_thread raw;

    for (int i = 0; i < MOST_THREADS && state != NULL; i++) {
        if (!clp_stack_reader_thread(reader, state, before, &raw))
            return;
        sample_thread(sampler, &raw, now);
        before = state;
        state = raw.next;
    }
}

/* Chooses when to take the next sample. No loop of the program can run in step with the samples, because what lies between
 * them is random. */
static void set_interval(struct clp_stack_sampler *sampler)
{
    double usual = fmin(fmax(sampler->run * SHARE, SHORTEST), LONGEST);

    usual = fmax(usual, sampler->cost / sampler->most_cost);
    sampler->helper.interval = usual * (LEAST + (MOST - LEAST) * clp_random_uniform(&sampler->random));
    sampler->run += sampler->helper.interval;
}

/* Asking for it at each sample would make up a good part of it. */
static void note_cost(struct clp_stack_sampler *sampler)
{
    if (sampler->looks++ % COSTED != 0)
        return;
    uint64_t own = clp_thread_cpu_nanos();
    if (sampler->own != 0)
        sampler->cost = (double)(own - sampler->own) * 1e-9 / COSTED;
    sampler->own = own;
}

static void sample(void *data)
{
    struct clp_stack_sampler *sampler = data;
    uint64_t now = clp_clock_read(sampler->clock);

    sample_threads(sampler, now);
    sampler->last = now;
    note_cost(sampler);
    set_interval(sampler);
}

/* ---- starting and stopping ---- */

static void before_fork(void)
{
    if (forked != NULL)
        clp_helper_stop(&forked->helper);
}

static int start_again(void *nothing)
{
    (void)nothing;
    if (forked != NULL && forked->wanted)
        (void)clp_stack_sampler_start(forked);
    return 0;
}

/* Python warns of a fork when there are other threads at its end, so the helper starts a little later. */
static void in_parent(void)
{
    if (forked != NULL && forked->wanted)
        (void)Py_AddPendingCall(start_again, NULL);
}

static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, in_parent, NULL);
}

void clp_stack_sampler_init(struct clp_stack_sampler *sampler, struct clp_engine *engine, struct clp_pages *pages,
                            const struct clp_clock *clock)
{
    *sampler = (struct clp_stack_sampler){.engine = engine, .clock = clock, .changes = 1};
    sampler->helper.work = sample;
    sampler->helper.data = sampler;
    sampler->helper.pages = pages;
    sampler->helper.own_files = true;
    sampler->helper.punctual = true;
    clp_sampled_codes_init(&sampler->codes, engine->mem);
    clp_stack_samples_init(&sampler->samples, engine);
}

/* What is known of threads is forgotten: the time until now is in no sample. */
static void begin(struct clp_stack_sampler *sampler)
{
    memset(sampler->room->threads, 0, sizeof sampler->room->threads);
    sampler->last = clp_clock_read(sampler->clock);
    sampler->own = sampler->looks = 0;
    sampler->most_cost = clp_thread_processors() > 1 ? MOST_COST : MOST_COST_ALONE;
    sampler->random = sampler->random != 0 ? sampler->random : sampler->last | 1;
    set_interval(sampler);
}

static const char *start(struct clp_stack_sampler *sampler)
{
    if (sampler->room == NULL)
        sampler->room = clp_pages_map(sampler->helper.pages, sizeof *sampler->room, &sampler->room_bytes);
    if (sampler->room == NULL)
        return "there is no memory to read stacks with";
    const char *reason = clp_stack_reader_begin(&sampler->room->reader);
    if (reason != NULL)
        return reason;
    begin(sampler);
    pthread_once(&once, watch_forks);
    forked = sampler;
    return clp_helper_start(&sampler->helper) == 0 ? NULL : "the system gives no thread to read stacks in";
}

const char *clp_stack_sampler_start(struct clp_stack_sampler *sampler)
{
    if (sampler->helper.running)
        return NULL;
    sampler->reason = start(sampler);
    sampler->wanted = sampler->reason == NULL;
    return sampler->reason;
}

void clp_stack_sampler_stop(struct clp_stack_sampler *sampler)
{
    sampler->wanted = false;
    clp_helper_stop(&sampler->helper);
}

void clp_stack_sampler_after_fork(struct clp_stack_sampler *sampler)
{
    if (sampler->wanted)
        (void)clp_stack_sampler_start(sampler);
}

void clp_stack_sampler_clear(struct clp_stack_sampler *sampler)
{
    if (sampler->engine == NULL)
        return;
    clp_stack_sampler_stop(sampler);
    if (forked == sampler)
        forked = NULL;
    clp_helper_clear(&sampler->helper);
    if (sampler->room != NULL)
        clp_pages_unmap(sampler->helper.pages, sampler->room, sampler->room_bytes);
    clp_sampled_codes_clear(&sampler->codes);
    clp_stack_samples_clear(&sampler->samples);
    *sampler = (struct clp_stack_sampler){0};
}

/* ---- selected code, and what was sampled ---- */

static bool fit(const struct clp_engine *engine, uint32_t function, const uint32_t *cells, uint32_t units)
{
    if (function >= engine->functions.count)
        return false;
    for (uint32_t i = 0; i < units; i++)
        if (cells[i] != CLP_NO_CELL && cells[i] >= engine->functions.items[function].line_count)
            return false;
    return true;
}

bool clp_sampled_code_add(struct clp_stack_sampler *sampler, const void *code, uint32_t function,
                          const uint32_t *cell_of_unit, uint32_t units)
{
    clp_helper_hold(&sampler->helper);
    bool added = fit(sampler->engine, function, cell_of_unit, units) &&
                 clp_stack_samples_make(&sampler->samples, function) == CLP_OK &&
                 clp_sampled_codes_add(&sampler->codes, code, function, cell_of_unit, units);
    sampler->changes++;
    clp_helper_release(&sampler->helper);
    return added;
}

void clp_sampled_code_remove(struct clp_stack_sampler *sampler, const void *code)
{
    clp_helper_hold(&sampler->helper);
    clp_sampled_codes_remove(&sampler->codes, code);
    clp_helper_release(&sampler->helper);
}

void clp_stack_sampler_settle(struct clp_stack_sampler *sampler, struct clp_thread *thread)
{
    clp_helper_hold(&sampler->helper);
    clp_stack_samples_settle(&sampler->samples, thread);
    clp_helper_release(&sampler->helper);
}
