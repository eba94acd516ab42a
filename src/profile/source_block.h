/* SPDX-License-Identifier: MIT */
/* Where the block of a function ends in source text, or that of a `with`. */
#ifndef CLP_SOURCE_BLOCK_H
#define CLP_SOURCE_BLOCK_H

#include "source.h"

/* The last line of the block that starts at line `first`: of a def, class, lambda or decorator
 * there, with decorators, a signature over several lines, strings, brackets, continuations and
 * nested blocks; trailing blank lines and comments left out. The same line as inspect.getblock
 * gives. When no block starts there, the last line of the statement that does (inspect would walk on
 * to the next def). */
int32_t clp_source_block_end(struct clp_span text, int32_t first);

/* The last line as clp_source_block_end has it, but `with` starts a block, too. */
int32_t clp_source_with_end(struct clp_span text, int32_t first);

/* *last: the last line of the block at the first line of the text. True where that is a def or class whose
 * name is the last part of this qualified one, or holds a lambda, for "<lambda>". */
bool clp_source_block_of(struct clp_span text, const char *name, int32_t *last);

#endif
