/* SPDX-License-Identifier: MIT */
/* When a thread of the system ends; and a lock that an allocator's hook may take. */
#ifndef CLP_THREAD_H
#define CLP_THREAD_H

#include "status.h"
#include <pthread.h>
#include <stdbool.h>

struct clp_thread_hook {
    pthread_key_t key;
};

/* From now on at_end(data) is called in each thread that ends and has given data. It runs late,
 * when little else of the thread is left: it may only set a mark. CLP_UNSUPPORTED when the system
 * has no key left. */
clp_status clp_thread_hook_init(struct clp_thread_hook *hook, void (*at_end)(void *data));

/* The calling thread's data; replaces what it gave before. */
void clp_thread_hook_set(const struct clp_thread_hook *hook, void *data);

/* Held for moments only. Nothing is allocated and no signal is waited for, so it may be taken inside
 * an allocator. {0} is free. */
struct clp_lock {
    unsigned char taken;
};

/* The same where somebody has it: false when it was not given back for seconds, which must be the
 * fork of another thread's hold, and then it was not taken. */
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

#endif
