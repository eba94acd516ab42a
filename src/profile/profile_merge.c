/* SPDX-License-Identifier: MIT */
/* Merges use profile->variants for functions with one key whose texts differ. A plain key is a function's key without
 * the " (2)" in its name. `variants` has two sorts of entries:
 *
 *   hash of a plain key and a text   -> the index of the function that has both
 *   hash of a plain key alone        -> the highest number given to a variant of it, so that numbers are not
 *                                       tried from 2 on again */
#include "profile_merge.h"
#include "calls.h"
#include "callees.h"
#include "named.h"
#include "missed.h"
#include "texts.h"
#include <stdio.h>
#include <string.h>

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Returns how many lines of `from` are not in `into`. */
static size_t count_new_lines(const struct clp_profile_function *into,
                              const struct clp_profile_function *from)
{
    size_t i = 0, fresh = 0;

    for (size_t j = 0; j < from->line_count; j++) {
        while (i < into->line_count && into->lines[i].line < from->lines[j].line)
            i++;
        if (i == into->line_count || into->lines[i].line != from->lines[j].line)
            fresh++;
    }
    return fresh;
}

/* What the lines of `from` must know of the sum. */
struct joining {
    uint32_t first; /* the place in profile->processes that its first process gets */
    bool is_one;    /* are the counts of `from` those of one process? */
    bool several;   /* will the sum be of several processes? One that is not known has no place in profile->processes */
    struct clp_named_places named;
};

/* The spread of a line of `from` in the sum. */
static struct clp_profile_spread spread_of(const struct joining *joining, const struct clp_profile_line *line)
{
    struct clp_profile_spread spread = line->spread;

    if (!joining->several)
        return spread;
    if (joining->is_one)
        return (struct clp_profile_spread){line->measures.self, line->measures.self, joining->first, joining->first, 1};
    spread.least_in += joining->first;
    spread.most_in += joining->first;
    return spread;
}

static void merge_spread(struct clp_profile_spread *into, const struct clp_profile_spread from)
{
    if (into->count == 0 || (from.count != 0 && from.least < into->least)) {
        into->least = from.least;
        into->least_in = from.least_in;
    }
    if (into->count == 0 || (from.count != 0 && from.most > into->most)) {
        into->most = from.most;
        into->most_in = from.most_in;
    }
    into->count += from.count;
}

/* Stores the spread of the lines of a profile that was of one process so far. */
static void begin_spread(struct clp_profile *profile)
{
    const struct joining joining = {.is_one = true, .several = true};

    for (size_t i = 0; i < profile->function_count; i++)
        for (size_t j = 0; j < profile->functions[i].line_count; j++)
            profile->functions[i].lines[j].spread = spread_of(&joining, &profile->functions[i].lines[j]);
}

/* Merges two ascending lists of lines from the back, so that one pass in place is enough. Inserting line by line would
 * take quadratic time where the lines of two large functions alternate. */
static clp_status merge_lines(struct clp_profile *profile, struct clp_profile_function *into,
                              const struct clp_profile_function *from, const struct joining *joining)
{
    size_t fresh = count_new_lines(into, from);

    if (clp_profile_reserve_lines(profile, into, into->line_count + fresh) != CLP_OK)
        return CLP_NO_MEMORY;
    size_t i = into->line_count, j = from->line_count, out = i + fresh;
    into->line_count = out;
    while (j > 0) {
        const struct clp_profile_line *other = &from->lines[j - 1];
        struct clp_profile_line moved;
        if (i > 0 && into->lines[i - 1].line > other->line) {
            into->lines[--out] = into->lines[--i];
            continue;
        }
        if (!joining->named.same) {
            moved = *other;
            clp_named_move(&moved.measures, &joining->named);
            other = &moved;
        }
        if (i > 0 && into->lines[i - 1].line == other->line) {
            into->lines[--out] = into->lines[--i];
            clp_measures_merge(&into->lines[out].measures, &other->measures);
            into->lines[out].running |= other->running;
            merge_spread(&into->lines[out].spread, spread_of(joining, other));
        } else {
            into->lines[--out] = *other;
            into->lines[out].spread = spread_of(joining, other);
        }
        j--;
    }
    return CLP_OK;
}

