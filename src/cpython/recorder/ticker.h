/* SPDX-License-Identifier: MIT */
/* Counts the milliseconds in a thread of its own, for events that read the clock seldom (engine/light.h). The thread is
 * stopped around a fork. Protected as recorder_state.h says. */
#ifndef CLP_TICKER_H
#define CLP_TICKER_H

#include "recorder_state.h"

/* Starts it, or starts it again after a fork. Nothing happens while it runs. If the system gives no thread, events find
 * that no time passes between two readings, and long stays there are lost. */
void clp_ticker_start(struct clp_recorder *recorder);

void clp_ticker_stop(struct clp_recorder *recorder);

static inline bool clp_ticker_is_missing(const struct clp_recorder *recorder)
{
    return CLP_UNLIKELY(!recorder->ticker.helper.running) && recorder->ticker.wanted;
}

#endif
