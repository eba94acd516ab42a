/* SPDX-License-Identifier: MIT */
/* Numbers and texts, as each protocol of pickle writes them. A text stays as it is in the file till
 * somebody wants it. */
#include "unpickle_parts.h"
#include "shown.h"
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

/* Any number of bytes, the lowest first, in two's complement. */
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

/* "12", "-3"; with an L behind it where the instruction says so, or "01" for True. */
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

/* Its bytes stand in the file the highest first. */
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

/* The program may have set a locale that writes 0,9 for 0.9. */
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

static void add_code_point(struct clp_buf *out, uint32_t code)
{
    char bytes[4];
    size_t count;

    if (code >= 0xd800 && code < 0xe000) {
        clp_buf_add_format(out, "\\u%04x", (unsigned)code);
        return;
    }
    if (code < 0x80) {
        bytes[0] = (char)code;
        count = 1;
    } else {
        count = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
        for (size_t i = count - 1; i > 0; i--, code >>= 6)
            bytes[i] = (char)(0x80 | (code & 0x3f));
        bytes[0] = (char)(leads[count] | code);
    }
    clp_buf_add(out, bytes, count);
}

/* Python writes a lone surrogate as if it were a character. */
static bool is_surrogate(const unsigned char *text, size_t left)
{
    return left >= 3 && text[0] == 0xed && (text[1] & 0xe0) == 0xa0 && (text[2] & 0xc0) == 0x80;
}

static void add_utf8(struct clp_buf *out, const unsigned char *text, size_t bytes)
{
    for (size_t at = 0, size; at < bytes; at += size) {
        size = clp_shown_utf8_bytes(text + at, bytes - at);
        if (size != 0) {
            clp_buf_add(out, (const char *)text + at, size);
        } else if (is_surrogate(text + at, bytes - at)) {
            size = 3;
            add_code_point(out, 0xd000u | (text[at + 1] & 0x3fu) << 6 | (text[at + 2] & 0x3fu));
        } else {
            size = 1;
            clp_buf_add_format(out, "\\x%02x", text[at]);
        }
    }
}

static bool read_hex(const unsigned char *text, size_t bytes, size_t digits, uint32_t *code)
{
    *code = 0;
    for (size_t i = 0; i < digits; i++) {
        unsigned char c = i < bytes ? text[i] : 0, low = c | 0x20;
        if (!(c >= '0' && c <= '9') && !(low >= 'a' && low <= 'f'))
            return false;
        *code = *code << 4 | (c <= '9' ? c - (unsigned)'0' : low - (unsigned)'a' + 10);
    }
    return true;
}

/* Latin-1 with \uNNNN and \UNNNNNNNN in it; a backslash before anything else is one. */
static bool add_escaped(struct clp_buf *out, const unsigned char *text, size_t bytes)
{
    uint32_t code;

    for (size_t at = 0; at < bytes; at++) {
        unsigned char next = text[at] == '\\' && at + 1 < bytes ? text[at + 1] : 0;
        size_t digits = next == 'u' ? 4 : next == 'U' ? 8 : 0;
        if (digits == 0) {
            add_code_point(out, text[at]);
            continue;
        }
        if (!read_hex(text + at + 2, bytes - at - 2, digits, &code) || code > 0x10ffff)
            return false;
        add_code_point(out, code);
        at += 1 + digits;
    }
    return true;
}

/* As Python 2 shows bytes; \xNN is a byte of what is UTF-8 then. */
static bool add_quoted(struct clp_buf *out, const unsigned char *text, size_t bytes)
{
    static const char from[] = "\\'\"nrt", to[] = "\\'\"\n\r\t";
    struct clp_buf plain;
    bool good = true;

    clp_buf_init(&plain, out->mem);
    for (size_t at = 0; at < bytes && good; at++) {
        char byte = (char)text[at];
        uint32_t code;
        if (byte == '\\') {
            char next = at + 1 < bytes ? (char)text[at + 1] : 0;
            const char *found = next != 0 ? strchr(from, next) : NULL;
            bool hex = next == 'x' && read_hex(text + at + 2, bytes - at - 2, 2, &code);
            good = found != NULL || hex;
            byte = hex ? (char)code : found != NULL ? to[found - from] : 0;
            at += hex ? 3 : 1;
        }
        clp_buf_add(&plain, &byte, 1);
    }
    add_utf8(out, (const unsigned char *)clp_buf_text(&plain), plain.used);
    out->failed |= plain.failed;
    clp_buf_clear(&plain);
    return good;
}

bool clp_unpickled_add_text(const struct clp_unpickled *values, const struct clp_pickled *value,
                            struct clp_buf *out)
{
    const unsigned char *text = (const unsigned char *)values->bytes + value->as.text.at;
    size_t bytes = value->as.text.bytes;

    if (value->form == CLP_FORM_QUOTED)
        return add_quoted(out, text, bytes);
    if (value->form == CLP_FORM_ESCAPED)
        return add_escaped(out, text, bytes);
    add_utf8(out, text, bytes);
    return true;
}
