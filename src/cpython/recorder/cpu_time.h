/* SPDX-License-Identifier: MIT */
/* Reads the processor time of threads, and the time that they have spent in the run queue, for engine/waiting.h.
 * Protected as recorder_state.h says. */
#ifndef CLP_CPU_TIME_H
#define CLP_CPU_TIME_H

#include "engine/waiting.h"
#include "recorder_state.h"

/* Count the profilers for which processor time is read. It is read in all threads while there is one. False: the
 * system does not tell it, and nothing is counted. */
bool clp_cpu_time_start(struct clp_recorder *recorder);
void clp_cpu_time_stop(struct clp_recorder *recorder);

/* Lets the calling thread's waiting count from now on: `thread` is new, or lives on in the child of a fork. */
void clp_cpu_time_begin(struct clp_thread *thread);

/* Reads the calling thread's processor time for an event that ends a long interval. Returns how many ticks the line on
 * top has waited. */
uint64_t clp_cpu_time_read(struct clp_thread *thread);

/* Leaves out what has passed since the last read, because it is in no time, but for `waited` ticks of waiting. */
void clp_cpu_time_skip(struct clp_thread *thread, uint64_t waited);

/* Reads the processor time of all threads, so that lines which are running have their waiting up to now. */
void clp_cpu_time_look(struct clp_recorder *recorder);

/* Reads for how long the calling thread was in the run queue, if it has just waited long enough to be worth it. */
void clp_cpu_time_read_queue(struct clp_thread *thread, uint64_t waited);

#endif
