/* SPDX-License-Identifier: MIT */
#include "shown.h"
#include <locale.h>
#include <stdbool.h>
#include <string.h>
#include <wchar.h>

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

void clp_shown_add_file(struct clp_buf *out, const char *file, const char *folder)
{
    size_t bytes = folder != NULL ? strlen(folder) : 0;

    while (bytes > 0 && folder[bytes - 1] == '/')
        bytes--;
    if (folder != NULL && strncmp(file, folder, bytes) == 0 && file[bytes] == '/' &&
        file[bytes + 1] != 0)
        file += bytes + 1;
    clp_shown_add(out, file, strlen(file));
}

static wchar_t code_point(const unsigned char *text, size_t bytes)
{
    static const unsigned char lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    unsigned code = text[0] & lead_bits[bytes];

    for (size_t i = 1; i < bytes; i++)
        code = code << 6 | (text[i] & 0x3f);
    return (wchar_t)code;
}

static size_t width_of(const unsigned char *text, size_t bytes)
{
    int width = bytes > 1 ? wcwidth(code_point(text, bytes)) : 1;

    return width < 0 ? 1 : (size_t)width;
}

size_t clp_shown_width(const char *text, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + bytes;
    size_t width = 0;

    while (at < end && is_plain(*at))
        at++, width++;
    if (at == end)
        return width;
    /* wcwidth goes by the locale, and a program may have set one that knows ASCII only */
    locale_t wide = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    locale_t before = wide != (locale_t)0 ? uselocale(wide) : (locale_t)0;
    while (at < end) {
        size_t size = clp_shown_utf8_bytes(at, (size_t)(end - at));
        width += size == 0 ? 1 : width_of(at, size);
        at += size == 0 ? 1 : size;
    }
    if (wide != (locale_t)0) {
        uselocale(before);
        freelocale(wide);
    }
    return width;
}
