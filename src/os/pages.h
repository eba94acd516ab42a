/* SPDX-License-Identifier: MIT */
/* Memory for the profiler itself, directly from the kernel. It is zeroed, and resident from the first moment,
 * so that its part of the resident size is known to the page and can be subtracted.
 *
 * The memory may be pieces of a file, one behind the other. What is written there outlives the process, however
 * the process ends. A piece is allocated on disk before it is mapped, because touching a hole of a file on a
 * full disk kills the process (SIGBUS). No descriptor stays open, because the program may close or count its
 * descriptors. When the file cannot grow, memory without a file is used from then on, and `error` says why.
 *
 * A child made by fork must never write to its parent's file. So each piece has a twin, a range of addresses
 * without memory. The piece is copied to its twin before a fork, because the parent goes on writing after it.
 * In the child the twin replaces the piece. The child may then get a file of its own, made of the same pieces
 * at the same addresses. What it maps until then is a piece of this file, too. */
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
    uint64_t bytes; /* mapped and resident now; another thread may read it */
    uint64_t filed; /* of `bytes` those in the file, which are not anonymous memory */
    bool keeps;     /* clp_pages_unmap keeps blocks, for later requests of the same size */
    struct clp_kept *kept;
    /* the rest only with a file */
    struct clp_mem *mem; /* borrowed */
    char *path;          /* owned; NULL: no file, or it cannot grow any more */
    uint64_t device, inode, file_bytes;
    unsigned rights;     /* of files made from now on, before the umask; 0: the owner's alone */
    int begun;           /* descriptor + 1 of a file from which nothing is mapped yet; 0: none */
    bool locked;         /* this process has the file's lock (filelock.h) while its first piece is mapped */
    struct clp_piece *pieces; /* in the order of the file */
    size_t piece_count;       /* those that are mapped from the file */
    size_t left_count;        /* those behind them, which a fork left without a file, or which came after it */
    size_t piece_room;
    int error;      /* errno of the growth that failed */
    uint32_t *full; /* borrowed, or NULL: set to 1 then */
    uint32_t *size; /* borrowed, or NULL: set to clp_pages_size whenever the file has grown */
};

/* Maps `bytes` bytes, rounded up to whole pages; *mapped is that size. NULL: no memory. */
void *clp_pages_map(struct clp_pages *pages, size_t bytes, size_t *mapped);

/* Gives back what clp_pages_map returned; `mapped` as it said. The file does not shrink. */
void clp_pages_unmap(struct clp_pages *pages, void *block, size_t mapped);

/* Unmaps the page at an address where somebody else has mapped one. */
void clp_pages_unmap_foreign(void *page);

/* Makes the file, which must not exist; from now on memory comes from it. On CLP_IO (fault->os_error says
 * why) or CLP_NO_MEMORY nothing has changed. */
clp_status clp_pages_open(struct clp_pages *pages, struct clp_mem *mem, const char *path,
                          struct clp_fault *fault);

/* Removes the file if it is still the one at `path`; what is mapped stays. */
void clp_pages_remove(const struct clp_pages *pages, const char *path);

/* Moves a block that clp_pages_map returned before there was a file into the file. Its address stays. What a thread
 * writes there at that moment may be lost. False: it stays where it is, and the file is given up. */
bool clp_pages_adopt(struct clp_pages *pages, void *block, size_t mapped);

/* The file is complete. What is mapped moves into memory of this process alone, at the same addresses. */
void clp_pages_close(struct clp_pages *pages);

/* The size of the file, in blocks of CLP_PAGES_BLOCK bytes. */
uint32_t clp_pages_size(const struct clp_pages *pages);
#define CLP_PAGES_BLOCK 4096u

/* Does memory still come from the file, or will it be in the file that the child of a fork gets? */
bool clp_pages_in_file(const struct clp_pages *pages);

/* To be called before a fork, and after it in the parent and in the child. */
void clp_pages_fork_prepare(struct clp_pages *pages);
void clp_pages_fork_parent(struct clp_pages *pages);
void clp_pages_fork_child(struct clp_pages *pages);

/* In the child, when the interpreter runs again: moves the pieces into a file of the child's own, which must
 * not exist; memory comes from it again. CLP_IO with fault->os_error, or CLP_NO_MEMORY: all stays mapped, and
 * there is no file. */
clp_status clp_pages_fork_file(struct clp_pages *pages, const char *path, struct clp_fault *fault);

#endif
