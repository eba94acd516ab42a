/* SPDX-License-Identifier: MIT */
#include "fork_helpers.h"
#include "cpython/compat/compat.h"
#include <pthread.h>

#define MOST 16 /* further helpers are not stopped around a fork; os.fork then warns */

/* Is global because the handlers of a fork take no argument. They cannot be unregistered. */
static struct clp_helper *helpers[MOST];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int start_again(void *nothing)
{
    (void)nothing;
    for (size_t i = 0; i < MOST; i++)
        if (helpers[i] != NULL)
            (void)clp_helper_start(helpers[i]);
    return 0;
}

static bool is_any(void)
{
    for (size_t i = 0; i < MOST; i++)
        if (helpers[i] != NULL)
            return true;
    return false;
}

static void prepare(void)
{
    for (size_t i = 0; i < MOST; i++)
        if (helpers[i] != NULL)
            clp_helper_stop(helpers[i]);
}

static void in_parent(void)
{
    if (is_any())
        (void)Py_AddPendingCall(start_again, NULL);
}

static void in_child(void)
{
    for (size_t i = 0; i < MOST; i++)
        helpers[i] = NULL;
}

static void watch_forks(void)
{
    (void)pthread_atfork(prepare, in_parent, in_child);
}

void clp_fork_helpers_add(struct clp_helper *helper)
{
    pthread_once(&once, watch_forks);
    for (size_t i = 0; i < MOST; i++) {
        if (helpers[i] == NULL) {
            helpers[i] = helper;
            return;
        }
    }
}

void clp_fork_helpers_remove(struct clp_helper *helper)
{
    for (size_t i = 0; i < MOST; i++)
        if (helpers[i] == helper)
            helpers[i] = NULL;
    clp_helper_stop(helper);
}
