/* SPDX-License-Identifier: MIT */
/* Blocks: `with profile.block("name"):` counts the lines of a part of a body, while it runs, as a
 * function of their own.
 *
 * A frame that runs cannot get probes. So while a block is open its frame's line events come from
 * sys.monitoring (3.12 and newer) or the thread's trace function (before), whichever tracer counts the
 * functions (block_source.h). To the engine it is one more activation above that of its body (stays.h).
 *
 * Protected as recorder_state.h says. */
#ifndef CLP_BLOCKS_H
#define CLP_BLOCKS_H

#include "cpython/recorder/stays.h"
#include "code_window.h"

/* A block of this name, which the window counts, is about to begin at the frame's line. NULL with an
 * exception set. */
struct clp_stay *clp_blocks_open(struct clp_code_window *window, PyFrameObject *frame, PyObject *name);

/* The block is left, and freed. */
void clp_blocks_close(struct clp_stay *stay);

/* The innermost `with profile` of this frame, or NULL. */
struct clp_stay *clp_blocks_find(const struct clp_recorder *recorder, const PyFrameObject *frame);

#endif
