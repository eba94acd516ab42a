/* SPDX-License-Identifier: MIT */
#include "ticker.h"
#include "base/random.h"
#include "engine/light.h"
#include <math.h>
#include <pthread.h>

/* Seconds from one tick to the next, on average: a ten-thousandth of the time that the ticker has run. So shares of a
 * long program are as good as those of one of a second, and cost little. */
#define SHARE 1e-4
#define SHORTEST 50e-6
#define LONGEST 500e-6
/* At least and at most so many times the average */
#define LEAST 0.5
#define MOST 1.5
#define TICKS_OF_LATE 16

/* Is global because the handler of a fork takes no argument, and cannot be unregistered. */
static struct clp_ticker *forked;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Publishes a tick. On a busy machine ticks are late, so what may lie between two of them is the most that did lately. */
static void publish(struct clp_ticker *ticker, uint64_t nominal)
{
    struct clp_light_ticks *ticks = &ticker->ticks;
    uint64_t now = clp_clock_read(ticker->clock), before = ticks->last;
    uint64_t apart = ticks->apart - ticks->apart / TICKS_OF_LATE;

    if (before > CLP_LIGHT_READ_NEXT && now - before > apart)
        apart = now - before;
    __atomic_store_n(&ticks->apart, apart > nominal ? apart : nominal, __ATOMIC_RELAXED);
    __atomic_store_n(&ticks->last, now, __ATOMIC_RELEASE);
}

/* No loop of the program can run in step with the ticks, because what lies between them is random. */
static void tick(void *data)
{
    struct clp_ticker *ticker = data;
    double usual = fmin(fmax(ticker->run * SHARE, SHORTEST), LONGEST);

    publish(ticker, clp_clock_ticks(ticker->clock, usual * MOST * 1e9));
    ticker->helper.interval = usual * (LEAST + (MOST - LEAST) * clp_random_uniform(&ticker->random));
    ticker->run += ticker->helper.interval;
}

/* Stops the thread, after a last tick. A long stay after that would otherwise be found some events later, and count for
 * another line. */
static void rest(struct clp_ticker *ticker)
{
    if (!ticker->helper.running)
        return;
    clp_helper_stop(&ticker->helper);
    tick(ticker);
}

static void before_fork(void)
{
    if (forked != NULL)
        rest(forked);
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
    ticker->clock = &recorder->clock;
    ticker->random = clp_clock_read(&recorder->clock) | 1;
    ticker->helper.work = tick;
    ticker->helper.data = ticker;
    ticker->helper.pages = &recorder->pages;
    ticker->helper.own_files = true;
    ticker->helper.punctual = true;
    ticker->ticks.last = CLP_LIGHT_NO_TICKS; /* nothing has come late in a time without ticks */
    tick(ticker);
    ticker->wanted = clp_helper_start(&ticker->helper) == 0;
    if (!ticker->wanted)
        __atomic_store_n(&ticker->ticks.last, CLP_LIGHT_NO_TICKS, __ATOMIC_RELAXED);
}

void clp_ticker_rest(struct clp_recorder *recorder)
{
    rest(&recorder->ticker);
}

void clp_ticker_stop(struct clp_recorder *recorder)
{
    recorder->ticker.wanted = false;
    clp_helper_stop(&recorder->ticker.helper);
}
