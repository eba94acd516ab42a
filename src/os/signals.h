/* SPDX-License-Identifier: MIT */
/* Holds back all signals that would come to the calling thread, and lets them come again. */
#ifndef CLP_SIGNALS_H
#define CLP_SIGNALS_H

#include <signal.h>

struct clp_signals {
    sigset_t before;
};

void clp_signals_hold(struct clp_signals *signals);
void clp_signals_release(const struct clp_signals *signals);

#endif
