/* SPDX-License-Identifier: MIT */
/* A lock on a file that tells other processes whether the file is still in use. It lasts until the descriptor
 * is closed and what was mapped through it is unmapped: to the end of the process, if the file stays mapped.
 * It works across pid namespaces. It keeps nobody from reading or writing.
 *
 * On an overlay file system the lock ends when the descriptor is closed, even if the file stays mapped;
 * clp_filelock_is_held tells. */
#ifndef CLP_FILELOCK_H
#define CLP_FILELOCK_H

#include <stdbool.h>

/* The descriptor must be open for writing. False: somebody else has the lock, or the file system has no
 * locks. */
bool clp_filelock_take(int file);

/* Does somebody else hold the lock on this file? False when that cannot be found out. */
bool clp_filelock_is_held(int file);
bool clp_filelock_is_held_at(const char *path);

#endif
