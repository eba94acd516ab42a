/* SPDX-License-Identifier: MIT */
#include "choice.h"
#include "profile/calls.h"
#include "profile/missed.h"
#include "whole.h"
#include "formats/lprof/wire_rows.h"
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static bool has_measure(enum clp_choice_order order)
{
    return order != CLP_CHOICE_BY_ORDER && order != CLP_CHOICE_BY_NAME;
}

enum clp_choice_order clp_choice_order_named(const char *name)
{
    enum clp_measure measure = clp_measure_named(name, strlen(name));

    if (strcmp(name, "order") == 0)
        return CLP_CHOICE_BY_ORDER;
    if (strcmp(name, "name") == 0)
        return CLP_CHOICE_BY_NAME;
    return measure < CLP_MEASURE_total ? (enum clp_choice_order)(CLP_CHOICE_BY_hits + measure)
                                       : CLP_CHOICE_ORDERS;
}

enum clp_measure clp_choice_measure(enum clp_choice_order order)
{
    return has_measure(order) ? (enum clp_measure)(order - CLP_CHOICE_BY_hits) : CLP_MEASURE_time;
}

/* ---- which ---- */

bool clp_choice_was_hit(const struct clp_profile *profile,
                        const struct clp_profile_function *function)
{
    struct clp_wire_rows rows;

    clp_wire_rows_start(&rows, profile, function);
    while (rows.at != NULL && rows.at->measures.hits == 0)
        clp_wire_rows_next(&rows);
    return rows.at != NULL;
}

bool clp_choice_is_idle(const struct clp_profile *profile)
{
    for (size_t i = 0; i < profile->function_count; i++)
        if (clp_choice_was_hit(profile, &profile->functions[i]))
            return false;
    return profile->series_count == 0;
}

static bool matches_name(char *const *patterns, const char *name)
{
    for (; *patterns != NULL; patterns++)
        if (fnmatch(*patterns, name, 0) == 0)
            return true;
    return false;
}

/* Compares the patterns with the path and with each part of the path that begins behind a slash. */
static bool matches_path(char *const *patterns, const char *path)
{
    while (path != NULL) {
        if (matches_name(patterns, path))
            return true;
        path = strchr(path, '/');
        path = path != NULL ? path + 1 : NULL;
    }
    return false;
}

static bool is_wanted(const struct clp_profile *profile, const struct clp_choice_options *options,
                      const struct clp_profile_function *function)
{
    return (!options->skip_zero || clp_choice_was_hit(profile, function)) &&
           (options->functions == NULL || matches_name(options->functions, function->name)) &&
           (options->files == NULL || matches_path(options->files, function->file));
}

/* ---- keys ---- */

static double key_of_line(const struct clp_measures *measures, enum clp_choice_order order, bool raw)
{
    enum clp_measure measure = clp_choice_measure(order);

    return clp_measure_value(raw ? clp_measure_raw(measure) : measure, measures);
}

/* Returns the value that a function is sorted by: the measure of all its lines merged. For time it is the function's
 * inclusive time. */
static double key_of(const struct clp_profile *profile, const struct clp_profile_function *function,
                     enum clp_choice_order order, bool raw)
{
    struct clp_measures all = {0};
    struct clp_wire_rows rows;

    if (!has_measure(order))
        return 0;
    if (order == CLP_CHOICE_BY_time)
        return (double)clp_whole_total(profile, function, raw);
    clp_wire_rows_start(&rows, profile, function);
    for (; rows.at != NULL; clp_wire_rows_next(&rows))
        clp_measures_merge(&all, &rows.at->measures);
    return key_of_line(&all, order, raw);
}

/* ---- bodies of modules and classes ---- */

#define HOT_BODY 0.1

static bool is_body(const struct clp_profile_function *function)
{
    struct clp_span rest = {function->source, function->source_bytes}, line;

    if (strncmp(function->name, "<module>", strlen("<module>")) == 0)
        return true;
    while (function->source != NULL && clp_source_next_line(&rest, &line))
        if (clp_source_is_def(line))
            return clp_source_begins_with(line, "class");
    return false;
}

