/* SPDX-License-Identifier: MIT */
/* A lock on a file that tells others whether somebody still has it: it lasts until the descriptor is closed
 * and what was mapped through it is unmapped, so for the life of the process where the file stays mapped.
 * It works across pid namespaces, for it belongs to the kernel. It keeps nobody from reading or writing.
 *
 * On an overlay file system the lock ends with the descriptor; ask clp_filelock_is_held to know whether it holds. */
#ifndef CLP_FILELOCK_H
#define CLP_FILELOCK_H

#include <stdbool.h>

/* The descriptor must be open for writing. False: somebody else has the lock, or there are none here. */
bool clp_filelock_take(int file);

/* Has somebody else the lock on this file? */
bool clp_filelock_is_held(int file);
bool clp_filelock_is_held_at(const char *path);

#endif
