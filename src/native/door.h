/* SPDX-License-Identifier: MIT */
/* The interface of the preloaded library (native.c) to clineprof._core. The library sees what C code gets
 * from malloc and mmap. The module knows the lines and keeps the numbers. Each is built without the other:
 * the module finds the struct clp_native_door by its name. */
#ifndef CLP_DOOR_H
#define CLP_DOOR_H

#include <stddef.h>
#include <stdint.h>

#define CLP_NATIVE_LIBRARY "libclineprof_native.so"
#define CLP_NATIVE_DOOR "clp_native_door"
#define CLP_NATIVE_VERSION 1u

/* One for each thread of the process. */
struct clp_native_thread {
    uint32_t inside; /* in an allocator, or paused: nothing is counted */
    int64_t left;    /* for threads in which no selected code ran: bytes to the next sample .. */
    uint64_t random; /* .. the state of its random numbers .. */
    uint32_t level;  /* .. and the level of that sample (heap/heap.h) */
};

/* `freeing` and `unmapping` are called while the block or the pages are still there. `resize` calls `next`,
 * which is realloc. The others are called afterwards. `inside` is set during each call, so that what the hook
 * allocates is not counted. */
struct clp_native_hooks {
    void (*allocated)(struct clp_native_thread *self, const void *block, size_t bytes);
    void (*freeing)(const void *block);
    void *(*resize)(struct clp_native_thread *self, void *block, size_t bytes,
                    void *(*next)(void *block, size_t bytes));
    void (*mapped)(struct clp_native_thread *self, const void *address, size_t bytes);
    void (*unmapping)(const void *address, size_t bytes);
    void (*remapped)(struct clp_native_thread *self, const void *from, size_t old_bytes,
                     const void *to, size_t bytes);
    uintptr_t own_start, own_end; /* where the profiler's code lies: its own requests are not counted */
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
