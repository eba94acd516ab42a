/* SPDX-License-Identifier: MIT */
#include "verdict.h"
#include "significance.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- changes ---- */

static struct clp_side_range range_of(const struct clp_comparison *comparison,
                                 const struct clp_side_samples *samples, int side,
                                 enum clp_measure measure)
{
    const struct clp_measures *const *values = samples->sides[side];
    size_t count = comparison->file_counts[side];
    struct clp_side_range range = {0};
    double sum = 0;

    for (size_t i = 0; values != NULL && i < count; i++) {
        double value = values[i] != NULL ? clp_measure_value(measure, values[i]) : 0;
        sum += value;
        range.low = i == 0 || value < range.low ? value : range.low;
        range.high = i == 0 || value > range.high ? value : range.high;
    }
    if (sum != 0)
        range.mean = sum / (double)count;
    return range;
}

static double noise_of(const struct clp_comparison *comparison, const struct clp_side_samples *samples,
                       enum clp_measure measure)
{
    const struct clp_compare_options *options = &comparison->options;

    switch (clp_measure_rows[measure].kind) {
    case CLP_MEASURE_NANOS: {
        double before = range_of(comparison, samples, CLP_OLD, CLP_MEASURE_hits).mean;
        double after = range_of(comparison, samples, CLP_NEW, CLP_MEASURE_hits).mean;
        return fmax(options->time_floor, options->hit_floor * fmax(before, after));
    }
    case CLP_MEASURE_BYTES:
        return options->bytes_floor;
    default:
        return 0;
    }
}

static double percent_of(double change, double before)
{
    if (change == 0)
        return 0;
    return before != 0 ? 100 * change / fabs(before) : copysign(INFINITY, change);
}

static struct clp_difference test(const struct clp_comparison *comparison, const struct clp_side_samples *samples,
                                  enum clp_measure measure)
{
    for (int side = 0; side < 2; side++) {
        const struct clp_measures *const *values = samples->sides[side];
        for (size_t i = 0; i < comparison->file_counts[side]; i++)
            comparison->values[side][i] =
                values != NULL && values[i] != NULL ? clp_measure_value(measure, values[i]) : 0;
    }
    return clp_difference_of(comparison->values[CLP_OLD], comparison->file_counts[CLP_OLD],
                             comparison->values[CLP_NEW], comparison->file_counts[CLP_NEW]);
}

/* Takes the averages from the test. Returns whether the change is real. */
static bool is_real(const struct clp_comparison *comparison, const struct clp_side_samples *samples,
                    enum clp_measure measure, struct clp_change *change)
{
    struct clp_difference difference = test(comparison, samples, measure);

    change->before.mean = difference.before;
    change->after.mean = difference.after;
    change->chance = difference.chance;
    change->margin = clp_difference_margin(&difference, comparison->options.confidence);
    return difference.chance <= comparison->real;
}

static bool are_apart(struct clp_side_range a, struct clp_side_range b)
{
    return a.high < b.low || b.high < a.low;
}

struct clp_change clp_comparison_change(const struct clp_comparison *comparison,
                                        const struct clp_side_samples *samples,
                                        enum clp_measure measure)
{
    struct clp_change change = {
        .before = range_of(comparison, samples, CLP_OLD, measure),
        .after = range_of(comparison, samples, CLP_NEW, measure),
    };
    bool real = comparison->options.confidence != 0 ? is_real(comparison, samples, measure, &change)
                                                    : are_apart(change.before, change.after);

    change.change = change.after.mean - change.before.mean;
    change.percent = percent_of(change.change, change.before.mean);
    change.changed = real && fabs(change.change) > noise_of(comparison, samples, measure);
    return change;
}

double clp_comparison_least(const struct clp_comparison *comparison, const struct clp_side_samples *samples,
                            enum clp_measure measure)
{
    struct clp_difference difference = test(comparison, samples, measure);
    double risk = (1 - comparison->options.confidence) / (double)(comparison->tests != 0 ? comparison->tests : 1);

    return fmax(clp_difference_margin(&difference, 1 - risk), noise_of(comparison, samples, measure));
}

bool clp_comparison_ran(const struct clp_comparison *comparison, const struct clp_side_samples *samples,
                        int side)
{
    const struct clp_measures *const *values = samples->sides[side];

    for (size_t i = 0; values != NULL && i < comparison->file_counts[side]; i++)
        if (values[i] != NULL && (values[i]->hits != 0 || values[i]->time != 0))
            return true;
    return false;
}

/* ---- tests ---- */

struct tests {
    struct clp_comparison *comparison;
    double *chances;
    bool tested[CLP_MEASURES];
};