/* Returns the self time of the function's lines other than imports. */
static double self_of_body(const struct clp_profile *profile, const struct clp_profile_function *function, bool raw)
{
    struct clp_source_walk walk = {.text = {function->source, function->source_bytes}};
    struct clp_wire_rows rows;
    double self = 0;

    clp_wire_rows_start(&rows, profile, function);
    for (; rows.at != NULL; clp_wire_rows_next(&rows)) {
        struct clp_span text = {"", 0};
        if (function->source != NULL)
            text = clp_source_line_at(&walk, function->first_line, rows.at->line);
        if (!clp_source_begins_with(text, "import ") && !clp_source_begins_with(text, "from "))
            self += clp_whole_self(&rows.at->measures, raw);
    }
    return self;
}

static bool is_cold_body(const struct clp_profile *profile, const struct clp_profile_function *function, bool raw,
                         double whole)
{
    return is_body(function) && self_of_body(profile, function, raw) < HOT_BODY * whole;
}

/* ---- functions ---- */

struct place {
    double key;
    const char *name; /* the sort key of the order by name; NULL in other orders */
    size_t index;
};

/* Sorts ascending; functions with equal keys stay in the order of selection. */
static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    int names = a->name != NULL ? strcmp(a->name, b->name) : 0;

    if (names != 0)
        return names;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

static void sort(const struct clp_profile *profile, enum clp_choice_order order, bool raw,
                 struct place *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct clp_profile_function *function = &profile->functions[places[i].index];
        places[i].key = key_of(profile, function, order, raw);
        places[i].name = order == CLP_CHOICE_BY_NAME ? function->name : NULL;
    }
    if (count > 1)
        qsort(places, count, sizeof *places, compare_places);
}

/* Sorts the functions, which are in the order of selection, so that bodies of modules and classes stand last. */
static void put_bodies_last(const struct clp_profile *profile, bool raw, struct place *places, size_t count)
{
    double whole = clp_whole_of(profile, raw).time;

    for (size_t i = 0; i < count; i++)
        places[i].key = is_cold_body(profile, &profile->functions[places[i].index], raw, whole);
    if (count > 1)
        qsort(places, count, sizeof *places, compare_places);
}

/* Puts the chosen functions at the front of `places`, in order. Returns how many functions are chosen. */
static size_t choose(const struct clp_profile *profile, const struct clp_choice_options *options,
                     struct place *places)
{
    enum clp_choice_order first =
        has_measure(options->order) ? options->order : CLP_CHOICE_BY_time;
    size_t count = 0;

    for (size_t i = 0; i < profile->function_count; i++)
        if (is_wanted(profile, options, &profile->functions[i]))
            places[count++].index = i;
    if (options->top != 0 && options->top < count) {
        sort(profile, first, options->raw_times, places, count);
        memmove(places, places + count - options->top, options->top * sizeof *places);
        count = options->top;
    }
    sort(profile, options->order, options->raw_times, places, count);
    if (options->bodies_last && options->order == CLP_CHOICE_BY_ORDER)
        put_bodies_last(profile, options->raw_times, places, count);
    return count;
}

clp_status clp_choice_make(struct clp_choice *choice, const struct clp_profile *profile,
                           const struct clp_choice_options *options, struct clp_mem *mem)
{
    size_t room = profile->function_count;
    struct place *places = clp_mem_alloc(mem, room, sizeof *places);

    *choice = (struct clp_choice){.mem = mem, .room = room};
    choice->places = clp_mem_alloc(mem, room, sizeof *choice->places);
    if (room != 0 && (places == NULL || choice->places == NULL)) {
        clp_mem_free(mem, places, places != NULL ? room : 0, sizeof *places);
        clp_choice_clear(choice);
        return CLP_NO_MEMORY;
    }
    choice->count = choose(profile, options, places);
    for (size_t i = 0; i < choice->count; i++)
        choice->places[i] = places[i].index;
    clp_mem_free(mem, places, room, sizeof *places);
    return CLP_OK;
}

