/* SPDX-License-Identifier: MIT */
#include "peek.h"
#include <fcntl.h>
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

static size_t read_by_call(struct clp_peek *peek, const struct clp_peek_part *parts, size_t count)
{
    struct iovec from[CLP_PEEK_MOST] = {{0}}, into[CLP_PEEK_MOST] = {{0}};
    size_t whole = 0;

    for (size_t i = 0; i < count; i++) {
        from[i] = (struct iovec){(void *)(uintptr_t)parts[i].from, parts[i].bytes};
        into[i] = (struct iovec){parts[i].into, parts[i].bytes};
    }
    peek->calls++;
    ssize_t left = process_vm_readv(peek->process, into, count, from, count, 0);
    while (whole < count && left >= (ssize_t)parts[whole].bytes)
        left -= (ssize_t)parts[whole++].bytes;
    return whole;
}

/* The file is opened for each call, so that no descriptor of the program's is in use meanwhile, nor a fork inherits it. */
static size_t read_by_file(struct clp_peek *peek, const struct clp_peek_part *parts, size_t count)
{
    int file = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    size_t whole = 0;

    if (file < 0)
        return 0;
    while (whole < count && pread(file, parts[whole].into, parts[whole].bytes,
                                  (off_t)(uintptr_t)parts[whole].from) == (ssize_t)parts[whole].bytes)
        whole++;
    (void)close(file);
    peek->calls += 2 + count;
    return whole;
}

size_t clp_peek_read(struct clp_peek *peek, const struct clp_peek_part *parts, size_t count)
{
    if (count > CLP_PEEK_MOST)
        return 0;
    return peek->by_file ? read_by_file(peek, parts, count) : read_by_call(peek, parts, count);
}

bool clp_peek_begin(struct clp_peek *peek)
{
    const char here = 'h';
    char there = 0;

    *peek = (struct clp_peek){.process = getpid()};
    if (clp_peek_one(peek, &here, &there, 1) && there == here)
        return true;
    peek->by_file = true;
    return clp_peek_one(peek, &here, &there, 1) && there == here;
}
