/* SPDX-License-Identifier: MIT */
/* When a thread of the system ends. */
#ifndef CLP_THREAD_H
#define CLP_THREAD_H

#include "status.h"
#include <pthread.h>

struct clp_thread_hook {
    pthread_key_t key;
};

/* From now on at_end(data) is called in each thread that ends and has given data. It runs late,
 * when little else of the thread is left: it may only set a mark. CLP_UNSUPPORTED when the system
 * has no key left. */
clp_status clp_thread_hook_init(struct clp_thread_hook *hook, void (*at_end)(void *data));

/* The calling thread's data; replaces what it gave before. */
void clp_thread_hook_set(const struct clp_thread_hook *hook, void *data);

#endif
