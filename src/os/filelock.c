/* SPDX-License-Identifier: MIT */
#include "filelock.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool clp_filelock_take(int file)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(file, F_OFD_SETLK, &whole) == 0;
}

/* Asks for a read lock, which only a write lock conflicts with. A write lock needs the right to write, so
 * users who may only read the file cannot fake one. */
bool clp_filelock_is_held(int file)
{
    struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

    return fcntl(file, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

bool clp_filelock_is_held_at(const char *path)
{
    int kept = errno, file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool held = file >= 0 && clp_filelock_is_held(file);

    if (file >= 0)
        close(file);
    errno = kept;
    return held;
}
