/* SPDX-License-Identifier: MIT */
#include "amount.h"
#include "base/number.h"
#include <math.h>
#include <string.h>

#define LARGEST_NUMBER 1e18

static const struct unit {
    enum clp_measure_kind kind;
    const char *name;
    double size;
} units[] = {
    {CLP_MEASURE_NANOS, "ns", 1},       {CLP_MEASURE_NANOS, "µs", 1e3},
    {CLP_MEASURE_NANOS, "us", 1e3},     {CLP_MEASURE_NANOS, "ms", 1e6},
    {CLP_MEASURE_NANOS, "s", 1e9},      {CLP_MEASURE_BYTES, "B", 1},
    {CLP_MEASURE_BYTES, "kB", 1e3},     {CLP_MEASURE_BYTES, "MB", 1e6},
    {CLP_MEASURE_BYTES, "GB", 1e9},     {CLP_MEASURE_BYTES, "KiB", 1 << 10},
    {CLP_MEASURE_BYTES, "MiB", 1 << 20}, {CLP_MEASURE_BYTES, "GiB", 1 << 30},
};

static bool is_name(const char *name, const char *text, size_t bytes)
{
    return strncmp(name, text, bytes) == 0 && name[bytes] == 0;
}

double clp_amount_unit(enum clp_measure_kind kind, const char *name, size_t bytes)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i].kind == kind && is_name(units[i].name, name, bytes))
            return units[i].size;
    return 0;
}

const char *clp_amount_units(enum clp_measure_kind kind)
{
    switch (kind) {
    case CLP_MEASURE_NANOS:
        return "ns, us, ms or s";
    case CLP_MEASURE_BYTES:
        return "B, kB, MB, GB, KiB, MiB or GiB";
    default:
        return "no unit";
    }
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool clp_amount_read(const char **at, double *number)
{
    double scale = 1;

    *number = 0;
    if (!is_digit(**at))
        return false;
    while (is_digit(**at))
        *number = *number * 10 + (*(*at)++ - '0');
    if (**at == '.') {
        ++*at;
        if (!is_digit(**at))
            return false;
        for (; is_digit(**at); scale *= 10)
            *number = *number * 10 + (*(*at)++ - '0');
    }
    *number /= scale;
    return *number <= LARGEST_NUMBER;
}

/* Adds a time with at least three digits: two of them behind the point below 10 (1.23 ms), otherwise one (123.4 ms). */
static void add_time(struct clp_buf *out, double nanos)
{
    double size = fabs(nanos);
    const char *unit = size < 1e3 ? "ns" : size < 1e6 ? "us" : size < 1e9 ? "ms" : "s";
    double amount = size < 1e3 ? nanos : size < 1e6 ? nanos / 1e3
                  : size < 1e9 ? nanos / 1e6 : nanos / 1e9;

    clp_buf_add_format(out, "%.*f %s", fabs(amount) < 10 ? 2 : 1, amount, unit);
}

void clp_amount_add(struct clp_buf *out, enum clp_measure_kind kind, double amount,
                            bool with_sign)
{
    if (amount == 0 && kind != CLP_MEASURE_COUNT) {
        clp_buf_add_text(out, kind == CLP_MEASURE_NANOS ? "0 s" : "0 MiB");
        return;
    }
    if (with_sign && amount >= 0)
        clp_buf_add_text(out, "+");
    if (kind == CLP_MEASURE_NANOS)
        add_time(out, amount);
    else if (kind == CLP_MEASURE_BYTES)
        clp_number_add_bytes(out, amount);
    else
        clp_buf_add_format(out, amount == floor(amount) ? "%.0f" : "%.1f", amount);
}

void clp_amount_add_round(struct clp_buf *out, enum clp_measure_kind kind, double amount)
{
    const struct unit *best = NULL;

    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        bool usual = kind == CLP_MEASURE_NANOS || (uint64_t)units[i].size % 1024 == 0;
        if (units[i].kind == kind && usual && (best == NULL || units[i].size <= amount))
            best = &units[i];
    }
    clp_buf_add_format(out, "%g%s%s", best != NULL ? amount / best->size : amount,
                       best != NULL ? " " : "", best != NULL ? best->name : "");
}
