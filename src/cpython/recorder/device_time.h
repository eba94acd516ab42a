/* SPDX-License-Identifier: MIT */
/* The time of devices by line (--cuda): begins to listen to CUPTI (src/cupti) as soon as the program has loaded CUDA, and
 * adds what it tells to the counters of the lines. Protected as recorder_state.h says. */
#ifndef CLP_DEVICE_TIME_H
#define CLP_DEVICE_TIME_H

#include "cupti/device_sums.h"
#include "recorder_state.h"

/* Count the profilers that want the time of devices. CUPTI is listened to while there is one. */
void clp_device_time_start(struct clp_recorder *recorder);
void clp_device_time_stop(void);

/* Says how many of them count now; `by` is 1 or -1. */
void clp_device_time_counts(int by);

/* Is CUDA waited for? Then clp_device_time_try is to be called when a library may have been loaded. */
bool clp_device_time_waits(void);

/* Begins to listen if the program has loaded CUDA by now. Runs no Python code. */
void clp_device_time_try(void);

/* Gives up CUPTI for good, because another profiler, of this name, needs it. */
void clp_device_time_give_up(const char *other);

/* Takes all that there is at the end of the program, and gives up CUPTI, if only one profiler wants it. */
void clp_device_time_end(void);

/* Adds all that devices have done so far to the counters. */
void clp_device_time_look(void);

/* Has this process ever listened? */
bool clp_device_time_began(void);

/* What is on no line, since the start of the process. */
struct clp_device_outside clp_device_time_outside(void);

/* Is the time of devices missing, or does it end early, though the program uses CUDA? */
bool clp_device_time_failed(void);

/* Adds a sentence that says why the time of devices is missing, or where it ends. False: nothing is wrong. */
bool clp_device_time_explain(struct clp_buf *text);

#endif
