/* SPDX-License-Identifier: MIT */
/* Gives counter blocks room for what was not counted from the start. */
#ifndef CLP_PARTS_H
#define CLP_PARTS_H

#include "engine_state.h"

/* Gives every block room for these parts (enum clp_part), because they are counted from now on. False: no memory; some
 * blocks have room, and the call may be repeated. */
bool clp_engine_add_parts(struct clp_engine *engine, uint32_t parts);

#endif
