/* SPDX-License-Identifier: MIT */
/* Reads what the system counts of each thread, for engine/tallies.h: bytes read and written, page faults, context
 * switches. Protected as recorder_state.h says. */
#ifndef CLP_TALLY_READS_H
#define CLP_TALLY_READS_H

#include "engine/tallies.h"
#include "recorder_state.h"

/* Count the profilers for which these sources are read (a sum of enum clp_tally_source). They are read in all threads
 * while there is one. Returns those that can be read; only these may be stopped. */
uint32_t clp_tally_reads_start(struct clp_recorder *recorder, uint32_t sources);
void clp_tally_reads_stop(struct clp_recorder *recorder, uint32_t sources);

/* Sets how many ticks a line must last at least so that a source is read for it, or one of the program's own counters
 * (recorder->counter_span), or PyTorch's statistics (recorder->tensor_span). */
void clp_tally_reads_set_span(struct clp_recorder *recorder);

/* Gives the calling thread's line on top what has changed since the last read. */
void clp_tally_reads_note(struct clp_thread *thread);

/* What has changed since the last read of the calling thread belongs to no line: the profiler did it, or the thread or
 * the process is new. */
void clp_tally_reads_skip(struct clp_thread *thread);

#endif