/* As same_source, where a source is not known: the numbers of one process know only a hash of it. */
static bool same_hash(const struct clp_profile_function *a, const struct clp_profile_function *b)
{
    if ((a->source == NULL && a->text_hash == 0) || (b->source == NULL && b->text_hash == 0))
        return true;
    uint64_t ours = clp_profile_text_hash(a), theirs = clp_profile_text_hash(b);
    return ours == theirs || ours == 0 || theirs == 0;
}

/* Are the sources the same text, as far as both are known? The source of a module may end at the last line that ran,
 * which differs between runs (`if __name__ == "__main__"`), so a common beginning is enough for modules. */
static bool same_source(const struct clp_profile_function *a, const struct clp_profile_function *b)
{
    size_t bytes = a->source_bytes < b->source_bytes ? a->source_bytes : b->source_bytes;

    if (a->source_changed || b->source_changed)
        return a->source_changed == b->source_changed;
    if (a->source == NULL || b->source == NULL)
        return same_hash(a, b);
    return (a->source_bytes == b->source_bytes || strcmp(a->name, "<module>") == 0) &&
           memcmp(a->source, b->source, bytes) == 0;
}

static uint64_t hash_plain_key(const struct clp_profile_function *function)
{
    uint64_t hash = clp_hash_text(1, function->file, strlen(function->file));

    hash = clp_hash_text(hash, function->name, clp_profile_plain_name(function));
    return clp_hash_text(hash, (const char *)&function->first_line, sizeof function->first_line);
}

static uint64_t hash_variant(const struct clp_profile_function *function)
{
    uint64_t text = clp_profile_text_hash(function);

    return clp_hash_text(hash_plain_key(function), (const char *)&text, sizeof text);
}

/* Appends the function as "NAME (2)", or with the next number that is free. NULL: out of memory. */
static struct clp_profile_function *append_variant(struct clp_profile *into,
                                                   const struct clp_profile_function *from)
{
    size_t bytes = clp_profile_plain_name(from), room = bytes + sizeof " (18446744073709551615)";
    uint64_t key = hash_plain_key(from), number = 1;
    char *name = clp_mem_alloc(into->mem, room, 1);
    struct clp_profile_function *function = NULL;

    if (name == NULL)
        return NULL;
    (void)clp_hashmap_get(&into->variants, key, &number);
    memcpy(name, from->name, bytes);
    do
        (void)snprintf(name + bytes, room - bytes, " (%llu)", (unsigned long long)++number);
    while (clp_profile_has_function(into, from->file, name, from->first_line));
    if (clp_hashmap_set(&into->variants, key, number) == CLP_OK &&
        clp_profile_add_function(into, from->file, name, from->first_line, &function) == CLP_OK) {
        function->source_changed = from->source_changed;
        function->text_hash = from->text_hash;
        if (into->variant_count++ == 0)
            into->variant_place = into->function_count - 1;
    }
    clp_mem_free(into->mem, name, room, 1);
    return function;
}

/* Replaces *function, which has the same key as `from` but another text, by the variant with the text of `from`.
 * Appends such a variant if there is none. */
static clp_status find_variant(struct clp_profile *into, const struct clp_profile_function *from,
                               struct clp_profile_function **function)
{
    uint64_t hash = hash_variant(from), place;
    uint64_t other = hash_variant(*function);

    if (clp_hashmap_set(&into->variants, other, (uint64_t)(*function - into->functions)) != CLP_OK)
        return CLP_NO_MEMORY;
    if (clp_hashmap_get(&into->variants, hash, &place) &&
        same_source(&into->functions[place], from)) {
        *function = &into->functions[place];
        return CLP_OK;
    }
    *function = append_variant(into, from);
    if (*function == NULL)
        return CLP_NO_MEMORY;
    return clp_hashmap_set(&into->variants, hash, into->function_count - 1);
}

static bool is_variant(const struct clp_profile_function *function)
{
    return (function->source != NULL || function->text_hash != 0) &&
           function->name[clp_profile_plain_name(function)] != 0;
}

/* Finds or appends the function of `into` to which `from` is added: the function with the same key, or the variant
 * with the same text where texts differ. A function that an earlier merge numbered is searched by its text first,
 * because the same text may have another number in `into`. */
static clp_status find_joined(struct clp_profile *into, const struct clp_profile_function *from,
                              struct clp_profile_function **function)
{
    size_t count = into->function_count;
    uint64_t place;

