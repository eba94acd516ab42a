/* SPDX-License-Identifier: MIT */
#include "pickled.h"
#include "base/escape.h"
#include <string.h>

void clp_unpickled_clear(struct clp_unpickled *values)
{
    clp_mem_free(values->mem, values->nodes, values->node_room, sizeof *values->nodes);
    clp_mem_free(values->mem, values->items, values->item_room, sizeof *values->items);
    *values = (struct clp_unpickled){.mem = values->mem};
}

struct clp_pickled_node *clp_unpickled_node(const struct clp_unpickled *values,
                                            const struct clp_pickled *value)
{
    return &values->nodes[value->as.node];
}

const struct clp_pickled *clp_unpickled_next(const struct clp_unpickled *values, uint32_t *at)
{
    const struct clp_pickled_item *item;

    if (*at == 0)
        return NULL;
    item = &values->items[*at];
    *at = item->next;
    return &item->value;
}

const char *clp_pickled_kind_text(const struct clp_pickled *value)
{
#define CLP_PICKLED_TEXT_OF(kind, text) text,
    static const char *const texts[] = {CLP_PICKLED_TABLE(CLP_PICKLED_TEXT_OF)};
#undef CLP_PICKLED_TEXT_OF
    return texts[value->kind];
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

/* Does a lone surrogate stand here? Python encodes it as if it were a character. */
static bool is_surrogate(const unsigned char *text, size_t left)
{
    return left >= 3 && text[0] == 0xed && (text[1] & 0xe0) == 0xa0 && (text[2] & 0xc0) == 0x80;
}

static void add_utf8(struct clp_buf *out, const unsigned char *text, size_t bytes)
{
    for (size_t at = 0, size; at < bytes; at += size) {
        size = clp_escape_utf8_bytes(text + at, bytes - at);
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

/* Adds a text that is Latin-1 with \uNNNN and \UNNNNNNNN in it. A backslash before any other character stands
 * for itself. False: an escape sequence is invalid. */
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

/* Adds a text that is quoted as Python 2 shows bytes. \xNN stands for a byte; the bytes are then read as UTF-8.
 * False: an escape sequence is invalid. */
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
