/* SPDX-License-Identifier: MIT */
/* Reads source text: finds lines, and the end of a function's block.
 *
 * The text is UTF-8; invalid bytes are no error. A line ends at \n, \r\n or \r, as Python reads a file. */
#ifndef CLP_SOURCE_H
#define CLP_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clp_span {
    const char *text; /* borrowed from the whole text; not ended by 0 */
    size_t bytes;
};

/* Sets *line to the next line, without its line end, and moves *rest behind this line. Returns 0 when nothing is
 * left, otherwise 1. */
int clp_source_next_line(struct clp_span *rest, struct clp_span *line);

/* Returns the text from line `first` to line `last` (1-based, both included), with line ends. The text is shorter, or
 * empty, where the file is. */
struct clp_span clp_source_lines(struct clp_span text, int32_t first, int32_t last);

/* A text and the place of one of its lines, so that lines which are mostly asked for in order are found without
 * starting at the beginning. Initialise only `text`. */
struct clp_source_walk {
    struct clp_span text;
    struct clp_span rest; /* from `line` on */
    int32_t line;         /* 1-based; 0: the walk has not started */
};

/* Sets walk->rest to the text from `line` on (1-based). */
void clp_source_walk_to(struct clp_source_walk *walk, int32_t line);

/* Returns the text of a line without its indentation. The walk's text is one block of a file: `first` is the line of
 * the file on which the block begins, `line` the wanted line of the file, both 1-based. Returns an empty text where
 * the block has no such line. */
struct clp_span clp_source_line_at(struct clp_source_walk *walk, int32_t first, int32_t line);

/* Return the text without the blanks (spaces, tabs, form feeds) at its beginning; without those at both ends. */
struct clp_span clp_source_unindented(struct clp_span text);
struct clp_span clp_source_stripped(struct clp_span text);

/* Does the line begin with `word`, behind its indentation? */
bool clp_source_begins_with(struct clp_span line, const char *word);

/* Does the line begin with "def ", "async def " or "class ", behind its indentation? */
bool clp_source_is_def(struct clp_span line);

/* Returns the last line of the block of the def, class, lambda or decorator that starts at line `first` (1-based). The
 * block includes decorators, a signature over several lines, strings, brackets, continuations and nested blocks, but
 * not blank lines and comments at its end. It is the line that inspect.getblock gives. Where no block starts at
 * `first`, it is the last line of the statement that starts there (inspect would go on to the next def). */
int32_t clp_source_block_end(struct clp_span text, int32_t first);

/* Returns the same line as clp_source_block_end, except that a `with` statement starts a block too. */
int32_t clp_source_with_end(struct clp_span text, int32_t first);

/* Sets *last to the last line of the block at the first line of the text. Returns true where this block is a def or
 * class with the name `name`, a qualified name of which only the last part counts. For "<lambda>" it returns true
 * where the block has a lambda. */
bool clp_source_block_of(struct clp_span text, const char *name, int32_t *last);

#endif
