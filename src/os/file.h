/* SPDX-License-Identifier: MIT */
/* Reads and writes whole files. */
#ifndef CLP_FILE_H
#define CLP_FILE_H

#include "base/buf.h"
#include "base/status.h"

/* Appends the file's bytes to out. More than `limit` bytes are CLP_TOO_LARGE. Pipes and other things without
 * a size are read to their end. A folder is CLP_IO with EISDIR. On failure out may hold a part;
 * fault->os_error is set where the system refused. */
clp_status clp_file_read(const char *path, size_t limit, struct clp_buf *out,
                         struct clp_fault *fault);

/* Opens a file for reading, to see what it is. Does not wait (for the writer of a pipe) and takes no
 * controlling terminal. Without `follow` a symbolic link is ELOOP. Returns a descriptor, or -1 and errno. */
int clp_file_open_to_look(const char *path, bool follow);

/* Opens a file for writing, as open() does, but never as number 0 to 2: a program that has closed its standard error
 * may write there all the same. */
int clp_file_open(const char *path, int flags, unsigned rights);

/* Moves an open file to a high descriptor, for one that stays open while the program runs: a program may rely on the
 * numbers of the low ones. Returns the new descriptor, or `fd` where the limit of descriptors is low. */
int clp_file_move_up(int fd);

/* Reads the first `count` bytes of an open file, or of the file at the path, opened as by
 * clp_file_open_to_look. `owner`, if not NULL, gets the owner's user id; a symbolic link is not followed
 * then. False when the file cannot be read or has fewer bytes. */
bool clp_file_peek(int fd, void *bytes, size_t count);
bool clp_file_peek_at(const char *path, void *bytes, size_t count, uint32_t *owner);

/* The most rights that a file made from the file at `path` may have, because it holds a part of its content.
 * Its owner may read and write. Others have the rights that they have to that file. The group has the rights
 * that its group has, if that is our group, and otherwise those of others. CLP_FILE_PRIVATE when the path is
 * NULL or is no plain file. */
unsigned clp_file_rights(const char *path);
#define CLP_FILE_PRIVATE 0600u

/* For a new file that was made with these rights, which mean our own group. A folder may give its own group
 * to new files (setgid). If the file's group is not ours, this limits the group's rights to those of others.
 * Nothing happens where the file system cannot change rights. */
void clp_file_limit_group(int fd, unsigned rights);

struct clp_file_content {
    const char *bytes;
    size_t count;
    unsigned rights; /* before the umask */
};

/* Writes path atomically: a temporary file in the same folder, fsync, rename. An old file stays untouched
 * unless all bytes were written. Rights that the old file did not give, the new one does not give either. A
 * target that is no plain file (/dev/stdout, a pipe) is written directly; a pipe that nobody reads is ENXIO.
 * Another user's symbolic link or pipe is EPERM. On failure no temporary file is left, and fault->os_error
 * says why. */
clp_status clp_file_write(const char *path, const struct clp_file_content *content,
                          struct clp_fault *fault);

/* Removes this user's temporary files that killed writers of this path have left. A locked one stays, because
 * it is being written. Errors are ignored. */
void clp_file_clean(const char *path);

/* Writes a file piece by piece: put(data, fd) calls clp_file_put. False: it failed, and errno says why. */
struct clp_file_writer {
    bool (*put)(void *data, int fd);
    void *data;
    unsigned rights; /* before the umask */
};

/* As clp_file_write, with the bytes that `writer` writes. */
clp_status clp_file_write_by(const char *path, const struct clp_file_writer *writer,
                             struct clp_fault *fault);

/* Writes all bytes; continues after EINTR. False: errno says why, and a part may have been written. */
bool clp_file_put(int fd, const char *bytes, size_t count);

/* Could clp_file_write succeed now? Leaves no file behind. CLP_IO and fault->os_error if not. */
clp_status clp_file_probe(const char *path, struct clp_fault *fault);

/* The temporary folder that is tried last. */
#define CLP_FILE_TEMPORARY "/tmp"

/* The folders for what the wanted place does not take, the first one of number 0: $TMPDIR, if it is an absolute path, and
 * /tmp. NULL behind the last. */
const char *clp_file_temporary_folder(int number);

/* May another folder take a file when this error came up? It is an error of the disk (full, read-only) or of rights, not
 * of a name. */
bool clp_file_may_go_elsewhere(int os_error);

/* Writes the bytes to a new file in the first temporary folder that takes it, for when the wanted place fails at the end
 * of a run. Its name is `name` with XXXXXX replaced ("demo-XXXXXX.lprof"). Only this user may read it. Its path is
 * appended to path_out. CLP_IO with fault->os_error of the last folder, or CLP_NO_MEMORY: no file is left. */
clp_status clp_file_write_temporary(const char *name, const char *bytes, size_t count,
                                    struct clp_buf *path_out, struct clp_fault *fault);

#endif
