/* SPDX-License-Identifier: MIT */
#include "signals.h"
#include <pthread.h>
#include <stddef.h>

void clp_signals_hold(struct clp_signals *signals)
{
    sigset_t all;

    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &signals->before);
}

void clp_signals_release(const struct clp_signals *signals)
{
    (void)pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
}
