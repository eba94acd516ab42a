/* SPDX-License-Identifier: MIT */
/* The events of `with` blocks: what the frame does in which a block is open. Protected as recorder_state.h
 * says. */
#ifndef CLP_BLOCK_EVENTS_H
#define CLP_BLOCK_EVENTS_H

#include "cpython/recorder/stays.h"

/* The block begins, and its time counts from here on; the block ends. */
void clp_blocks_begin(struct clp_stay *stay);
void clp_blocks_end(struct clp_stay *stay);

/* The frame begins a line, is suspended, resumes, is left. */
void clp_blocks_line(struct clp_recorder *recorder, PyFrameObject *frame, int line);
void clp_blocks_suspend(struct clp_recorder *recorder, const PyFrameObject *frame);
void clp_blocks_resume(struct clp_recorder *recorder, const PyFrameObject *frame);
void clp_blocks_leave(struct clp_recorder *recorder, const PyFrameObject *frame);

/* Would a return of the frame at its present place only be a suspension? */
bool clp_blocks_yield_at(const struct clp_recorder *recorder, PyFrameObject *frame);

#endif
