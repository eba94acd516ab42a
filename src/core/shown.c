/* SPDX-License-Identifier: MIT */
#include "shown.h"
#include <stdbool.h>

size_t clp_shown_utf8_bytes(const unsigned char *text, size_t left)
{
    unsigned char lead = text[0], low = 0x80, high = 0xbf;
    size_t bytes = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2
                 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xf0 && lead < 0xf5 ? 4 : 0;

    if (bytes > left)
        return 0;
    if (lead == 0xe0)
        low = 0xa0;
    else if (lead == 0xf0)
        low = 0x90;
    else if (lead == 0xed)
        high = 0x9f;
    else if (lead == 0xf4)
        high = 0x8f;
    for (size_t i = 1; i < bytes; i++, low = 0x80, high = 0xbf)
        if (text[i] < low || text[i] > high)
            return 0;
    return bytes;
}

/* Terminals obey the characters below space, DEL and U+0080 to U+009F. */
static bool is_control(const unsigned char *text, size_t bytes)
{
    if (bytes == 2)
        return text[0] == 0xc2 && text[1] < 0xa0;
    return bytes == 1 && (text[0] == 0x7f || (text[0] < ' ' && text[0] != '\t'));
}

static bool is_plain(unsigned char byte)
{
    return (byte >= ' ' && byte < 0x7f) || byte == '\t';
}

static void add_escaped(struct clp_buf *out, const unsigned char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        clp_buf_add_format(out, "\\x%02x", text[i]);
}

/* Adds text in runs: plain ASCII at once, the rest character by character. */
void clp_shown_add(struct clp_buf *out, const char *text, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + bytes;

    while (at < end) {
        const unsigned char *start = at;
        while (at < end && is_plain(*at))
            at++;
        clp_buf_add(out, (const char *)start, (size_t)(at - start));
        if (at == end)
            return;
        size_t size = clp_shown_utf8_bytes(at, (size_t)(end - at));
        if (size == 0 || is_control(at, size))
            add_escaped(out, at, size == 0 ? 1 : size);
        else
            clp_buf_add(out, (const char *)at, size);
        at += size == 0 ? 1 : size;
    }
}
