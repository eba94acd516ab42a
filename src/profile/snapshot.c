/* SPDX-License-Identifier: MIT */
#include "snapshot.h"
#include "base/buf.h"
#include "engine/charges.h"
#include "callees.h"
#include "missed.h"
#include "named.h"
#include "snapshot_calls.h"
#include <math.h>
#include <string.h>

/* In 19 of 20 lines the error is below so many standard errors. */
#define LIGHT_ERRORS 2

/* Limits a number to 0 .. UINT64_MAX: a damaged live file may hold any. */
static uint64_t limited(double number)
{
    if (!(number > 0))
        return 0;
    return number + 0.5 < 0x1p64 ? (uint64_t)(number + 0.5) : UINT64_MAX;
}

static uint64_t nanos(double ticks, double nanos_per_tick)
{
    return limited(ticks * nanos_per_tick);
}

/* Turns ticks into nanoseconds, but never turns a positive time into 0. */
static uint64_t nanos_at_least_1(double ticks, double nanos_per_tick)
{
    uint64_t rounded = nanos(ticks, nanos_per_tick);

    return rounded == 0 && ticks > 0 ? 1 : rounded;
}

/* Limits the longest execution to at most the line's time and at least its average execution. The longest execution
 * had an average cost subtracted, not the cost that the whole line was charged in the end, so it may lie outside. */
