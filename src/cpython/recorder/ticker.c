/* SPDX-License-Identifier: MIT */
#include "ticker.h"
#include <pthread.h>

#define INTERVAL 0.001 /* seconds */

/* Is global because the handler of a fork takes no argument, and cannot be unregistered. */
static struct clp_ticker *forked;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void tick(void *data)
{
    uint64_t *count = data;

    __atomic_store_n(count, *count + 1, __ATOMIC_RELAXED);
}

static void before_fork(void)
{
    if (forked != NULL)
        clp_helper_stop(&forked->helper);
}

static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, NULL, NULL);
}

void clp_ticker_start(struct clp_recorder *recorder)
{
    struct clp_ticker *ticker = &recorder->ticker;

    if (ticker->helper.running)
        return;
    pthread_once(&once, watch_forks);
    forked = ticker;
    ticker->helper.work = tick;
    ticker->helper.data = &ticker->count;
    ticker->helper.interval = INTERVAL;
    ticker->helper.pages = &recorder->pages;
    ticker->helper.own_files = true;
    ticker->wanted = clp_helper_start(&ticker->helper) == 0;
}

void clp_ticker_stop(struct clp_recorder *recorder)
{
    recorder->ticker.wanted = false;
    clp_helper_stop(&recorder->ticker.helper);
}