static void add_test(struct tests *tests, const struct clp_side_samples *samples, enum clp_measure measure)
{
    struct clp_comparison *comparison = tests->comparison;
    struct clp_side_range before = range_of(comparison, samples, CLP_OLD, measure);
    struct clp_side_range after = range_of(comparison, samples, CLP_NEW, measure);

    if (fmax(before.high, after.high) - fmin(before.low, after.low) > noise_of(comparison, samples, measure))
        tests->chances[comparison->tests++] = test(comparison, samples, measure).chance;
}

static void add_tests(struct tests *tests, const struct clp_side_samples *samples)
{
    for (unsigned i = 0; i < CLP_MEASURES; i++)
        if (tests->tested[i])
            add_test(tests, samples, (enum clp_measure)i);
}

/* Chooses the measures that are tested: hits, and those that both sides have and that are compared or have a limit. A
 * limit on total is one on the time of functions. Returns how many there are. */
static size_t choose_tests(struct tests *tests)
{
    const struct clp_comparison *comparison = tests->comparison;
    const struct clp_compare_options *options = &comparison->options;
    size_t count = 0;

    memcpy(tests->tested, options->limited, sizeof tests->tested);
    for (size_t i = 0; i < options->measures.count; i++)
        tests->tested[options->measures.items[i]] = true;
    tests->tested[CLP_MEASURE_hits] = true;
    tests->tested[CLP_MEASURE_time] |= tests->tested[CLP_MEASURE_total];
    tests->tested[CLP_MEASURE_total] = false;
    for (unsigned i = 0; i < CLP_MEASURES; i++) {
        tests->tested[i] &= comparison->known[CLP_OLD][i] && comparison->known[CLP_NEW][i];
        count += tests->tested[i];
    }
    return count;
}

clp_status clp_comparison_test(struct clp_comparison *comparison)
{
    struct tests tests = {.comparison = comparison};

    if (comparison->options.confidence == 0)
        return CLP_OK;
    size_t room = choose_tests(&tests) * (comparison->row_count + comparison->function_count);
    for (int side = 0; side < 2; side++)
        comparison->values[side] =
            clp_mem_alloc(comparison->mem, comparison->file_counts[side], sizeof *comparison->values[side]);
    if (comparison->values[CLP_OLD] == NULL || comparison->values[CLP_NEW] == NULL)
        return CLP_NO_MEMORY; /* clp_comparison_clear frees the other one */
    tests.chances = clp_mem_alloc(comparison->mem, room, sizeof *tests.chances);
    if (tests.chances == NULL)
        return room == 0 ? CLP_OK : CLP_NO_MEMORY;
    for (size_t i = 0; i < comparison->row_count; i++)
        add_tests(&tests, &comparison->rows[i].samples);
    for (size_t i = 0; i < comparison->function_count; i++)
        add_tests(&tests, &comparison->functions[i].samples);
    comparison->real = clp_holms_limit(tests.chances, comparison->tests, 1 - comparison->options.confidence);
    clp_mem_free(comparison->mem, tests.chances, room, sizeof *tests.chances);
    return CLP_OK;
}

/* ---- verdicts ---- */

const char *clp_verdict_text(enum clp_verdict verdict)
{
#define CLP_VERDICT_NAME(name, text) text,
    static const char *const texts[] = {CLP_VERDICT_TABLE(CLP_VERDICT_NAME)};
#undef CLP_VERDICT_NAME

    return texts[verdict];
}

static unsigned bit(enum clp_verdict verdict)
{
    return 1u << verdict;
}

/* Returns the bit of `more` or `less`, or 0 where the measure has not changed. */
static unsigned judge(const struct clp_comparison *comparison, const struct clp_side_samples *samples,
                      enum clp_measure measure, enum clp_verdict more, enum clp_verdict less)
{
    struct clp_change change = clp_comparison_change(comparison, samples, measure);

    return !change.changed ? 0 : bit(change.change > 0 ? more : less);
}

/* Judges by the first measure of time and the first measure of memory that both sides have. */
static unsigned judge_measures(const struct clp_comparison *comparison,
                               const struct clp_side_samples *samples)
{
    const struct clp_compare_options *options = &comparison->options;
    bool by_time = false, by_memory = false;
    unsigned verdicts = 0;

    for (size_t i = 0; i < options->measures.count; i++) {
        enum clp_measure measure = options->measures.items[i];
        enum clp_measure_kind kind = clp_measure_rows[measure].kind;
        if (!comparison->known[CLP_OLD][measure] || !comparison->known[CLP_NEW][measure])
            continue;
        if (kind == CLP_MEASURE_NANOS && !by_time) {
            by_time = true;
            verdicts |= judge(comparison, samples, measure, CLP_VERDICT_SLOWER, CLP_VERDICT_FASTER);
        } else if (kind == CLP_MEASURE_BYTES && !by_memory) {
            by_memory = true;
            verdicts |= judge(comparison, samples, measure, CLP_VERDICT_GROWN, CLP_VERDICT_SHRUNK);
        }
    }
    return verdicts;
}

