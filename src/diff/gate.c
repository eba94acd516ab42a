/* SPDX-License-Identifier: MIT */
#include "gate.h"
#include <stdio.h>
#include <string.h>

/* ---- reading ---- */

struct reader {
    const char *expression, *at;
    struct clp_buf *fault;
};

/* False, for the caller to return. */
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

static bool read_measure(struct reader *reader, struct clp_gate *gate)
{
    skip_spaces(reader);
    size_t bytes = strspn(reader->at, "abcdefghijklmnopqrstuvwxyz-");
    gate->measure = clp_measure_named(reader->at, bytes);
    gate->text = reader->at;
    if (bytes == 0 || gate->measure == CLP_MEASURES)
        return complain(reader, "time, self, hits, await, max, mem, grown, released, increment, "
                                "self-increment, largest or total");
    reader->at += bytes;
    skip_spaces(reader);
    if (*reader->at != '>' && *reader->at != '<')
        return complain(reader, "> or <");
    gate->below = *reader->at++ == '<';
    skip_spaces(reader);
    return true;
}

static bool complain_of_unit(struct reader *reader, const struct clp_gate *gate, bool percent)
{
    enum clp_measure_kind kind = clp_measure_kind_of(gate->measure);
    char wanted[64];

    (void)snprintf(wanted, sizeof wanted, "%s%s", clp_measure_units(kind), percent ? ", or %" : "");
    return complain(reader, wanted);
}

/* Behind the number; zero is the same in every unit. */
static bool read_unit(struct reader *reader, struct clp_gate *gate, bool change)
{
    enum clp_measure_kind kind = clp_measure_kind_of(gate->measure);

    skip_spaces(reader);
    size_t bytes = strcspn(reader->at, ", ");
    double unit = clp_measure_unit(kind, reader->at, bytes);
    if (change && bytes == 1 && *reader->at == '%')
        gate->kind = CLP_GATE_PERCENT;
    else if (bytes != 0 && unit != 0)
        gate->amount *= unit;
    else if (bytes != 0 || (kind != CLP_MEASURE_COUNT && gate->amount != 0))
        return complain_of_unit(reader, gate, change);
    reader->at += bytes;
    return true;
}

static bool read_gate(struct reader *reader, struct clp_gate *gate)
{
    if (!read_measure(reader, gate))
        return false;
    bool change = *reader->at == '+' || *reader->at == '-', falls = *reader->at == '-';
    reader->at += change;
    gate->kind = change ? CLP_GATE_CHANGE : CLP_GATE_LIMIT;
    skip_spaces(reader);
    if (!clp_measure_read_number(&reader->at, &gate->amount))
        return complain(reader, "a number");
    if (!read_unit(reader, gate, change))
        return false;
    if (falls)
        gate->amount = -gate->amount;
    gate->bytes = (size_t)(reader->at - gate->text);
    skip_spaces(reader);
    return *reader->at == 0 || *reader->at == ',' || complain(reader, "a comma");
}

bool clp_gates_parse(struct clp_gates *gates, const char *expression, struct clp_buf *fault)
{
    struct reader reader = {expression, expression, fault};
    struct clp_gates found = {.count = 0};

    for (;; reader.at++) {
        if (found.count == CLP_GATES_MOST)
            return complain(&reader, "fewer gates");
        if (!read_gate(&reader, &found.items[found.count]))
            return false;
        found.count++;
        if (*reader.at == 0)
            break;
    }
    *gates = found;
    return true;
}

/* ---- checking ---- */

bool clp_gate_breaks(const struct clp_gate *gate, const struct clp_change *change)
{
    double value = change->changed ? change->change : 0;

    if (gate->kind == CLP_GATE_LIMIT)
        value = change->after.mean;
    else if (gate->kind == CLP_GATE_PERCENT)
        value = change->changed ? change->percent : 0;
    return gate->below ? value < gate->amount : value > gate->amount;
}

const struct clp_gate *clp_gates_find_unknown(const struct clp_gates *gates,
                                              const struct clp_comparison *comparison)
{
    for (size_t i = 0; i < gates->count; i++) {
        const struct clp_gate *gate = &gates->items[i];
        if (!comparison->known[CLP_NEW][gate->measure] ||
            (gate->kind != CLP_GATE_LIMIT && !comparison->known[CLP_OLD][gate->measure]))
            return gate;
    }
    return NULL;
}

struct check {
    const struct clp_gates *gates;
    const struct clp_comparison *comparison;
    void (*tell)(void *listener, const struct clp_breach *breach);
    void *listener;
    size_t count;
};

/* The gates that are of whole functions, or those of lines. What ran on neither side has no say. */
static void check_samples(struct check *check, const struct clp_compared_function *function,
                          const struct clp_compared_row *row)
{
    const struct clp_samples *samples = row != NULL ? &row->samples : &function->samples;

    if (!clp_comparison_ran(check->comparison, samples, CLP_OLD) &&
        !clp_comparison_ran(check->comparison, samples, CLP_NEW))
        return;
    for (size_t i = 0; i < check->gates->count; i++) {
        const struct clp_gate *gate = &check->gates->items[i];
        if ((gate->measure == CLP_MEASURE_TOTAL) != (row == NULL))
            continue;
        struct clp_breach breach = {gate, function, row, {.changed = false}};
        breach.change = clp_comparison_change(check->comparison, samples, gate->measure);
        if (!clp_gate_breaks(gate, &breach.change))
            continue;
        check->count++;
        check->tell(check->listener, &breach);
    }
}

size_t clp_gates_check(const struct clp_gates *gates, const struct clp_comparison *comparison,
                       void (*tell)(void *listener, const struct clp_breach *breach),
                       void *listener)
{
    struct check check = {gates, comparison, tell, listener, 0};

    for (size_t i = 0; i < comparison->function_count; i++) {
        const struct clp_compared_function *function = &comparison->functions[i];
        check_samples(&check, function, NULL);
        for (size_t j = 0; j < function->row_count; j++)
            check_samples(&check, function, &function->rows[j]);
    }
    return check.count;
}