    if (is_variant(from) && clp_hashmap_get(&into->variants, hash_variant(from), &place) &&
        same_source(&into->functions[place], from)) {
        *function = &into->functions[place];
        return CLP_OK;
    }
    if (clp_profile_add_function(into, from->file, from->name, from->first_line, function) != CLP_OK)
        return CLP_NO_MEMORY;
    if (into->function_count != count) {
        (*function)->source_changed = from->source_changed;
        (*function)->text_hash = from->text_hash;
    }
    if (!same_source(*function, from))
        return find_variant(into, from, function);
    if (!is_variant(from))
        return CLP_OK;
    return clp_hashmap_set(&into->variants, hash_variant(from),
                           (uint64_t)(*function - into->functions));
}

/* Sets *place to the place in `into` of the function that `from` was added to. */
static clp_status merge_function(struct clp_profile *into, const struct clp_profile_function *from,
                                 const struct joining *joining, uint32_t *place)
{
    struct clp_profile_function *function;

    if (find_joined(into, from, &function) != CLP_OK)
        return CLP_NO_MEMORY;
    *place = (uint32_t)(function - into->functions);
    if (merge_lines(into, function, from, joining) != CLP_OK || clp_missed_merge(into, function, from) != CLP_OK)
        return CLP_NO_MEMORY;
    for (size_t i = 0; i < from->leak_count; i++)
        if (clp_profile_add_leak(into, function, &from->leaks[i]) != CLP_OK)
            return CLP_NO_MEMORY;
    if (clp_callees_merge(into, function, from) != CLP_OK)
        return CLP_NO_MEMORY;
    function->total = clp_measures_sum(function->total, from->total);
    function->raw_total = clp_measures_sum(function->raw_total, from->raw_total);
    function->compiled.calls = clp_measures_sum(function->compiled.calls, from->compiled.calls);
    function->compiled.times = clp_measures_sum(function->compiled.times, from->compiled.times);
    function->compiled.nanos = clp_measures_sum(function->compiled.nanos, from->compiled.nanos);
    if (function->compiler == NULL &&
        clp_profile_set_text(into, &function->compiler, from->compiler) != CLP_OK)
        return CLP_NO_MEMORY;
    if (function->source_bytes < from->source_bytes)
        return clp_profile_set_source(into, function, from->source, from->source_bytes);
    return CLP_OK;
}

static clp_status merge_functions(struct clp_profile *into, const struct clp_profile *from,
                                  const struct joining *joining)
{
    size_t count = from->function_count;
    uint32_t *places = clp_mem_alloc(into->mem, count, sizeof *places);
    clp_status status = places != NULL || count == 0 ? CLP_OK : CLP_NO_MEMORY;

    for (size_t i = 0; i < count && status == CLP_OK; i++)
        status = merge_function(into, &from->functions[i], joining, &places[i]);
    if (status == CLP_OK)
        status = clp_profile_merge_calls(into, from, places);
    clp_mem_free(into->mem, places, count, sizeof *places);
    return status;
}

static clp_status merge_files(struct clp_profile *into, const struct clp_profile *from)
{
    clp_status status = CLP_OK;

    for (size_t i = 0; i < from->text_count && status == CLP_OK; i++) {
        const struct clp_profile_text *text = &from->texts[i];
        if (text->file != NULL)
            status = clp_profile_keep_file(into, text->file, (struct clp_span){text->text, text->bytes});
    }
    return status;
}

static clp_status merge_series(struct clp_profile *into, const struct clp_profile_series *from)
{
    struct clp_profile_series *series;

    if (clp_profile_add_series(into, from->pid, from->start, &series) != CLP_OK)
        return CLP_NO_MEMORY;
    for (size_t i = 0; i < from->count; i++)
        if (clp_profile_add_sample(into, series, from->time[i], from->rss[i]) != CLP_OK)
            return CLP_NO_MEMORY;
    for (size_t i = 0; i < from->mark_count; i++)
        if (clp_profile_add_mark(into, series, &from->marks[i]) != CLP_OK)
            return CLP_NO_MEMORY;
    return CLP_OK;
}

static clp_status keep_text(struct clp_profile *into, char **text, const char *other)
{
    return *text != NULL ? CLP_OK : clp_profile_set_text(into, text, other);
}

