/* SPDX-License-Identifier: MIT */
/* Memory of the profiler's own, straight from the kernel: zeroed, and present from the first
 * moment, so that its effect on the resident size is known to the page and can be taken off.
 *
 * It may be pieces of a file, one behind the other: what is written there outlives the process,
 * however that ends. A piece is allocated on disk before it is mapped, because touching a hole of
 * a file on a full disk kills. No descriptor stays open: the program may close, or count, them.
 * When the file cannot grow, memory without a file takes its place and `error` says why.
 *
 * A child made by fork must never write into its parent's file. For each piece there is a twin, a
 * range of addresses without memory until a fork fills it; in the child it takes the piece's
 * place. The copy is made before the fork: behind it the parent runs on. The child may then have a
 * file of its own, made of the same pieces at the same addresses. */
#ifndef CLP_PAGES_H
#define CLP_PAGES_H

#include "base/mem.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clp_piece {
    void *address, *twin;
    size_t bytes;
};

struct clp_pages {
    uint64_t bytes; /* mapped and resident now; another thread may look */
    uint64_t filed; /* of them those in the file, which are not anonymous memory */
    bool keeps;     /* what is given back stays, for the next that wants as much */
    struct clp_kept *kept;
    /* the rest only with a file */
    struct clp_mem *mem; /* borrowed */
    char *path;          /* owned; NULL: no file, or it cannot grow any more */
    uint64_t device, inode, file_bytes;
    unsigned rights;     /* of files made from now on, before the umask; 0: the owner's alone */
    int begun;           /* descriptor + 1 of a file from which nothing is mapped yet; 0: none */
    bool locked;         /* this process has the file's lock (filelock.h) while its first piece is mapped */
    struct clp_piece *pieces; /* mapped ones, in the order of the file */
    size_t piece_count, piece_room;
    size_t left_count; /* pieces that a fork left without a file */
    int error;      /* errno of the growth that failed */
    uint32_t *full; /* borrowed, or NULL: becomes 1 then */
};

/* At least `bytes` bytes, rounded up to whole pages; *mapped is the size they came to. NULL when
 * the system has none. */
void *clp_pages_map(struct clp_pages *pages, size_t bytes, size_t *mapped);

/* Gives back what clp_pages_map gave; `mapped` as it said. A file keeps the bytes. */
void clp_pages_unmap(struct clp_pages *pages, void *block, size_t mapped);

/* Makes the file, which must not exist; from now on memory comes from it. CLP_IO and
 * fault->os_error leave everything as it was. */
clp_status clp_pages_open(struct clp_pages *pages, struct clp_mem *mem, const char *path,
                          struct clp_fault *fault);

/* Takes the file away if it is still the one at `path`; what is mapped stays. */
void clp_pages_remove(const struct clp_pages *pages, const char *path);

/* The file is done with: it grows no more, and a child of a fork may share what is mapped. */
void clp_pages_close(struct clp_pages *pages);

/* Does memory still come from the file? */
bool clp_pages_in_file(const struct clp_pages *pages);

/* Around a fork: before it, then behind it in each of the two. */
void clp_pages_fork_prepare(struct clp_pages *pages);
void clp_pages_fork_parent(struct clp_pages *pages);
void clp_pages_fork_child(struct clp_pages *pages);

/* In the child, once the interpreter goes on: its pieces move into a file of its own, which must not
 * exist, and memory comes from there again. CLP_IO with fault->os_error, or CLP_NO_MEMORY: all stays
 * the child's memory, and there is no file. */
clp_status clp_pages_fork_file(struct clp_pages *pages, const char *path, struct clp_fault *fault);

#endif