static uint64_t within_time(uint64_t max, uint64_t time, uint64_t hits)
{
    uint64_t least = hits != 0 && time != 0 ? (time - 1) / hits + 1 : 0;

    if (max > time)
        return time;
    return max < least ? least : max;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t not_negative(int64_t value)
{
    return value > 0 ? (uint64_t)value : 0;
}

/* Splits the self time of *measures, which is known already, as the collections in it are. */
static void set_cpu(const struct clp_cpu_cell *cell, double nanos_per_tick, struct clp_measures *measures)
{
    measures->wait = smaller(nanos((double)cell->wait, nanos_per_tick), measures->self);
    measures->queue = smaller(nanos((double)cell->queue, nanos_per_tick), measures->wait);
    measures->cpu = measures->self - measures->wait;
    measures->gc_wait = smaller(nanos((double)cell->gc_wait, nanos_per_tick), smaller(measures->wait, measures->gc));
    measures->gc_queue = smaller(nanos((double)cell->gc_queue, nanos_per_tick),
                                 smaller(measures->queue, measures->gc_wait));
}

#define CLP_SET_DEVICE(n, tensors)                                            \
    do {                                                                      \
        measures->device##n##_allocated = (tensors).allocated;                \
        measures->device##n##_freed = (tensors).freed;                        \
        measures->device##n##_net = (int64_t)((tensors).allocated - (tensors).freed); \
        measures->device##n##_peak = (tensors).peak;                          \
        measures->device##n##_reserved = (tensors).reserved;                  \
    } while (0)

static void set_devices(const struct clp_device_cell *cell, struct clp_measures *measures)
{
    CLP_SET_DEVICE(1, cell->tensors[0]);
    CLP_SET_DEVICE(2, cell->tensors[1]);
    CLP_SET_DEVICE(3, cell->tensors[2]);
    CLP_SET_DEVICE(4, cell->tensors[3]);
    measures->device_time = cell->time;
    measures->device_wait = cell->wait;
    measures->launches = cell->launches;
}

static void set_tallies(const struct clp_tally_cell *cell, uint32_t sources, struct clp_measures *measures)
{
    if (sources & CLP_TALLY_SOURCE_IO) {
        measures->read = not_negative(cell->sums[CLP_TALLY_READ]);
        measures->written = not_negative(cell->sums[CLP_TALLY_WRITTEN]);
        measures->disk_read = not_negative(cell->sums[CLP_TALLY_DISK_READ]);
        measures->disk_written = not_negative(cell->sums[CLP_TALLY_DISK_WRITTEN]);
    }
    if (sources & CLP_TALLY_SOURCE_FAULTS) {
        measures->faults = not_negative(cell->sums[CLP_TALLY_FAULTS]);
        measures->major_faults = not_negative(cell->sums[CLP_TALLY_MAJOR_FAULTS]);
    }
    if (sources & CLP_TALLY_SOURCE_SWITCHES) {
        measures->switches = not_negative(cell->sums[CLP_TALLY_SWITCHES]);
        measures->preemptions = not_negative(cell->sums[CLP_TALLY_PREEMPTIONS]);
    }
    const int64_t *counters = cell->sums + CLP_TALLY_COUNTER;
    measures->counter1 = counters[0];
    measures->counter2 = counters[1];
    measures->counter3 = counters[2];
    measures->counter4 = counters[3];
    measures->counter1_most = not_negative(cell->most[0]);
    measures->counter2_most = not_negative(cell->most[1]);
    measures->counter3_most = not_negative(cell->most[2]);
    measures->counter4_most = not_negative(cell->most[3]);
}

/* Sets which parts of the self time of *measures, which is known already, passed in what the line calls. */
static void set_called(const struct clp_called_cell *cell, double nanos_per_tick, struct clp_measures *measures)
{
    double one = nanos_per_tick / CLP_CORRECTION_ONE;

    measures->native_time = smaller(nanos((double)cell->time[CLP_CALLED_NATIVE], one), measures->self);
    measures->library = smaller(nanos((double)cell->time[CLP_CALLED_LIBRARY], one),
                                measures->self - measures->native_time);
}

static struct clp_measures measures_of(const struct clp_charges *charges,
                                       const struct clp_block *block, uint32_t line,
                                       const struct clp_snapshot_wish *wish)
{
    double nanos_per_tick = wish->nanos_per_tick;
    const struct clp_cell *cell = &block->cells[line];
    const struct clp_gc_cell *gc = &clp_block_gc(block)[line];
    double self = clp_charges_self(charges, block, line);
    struct clp_measures measures = {
        .hits = cell->hits,
        .time = nanos_at_least_1(self + clp_charges_nested(charges, cell), nanos_per_tick),
        .raw_time = nanos((double)clp_cell_time(cell), nanos_per_tick),
        .self = nanos_at_least_1(self, nanos_per_tick),
        .raw_self = nanos((double)cell->self, nanos_per_tick),
        .await = nanos((double)cell->await, nanos_per_tick),
        .max = nanos((double)cell->max, nanos_per_tick),
        .gc = nanos((double)gc->ticks, nanos_per_tick),
        .gc_runs = gc->runs,
        .rss = (uint64_t)cell->usage * CLP_USAGE_UNIT,
    };

    measures.max = within_time(measures.max, measures.time, measures.hits);
    if (measures.gc > measures.self) /* the profiler's own work in a collection is in no time */
        measures.gc = measures.self;
    if (block->light != NULL)
        measures.error = nanos(LIGHT_ERRORS * sqrt(block->light[line].squares), nanos_per_tick);
    if (wish->cpu)
        set_cpu(&clp_block_cpu(block)[line], nanos_per_tick, &measures);
    if (block->rss != NULL) {
        const struct clp_rss_cell *rss = &block->rss[line];
        measures.grown = (uint64_t)rss->grown;
        measures.released = (uint64_t)rss->released;
        measures.self_increment = rss->self_increment;
        measures.largest = rss->largest;
    }
    if (block->heap != NULL) {
        measures.allocated = block->heap[line].allocated;
        measures.blocks = block->heap[line].blocks;
    }
    if (block->devices != NULL)
        set_devices(&block->devices[line], &measures);
    if (block->tallies != NULL)
        set_tallies(&block->tallies[line], wish->tallies, &measures);
    if (wish->called && block->called != NULL)
        set_called(&block->called[line], nanos_per_tick, &measures);
    return measures;
}

static bool has_run(const struct clp_cell *cell)
{
    return cell->hits != 0 || cell->self != 0 || cell->await != 0 || cell->nested != 0;
}

/* Nanoseconds of a function's lines. */
struct times {
    uint64_t time, self; /* sums over all lines */
    uint64_t longest;    /* the largest time of a line */
};

/* Computes the total of a function: the sum of its lines' times, less what recursion counts twice in that
 * sum, plus what no line has (clp_charges_overlap). The total is at least the sum of the self times, and at
 * least the time of the longest line. */
static uint64_t total_of(const struct clp_charges *charges, const struct clp_block *sum,
                         const struct times *lines, double nanos_per_tick)
{
    double overlap = clp_charges_overlap(charges, sum);
    uint64_t more = nanos(-overlap, nanos_per_tick), less = nanos(overlap, nanos_per_tick);
    uint64_t least = lines->self > lines->longest ? lines->self : lines->longest;

    return lines->time + more > least + less ? lines->time + more - less : least;
}

/* May the line of this cell begin? False also where the instructions are not known. */
static bool may_begin(const struct clp_function *function, uint32_t cell)
{
    return function->instructions != NULL && cell < function->line_count && function->instructions[cell] != 0;
}

/* Adds the callees of most time of one kind, as far as they took anything of the line's time. */
static clp_status add_callees(const struct clp_engine *engine, const struct clp_called_name *names,
                              struct clp_profile_callee callee, double nanos_per_tick, struct clp_profile *profile,
                              struct clp_profile_function *into)
{
    uint64_t most = callee.time;
    clp_status status = CLP_OK;

    for (int i = 0; i < CLP_CALLED_NAMES && status == CLP_OK; i++) {
        const char *name = clp_callee_names_get(&engine->callee_names, names[i].name);
        callee.time = smaller(nanos((double)names[i].time, nanos_per_tick / CLP_CORRECTION_ONE), most);
        callee.name = (char *)(uintptr_t)name; /* is copied */
        if (name != NULL && callee.time != 0)
            status = clp_callees_add(profile, into, &callee);
    }
    return status;
}

static clp_status add_called(const struct clp_engine *engine, const struct clp_called_cell *cell, int32_t line,
                             const struct clp_measures *measures, double nanos_per_tick,
                             struct clp_profile *profile, struct clp_profile_function *into)
{
    clp_status status = add_callees(engine, cell->names[CLP_CALLED_NATIVE],
                                    (struct clp_profile_callee){.line = line, .time = measures->native_time},
                                    nanos_per_tick, profile, into);

    if (status != CLP_OK)
        return status;
    return add_callees(engine, cell->names[CLP_CALLED_LIBRARY],
                       (struct clp_profile_callee){.line = line, .library = true, .time = measures->library},
                       nanos_per_tick, profile, into);
}

static clp_status add_lines(const struct clp_engine *engine, const struct clp_block *sum,
                            const struct clp_snapshot_wish *wish, struct clp_profile *profile,
                            struct clp_profile_function *into)
{
    const struct clp_function *function = &engine->functions.items[sum->function];
    const struct clp_charges charges = clp_charges_of(sum, &engine->costs, function);
    struct times lines = {0};
    clp_status status = CLP_OK;

    for (uint32_t i = 0; i < sum->line_count && status == CLP_OK; i++) {
        const struct clp_cell *cell = &sum->cells[i];
        int32_t line = function->lines[i];
        if (!has_run(cell)) {
            status = may_begin(function, i) ? clp_missed_add(profile, into, line) : CLP_OK;
            continue;
        }
        struct clp_measures measures = measures_of(&charges, sum, i, wish);
        status = clp_profile_add_line(profile, into, line, &measures);
        if (status == CLP_OK && wish->called && sum->called != NULL)
            status = add_called(engine, &sum->called[i], line, &measures, wish->nanos_per_tick, profile, into);
        profile->meta.events += cell->hits;
        lines.time += measures.time;
        lines.self += measures.self;
        if (measures.time > lines.longest)
            lines.longest = measures.time;
    }
    clp_missed_drop_lines(into); /* another function of this name, file and line may have run them */
    into->total += total_of(&charges, sum, &lines, wish->nanos_per_tick);
    into->raw_total += nanos((double)sum->total, wish->nanos_per_tick);
    return status;
}

clp_status clp_snapshot_function(const struct clp_function *function, const char *group,
                                 struct clp_profile *profile, struct clp_profile_function **into)
{
    struct clp_buf name;
    clp_status status = CLP_NO_MEMORY;

    clp_buf_init(&name, profile->mem);
    clp_buf_add_text(&name, function->name);
    if (group != NULL)
        clp_buf_add_format(&name, " [%s]", group);
    if (!name.failed)
        status = clp_profile_add_version(profile, function->file, clp_buf_text(&name),
                                         function->first_line, function->text, into);
    clp_buf_clear(&name);
    return status;
}

/* The arguments of clp_snapshot_take_view. */
struct request {
    const struct clp_view *view;
    const struct clp_engine_copy *copy;
    const struct clp_snapshot_wish *wish;
    struct clp_snapshot_places *places; /* of the functions so far */
};

static clp_status note_place(const struct request *request, const struct clp_engine_copy *copy,
                             const struct clp_block *sum, size_t place)
{
    return clp_snapshot_note_place(
        request->places, &(struct clp_snapshot_place){
                             .function = sum->function,
                             .grouped = copy->group != NULL,
                             .group = copy->group != NULL ? *copy->group : 0,
                             .place = (uint32_t)place,
                             .raw = sum->total,
                             .ticks = (double)sum->total -
                                      clp_costs_ticks(&copy->from->costs, (double)sum->total_correction),
                         });
}

/* Adds the item's function with the counters `sum`, and frees `sum`. With `sum` NULL it returns CLP_NO_MEMORY. */
static clp_status add_function(const struct request *request, const struct clp_view_item *item,
                               const struct clp_engine_copy *copy, struct clp_block *sum,
                               struct clp_profile *profile)
{
    const struct clp_engine *engine = copy->from;
    struct clp_profile_function *into;

    if (sum == NULL)
        return CLP_NO_MEMORY;
    clp_status status =
        clp_snapshot_function(&engine->functions.items[sum->function],
                              copy->group != NULL
                                  ? clp_groups_name(&engine->groups, *copy->group)
                                  : NULL,
                              profile, &into);
    if (status == CLP_OK)
        status = clp_profile_set_text(profile, &into->compiler,
                                      engine->functions.items[sum->function].compiler);
    if (status == CLP_OK && copy->group == NULL)
        into->compiled = clp_view_compiled(request->view, item);
    if (status == CLP_OK)
        status = add_lines(engine, sum, request->wish, profile, into);
    if (status == CLP_OK)
        status = note_place(request, copy, sum, (size_t)(into - profile->functions));
    clp_block_free(&request->view->views->pool, sum);
    return status;
}

static void fill_meta(const struct clp_engine_totals *totals, const struct clp_costs *costs,
                      const struct clp_snapshot_wish *wish, struct clp_profile *profile)
{
    double nanos_per_tick = wish->nanos_per_tick;

    profile->meta.overhead = nanos(clp_costs_ticks(costs, (double)totals->correction) + (double)totals->stopped,
                                   nanos_per_tick);
    profile->meta.reads = totals->reads;
    profile->meta.others_grown = not_negative(totals->others_grown);
    profile->meta.others_released = not_negative(totals->others_released);
    profile->meta.gc_outside = nanos((double)totals->gc_outside.ticks, nanos_per_tick);
    profile->meta.gc_outside_runs = totals->gc_outside.runs;
    for (size_t i = 0; i < CLP_DEVICES; i++) {
        const struct clp_named_outside outside = clp_named_outside(&profile->meta, i);
        *outside.allocated = totals->tensors_outside[i].allocated;
        *outside.freed = totals->tensors_outside[i].freed;
    }
}

static bool is_empty(const struct clp_block *sum)
{
    for (uint32_t i = 0; i < sum->line_count; i++)
        if (has_run(&sum->cells[i]))
            return false;
    return true;
}

/* Adds the function once for each group of threads that ran it. Sets *added if there is any such group. */
static clp_status add_groups(const struct request *request, const struct clp_view_item *item,
                             struct clp_profile *profile, bool *added)
{
    struct clp_engine_copy copy = *request->copy;
    clp_status status = CLP_OK;
    uint32_t group;

    copy.group = &group;
    for (size_t i = 0; i <= copy.from->groups.count && status == CLP_OK; i++) {
        group = i < copy.from->groups.count ? (uint32_t)i + 1 : 0; /* without a name: the last */
        struct clp_block *sum = clp_view_sum(request->view, item, &copy, request->wish->parts);
        if (sum != NULL && is_empty(sum)) {
            clp_block_free(&request->view->views->pool, sum);
            continue;
        }
        status = add_function(request, item, &copy, sum, profile);
        *added = true;
    }
    return status;
}

/* Is it one of the functions that Python 3.14 makes for annotations, one for each annotated function and class? Few of
 * them ever run, and those that did not are not told of. */
static bool tells_annotations(const struct clp_function *function)
{
    const char *dot = strrchr(function->name, '.');

    return strcmp(dot != NULL ? dot + 1 : function->name, "__annotate__") == 0;
}

static clp_status add_item(const struct request *request, const struct clp_view_item *item,
                           struct clp_profile *profile)
{
    clp_status status = CLP_OK;
    bool added = false;

    if (clp_view_has_groups(request->view, item))
        status = add_groups(request, item, profile, &added);
    if (added || status != CLP_OK)
        return status;
    struct clp_block *sum = clp_view_sum(request->view, item, request->copy, request->wish->parts);
    if (sum != NULL && is_empty(sum) && tells_annotations(&request->copy->from->functions.items[sum->function])) {
        clp_block_free(&request->view->views->pool, sum);
        return CLP_OK;
    }
    return add_function(request, item, request->copy, sum, profile);
}

clp_status clp_snapshot_take_view(const struct clp_view *view, const struct clp_engine_copy *copy,
                                  const struct clp_snapshot_wish *wish, struct clp_profile *profile)
{
    struct clp_snapshot_places places = {.mem = profile->mem};
    const struct request request = {view, copy, wish, &places};
    struct clp_engine_totals totals;
    clp_status status = CLP_OK;

    for (size_t i = 0; i < view->count && status == CLP_OK; i++)
        status = add_item(&request, &view->items[i], profile);
    if (status == CLP_OK)
        status = clp_snapshot_add_calls(view, copy, &places, wish->nanos_per_tick, profile);
    clp_snapshot_clear_places(&places);
    clp_view_totals(view, &totals);
    fill_meta(&totals, &copy->from->costs, wish, profile);
    profile->meta.has_memory = (wish->parts & CLP_PART_MEMORY) != 0;
    profile->meta.has_cpu = wish->cpu;
    profile->meta.has_called = wish->called;
    profile->meta.has_device_time = wish->device_time;
    profile->meta.has_io = (wish->tallies & CLP_TALLY_SOURCE_IO) != 0;
    profile->meta.has_faults = (wish->tallies & CLP_TALLY_SOURCE_FAULTS) != 0;
    profile->meta.has_switches = (wish->tallies & CLP_TALLY_SOURCE_SWITCHES) != 0;
    return status;
}