/* Is the word one of the words of `list`, which have commas between them? */
static bool has_word(const char *list, const char *word, size_t bytes)
{
    while (list != NULL && *list != 0) {
        size_t length = strcspn(list, ",");
        if (length == bytes && memcmp(list, word, bytes) == 0)
            return true;
        list += length;
        list += strspn(list, ", ");
    }
    return false;
}

/* Adds the tracers in `other` that meta.tracer does not list yet: "probe, settrace". */
static clp_status merge_tracer(struct clp_profile *into, const char *other)
{
    struct clp_buf all;

    clp_buf_init(&all, into->mem);
    if (into->meta.tracer != NULL)
        clp_buf_add_text(&all, into->meta.tracer);
    while (other != NULL && *other != 0) {
        size_t bytes = strcspn(other, ",");
        if (!has_word(clp_buf_text(&all), other, bytes)) {
            clp_buf_add_text(&all, all.used != 0 ? ", " : "");
            clp_buf_add(&all, other, bytes);
        }
        other += bytes;
        other += strspn(other, ", ");
    }
    clp_status status = all.failed ? CLP_NO_MEMORY : CLP_OK;
    if (status == CLP_OK && all.used != 0)
        status = clp_profile_set_text(into, &into->meta.tracer, clp_buf_text(&all));
    clp_buf_clear(&all);
    return status;
}

/* Returns the kind of memory that a profile measured; NULL: it measured no memory. */
static const char *memory_of(const struct clp_profile_meta *meta)
{
    if (!meta->has_memory)
        return NULL;
    return meta->memory != NULL ? meta->memory : "rss";
}

static clp_status merge_memory(struct clp_profile *into, const struct clp_profile_meta *from)
{
    const char *ours = memory_of(&into->meta), *theirs = memory_of(from);

    if (theirs == NULL || (ours != NULL && strcmp(ours, theirs) == 0))
        return CLP_OK;
    return clp_profile_set_text(into, &into->meta.memory, ours == NULL ? from->memory : "mixed");
}

static clp_status merge_epoch(struct clp_profile *into, const char *theirs)
{
    const char *ours = into->meta.leak_epoch;

    if (theirs == NULL || (ours != NULL && strcmp(ours, theirs) == 0))
        return CLP_OK;
    return clp_profile_set_text(into, &into->meta.leak_epoch, ours == NULL ? theirs : "mixed");
}

static clp_status merge_identity(struct clp_profile *into, const struct clp_profile_meta *from)
{
    struct clp_profile_meta *meta = &into->meta;

    meta->pid = from->pid;
    meta->pid_namespace = from->pid_namespace;
    meta->restart = from->restart;
    if (clp_profile_set_text(into, &meta->host, from->host) != CLP_OK ||
        clp_profile_set_text(into, &meta->boot, from->boot) != CLP_OK)
        return CLP_NO_MEMORY;
    return clp_profile_set_text(into, &meta->rank, from->rank);
}

