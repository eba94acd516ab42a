/* SPDX-License-Identifier: MIT */
/* What the preloaded library (native.c) and clineprof._core know of each other. The library finds
 * what C code asks of malloc and mmap; the module, which knows the lines, keeps the numbers. Each is
 * built without the other: the module looks the door up by its name. */
#ifndef CLP_DOOR_H
#define CLP_DOOR_H

#include <stddef.h>
#include <stdint.h>

#define CLP_NATIVE_LIBRARY "libclineprof_native.so"
#define CLP_NATIVE_DOOR "clp_native_door"
#define CLP_NATIVE_VERSION 1u

/* A thread's own, of any thread. */
struct clp_native_thread {
    uint32_t inside; /* in an allocator, or paused: nothing is counted */
    int64_t left;    /* where no selected code ran: bytes to the next sample .. */
    uint64_t random; /* .. and how it is drawn */
};

/* Called with `inside` set, so what they ask for themselves is not counted. The block of `freeing`
 * and the pages of `unmapping` are still there; the other calls come when it is done. */
struct clp_native_hooks {
    void (*allocated)(struct clp_native_thread *self, const void *block, size_t bytes);
    void (*freeing)(const void *block);
    void *(*resize)(struct clp_native_thread *self, void *block, size_t bytes,
                    void *(*next)(void *block, size_t bytes));
    void (*mapped)(struct clp_native_thread *self, const void *address, size_t bytes);
    void (*unmapping)(const void *address, size_t bytes);
    void (*remapped)(struct clp_native_thread *self, const void *from, size_t old_bytes,
                     const void *to, size_t bytes);
    uintptr_t own_start, own_end; /* code whose requests are the profiler's */
};

struct clp_native_door {
    uint32_t version;
    /* NULL: nothing is counted. The hooks must stay where they are for good. */
    void (*set)(const struct clp_native_hooks *hooks);
    struct clp_native_thread *(*thread)(void);
    uint64_t (*asked)(void); /* requests of the calling thread while it was inside */
    void *(*behind)(void);   /* the malloc that is called next */
};

#endif
