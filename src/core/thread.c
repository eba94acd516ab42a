/* SPDX-License-Identifier: MIT */
#include "thread.h"

clp_status clp_thread_hook_init(struct clp_thread_hook *hook, void (*at_end)(void *data))
{
    return pthread_key_create(&hook->key, at_end) == 0 ? CLP_OK : CLP_UNSUPPORTED;
}

void clp_thread_hook_set(const struct clp_thread_hook *hook, void *data)
{
    (void)pthread_setspecific(hook->key, data);
}