static clp_status merge_meta(struct clp_profile *into, const struct clp_profile_meta *from)
{
    struct clp_profile_meta *meta = &into->meta;

    if (meta->pid == 0 && merge_identity(into, from) != CLP_OK)
        return CLP_NO_MEMORY;
    meta->start = meta->start != 0 ? meta->start : from->start;
    meta->own_bytes = meta->own_bytes != 0 ? meta->own_bytes : from->own_bytes;
    meta->wall = clp_measures_sum(meta->wall, from->wall);
    meta->overhead = clp_measures_sum(meta->overhead, from->overhead);
    meta->overhead_error = clp_measures_sum(meta->overhead_error, from->overhead_error);
    meta->events = clp_measures_sum(meta->events, from->events);
    meta->reads = clp_measures_sum(meta->reads, from->reads);
    meta->others_grown = clp_measures_sum(meta->others_grown, from->others_grown);
    meta->others_released = clp_measures_sum(meta->others_released, from->others_released);
    meta->gc_outside = clp_measures_sum(meta->gc_outside, from->gc_outside);
    meta->gc_outside_runs = clp_measures_sum(meta->gc_outside_runs, from->gc_outside_runs);
    meta->gc_cleared = larger(meta->gc_cleared, from->gc_cleared);
    meta->has_cpu = larger(meta->has_cpu, from->has_cpu);
    meta->has_queue = larger(meta->has_queue, from->has_queue);
    meta->has_called = larger(meta->has_called, from->has_called);
    meta->has_io = larger(meta->has_io, from->has_io);
    meta->has_faults = larger(meta->has_faults, from->has_faults);
    meta->has_switches = larger(meta->has_switches, from->has_switches);
    meta->tensors_read = larger(meta->tensors_read, from->tensors_read);
    meta->has_device_time = larger(meta->has_device_time, from->has_device_time);
    meta->outside_device_time = clp_measures_sum(meta->outside_device_time, from->outside_device_time);
    meta->outside_launches = clp_measures_sum(meta->outside_launches, from->outside_launches);
    meta->lost_launches = clp_measures_sum(meta->lost_launches, from->lost_launches);
    if (merge_memory(into, from) != CLP_OK || merge_epoch(into, from->leak_epoch) != CLP_OK)
        return CLP_NO_MEMORY;
    meta->has_memory |= from->has_memory;
    meta->inexact_memory |= from->inexact_memory;
    meta->memory_step = larger(meta->memory_step, from->memory_step);
    meta->no_source = larger(meta->no_source, from->no_source);
    meta->heap_interval = larger(meta->heap_interval, from->heap_interval);
    meta->heap_live = clp_measures_sum(meta->heap_live, from->heap_live);
    meta->heap_peak = clp_measures_sum(meta->heap_peak, from->heap_peak);
    meta->heap_unselected = clp_measures_sum(meta->heap_unselected, from->heap_unselected);
    meta->heap_unselected_peak = clp_measures_sum(meta->heap_unselected_peak, from->heap_unselected_peak);
    meta->heap_before = clp_measures_sum(meta->heap_before, from->heap_before);
    meta->heap_native = larger(meta->heap_native, from->heap_native);
    meta->leak_epochs = larger(meta->leak_epochs, from->leak_epochs);
    if (keep_text(into, &meta->python, from->python) != CLP_OK ||
        keep_text(into, &meta->leak_unjudged, from->leak_unjudged) != CLP_OK ||
        merge_tracer(into, from->tracer) != CLP_OK)
        return CLP_NO_MEMORY;
    return keep_text(into, &meta->command, from->command);
}

static clp_status merge_processes(struct clp_profile *into, const struct clp_profile *from)
{
    clp_status status = CLP_OK;

    for (size_t i = 0; i < from->process_count && status == CLP_OK; i++) {
        struct clp_profile_process process = from->processes[i]; /* borrowed */
        if (into->process_count >= CLP_PROFILE_NUMBERS)
            process.numbers = NULL;
        status = clp_profile_add_process(into, &process);
    }
    return status;
}

/* Does the profile say which process it is of, and has it the counts of no other? A sum with one that is not known has
 * a spread, or counts that its only known process, which counted nothing, does not have. */
static bool is_of_one(const struct clp_profile *profile)
{
    bool is_one = profile->process_count == 1 &&
                  (profile->processes[0].self != 0 || clp_profile_self(profile) == 0);

    for (size_t i = 0; i < profile->function_count && is_one; i++)
        is_one = !clp_profile_has_spread(&profile->functions[i]);
    return is_one;
}

clp_status clp_profile_merge(struct clp_profile *into, const struct clp_profile *from)
{
    struct joining joining = {.first = (uint32_t)into->process_count, .is_one = is_of_one(from),
                              .several = into->process_count + from->process_count > 1 ||
                                         (into->function_count != 0 && from->function_count != 0)};

    into->denied |= from->denied;
    if (joining.several && is_of_one(into))
        begin_spread(into);
    if (clp_named_place(into, &from->meta, &joining.named) != CLP_OK)
        return CLP_NO_MEMORY;
    clp_named_add_meta(&into->meta, &from->meta, &joining.named);
    if (merge_functions(into, from, &joining) != CLP_OK || merge_files(into, from) != CLP_OK)
        return CLP_NO_MEMORY;
    for (size_t i = 0; i < from->series_count; i++) {
        if (merge_series(into, &from->series[i]) != CLP_OK)
            return CLP_NO_MEMORY;
    }
    for (size_t i = 0; i < from->line_log_count; i++) {
        const struct clp_profile_line_log *log = &from->line_logs[i];
        if (clp_profile_add_line_log(into, log->bytes, log->count) != CLP_OK)
            return CLP_NO_MEMORY;
    }
    if (merge_processes(into, from) != CLP_OK)
        return CLP_NO_MEMORY;
    return merge_meta(into, &from->meta);
}