void clp_choice_clear(struct clp_choice *choice)
{
    clp_mem_free(choice->mem, choice->places, choice->places != NULL ? choice->room : 0,
                 sizeof *choice->places);
    *choice = (struct clp_choice){.mem = choice->mem};
}

/* Moves the chosen functions from `all` into the profile, which has no functions before. */
static clp_status take_back(struct clp_profile *profile, struct clp_profile *all,
                            const struct clp_choice *choice)
{
    for (size_t i = 0; i < choice->count; i++) {
        struct clp_profile_function *from = &all->functions[choice->places[i]], *to, kept;
        clp_status status = clp_profile_add_function(profile, from->file, from->name,
                                                     from->first_line, &to);
        if (status != CLP_OK)
            return status;
        kept = *to; /* exchanges everything but the texts of the key, so that each profile frees its own texts */
        *to = *from;
        to->file = kept.file;
        to->name = kept.name;
        kept.file = from->file;
        kept.name = from->name;
        *from = kept;
    }
    return CLP_OK;
}

/* Moves the calling contexts from `all` into the profile, which has the chosen functions. */
static clp_status take_calls(struct clp_profile *profile, struct clp_profile *all,
                             const struct clp_choice *choice)
{
    size_t count = all->function_count;
    uint32_t *places = clp_mem_alloc(profile->mem, count, sizeof *places);

    if (places == NULL)
        return count == 0 ? CLP_OK : CLP_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        places[i] = CLP_CALL_DEEPER;
    for (size_t i = 0; i < choice->count; i++)
        places[choice->places[i]] = (uint32_t)i;
    clp_status status = clp_profile_merge_calls(profile, all, places);
    clp_mem_free(profile->mem, places, count, sizeof *places);
    return status;
}

clp_status clp_choice_reduce(struct clp_profile *profile, const struct clp_choice_options *options)
{
    struct clp_profile all;
    struct clp_choice choice;

    clp_status status = clp_choice_make(&choice, profile, options, profile->mem);
    if (status != CLP_OK)
        return status;
    clp_profile_init(&all, profile->mem);
    all.functions = profile->functions;
    all.function_count = profile->function_count;
    all.function_room = profile->function_room;
    all.index = profile->index;
    all.calls = profile->calls;
    all.call_count = profile->call_count;
    all.call_room = profile->call_room;
    all.call_index = profile->call_index;
    all.calls_cut = profile->calls_cut;
    profile->functions = NULL;
    profile->function_count = profile->function_room = 0;
    profile->calls = NULL;
    profile->call_count = profile->call_room = 0;
    profile->calls_cut = 0;
    clp_hashmap_init(&profile->index, profile->mem);
    clp_hashmap_init(&profile->call_index, profile->mem);
    clp_hashmap_clear(&profile->variants); /* holds indices that are no longer valid; only merges use them */
    status = take_back(profile, &all, &choice);
    if (status == CLP_OK)
        status = take_calls(profile, &all, &choice);
    clp_profile_clear(&all);
    clp_choice_clear(&choice);
    return status;
}

/* ---- lines ---- */

