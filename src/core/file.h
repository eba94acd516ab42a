/* SPDX-License-Identifier: MIT */
/* Whole files in and out. */
#ifndef CLP_FILE_H
#define CLP_FILE_H

#include "buf.h"
#include "status.h"

/* Appends the file's bytes to out. At most `limit` bytes (CLP_TOO_LARGE beyond). Pipes and other
 * things without a size are read to their end; a folder is CLP_IO with EISDIR. On failure
 * fault->os_error is set where the system said no, and out may hold a part. */
clp_status clp_file_read(const char *path, size_t limit, struct clp_buf *out,
                         struct clp_fault *fault);

/* Writes path atomically: a temporary name in the same folder, fsync, rename. What was there stays
 * untouched unless all of it arrived. A target that is no plain file (/dev/stdout, a pipe) is
 * written directly. The mode is that of a newly created file under the process's umask. On
 * failure no temporary file is left, and fault->os_error says why. */
clp_status clp_file_write(const char *path, const char *bytes, size_t count,
                          struct clp_fault *fault);

/* Could clp_file_write succeed now? Creates nothing that stays. CLP_IO and fault->os_error if
 * not. */
clp_status clp_file_probe(const char *path, struct clp_fault *fault);

/* Makes a file with a fresh name "PREFIX-XXXXXX.lprof" in $TMPDIR or /tmp and writes the bytes to
 * it; its path is appended to path_out. For when the wanted place fails at the end of a run. */
clp_status clp_file_write_temporary(const char *prefix, const char *bytes, size_t count,
                                    struct clp_buf *path_out, struct clp_fault *fault);

#endif
