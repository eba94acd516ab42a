/* SPDX-License-Identifier: MIT */
/* The events of blocks: what the frame in which a block is open does. Protected as recorder_state.h says. */
#ifndef CLP_BLOCK_EVENTS_H
#define CLP_BLOCK_EVENTS_H

#include "cpython/recorder/stays.h"

/* The block begins: from here on its time counts. It ends. */
void clp_blocks_begin(struct clp_stay *stay);
void clp_blocks_end(struct clp_stay *stay);

/* The frame begins a line, is suspended, goes on, and is left. */
void clp_blocks_line(struct clp_recorder *recorder, PyFrameObject *frame, int line);
void clp_blocks_suspend(struct clp_recorder *recorder, const PyFrameObject *frame);
void clp_blocks_resume(struct clp_recorder *recorder, const PyFrameObject *frame);
void clp_blocks_leave(struct clp_recorder *recorder, const PyFrameObject *frame);

/* Would this frame, which returns now, only be suspended? */
bool clp_blocks_yield_at(const struct clp_recorder *recorder, PyFrameObject *frame);

#endif
