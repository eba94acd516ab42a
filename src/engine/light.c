/* SPDX-License-Identifier: MIT */
#include "light.h"
#include "event_costs.h"
#include <math.h>

#define WARM 4   /* events before a burst */
#define BURST 32 /* intervals */
#define DENSE_ROWS 4096 /* of a thread's first million events */
#define FAR 100 /* intervals of usual length by which a part of a gap may be longer than 4 times the usual */
#define FEW 8 /* intervals of a line that are timed in any case */
#define LEAST_INTERVALS 1024 /* of gaps, and of bursts, so that they tell how slow the program is in bursts */
#define LEAST_SLOWNESS 0.5
#define MOST_SLOWNESS 4
#define REPAY 64 /* bursts in which they make good what the ones before counted too much or too little */
#define LONG_LINE 2 /* microseconds */
#define LONG_STAY 1000 /* microseconds; the ticker's interval at least */

void clp_light_turn_on(struct clp_engine *engine, const uint64_t *ticker, uint64_t ticks_per_microsecond)
{
    engine->light = (struct clp_light){
        .on = 1,
        .ticker = ticker,
        .rate = CLP_LIGHT_ONE,
        .weight = CLP_LIGHT_WEIGHT * CLP_LIGHT_ONE,
        .rest = INT64_MAX / 2, /* the costs of events are measured meanwhile */
        .long_line = LONG_LINE * ticks_per_microsecond,
        .long_stay = LONG_STAY * ticks_per_microsecond,
    };
    engine->parts |= CLP_PART_LIGHT;
}

void clp_light_begin(struct clp_thread *thread, uint64_t now)
{
    thread->light.read = now;
    thread->light.last = thread->last;
    thread->light.random = now | 1;
    thread->light.sums = (struct clp_light_sums){0}; /* the engine's are of threads that ended, and count apart */
}

/* ---- the thread's own clock ---- */

/* Ticks of the thread's own clock in `piece` ticks since the last reading. Stays of some length count once. */
static uint64_t counted(const struct clp_light *light, uint64_t piece)
{
    if (light->rate == 0) {
        uint64_t others = ((uint64_t)light->left_then - (uint64_t)light->left) * (light->usual / 16);
        uint64_t stay = piece > others ? piece - others : 0;
        return stay >= light->long_stay ? stay : 0;
    }
    return piece >= light->long_stay ? piece : piece * light->rate / CLP_LIGHT_ONE;
}

/* The mean interval in bursts. Ticks. */
static uint64_t burst_mean(const struct clp_light_sums *sums)
{
    return sums->burst_intervals != 0 ? sums->burst_ticks / sums->burst_intervals : 0;
}

/* Leaves out what is far from usual: a few such intervals would outweigh all others. */
static void note_gap(struct clp_light *light, uint64_t piece)
{
    uint64_t intervals = (uint64_t)light->left_then - (uint64_t)light->left;
    uint64_t mean = burst_mean(&light->sums), last = light->usual / 16;

    if (intervals == 0 || piece > (4 * intervals + FAR) * (mean > last ? mean : last))
        return;
    light->sums.gap_parts++;
    light->sums.gap_ticks += piece;
    light->sums.gap_intervals += intervals;
}

/* Leaves out intervals that would be left out in a whole gap, too. */
static void note_burst(struct clp_light *light)
{
    const uint64_t most = 3 * BURST * (CLP_LIGHT_WEIGHT - 1) + FAR;

    if (light->sums.burst_intervals != 0 && light->length > most * burst_mean(&light->sums))
        return;
    light->sums.burst_ticks += light->length;
    light->sums.burst_intervals++;
    light->sums.weighed_ticks += light->length * light->weight / CLP_LIGHT_ONE;
}

void clp_light_settle_light(struct clp_thread *thread, uint64_t now)
{
    struct clp_light *light = &thread->light;
    uint64_t piece = now - light->read;

    if ((int64_t)piece <= 0)
        return;
    if (light->last != thread->last) {
        light->last = thread->last;
        light->length = 0;
    }
    uint64_t own = counted(light, piece);
    if (light->phase == CLP_LIGHT_GAP && light->rate == 0) {
        light->sums.passed += (uint64_t)light->left_then - (uint64_t)light->left;
        if (own == 0)
            note_gap(light, piece);
    }
    light->length += light->rate == 0 ? own : piece;
    thread->stopped += piece - own;
    light->read = now;
    light->left_then = light->left;
}

/* ---- events ---- */

static struct clp_light_cell *cell_of_top(struct clp_thread *thread)
{
    const struct clp_activation *top = thread->top;

    if (top->cell == &thread->outside || top->block->light == NULL)
        return &thread->light.outside;
    return &top->block->light[clp_engine_line_index(top)];
}

