/* SPDX-License-Identifier: MIT */
/* Looks at the header of a live file, without reading what was recorded. */
#ifndef CLP_LIVE_PEEK_H
#define CLP_LIVE_PEEK_H

#include "live.h"

/* Reads the header of a live file that is open, or of the live file at the path. False: it is no live file, and
 * *header may hold anything. `owner` may be NULL. If it is not, *owner is the file's owner, and a path that is
 * a symbolic link is not followed. */
bool clp_live_peek(int fd, struct clp_live_header *header);
bool clp_live_peek_at(const char *path, struct clp_live_header *header, uint32_t *owner);

#endif
