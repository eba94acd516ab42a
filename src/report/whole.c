/* SPDX-License-Identifier: MIT */
#include "whole.h"
#include "formats/lprof/wire_rows.h"

double clp_whole_self(const struct clp_measures *measures, bool raw_times)
{
    return (double)(raw_times ? measures->raw_self : measures->self);
}

void clp_whole_add_gc(struct clp_measures *row, const struct clp_measures *line)
{
    row->hits = row->gc_runs = clp_measures_sum(row->gc_runs, line->gc_runs);
    row->time = row->raw_time = row->self = row->raw_self = row->gc = clp_measures_sum(row->gc, line->gc);
    row->wait = row->gc_wait = clp_measures_sum(row->gc_wait, line->gc_wait);
    row->cpu = row->gc - row->gc_wait;
    row->queue = row->gc_queue = clp_measures_sum(row->gc_queue, line->gc_queue);
}

double clp_whole_moved(const struct clp_measures *measures)
{
    double moved = (double)clp_measures_increment(measures);

    moved = moved < 0 ? -moved : moved;
    return measures->rss != 0 && moved >= CLP_WHOLE_LEAST_MOVED ? moved : 0;
}

uint64_t clp_whole_total(const struct clp_profile *profile, const struct clp_profile_function *function,
                         bool raw_times)
{
    uint64_t total = raw_times ? function->raw_total : function->total;
    struct clp_wire_rows rows;

    if (total != 0)
        return total;
    clp_wire_rows_start(&rows, profile, function);
    for (; rows.at != NULL; clp_wire_rows_next(&rows))
        total += raw_times ? rows.at->measures.raw_time : rows.at->measures.time;
    return total;
}

struct clp_whole clp_whole_of(const struct clp_profile *profile, bool raw_times)
{
    struct clp_whole whole = {0};
    struct clp_wire_rows rows;
    double largest = 0;

    for (size_t i = 0; i < profile->function_count; i++) {
        const struct clp_profile_function *function = &profile->functions[i];
        double total = (double)clp_whole_total(profile, function, raw_times);
        largest = total > largest ? total : largest;
        for (clp_wire_rows_start(&rows, profile, function); rows.at != NULL; clp_wire_rows_next(&rows)) {
            whole.self += clp_whole_self(&rows.at->measures, raw_times);
            whole.moved += clp_whole_moved(&rows.at->measures);
            clp_whole_add_gc(&whole.gc, &rows.at->measures);
        }
    }
    if (profile->gc_apart && whole.self != 0)
        whole.self += (double)whole.gc.gc;
    whole.time = whole.self != 0 ? whole.self : largest;
    return whole;
}