/* Notes the interval that ends, whose length is known. */
static void learn(struct clp_thread *thread, struct clp_light *light)
{
    struct clp_light_cell *cell = cell_of_top(thread);

    cell->timed++;
    cell->usual += (uint32_t)light->length - cell->usual / 8;
    if (light->rate == CLP_LIGHT_ONE)
        return;
    cell->sums[light->group] += light->length * light->weight / CLP_LIGHT_ONE;
    light->usual += light->length - light->usual / 16;
    note_burst(light);
}

/* Is the event that reads the clock the last one of a burst? What is done in it disturbs no interval that counts. */
static bool ends_burst(const struct clp_light *light)
{
    return light->phase == CLP_LIGHT_BURST && light->rest == 1;
}

void clp_light_read(struct clp_thread *thread, int64_t step, uint64_t now)
{
    struct clp_light *light = &thread->light;

    light->left += step - 1;
    light->once = step == CLP_LIGHT_ALWAYS;
    light->tick = __atomic_load_n(light->ticker, __ATOMIC_RELAXED);
    clp_light_settle_light(thread, now);
    light->long_enough = light->length >= clp_engine_least_span(thread->engine) || thread->unhooked ||
                         (ends_burst(light) && now >= thread->engine->pace_next);
    light->reads = true;
    if (light->rate != 0 && light->length < light->long_stay)
        learn(thread, light);
}

/* A number from 0 up to and not including `end`. Marsaglia's xorshift, "Xorshift RNGs", 2003. */
static int64_t random_below(struct clp_light *light, uint64_t end)
{
    uint64_t next = light->random;

    next ^= next << 13;
    next ^= next >> 7;
    next ^= next << 17;
    light->random = next;
    return (int64_t)((next >> 32) * end >> 32);
}

/* At how many places of a row a burst may begin, less one. */
static int64_t places_in(uint32_t row)
{
    return BURST * ((int64_t)row - 1) - WARM;
}

/* The burst lies anywhere in a row of as many events as its weight says, at random. Returns how many events lie between
 * it and the last one, whose place is in the row before. */
static int64_t gap(struct clp_light *light)
{
    int64_t behind = light->rows != 0 ? places_in(light->row) - light->place : 0;

    light->row = light->rows < DENSE_ROWS ? CLP_LIGHT_DENSE : CLP_LIGHT_WEIGHT;
    light->rows++;
    light->place = random_below(light, (uint64_t)places_in(light->row) + 1);
    return behind + light->place;
}

/* ---- how slow the program is in bursts ---- */

static void add_sums(struct clp_light_sums *into, const struct clp_light_sums *from)
{
    into->gap_ticks += from->gap_ticks;
    into->gap_intervals += from->gap_intervals;
    into->burst_ticks += from->burst_ticks;
    into->burst_intervals += from->burst_intervals;
    into->gap_parts += from->gap_parts;
    clp_engine_add_total(&into->reading, from->reading);
    clp_engine_add_total(&into->still, from->still);
}

void clp_light_keep_sums(struct clp_engine *engine, const struct clp_thread *thread)
{
    add_sums(&engine->light.sums, &thread->light.sums);
}

/* Sets what the program's work takes in an interval of a burst, and of a gap, on average. Ticks. An interval of a burst
 * lasts as long as the work and an event that reads the clock, as far as it does so outside its readings. One of a gap
 * lasts as long as the work and an event that reads none, but for the last one of each part, at whose end the clock is
 * read. False: not known, or the events cost so much that nothing is left for the work. */
static bool find_work(const struct clp_thread *thread, double *slow, double *work)
{
    const struct clp_costs *costs = &thread->engine->costs;
    struct clp_light_sums all = thread->light.sums;

    add_sums(&all, &thread->engine->light.sums);
    if (all.burst_intervals < LEAST_INTERVALS || all.gap_intervals < all.gap_parts + LEAST_INTERVALS)
        return false;
    double bursts = (double)all.burst_intervals, gaps = (double)all.gap_intervals;
    double reading = clp_costs_ticks(costs, (double)all.reading) / bursts;
    double still = clp_costs_ticks(costs, (double)all.still) / bursts;
    double parts = (double)all.gap_parts / gaps;
    *slow = (double)all.burst_ticks / bursts - reading;
    *work = (double)all.gap_ticks / gaps - still * (1 - parts) - reading * parts;
    return *work > 0;
}

/* Ticks of the program's work that the thread's bursts have left out so far; negative: they have counted too much. */
static double missing(const struct clp_thread *thread, double work)
{
    const struct clp_light_sums *sums = &thread->light.sums;
    double intervals = (double)sums->passed + (double)sums->burst_intervals * (1 + (double)WARM / BURST);

    return intervals * work - (double)sums->weighed_ticks +
           clp_costs_ticks(&thread->engine->costs, (double)sums->weighed_reading);
}

/* How often the times of the next burst count: as often as intervals pass for each of its own, and less, because the
 * program is slower there. A little more or less makes good what the bursts before left out, so that the sum of all is the
 * time that was measured in gaps. */
