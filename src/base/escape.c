/* SPDX-License-Identifier: MIT */
#include "escape.h"
#include <locale.h>
#include <stdbool.h>
#include <string.h>
#include <wchar.h>

size_t clp_escape_utf8_bytes(const unsigned char *text, size_t left)
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

static unsigned code_point(const unsigned char *text, size_t bytes)
{
    static const unsigned char lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    unsigned code = text[0] & lead_bits[bytes];

    for (size_t i = 1; i < bytes; i++)
        code = code << 6 | (text[i] & 0x3f);
    return code;
}

/* Terminals obey control characters. The characters of the second line make a text look different from what it
 * is. */
static bool is_control(unsigned code)
{
    return (code < ' ' && code != '\t') || (code >= 0x7f && code < 0xa0) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
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

/* Adds a run of plain ASCII at once, and all else character by character. */
void clp_escape_add(struct clp_buf *out, const char *text, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + bytes;

    while (at < end) {
        const unsigned char *start = at;
        while (at < end && is_plain(*at))
            at++;
        clp_buf_add(out, (const char *)start, (size_t)(at - start));
        if (at == end)
            return;
        size_t size = clp_escape_utf8_bytes(at, (size_t)(end - at));
        if (size == 0 || is_control(code_point(at, size)))
            add_escaped(out, at, size == 0 ? 1 : size);
        else
            clp_buf_add(out, (const char *)at, size);
        at += size == 0 ? 1 : size;
    }
}

void clp_escape_add_text(struct clp_buf *out, const char *text)
{
    clp_escape_add(out, text, strlen(text));
}

void clp_escape_add_lines(struct clp_buf *out, const char *text)
{
    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        clp_escape_add(out, text, (size_t)(end - text));
        clp_buf_add_text(out, "\n");
    }
    clp_escape_add_text(out, text);
}

const char *clp_escape_relative(const char *file, const char *folder)
{
    size_t bytes = folder != NULL ? strlen(folder) : 0;

    while (bytes > 0 && folder[bytes - 1] == '/')
        bytes--;
    bool lies_under = folder != NULL && folder[0] != 0 && strncmp(file, folder, bytes) == 0 &&
                      file[bytes] == '/' && file[bytes + 1] != 0;
    return lies_under ? file + bytes + 1 : file;
}

void clp_escape_add_file(struct clp_buf *out, const char *file, const char *folder)
{
    clp_escape_add_text(out, clp_escape_relative(file, folder));
}

static size_t width_of(const unsigned char *text, size_t bytes)
{
    int width = bytes > 1 ? wcwidth((wchar_t)code_point(text, bytes)) : 1;

    return width < 0 ? 1 : (size_t)width;
}

size_t clp_escape_width(const char *text, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + bytes;
    size_t width = 0;

    while (at < end && is_plain(*at))
        at++, width++;
    if (at == end)
        return width;
    /* wcwidth depends on the locale, and the program may have set a locale that knows ASCII only */
    locale_t wide = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    locale_t before = wide != (locale_t)0 ? uselocale(wide) : (locale_t)0;
    while (at < end) {
        size_t size = clp_escape_utf8_bytes(at, (size_t)(end - at));
        width += size == 0 ? 1 : width_of(at, size);
        at += size == 0 ? 1 : size;
    }
    if (wide != (locale_t)0) {
        uselocale(before);
        freelocale(wide);
    }
    return width;
}
