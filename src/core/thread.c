/* SPDX-License-Identifier: MIT */
#include "thread.h"
#include <sched.h>

#define LOCK_SPINS 100
#define LOCK_YIELDS 5000000

clp_status clp_thread_hook_init(struct clp_thread_hook *hook, void (*at_end)(void *data))
{
    return pthread_key_create(&hook->key, at_end) == 0 ? CLP_OK : CLP_UNSUPPORTED;
}

void clp_thread_hook_set(const struct clp_thread_hook *hook, void *data)
{
    (void)pthread_setspecific(hook->key, data);
}

bool clp_lock_wait(struct clp_lock *lock)
{
    for (int i = 0; i < LOCK_YIELDS; i++) {
        if (!__atomic_load_n(&lock->taken, __ATOMIC_RELAXED) &&
            !__atomic_test_and_set(&lock->taken, __ATOMIC_ACQUIRE))
            return true;
        if (i >= LOCK_SPINS)
            sched_yield();
    }
    return false;
}
