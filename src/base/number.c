/* SPDX-License-Identifier: MIT */
#include "number.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static size_t put_digits(char *text, uint64_t value)
{
    char reversed[CLP_NUMBER_BYTES];
    size_t bytes = 0;

    do {
        reversed[bytes++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    for (size_t i = 0; i < bytes; i++)
        text[i] = reversed[bytes - 1 - i];
    text[bytes] = 0;
    return bytes;
}

/* Writes the value as printf's "%.1f" (`scale` 10) or "%.3f" (`scale` 1000). printf itself would take most of
 * the time of a long report. Close to a tie the product may round to the wrong side, so printf decides there.
 * Returns the length, which may be more than the width of the column. */
static size_t set_fixed(struct clp_number *number, double value, unsigned scale)
{
    double scaled = (value < 0 ? -value : value) * scale;
    uint64_t whole = scaled < 1e12 ? (uint64_t)scaled : 0;
    double part = scaled - (double)whole;

    if (!(scaled < 1e12) || (part > 0.499 && part < 0.501))
        return (size_t)snprintf(number->text, sizeof number->text, "%.*f", scale == 10 ? 1 : 3, value);
    whole += part > 0.5;
    char *at = number->text;
    if (value < 0)
        *at++ = '-';
    at += put_digits(at, whole / scale);
    /* an extra 1 in front keeps the leading zeros of the fraction; the point overwrites it */
    size_t bytes = put_digits(at, scale + whole % scale);
    *at = '.';
    return (size_t)(at - number->text) + bytes;
}

void clp_number_set_decimal(struct clp_number *number, double value, size_t width)
{
    if (set_fixed(number, value, 10) > width)
        snprintf(number->text, sizeof number->text, "%.3g", value);
}

/* The unit of a time, the largest in which it is at least 1, and its digits behind the point. A time that would be
 * rounded to 1000 takes the next unit. */
struct fitting {
    const char *unit;
    double amount;
    int digits;
};

static struct fitting fit(double nanos)
{
    static const struct {
        const char *unit;
        double size;
    } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
    size_t at = 0;

    while (units[at].size > 1 && fabs(nanos) < units[at].size * 0.9995)
        at++;
    double amount = nanos / units[at].size, size = fabs(amount);
    return (struct fitting){units[at].unit, amount, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2};
}

void clp_number_set_time(struct clp_number *number, double nanos)
{
    static const char *const padding[] = {"   ", " ", ""}; /* in place of the point and the digits that lack */
    struct fitting time = fit(nanos);
    char digits[CLP_NUMBER_BYTES];

    if (nanos == 0) {
        (void)snprintf(number->text, sizeof number->text, "  0      ");
        return;
    }
    (void)snprintf(digits, sizeof digits, "%.*f%s", time.digits, time.amount, padding[time.digits]);
    if (strlen(digits) > CLP_NUMBER_BYTES - sizeof " ms") /* no time of a program is as long */
        (void)snprintf(digits, sizeof digits, "%.3g", time.amount);
    (void)snprintf(number->text, sizeof number->text, "%6.*s %-2s", CLP_NUMBER_BYTES - 4, digits, time.unit);
}

void clp_number_add_time(struct clp_buf *out, double nanos)
{
    struct fitting time = fit(nanos);

    if (nanos == 0)
        clp_buf_add_text(out, "0 s");
    else
        clp_buf_add_format(out, "%.*f %s", time.digits, time.amount, time.unit);
}

void clp_number_set_bytes(struct clp_number *number, double amount)
{
    double mib = amount / (1024 * 1024);

    if (mib > -0.0005 && mib < 0)
        mib = 0; /* no "-0.000" */
    size_t bytes = set_fixed(number, mib, 1000);
    memcpy(number->text + bytes, " MiB", sizeof " MiB");
}

void clp_number_add_bytes(struct clp_buf *out, double amount)
{
    struct clp_number number;

    clp_number_set_bytes(&number, amount);
    clp_buf_add_text(out, number.text);
}

void clp_number_set_count(struct clp_number *number, double count, size_t width)
{
    size_t sign = count < 0;

    number->text[0] = '-';
    if (!(fabs(count) < 0x1p64) || sign + put_digits(number->text + sign, (uint64_t)fabs(count)) > width)
        (void)snprintf(number->text, sizeof number->text, "%g", count);
}

void clp_number_add(struct clp_buf *out, size_t width, const char *text)
{
    size_t bytes = strlen(text);

    if (bytes < width)
        clp_buf_add_repeated(out, ' ', width - bytes);
    clp_buf_add(out, text, bytes);
}