/* Sorts descending; lines with equal keys stay in the order in which find_lines found them. */
static int compare_lines(const void *left, const void *right)
{
    const struct clp_choice_line *a = left, *b = right;

    if (a->key != b->key)
        return a->key > b->key ? -1 : 1;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

static bool has_data(const struct clp_measures *measures)
{
    return measures->hits != 0 || measures->time != 0 || measures->raw_time != 0;
}

static size_t find_lines(const struct clp_choice *choice, const struct clp_profile *profile,
                         const struct clp_choice_options *options, struct clp_choice_line *lines)
{
    struct clp_wire_rows rows;
    size_t count = 0;

    for (size_t i = 0; i < choice->count; i++) {
        clp_wire_rows_start(&rows, profile, &profile->functions[choice->places[i]]);
        for (; rows.at != NULL; clp_wire_rows_next(&rows)) {
            const struct clp_measures *measures = &rows.at->measures;
            if (!has_data(measures))
                continue;
            /* While lines are sorted, `function` is the index in choice->places, not in profile->functions. */
            lines[count++] = (struct clp_choice_line){
                i, rows.next - 1, key_of_line(measures, options->order, options->raw_times)};
        }
    }
    return count;
}

clp_status clp_choice_lines(const struct clp_choice *choice, const struct clp_profile *profile,
                            const struct clp_choice_options *options, size_t most,
                            struct clp_choice_line **lines, size_t *count, size_t *all)
{
    size_t room = 0;

    for (size_t i = 0; i < choice->count; i++)
        room += profile->functions[choice->places[i]].line_count;
    struct clp_choice_line *found = clp_mem_alloc(choice->mem, room, sizeof *found);
    if (found == NULL && room != 0)
        return CLP_NO_MEMORY;
    *all = find_lines(choice, profile, options, found);
    *count = *all < most ? *all : most;
    if (*all > 1)
        qsort(found, *all, sizeof *found, compare_lines);
    for (size_t i = 0; !has_measure(options->order) && i < *count; i++)
        found[i].key = 0;
    if (!has_measure(options->order) && *count > 1)
        qsort(found, *count, sizeof *found, compare_lines);
    for (size_t i = 0; i < *count; i++)
        found[i].function = choice->places[found[i].function];
    void *block = found;
    clp_status status = clp_mem_grow(choice->mem, &block, &room, *count, sizeof *found);
    if (status != CLP_OK)
        clp_mem_free(choice->mem, found, room, sizeof *found);
    else
        *lines = block;
    return status;
}

/* ---- statements ---- */

/* Returns the first line of the statement that holds `line`. A line outside the source is its own statement. */
static int32_t start_of(const struct clp_profile_function *function, const int32_t *starts,
                        size_t count, int32_t line)
{
    int64_t base = function->first_line > 0 ? function->first_line - 1 : 0, at = line - base;

    if (at < 1 || (uint64_t)at >= count || starts[at] < 1 || starts[at] > at)
        return line;
    return (int32_t)(base + starts[at]);
}

static void merge_line(struct clp_profile_line *into, const struct clp_profile_line *from)
{
    uint64_t hits = into->measures.hits != 0 ? into->measures.hits : from->measures.hits;

    clp_measures_merge(&into->measures, &from->measures);
    into->measures.hits = hits;
    into->running |= from->running;
}

/* Returns the index of the line with this number among the first `count` lines, or the index to insert it at. */
static size_t place_of(const struct clp_profile_line *lines, size_t count, int32_t line)
{
    while (count > 0 && lines[count - 1].line >= line)
        count--;
    return count;
}

/* Puts the first lines of their statements in the place of missed lines. They nearly always come in order. */
static void fold_missed(struct clp_profile_function *function, const int32_t *starts, size_t count)
{
    int32_t *missed = function->missed;
    size_t kept = 0;

    for (size_t i = 0; i < function->missed_count; i++) {
        int32_t line = start_of(function, starts, count, missed[i]);
        size_t place = kept;
        while (place > 0 && missed[place - 1] > line)
            place--;
        if (place > 0 && missed[place - 1] == line)
            continue;
        memmove(&missed[place + 1], &missed[place], (kept++ - place) * sizeof *missed);
        missed[place] = line;
    }
    function->missed_count = kept;
    clp_missed_drop_lines(function);
}

void clp_choice_fold(struct clp_profile_function *function, const int32_t *starts, size_t count)
{
    struct clp_profile_line *lines = function->lines;
    size_t kept = 0;

    for (size_t i = 0; i < function->line_count; i++) {
        struct clp_profile_line line = lines[i];
        line.line = start_of(function, starts, count, line.line);
        size_t place = place_of(lines, kept, line.line);
        if (place < kept && lines[place].line == line.line) {
            merge_line(&lines[place], &line);
            continue;
        }
        memmove(&lines[place + 1], &lines[place], (kept - place) * sizeof *lines);
        lines[place] = line;
        kept++;
    }
    function->line_count = kept;
    fold_missed(function, starts, count);
}