static double next_weight(const struct clp_thread *thread)
{
    double row = thread->light.row, slow, work;

    if (!find_work(thread, &slow, &work))
        return row;
    slow = fmin(fmax(slow, LEAST_SLOWNESS * work), MOST_SLOWNESS * work);
    double usual = row * work / slow;
    double repaid = usual + missing(thread, work) / (REPAY * BURST * slow);
    return fmin(fmax(repaid, usual / 2), usual * 2);
}

/* ---- phases ---- */

static void begin_phase(struct clp_light *light, enum clp_light_phase phase, int64_t events)
{
    light->phase = (uint8_t)phase;
    light->rest = events;
}

static void next_phase(struct clp_thread *thread, struct clp_light *light)
{
    switch ((enum clp_light_phase)light->phase) {
    case CLP_LIGHT_GAP:
        begin_phase(light, CLP_LIGHT_WARM, WARM);
        break;
    case CLP_LIGHT_WARM:
        light->group = (uint8_t)((light->group + 1) % CLP_LIGHT_GROUPS);
        light->weight = (uint32_t)(next_weight(thread) * CLP_LIGHT_ONE);
        begin_phase(light, CLP_LIGHT_BURST, BURST);
        break;
    default:
        begin_phase(light, CLP_LIGHT_GAP, gap(light));
    }
}

static bool times_always(struct clp_thread *thread)
{
    const struct clp_light_cell *cell = cell_of_top(thread);

    return cell->timed < FEW || cell->usual / 8 >= thread->light.long_line;
}

int64_t clp_light_go_on(struct clp_thread *thread, enum clp_light_kind kind)
{
    struct clp_light *light = &thread->light;
    bool once = light->once;

    light->wants = light->once = light->reads = false;
    light->length = 0; /* also where nobody counted the event, so that no interval ended */
    light->rest -= light->set - light->left;
    while (light->rest <= 0)
        next_phase(thread, light);
    uint32_t rate = once || light->phase == CLP_LIGHT_FIRST ? CLP_LIGHT_ONE
                    : light->phase == CLP_LIGHT_BURST       ? light->weight
                                                            : 0;
    light->left = light->set = rate == 0 && light->phase == CLP_LIGHT_GAP ? light->rest - 1 : 0;
    light->left_then = light->left;
    if (rate != light->rate)
        clp_engine_set_rate(thread, rate);
    if (rate != 0 && (kind == CLP_LIGHT_LINE || kind == CLP_LIGHT_ENTER))
        clp_engine_add_cost(thread, light->line_cost * rate / CLP_LIGHT_ONE);
    if (!once && light->phase == CLP_LIGHT_BURST) {
        light->sums.reading += thread->engine->light.costs.reading[kind];
        light->sums.still += thread->engine->light.costs.still[kind];
        light->sums.weighed_reading += thread->engine->light.costs.reading[kind] * light->weight / CLP_LIGHT_ONE;
    }
    if (!once && (light->phase == CLP_LIGHT_WARM || light->phase == CLP_LIGHT_BURST))
        return 1; /* else visits in bursts would count once, and those in gaps that they stand for not at all */
    return times_always(thread) ? CLP_LIGHT_ALWAYS : 1;
}

void clp_light_read_next(struct clp_thread *thread)
{
    struct clp_light *light = &thread->light;

    light->rest -= light->set - light->left;
    light->left_then -= light->left;
    light->left = light->set = 0;
}

void clp_light_time_rest(struct clp_thread *thread, uint64_t now)
{
    struct clp_light *light = &thread->light;

    if (!light->on)
        return;
    if (light->reads) {
        clp_light_end_event(thread, now);
    } else {
        clp_light_settle_light(thread, now);
        if (light->rate != 0 && light->length < light->long_stay)
            learn(thread, light);
    }
    clp_light_read_next(thread);
    light->once = true;
    clp_engine_set_rate(thread, CLP_LIGHT_ONE);
}

void clp_light_count_rest_once(struct clp_thread *copy)
{
    if (copy->light.on && copy->light.rate > CLP_LIGHT_ONE)
        clp_engine_set_rate(copy, CLP_LIGHT_ONE);
}

/* ---- events that read no clock ---- */

void clp_light_stay_in_gap(struct clp_thread *thread)
{
    thread->light.phase = CLP_LIGHT_GAP;
    thread->light.rest = thread->light.left = thread->light.set = INT64_MAX / 4;
    clp_engine_set_rate(thread, 0);
}

/* ---- errors ---- */

/* The groups are independent samples of equal size, so they tell the variance of their sum. */
double clp_light_error(const struct clp_light_cell *cell)
{
    double mean = 0, squares = 0;

    for (int i = 0; i < CLP_LIGHT_GROUPS; i++)
        mean += (double)cell->sums[i] / CLP_LIGHT_GROUPS;
    for (int i = 0; i < CLP_LIGHT_GROUPS; i++)
        squares += ((double)cell->sums[i] - mean) * ((double)cell->sums[i] - mean);
    return sqrt(squares * CLP_LIGHT_GROUPS / (CLP_LIGHT_GROUPS - 1));
}