static unsigned judge_row(const struct clp_comparison *comparison,
                          const struct clp_compared_row *row)
{
    if (!row->has[CLP_OLD] || !row->has[CLP_NEW]) {
        int side = row->has[CLP_NEW] ? CLP_NEW : CLP_OLD;
        if (!clp_comparison_ran(comparison, &row->samples, side))
            return 0;
        return bit(side == CLP_NEW ? CLP_VERDICT_NEW : CLP_VERDICT_GONE);
    }
    return judge_measures(comparison, &row->samples) |
           judge(comparison, &row->samples, CLP_MEASURE_hits, CLP_VERDICT_MORE, CLP_VERDICT_FEWER);
}

static unsigned judge_function(const struct clp_comparison *comparison,
                               const struct clp_compared_function *function)
{
    if (function->sides[CLP_OLD] == NULL)
        return bit(CLP_VERDICT_NEW);
    if (function->sides[CLP_NEW] == NULL)
        return bit(CLP_VERDICT_GONE);
    return judge_measures(comparison, &function->samples);
}

void clp_comparison_judge(struct clp_comparison *comparison)
{
    for (size_t i = 0; i < comparison->function_count; i++) {
        struct clp_compared_function *function = &comparison->functions[i];
        function->verdicts = judge_function(comparison, function);
        function->changed = function->verdicts != 0;
        for (size_t j = 0; j < function->row_count; j++) {
            function->rows[j].verdicts = judge_row(comparison, &function->rows[j]);
            function->changed |= function->rows[j].verdicts != 0;
        }
    }
}

/* ---- lists ---- */

struct weighed {
    double weights[2]; /* sizes of the changes of the first two measures; 0 within the noise */
    size_t place;
};

static int compare_weights(const void *left, const void *right)
{
    const struct weighed *a = left, *b = right;

    for (int i = 0; i < 2; i++)
        if (a->weights[i] != b->weights[i])
            return a->weights[i] > b->weights[i] ? -1 : 1;
    return a->place < b->place ? -1 : 1;
}

static struct weighed weigh(const struct clp_comparison *comparison, size_t place)
{
    const struct clp_side_samples *samples = &comparison->functions[place].samples;
    struct weighed weighed = {.place = place};

    for (size_t i = 0; i < 2 && i < comparison->options.measures.count; i++) {
        struct clp_change change =
            clp_comparison_change(comparison, samples, comparison->options.measures.items[i]);
        weighed.weights[i] = change.changed ? fabs(change.change) : 0;
    }
    return weighed;
}

clp_status clp_comparison_list_make(struct clp_comparison_list *list,
                                    const struct clp_comparison *comparison, bool all)
{
    size_t room = comparison->function_count, count = 0;
    struct weighed *weighed = clp_mem_alloc(comparison->mem, room, sizeof *weighed);
    size_t *places = clp_mem_alloc(comparison->mem, room, sizeof *places);
    clp_status status = CLP_NO_MEMORY;

    if (room != 0 && (weighed == NULL || places == NULL))
        goto out;
    for (size_t i = 0; i < room; i++)
        if (all || comparison->functions[i].changed)
            weighed[count++] = weigh(comparison, i);
    if (count > 1)
        qsort(weighed, count, sizeof *weighed, compare_weights);
    for (size_t i = 0; i < count; i++)
        places[i] = weighed[i].place;
    *list = (struct clp_comparison_list){places, count, room};
    places = NULL;
    status = CLP_OK;
out:
    clp_mem_free(comparison->mem, weighed, room, sizeof *weighed);
    clp_mem_free(comparison->mem, places, room, sizeof *places);
    return status;
}

void clp_comparison_list_clear(struct clp_comparison_list *list, struct clp_mem *mem)
{
    clp_mem_free(mem, list->places, list->room, sizeof *list->places);
    *list = (struct clp_comparison_list){0};
}

static void count_verdicts(unsigned verdicts, size_t counts[CLP_VERDICTS])
{
    for (unsigned i = 0; i < CLP_VERDICTS; i++)
        counts[i] += verdicts >> i & 1;
}

struct clp_comparison_tally clp_comparison_count(const struct clp_comparison *comparison)
{
    struct clp_comparison_tally tally = {0};

    for (size_t i = 0; i < comparison->function_count; i++) {
        const struct clp_compared_function *function = &comparison->functions[i];
        bool both = function->sides[CLP_OLD] != NULL && function->sides[CLP_NEW] != NULL;
        count_verdicts(function->verdicts, tally.functions);
        for (size_t j = 0; both && j < function->row_count; j++)
            count_verdicts(function->rows[j].verdicts, tally.lines);
        tally.within += function->verdicts == 0 && function->changed;
        tally.unchanged += !function->changed;
    }
    return tally;
}
