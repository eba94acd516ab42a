/* SPDX-License-Identifier: MIT */
/* Runs a script of events through the engine and compares the profile that comes out with what the
 * script expects. fixtures/events/ holds such scripts; this is their language, one thing a line,
 * `#` starts a comment:
 *
 *   function NAME LOWEST HIGHEST [generator] [awaits]    lines LOWEST to HIGHEST of the file
 *   cost line|last|foreign N  what an event costs, in 1/256 ticks
 *   cost work|instruction N   what a line that only leaves takes, and an instruction
 *   cost pace N               how much longer events took during the run, 1024 for as long
 *   cost enter|leave|suspend|resume BEFORE AFTER
 *   memory [SPAN]             resident bytes are measured; no reading within SPAN ticks
 *   cpu SPAN NOISE            processor time is measured; no reading within SPAN ticks; see engine/waiting.h
 *   thread NAME               what follows happens in this thread; new at its first event
 *   TIME EVENT [rss N] [still N] [grows N] [frees N] [waits 0|1|2] [used N] [queued N] [skipped N]
 *   expect NAME total N own N [raw_total N]
 *   expect NAME LINE MEASURE N ..
 *   expect overhead|reads|events|suspended|lost|others_grown|others_released|gc_outside|gc_outside_runs N
 *
 * EVENT is one of
 *   enter NAME FRAME | begin NAME FRAME LINE (enter, and the line begins) | line LINE
 *   leave | last LINE (the line begins and only leaves) | suspend | resume NAME FRAME
 *   align NAME FRAME | foreign | unwind | collect | collected (a garbage collection begins, ends)
 *   end (the thread is no more) | reap | switch FRAME FRAME (from the stack of one greenlet to another's)
 * FRAME is a letter, or - for a body that is never suspended; a number with a p behind it counts pages of
 * 4096 bytes. `rss` is the resident size of the process from then on; the runner reads it when the engine
 * wants it, as a tracer does. `still` is how long the profiler works after the event, or how long a read of
 * memory takes. The others make it a read among several threads, and say what this one can have done at most;
 * `used` and `queued` are the thread's processor time and its time in the run queue so far, `skipped` its processor
 * time behind the work that follows the event.
 * `waits` is 0 for never, 1 for only while others had their turn, 2 for something (the default).
 *
 * Ticks are nanoseconds. Expectations come last and are complete: a line that ran, or a function,
 * that no expectation names is an error, and so is a measure that is not named and not 0 (raw_time
 * and raw_self default to time and self). `own` is the function's time without selected callees;
 * the raw_self of its lines must sum to it. */
#ifndef CLP_TEST_EVENT_SCRIPT_H
#define CLP_TEST_EVENT_SCRIPT_H

#include "base/mem.h"
#include <stdbool.h>

#define EVENT_SCRIPT_MESSAGE 400

/* False, with what is wrong in message, when something is not as expected. `plainly`: lines, exits
 * and `begin` take the engine's ways in line wherever these apply; the outcome must be the same. */
bool event_script_run(const char *text, struct clp_mem *mem, bool plainly,
                      char message[EVENT_SCRIPT_MESSAGE]);

#endif
