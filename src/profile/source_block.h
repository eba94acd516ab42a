/* SPDX-License-Identifier: MIT */
/* Finds where a block ends in source text: that of a def, class, lambda or decorator, or of a `with`. Lines count
 * from 1. */
#ifndef CLP_SOURCE_BLOCK_H
#define CLP_SOURCE_BLOCK_H

#include "source.h"

/* Returns the last line of the block that starts in line `first` with a def, class, lambda or decorator. The block
 * includes nested blocks, but no blank lines and comments behind its last statement. It is the line that
 * inspect.getblock gives. If no block starts in that line, returns the last line of the statement that does, where
 * inspect would go on to the next def. */
int32_t clp_source_block_end(struct clp_span text, int32_t first);

/* Returns the last line of a block as clp_source_block_end does, but a `with` starts a block, too. */
int32_t clp_source_with_end(struct clp_span text, int32_t first);

/* Sets *last to the last line of the block that starts in the first line of the text. Returns true if that block is of
 * this name: a def or class whose name is the last part of `name`, a qualified name; or a lambda if that part is
 * "<lambda>". */
bool clp_source_block_of(struct clp_span text, const char *name, int32_t *last);

#endif
