/* SPDX-License-Identifier: MIT */
#include "unpickle_literals.h"
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_FLOAT 63

/* ---- numbers ---- */

clp_status clp_unpickle_plain(struct clp_unpickler *machine, const struct clp_argument *argument,
                              unsigned detail)
{
    (void)argument;
    return push(machine, of_kind((enum clp_pickled_kind)detail));
}

clp_status clp_unpickle_number(struct clp_unpickler *machine, const struct clp_argument *argument,
                               unsigned detail)
{
    (void)detail;
    return push(machine, number_of(argument->number));
}

clp_status clp_unpickle_signed(struct clp_unpickler *machine, const struct clp_argument *argument,
                               unsigned detail)
{
    (void)detail;
    return push(machine, argument->number <= INT32_MAX ? number_of(argument->number)
                                                       : of_kind(CLP_PICKLED_NEGATIVE));
}

/* Reads a number of any length, in two's complement, the lowest byte first. */
clp_status clp_unpickle_long(struct clp_unpickler *machine, const struct clp_argument *argument,
                             unsigned detail)
{
    const unsigned char *bytes = machine->bytes + argument->at;
    size_t count = argument->bytes;
    uint64_t number = 0;

    (void)detail;
    if (count != 0 && bytes[count - 1] >= 0x80)
        return push(machine, of_kind(CLP_PICKLED_NEGATIVE));
    while (count != 0 && bytes[count - 1] == 0)
        count--;
    if (count > sizeof number)
        return push(machine, of_kind(CLP_PICKLED_HUGE));
    while (count != 0)
        number = number << 8 | bytes[--count];
    return push(machine, number_of(number));
}

/* Reads "12" or "-3". `detail` is the instruction: for 'L' the number may end in L; for 'I' "01" and "00" are
 * True and False. */
clp_status clp_unpickle_decimal(struct clp_unpickler *machine, const struct clp_argument *argument,
                                unsigned detail)
{
    const unsigned char *bytes = machine->bytes + argument->at;
    size_t count = argument->bytes, at = 0;
    struct clp_pickled value = number_of(0);

    if (detail == 'I' && count == 2 && bytes[0] == '0' && (bytes[1] | 1) == '1')
        return push(machine, of_kind(CLP_PICKLED_FLAG));
    if (detail == 'L' && count != 0 && bytes[count - 1] == 'L')
        count--;
    bool negative = count != 0 && bytes[0] == '-';
    at += negative;
    if (at == count)
        return corrupt(machine, "a number without digits");
    for (; at < count; at++) {
        unsigned digit = (unsigned)bytes[at] - '0';
        if (digit > 9)
            return corrupt(machine, "a number with something else in it");
        if (value.as.number > (UINT64_MAX - digit) / 10)
            value.kind = CLP_PICKLED_HUGE;
        value.as.number = value.as.number * 10 + digit;
    }
    return push(machine, negative ? of_kind(CLP_PICKLED_NEGATIVE) : value);
}

static clp_status push_real(struct clp_unpickler *machine, double real)
{
    return push(machine, (struct clp_pickled){.kind = CLP_PICKLED_REAL, .as.real = real});
}

/* Reads a double, the highest byte first. */
clp_status clp_unpickle_real(struct clp_unpickler *machine, const struct clp_argument *argument,
                             unsigned detail)
{
    const unsigned char *bytes = machine->bytes + argument->at;
    uint64_t bits = 0;
    double real;

    (void)detail;
    for (size_t i = 0; i < sizeof bits; i++)
        bits = bits << 8 | bytes[i];
    memcpy(&real, &bits, sizeof real);
    return push_real(machine, real);
}

/* Reads a float that is written in digits. The program may have set a locale that writes 0,9 for 0.9, so the C
 * locale is used. */
clp_status clp_unpickle_real_text(struct clp_unpickler *machine,
                                  const struct clp_argument *argument, unsigned detail)
{
    char text[LONGEST_FLOAT + 1] = "", *end;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);

    (void)detail;
    if (plain == (locale_t)0)
        return no_memory(machine);
    if (argument->bytes <= LONGEST_FLOAT)
        memcpy(text, machine->bytes + argument->at, argument->bytes);
    double real = strtod_l(text, &end, plain);
    freelocale(plain);
    if (text[0] == 0 || end != text + argument->bytes)
        return corrupt(machine, "a float that is none");
    return push_real(machine, real);
}

/* ---- texts ---- */

clp_status clp_unpickle_text(struct clp_unpickler *machine, const struct clp_argument *argument,
                             unsigned detail)
{
    struct clp_pickled value = {.kind = CLP_PICKLED_TEXT, .form = (unsigned char)detail};
    size_t at = argument->at, bytes = argument->bytes;

    if (detail == CLP_FORM_QUOTED) {
        if (bytes < 2 || machine->bytes[at] != machine->bytes[at + bytes - 1] ||
            (machine->bytes[at] != '\'' && machine->bytes[at] != '"'))
            return corrupt(machine, "a text without quotes");
        at++;
        bytes -= 2;
    }
    value.as.text.at = (uint32_t)at;
    value.as.text.bytes = (uint32_t)bytes;
    return push(machine, value);
}
