/* SPDX-License-Identifier: MIT */
/* The program's own counters (clineprof.counter): numbers that a function of the program returns. It is called after the
 * events that end lines, because Python code may run only then. What a counter changed by since it was last read, in
 * any thread, belongs to the line that has just ended. Protected as recorder_state.h says. */
#ifndef CLP_PROGRAM_COUNTERS_H
#define CLP_PROGRAM_COUNTERS_H

#include "recorder_state.h"

/* Adds a counter with this title, or gives the one that has it another function. `read` is called without arguments, or
 * is a capsule of a C function `int64_t (*)(void)`. The counter is read for lines of at least `every` seconds;
 * CLP_COUNTER_BY_COST: as often as its cost allows (engine/tallies.h). False with an exception set: there are too many
 * counters, the title is too long, or `read` has failed. `recorder` may be NULL. */
#define CLP_COUNTER_BY_COST (-1.0)
bool clp_program_counters_add(struct clp_recorder *recorder, const char *title, PyObject *read, double every);

/* Copies the title of each counter, "" where there is none. */
void clp_program_counters_titles(char titles[CLP_TALLY_COUNTERS][CLP_TALLY_NAME]);

/* When a counter was not read behind short lines, because that would have cost too much. */
struct clp_counter_unread clp_program_counters_unread(size_t counter);

/* Tells a live file of both. */
void clp_program_counters_fill(struct clp_live_header *header);

/* Why a counter is no longer read: a str, borrowed; NULL: it is, or there is no such counter. */
PyObject *clp_program_counters_fault(size_t counter);

/* Lets blocks have room for counters, if there are any. It is called when a profiler is made. */
void clp_program_counters_join(struct clp_recorder *recorder);

/* Reads the counters, so that what changed up to now belongs to no line. Runs Python code. */
void clp_program_counters_look(void);

/* Notes that a line of this many ticks ends in the thread. True: a counter is to be read after the event. */
bool clp_program_counters_note(struct clp_thread *thread, uint64_t ticks);

/* Reads what clp_program_counters_note has found. Call it after the event. True: Python code has run. Adds to *waited the
 * ticks by which that took longer than it usually does, because others had the processor. */
bool clp_program_counters_read(struct clp_thread *thread, uint64_t *waited);

#endif
