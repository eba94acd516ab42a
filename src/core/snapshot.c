/* SPDX-License-Identifier: MIT */
#include "snapshot.h"
#include "buf.h"

static uint64_t nanos(double ticks, double nanos_per_tick)
{
    return ticks > 0 ? (uint64_t)(ticks * nanos_per_tick + 0.5) : 0;
}

static uint64_t corrected(uint64_t ticks, uint64_t correction, double nanos_per_tick)
{
    return nanos((double)ticks - (double)correction / CLP_CORRECTION_ONE, nanos_per_tick);
}

static struct clp_measures measures_of(const struct clp_block *block, uint32_t line,
                                       uint64_t line_cost, double nanos_per_tick)
{
    const struct clp_cell *cell = &block->cells[line];
    uint64_t time = clp_cell_time(cell);
    struct clp_measures measures = {
        .hits = cell->hits,
        .time = corrected(time, clp_cell_time_correction(cell, line_cost), nanos_per_tick),
        .raw_time = nanos((double)time, nanos_per_tick),
        .self = corrected(cell->self, clp_cell_self_correction(cell, line_cost), nanos_per_tick),
        .raw_self = nanos((double)cell->self, nanos_per_tick),
        .await = nanos((double)cell->await, nanos_per_tick),
        .max = nanos((double)cell->max, nanos_per_tick),
        .rss = (uint64_t)cell->usage * CLP_USAGE_UNIT,
    };

    if (measures.max > measures.time) /* per execution less is taken off than from the sum */
        measures.max = measures.time;
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
    return measures;
}

static bool has_run(const struct clp_cell *cell)
{
    return cell->hits != 0 || cell->self != 0 || cell->await != 0 || cell->nested != 0;
}

static clp_status add_lines(const struct clp_engine *engine, const struct clp_block *sum,
                            double nanos_per_tick, struct clp_profile *profile,
                            struct clp_profile_function *into)
{
    into->total += corrected(sum->total, sum->total_correction, nanos_per_tick);
    into->raw_total += nanos((double)sum->total, nanos_per_tick);
    for (uint32_t i = 0; i < sum->line_count; i++) {
        const struct clp_cell *cell = &sum->cells[i];
        if (!has_run(cell))
            continue;
        struct clp_measures measures = measures_of(sum, i, engine->costs.line, nanos_per_tick);
        clp_status status = clp_profile_add_line(
            profile, into, sum->lowest_line + (int32_t)i, &measures);
        if (status != CLP_OK)
            return status;
        profile->meta.events += cell->hits;
    }
    return CLP_OK;
}

/* Finds or adds the profile's function: NAME, or of a group of threads NAME [GROUP]. */
static clp_status find_function(const struct clp_function *function, const char *group,
                                struct clp_profile *profile, struct clp_profile_function **into)
{
    struct clp_buf name;
    clp_status status = CLP_NO_MEMORY;

    clp_buf_init(&name, profile->mem);
    clp_buf_add_text(&name, function->name);
    if (group != NULL)
        clp_buf_add_format(&name, " [%s]", group);
    if (!name.failed)
        status = clp_profile_add_function(profile, function->file, clp_buf_text(&name),
                                          function->first_line, into);
    clp_buf_clear(&name);
    return status;
}

/* What is asked of a view. */
struct request {
    const struct clp_view *view;
    const struct clp_ended *ended;
    bool with_rss;
    double nanos_per_tick;
};

/* Adds the function with these counters, which it gives back; NULL: there was no memory. */
static clp_status add_function(const struct request *request, const struct clp_ended *ended,
                               struct clp_block *sum, struct clp_profile *profile)
{
    const struct clp_engine *engine = ended->from;
    struct clp_profile_function *into;

    if (sum == NULL)
        return CLP_NO_MEMORY;
    clp_status status =
        find_function(&engine->functions.items[sum->function],
                      ended->group != NULL ? clp_groups_name(&engine->groups, *ended->group) : NULL,
                      profile, &into);
    if (status == CLP_OK)
        status = add_lines(engine, sum, request->nanos_per_tick, profile, into);
    clp_block_free(&request->view->views->pool, sum);
    return status;
}

static uint64_t not_negative(int64_t value)
{
    return value > 0 ? (uint64_t)value : 0;
}

static void fill_meta(const struct clp_engine_totals *totals, double nanos_per_tick,
                      struct clp_profile *profile)
{
    profile->meta.overhead = nanos((double)totals->correction / CLP_CORRECTION_ONE +
                                       (double)totals->stopped, nanos_per_tick);
    profile->meta.reads = totals->reads;
    profile->meta.others_grown = not_negative(totals->others_grown);
    profile->meta.others_released = not_negative(totals->others_released);
}

static bool is_empty(const struct clp_block *sum)
{
    for (uint32_t i = 0; i < sum->line_count; i++)
        if (has_run(&sum->cells[i]))
            return false;
    return true;
}

/* *added: a group of threads has run the function, and stands in the profile. */
static clp_status add_groups(const struct request *request, const struct clp_view_item *item,
                             struct clp_profile *profile, bool *added)
{
    struct clp_ended ended = *request->ended;
    clp_status status = CLP_OK;
    uint32_t group;

    ended.group = &group;
    for (size_t i = 0; i <= ended.from->groups.count && status == CLP_OK; i++) {
        group = i < ended.from->groups.count ? (uint32_t)i + 1 : 0; /* without a name: the last */
        struct clp_block *sum = clp_view_sum(request->view, item, &ended, request->with_rss);
        if (sum != NULL && is_empty(sum)) {
            clp_block_free(&request->view->views->pool, sum);
            continue;
        }
        status = add_function(request, &ended, sum, profile);
        *added = true;
    }
    return status;
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
    return add_function(request, request->ended,
                        clp_view_sum(request->view, item, request->ended, request->with_rss),
                        profile);
}

clp_status clp_snapshot_take_view(const struct clp_view *view, const struct clp_ended *ended,
                                  bool with_rss, double nanos_per_tick,
                                  struct clp_profile *profile)
{
    const struct request request = {view, ended, with_rss, nanos_per_tick};
    struct clp_engine_totals totals;
    clp_status status = CLP_OK;

    for (size_t i = 0; i < view->count && status == CLP_OK; i++)
        status = add_item(&request, &view->items[i], profile);
    clp_view_totals(view, &totals);
    fill_meta(&totals, nanos_per_tick, profile);
    profile->meta.has_memory = with_rss;
    return status;
}
