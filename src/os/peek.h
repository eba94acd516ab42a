/* SPDX-License-Identifier: MIT */
/* Copies memory of this process that another thread may unmap or change meanwhile. What is gone is not read, and raises no
 * signal: the kernel copies it (process_vm_readv, or /proc/self/mem where that is refused). */
#ifndef CLP_PEEK_H
#define CLP_PEEK_H

#include <stdbool.h>
#include <stddef.h>

#define CLP_PEEK_MOST 16 /* parts in one call */

struct clp_peek {
    int process;      /* this one's number: a fork's child calls clp_peek_begin again */
    bool by_file;
    unsigned long calls; /* how many system calls were made */
};

struct clp_peek_part {
    const void *from;
    void *into;
    size_t bytes;
};

/* Finds the way to read. False: the system refuses both. */
bool clp_peek_begin(struct clp_peek *peek);

/* Copies the parts, one after the other, in one system call where that is possible. Returns how many were copied: those
 * from the first one that cannot be read on are not, and what they point into may hold anything. */
size_t clp_peek_read(struct clp_peek *peek, const struct clp_peek_part *parts, size_t count);

static inline bool clp_peek_one(struct clp_peek *peek, const void *from, void *into, size_t bytes)
{
    const struct clp_peek_part part = {from, into, bytes};

    return clp_peek_read(peek, &part, 1) == 1;
}

#endif
