/* SPDX-License-Identifier: MIT */
/* Tells the time now and then, in a thread of its own, for events that read the clock seldom (engine/light.h). The thread is
 * stopped around a fork. Protected as recorder_state.h says. */
#ifndef CLP_TICKER_H
#define CLP_TICKER_H

#include "recorder_state.h"

/* Starts it, or starts it again after a fork. Nothing happens while it runs. If the system gives no thread, each event
 * reads the clock. */
void clp_ticker_start(struct clp_recorder *recorder);

/* Stops it until it is missed. */
void clp_ticker_rest(struct clp_recorder *recorder);

void clp_ticker_stop(struct clp_recorder *recorder);

/* Has it rested, or been stopped by a fork, while a window is open now? */
static inline bool clp_ticker_is_missing(const struct clp_recorder *recorder)
{
    return CLP_UNLIKELY(!recorder->ticker.helper.running) && recorder->ticker.wanted && recorder->open != 0;
}

#endif
