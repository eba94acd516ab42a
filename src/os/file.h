/* SPDX-License-Identifier: MIT */
/* Whole files in and out. */
#ifndef CLP_FILE_H
#define CLP_FILE_H

#include "base/buf.h"
#include "base/status.h"

/* Appends the file's bytes to out. At most `limit` bytes (CLP_TOO_LARGE beyond). Pipes and other
 * things without a size are read to their end; a folder is CLP_IO with EISDIR. On failure
 * fault->os_error is set where the system said no, and out may hold a part. */
clp_status clp_file_read(const char *path, size_t limit, struct clp_buf *out,
                         struct clp_fault *fault);

/* Opens a file to see what it is. Nothing is waited for, and no terminal is taken. Symbolic links are followed, or
 * ELOOP. -1: errno says why. */
int clp_file_open_to_look(const char *path, bool follow);

/* Reads the first `count` bytes of a file that is open, or of the one at the path, for which nothing is waited.
 * Where its owner is asked for (`owner` is not NULL) links are not followed. False when it has fewer. */
bool clp_file_peek(int fd, void *bytes, size_t count);
bool clp_file_peek_at(const char *path, void *bytes, size_t count, uint32_t *owner);

/* What a file made from this one may be at most, since it holds a part of what is in it: its own rights to
 * read and write. Its group's only where we have the same group; its owner's always both. A file that only
 * its owner may read, when the path is NULL or of no plain file. */
unsigned clp_file_rights(const char *path);
#define CLP_FILE_PRIVATE 0600u

/* What `rights` give to a group is meant for our own. But a folder may give its group to what is made in it
 * (setgid): a new file, made with these rights, whose group is not ours is left for that group to use as far
 * as it is for all others. Where the file system has no rights to change, nothing happens. */
void clp_file_limit_group(int fd, unsigned rights);

struct clp_file_content {
    const char *bytes;
    size_t count;
    unsigned rights; /* before the umask */
};

/* Writes path atomically: a temporary name in the same folder, fsync, rename. What was there stays
 * untouched unless all of it arrived; its rights stay, too, where they are fewer. A target that is no
 * plain file (/dev/stdout, a pipe) is written directly; one that nobody reads is ENXIO. Another user's
 * symbolic link or pipe is refused with EPERM. On failure no temporary file is left, and fault->os_error
 * says why. */
clp_status clp_file_write(const char *path, const struct clp_file_content *content,
                          struct clp_fault *fault);

/* Takes away the temporary files that killed writers of this path have left. Those that somebody has locked,
 * for they are being written, stay, and so does what cannot be taken away: nobody is told. */
void clp_file_clean(const char *path);

/* What writes a file piece by piece: put(data, fd) uses clp_file_put; false: it could not, errno says why. */
struct clp_file_writer {
    bool (*put)(void *data, int fd);
    void *data;
    unsigned rights; /* before the umask */
};

/* clp_file_write of what `writer` writes. */
clp_status clp_file_write_by(const char *path, const struct clp_file_writer *writer,
                             struct clp_fault *fault);

/* Writes all bytes, and goes on after a signal. False: errno says why; a part may have been written. */
bool clp_file_put(int fd, const char *bytes, size_t count);

/* Could clp_file_write succeed now? Creates nothing that stays. CLP_IO and fault->os_error if
 * not. */
clp_status clp_file_probe(const char *path, struct clp_fault *fault);

/* The folder for it when $TMPDIR cannot be used or is not set. */
#define CLP_FILE_TEMPORARY "/tmp"

/* Makes a file in $TMPDIR or /tmp and writes the bytes to it. Its name is this one with a fresh word in the
 * place of XXXXXX ("demo-XXXXXX.lprof"); its path is appended to path_out. For when the wanted place fails at the
 * end of a run. */
clp_status clp_file_write_temporary(const char *name, const char *bytes, size_t count,
                                    struct clp_buf *path_out, struct clp_fault *fault);

#endif
