/* SPDX-License-Identifier: MIT */
/* Threads of the system: when one ends, and what the running one has done; threads of the
 * profiler's own; and a lock that an allocator's hook may take. */
#ifndef CLP_THREAD_H
#define CLP_THREAD_H

#include "pages.h"
#include "base/status.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct clp_thread_hook {
    pthread_key_t key;
};

/* From now on at_end(data) is called in each thread that ends and has given data. It runs late,
 * when little else of the thread is left: it may only set a mark. CLP_UNSUPPORTED when the system
 * has no key left. */
clp_status clp_thread_hook_init(struct clp_thread_hook *hook, void (*at_end)(void *data));

/* The calling thread's data; replaces what it gave before. */
void clp_thread_hook_set(const struct clp_thread_hook *hook, void *data);

/* ---- helpers ----
 *
 * A helper is a thread that does some work every so often. It knows nothing of the interpreter and
 * holds none of its locks. Its stack comes from pages, so that what it takes is on no line;
 * signals go to the program's threads. It is stopped before a fork, which warns of threads, and
 * may be started again behind it. */
struct clp_helper {
    /* set by the owner */
    void (*work)(void *data);
    void *data;
    double interval;         /* seconds from one beginning of the work to the next */
    struct clp_pages *pages; /* borrowed */
    bool own_files; /* descriptors it opens are its own: the program's next open() gets the number
                     * that it would get without us. Best effort: old kernels have nothing for it */
    /* the rest is the helper's */
    void *stack;
    size_t stack_bytes;
    pthread_t thread;
    pthread_mutex_t lock, busy;
    pthread_cond_t wake;
    bool ready, running, stop;
};

/* Starts the thread, or starts it again; the first work comes after one interval. 0 or errno. */
int clp_helper_start(struct clp_helper *helper);

/* Ends it; work that is under way is completed. Nothing happens when none runs. */
void clp_helper_stop(struct clp_helper *helper);

/* Between the two no work begins, and none is under way. */
void clp_helper_hold(struct clp_helper *helper);
void clp_helper_release(struct clp_helper *helper);

/* Gives back the stack of one that does not run. */
void clp_helper_clear(struct clp_helper *helper);

/* Held for moments only. Nothing is allocated and no signal is waited for, so it may be taken
 * inside an allocator. {0} is free. */
struct clp_lock {
    unsigned char taken;
};

/* Takes a lock as soon as it is given back. False, and not taken, when that has not happened for seconds: then
 * this is the child of a fork, without the thread that had it. */
bool clp_lock_wait(struct clp_lock *lock);

static inline bool clp_lock_take(struct clp_lock *lock)
{
    return CLP_LIKELY(!__atomic_test_and_set(&lock->taken, __ATOMIC_ACQUIRE)) ||
           clp_lock_wait(lock);
}

static inline void clp_lock_give(struct clp_lock *lock)
{
    __atomic_clear(&lock->taken, __ATOMIC_RELEASE);
}

/* glibc's, since 2.32: false from the first thread that is made on. */
extern char __libc_single_threaded __attribute__((weak));

/* Has the process but one thread? Costs nothing to ask. Where the C library cannot tell: no. */
static inline bool clp_thread_alone(void)
{
    return &__libc_single_threaded != NULL && __libc_single_threaded != 0;
}

/* What the calling thread has done since it began: 0.25 microseconds to ask. */
struct clp_thread_use {
    uint64_t faults; /* page faults; each brings in a page, or several at once */
    uint64_t waits;  /* times it gave the processor away, for a lock or the world outside .. */
    uint64_t preemptions; /* .. and times that it was taken away */
    uint64_t nanos;  /* of processor time */
};
void clp_thread_get_use(struct clp_thread_use *use);

/* Fills all but `nanos`: whoever asks for a thread's processor time makes the system look whether the thread's
 * turn is over, and wait if it is. */
void clp_thread_get_counts(struct clp_thread_use *use);

#endif
