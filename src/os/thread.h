/* SPDX-License-Identifier: MIT */
/* Threads: a call when one ends, what the calling one has used, helpers, and a lock that an allocator's hook
 * may take. */
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

/* From now on at_end(data) is called in each thread that has set data, when the thread ends. Little else of
 * the thread is left by then, so at_end may only set a flag. CLP_UNSUPPORTED: the system has no key left. */
clp_status clp_thread_hook_init(struct clp_thread_hook *hook, void (*at_end)(void *data));

/* Sets the calling thread's data, in place of what it set before. */
void clp_thread_hook_set(const struct clp_thread_hook *hook, void *data);

/* ---- helpers ----
 *
 * A helper is a thread that does some work again and again. It does not use the interpreter or its locks. Its
 * stack comes from clp_pages, so that no line is charged for it. It blocks all signals, so that they go to the
 * program's threads. It must be stopped before a fork, because Python warns of a fork when there are threads.
 * It may be started again after the fork. */
struct clp_helper {
    /* set by the owner */
    void (*work)(void *data);
    void *data;
    double interval;         /* seconds from one beginning of the work to the next */
    struct clp_pages *pages; /* borrowed */
    bool own_files; /* its descriptors do not take numbers that the program's open() would get without the
                     * profiler; old kernels cannot do this */
    bool punctual;  /* the system is not to put off its work by some 50 us, to do it together with other threads' */
    /* private */
    void *stack;
    size_t stack_bytes;
    pthread_t thread;
    int number; /* the system's */
    pthread_mutex_t lock, busy;
    pthread_cond_t wake;
    bool ready, running, stop;
};

/* Starts the thread, or starts it again; the first work comes after one interval. 0 or errno. */
int clp_helper_start(struct clp_helper *helper);

/* Ends it; work that is under way is completed. The system counts it among the process's threads no more. Nothing happens
 * when none runs. */
void clp_helper_stop(struct clp_helper *helper);

/* Between the two no work begins, and none is under way. */
void clp_helper_hold(struct clp_helper *helper);
void clp_helper_release(struct clp_helper *helper);

/* Gives back the stack of a helper that does not run. */
void clp_helper_clear(struct clp_helper *helper);

/* A lock that is held for moments only. Taking it does not allocate, so it may be taken inside an allocator.
 * {0} is free. */
struct clp_lock {
    unsigned char taken;
};

/* Waits for the lock and takes it. False: it was not given back for seconds, and is not taken. Then this is
 * the child of a fork, and the thread that had the lock does not exist here. */
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

/* glibc's, since 2.32: becomes false when the first thread is made. */
extern char __libc_single_threaded __attribute__((weak));

/* Has the process only one thread? False where the C library cannot tell. Costs one read of memory. */
static inline bool clp_thread_alone(void)
{
    return &__libc_single_threaded != NULL && __libc_single_threaded != 0;
}

/* Does the name of the calling thread, which the system has for it, begin so? */
bool clp_thread_is_named(const char *start);

/* What the calling thread has done since it began: 0.25 microseconds to ask. */
struct clp_thread_use {
    uint64_t faults; /* page faults; each brings in a page, or several at once */
    uint64_t major;  /* the page faults that waited for a disk */
    uint64_t waits;  /* voluntary context switches, such as for a lock or for input */
    uint64_t preemptions; /* involuntary context switches */
    uint64_t nanos;  /* of processor time */
};
void clp_thread_get_use(struct clp_thread_use *use);

/* The processor time of the calling thread in nanoseconds; 0 where the system does not tell. */
uint64_t clp_thread_cpu_nanos(void);

/* The processor time in nanoseconds of a thread of this process, by the number that gettid gave it; 0 where the system
 * does not tell, and where there is no such thread. */
uint64_t clp_thread_cpu_nanos_of(int number);

/* Sets *nanos to the time that the calling thread was able to run, but waited for a processor: from
 * /proc/thread-self/schedstat, which is opened for each call. Returns how many bytes were read; 0: it cannot be read, and
 * *nanos is as it was. */
size_t clp_thread_queue_nanos(uint64_t *nanos);

/* How many processors the calling thread may use; 1 where the system does not tell. */
unsigned clp_thread_processors(void);

/* Fills all but `nanos`. Reading a thread's processor time makes the kernel check whether its time slice is
 * over, and preempt it if so. */
void clp_thread_get_counts(struct clp_thread_use *use);

#endif
