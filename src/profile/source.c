/* SPDX-License-Identifier: MIT */
#include "source.h"
#include <string.h>

const char *clp_source_behind_line_end(const char *at, const char *end)
{
    return at + (*at == '\r' && end - at > 1 && at[1] == '\n' ? 2 : 1);
}

/* Searches a piece at a time. Otherwise a text without one of the two bytes would be searched to its end for
 * each line. */
#define PIECE 256

static const char *line_end_from(const char *at, const char *end)
{
    while (at < end) {
        size_t piece = end - at < PIECE ? (size_t)(end - at) : PIECE;
        const char *feed = memchr(at, '\n', piece);
        const char *behind = feed != NULL ? feed : at + piece;
        const char *carriage = memchr(at, '\r', (size_t)(behind - at));
        if (carriage != NULL || feed != NULL)
            return carriage != NULL ? carriage : feed;
        at = behind;
    }
    return end;
}

int clp_source_next_line(struct clp_span *rest, struct clp_span *line)
{
    if (rest->bytes == 0)
        return 0;
    const char *end = rest->text + rest->bytes;
    const char *at = line_end_from(rest->text, end);
    *line = (struct clp_span){rest->text, (size_t)(at - rest->text)};
    if (at < end)
        at = clp_source_behind_line_end(at, end);
    *rest = (struct clp_span){at, (size_t)(end - at)};
    return 1;
}

struct clp_span clp_source_without_mark(struct clp_span text)
{
    if (text.bytes >= 3 && memcmp(text.text, "\xef\xbb\xbf", 3) == 0)
        return (struct clp_span){text.text + 3, text.bytes - 3};
    return text;
}

struct clp_span clp_source_behind_lines(struct clp_span text, int32_t count)
{
    struct clp_span line;

    while (count > 0 && clp_source_next_line(&text, &line))
        count--;
    return text;
}

void clp_source_walk_to(struct clp_source_walk *walk, int32_t line)
{
    struct clp_span passed;

    if (walk->line == 0 || walk->line > line) {
        walk->rest = walk->text;
        walk->line = 1;
    }
    while (walk->line < line && clp_source_next_line(&walk->rest, &passed))
        walk->line++;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\f';
}

struct clp_span clp_source_unindented(struct clp_span text)
{
    for (; text.bytes != 0 && is_blank(*text.text); text.bytes--)
        text.text++;
    return text;
}

struct clp_span clp_source_stripped(struct clp_span text)
{
    text = clp_source_unindented(text);
    while (text.bytes != 0 && is_blank(text.text[text.bytes - 1]))
        text.bytes--;
    return text;
}

bool clp_source_begins_with(struct clp_span line, const char *word)
{
    struct clp_span text = clp_source_unindented(line);
    size_t bytes = strlen(word);

    return text.bytes >= bytes && memcmp(text.text, word, bytes) == 0;
}

bool clp_source_is_def(struct clp_span line)
{
    return clp_source_begins_with(line, "def ") || clp_source_begins_with(line, "async def ") ||
           clp_source_begins_with(line, "class ") || clp_source_begins_with(line, "cdef ") ||
           clp_source_begins_with(line, "cpdef ");
}

struct clp_span clp_source_line_at(struct clp_source_walk *walk, int32_t first, int32_t line)
{
    struct clp_span text = {"", 0};
    int64_t at = (int64_t)line - first + 1;

    if (at < 1 || at > INT32_MAX)
        return text;
    clp_source_walk_to(walk, (int32_t)at);
    struct clp_span rest = walk->rest;
    (void)clp_source_next_line(&rest, &text);
    return clp_source_unindented(text);
}

struct clp_span clp_source_lines(struct clp_span text, int32_t first, int32_t last)
{
    int32_t before = first > 1 ? first - 1 : 0;
    struct clp_span start = clp_source_behind_lines(clp_source_without_mark(text), before);
    struct clp_span rest = clp_source_behind_lines(start, last > before ? last - before : 0);

    return (struct clp_span){start.text, (size_t)(rest.text - start.text)};
}
