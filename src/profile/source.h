/* SPDX-License-Identifier: MIT */
/* Source text: the lines of a file, or of a function.
 *
 * Works on UTF-8 bytes and never fails on odd ones. A line ends at \n, \r\n or \r, as Python reads
 * a file. */
#ifndef CLP_SOURCE_H
#define CLP_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clp_span {
    const char *text; /* borrowed from the whole text; not ended by 0 */
    size_t bytes;
};

/* Walks lines: sets *line to the next one (without its end) and moves *rest behind it. Returns 0
 * when nothing is left. */
int clp_source_next_line(struct clp_span *rest, struct clp_span *line);

static inline bool clp_source_is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

/* Can the byte be part of a name, a keyword or a number? Bytes beyond ASCII can. */
static inline bool clp_source_is_word_byte(char c)
{
    unsigned char byte = (unsigned char)c;

    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte >= 0x80;
}

/* Where the next line begins, when a line ends at `at`. */
const char *clp_source_behind_line_end(const char *at, const char *end);

/* The text without a UTF-8 byte order mark, which some editors put before it. Python drops it, too. */
struct clp_span clp_source_without_mark(struct clp_span text);

/* The rest of the text after its first `count` lines. */
struct clp_span clp_source_behind_lines(struct clp_span text, int32_t count);

/* The text from line `first` to line `last` (1-based, both inside), line ends included; empty
 * where the file is shorter. */
struct clp_span clp_source_lines(struct clp_span text, int32_t first, int32_t last);

/* A text, and where one of its lines starts. Remembers that line, because lines are mostly asked for in
 * ascending order. To begin, set `text` and leave the rest 0. */
struct clp_source_walk {
    struct clp_span text;
    struct clp_span rest; /* from `line` on */
    int32_t line;         /* 0: nowhere yet */
};

/* Sets walk->rest to the text from this line on (1-based). */
void clp_source_walk_to(struct clp_source_walk *walk, int32_t line);

/* A line of a part of a file, without its indentation. walk->text is the part, which begins at line `first`
 * of the file; `line` is the line's number in the file (both 1-based). Empty where the part has no such line. */
struct clp_span clp_source_line_at(struct clp_source_walk *walk, int32_t first, int32_t line);

/* The text without the blanks at its beginning, and without those at both ends. Blanks are spaces, tabs and
 * form feeds. */
struct clp_span clp_source_unindented(struct clp_span text);
struct clp_span clp_source_stripped(struct clp_span text);

/* Does the line begin like this, its indentation aside? */
bool clp_source_begins_with(struct clp_span line, const char *word);

/* Does a def or class begin in the line? In Cython's language so does another declaration, for which nobody asks. */
bool clp_source_is_def(struct clp_span line);

#endif
