/* SPDX-License-Identifier: MIT */
/* Looks at the header of a live file, without reading what was recorded. */
#ifndef CLP_LIVE_PEEK_H
#define CLP_LIVE_PEEK_H

#include "live.h"

/* Reads the header of a live file that is open, or of the one at the path. False when it is none, and *header may
 * hold anything. Links are followed only where nobody asks whose file it is (`owner` is NULL). */
bool clp_live_peek(int fd, struct clp_live_header *header);
bool clp_live_peek_at(const char *path, struct clp_live_header *header, uint32_t *owner);

#endif
