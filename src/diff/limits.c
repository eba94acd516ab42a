/* SPDX-License-Identifier: MIT */
#include "limits.h"
#include "base/words.h"
#include <stdio.h>
#include <string.h>

/* ---- reading ---- */

struct reader {
    const char *expression, *at;
    struct clp_buf *fault;
};

/* Appends the fault. Always returns false, so that the caller can return this result. */
static bool complain(struct reader *reader, const char *wanted)
{
    size_t place = (size_t)(reader->at - reader->expression);

    clp_buf_add_format(reader->fault, "needs %s at character %zu of '%s'", wanted, place + 1,
                       reader->expression);
    return false;
}

static void skip_spaces(struct reader *reader)
{
    while (*reader->at == ' ')
        reader->at++;
}

static bool complain_of_measure(struct reader *reader, size_t bytes)
{
    static const char before[] = "one of ";
    struct clp_buf names;
    const char *near;

    clp_buf_init(&names, reader->fault->mem);
    clp_buf_add_text(&names, before);
    clp_measure_add_names(&names, CLP_MEASURES);
    size_t near_bytes = clp_words_nearest(clp_buf_text(&names) + strlen(before), reader->at, bytes, &near);
    (void)complain(reader, near_bytes != 0 ? "a measure" : clp_buf_text(&names));
    if (near_bytes != 0)
        clp_buf_add_format(reader->fault, " (did you mean %.*s?)", (int)near_bytes, near);
    clp_buf_clear(&names);
    return false;
}

static bool read_measure(struct reader *reader, struct clp_limit *limit)
{
    skip_spaces(reader);
    size_t bytes = strspn(reader->at, "abcdefghijklmnopqrstuvwxyz-");
    limit->measure = clp_measure_named(reader->at, bytes);
    limit->text = reader->at;
    if (bytes == 0 || limit->measure == CLP_MEASURES)
        return complain_of_measure(reader, bytes);
    reader->at += bytes;
    skip_spaces(reader);
    if (*reader->at != '>' && *reader->at != '<')
        return complain(reader, "> or <");
    limit->below = *reader->at++ == '<';
    skip_spaces(reader);
    return true;
}

static bool complain_of_unit(struct reader *reader, const struct clp_limit *limit, bool percent)
{
    enum clp_measure_kind kind = clp_measure_rows[limit->measure].kind;
    char wanted[64];

    (void)snprintf(wanted, sizeof wanted, "%s%s", clp_amount_units(kind), percent ? ", or %" : "");
    return complain(reader, wanted);
}

/* Reads the unit behind the number. A zero needs no unit, because it is the same in every unit. */
static bool read_unit(struct reader *reader, struct clp_limit *limit, bool change)
{
    enum clp_measure_kind kind = clp_measure_rows[limit->measure].kind;

    skip_spaces(reader);
    size_t bytes = strcspn(reader->at, ", ");
    double unit = clp_amount_unit(kind, reader->at, bytes);
    if (change && bytes == 1 && *reader->at == '%')
        limit->kind = CLP_LIMIT_PERCENT;
    else if (bytes != 0 && unit != 0)
        limit->amount *= unit;
    else if (bytes != 0 || (kind != CLP_MEASURE_COUNT && limit->amount != 0))
        return complain_of_unit(reader, limit, change);
    reader->at += bytes;
    return true;
}

static bool read_limit(struct reader *reader, struct clp_limit *limit)
{
    if (!read_measure(reader, limit))
        return false;
    bool change = *reader->at == '+' || *reader->at == '-', falls = *reader->at == '-';
    reader->at += change;
    limit->kind = change ? CLP_LIMIT_CHANGE : CLP_LIMIT_VALUE;
    skip_spaces(reader);
    if (!clp_amount_read(&reader->at, &limit->amount))
        return complain(reader, "a number");
    if (!read_unit(reader, limit, change))
        return false;
    if (falls)
        limit->amount = -limit->amount;
    limit->bytes = (size_t)(reader->at - limit->text);
    skip_spaces(reader);
    return *reader->at == 0 || *reader->at == ',' || complain(reader, "a comma");
}

bool clp_limits_parse(struct clp_limits *limits, const char *expression, struct clp_buf *fault)
{
    struct reader reader = {expression, expression, fault};
    struct clp_limits found = {.count = 0};

    for (;; reader.at++) {
        if (found.count == CLP_LIMITS_MOST)
            return complain(&reader, "fewer limits");
        if (!read_limit(&reader, &found.items[found.count]))
            return false;
        found.count++;
        if (*reader.at == 0)
            break;
    }
    *limits = found;
    return true;
}

/* ---- checking ---- */

bool clp_limit_breaks(const struct clp_limit *limit, const struct clp_change *change)
{
    double value = change->changed ? change->change : 0;

    if (limit->kind == CLP_LIMIT_VALUE)
        value = change->after.mean;
    else if (limit->kind == CLP_LIMIT_PERCENT)
        value = change->changed ? change->percent : 0;
    return limit->below ? value < limit->amount : value > limit->amount;
}

const struct clp_limit *clp_limits_find_unknown(const struct clp_limits *limits,
                                                const struct clp_comparison *comparison)
{
    for (size_t i = 0; i < limits->count; i++) {
        const struct clp_limit *limit = &limits->items[i];
        if (!comparison->known[CLP_NEW][limit->measure] ||
            (limit->kind != CLP_LIMIT_VALUE && !comparison->known[CLP_OLD][limit->measure]))
            return limit;
    }
    return NULL;
}

struct check {
    const struct clp_limits *limits;
    const struct clp_comparison *comparison;
    void (*tell)(void *listener, const struct clp_breach *breach);
    void *listener;
    size_t count;
};

/* Checks the limits of the whole function (row NULL), or those of the line `row`. A function or line that ran on
 * neither side breaks no limit. */
static void check_samples(struct check *check, const struct clp_compared_function *function,
                          const struct clp_compared_row *row)
{
    const struct clp_side_samples *samples = row != NULL ? &row->samples : &function->samples;

    if (!clp_comparison_ran(check->comparison, samples, CLP_OLD) &&
        !clp_comparison_ran(check->comparison, samples, CLP_NEW))
        return;
    for (size_t i = 0; i < check->limits->count; i++) {
        const struct clp_limit *limit = &check->limits->items[i];
        if ((limit->measure == CLP_MEASURE_total) != (row == NULL))
            continue;
        struct clp_breach breach = {limit, function, row, {.changed = false}};
        breach.change = clp_comparison_change(check->comparison, samples, limit->measure);
        if (!clp_limit_breaks(limit, &breach.change))
            continue;
        check->count++;
        check->tell(check->listener, &breach);
    }
}

size_t clp_limits_check(const struct clp_limits *limits, const struct clp_comparison *comparison,
                        void (*tell)(void *listener, const struct clp_breach *breach),
                        void *listener)
{
    struct check check = {limits, comparison, tell, listener, 0};

    for (size_t i = 0; i < comparison->function_count; i++) {
        const struct clp_compared_function *function = &comparison->functions[i];
        check_samples(&check, function, NULL);
        for (size_t j = 0; j < function->row_count; j++)
            check_samples(&check, function, &function->rows[j]);
    }
    return check.count;
}
