/* SPDX-License-Identifier: MIT */
/* The log of lines: which line ran in which thread, and since when. `clineprof torch join` puts what torch.profiler has
 * recorded on lines by it, so lines are logged only while torch.profiler records. While a profiler wants the log, each
 * event takes the slow way of events for which something is read; otherwise nothing changes. The log has a bound, and
 * counts what finds no room. docs/format.md says how a profile keeps it. Protected as recorder_state.h says. */
#ifndef CLP_LINE_LOG_H
#define CLP_LINE_LOG_H

#include "engine/view.h"
#include "profile/profile.h"
#include "recorder_state.h"

#define CLP_LINE_LOG_MOST ((size_t)1 << 22) /* events: 64 MiB */

/* Count the profilers that want the log. */
void clp_line_log_start(struct clp_recorder *recorder);
void clp_line_log_stop(struct clp_recorder *recorder);

/* Forgets the events, if only one profiler wants the log. */
void clp_line_log_reset(struct clp_recorder *recorder);

/* In the child of a fork: forgets the parent's events. */
void clp_line_log_after_fork(struct clp_recorder *recorder);

/* How much memory the log takes. */
uint64_t clp_line_log_bytes(const struct clp_recorder *recorder);

/* To be called before an event is recorded, and after it. `clp_line_log_note` returns whether it has taken time. */
void clp_line_log_expect(struct clp_recorder *recorder, const struct clp_thread *thread);
bool clp_line_log_note(struct clp_recorder *recorder, const struct clp_thread *thread);

/* Adds to the profile what was logged of the functions of the view. CLP_NO_MEMORY: nothing was added. */
clp_status clp_line_log_fill(const struct clp_recorder *recorder, const struct clp_view *view,
                             struct clp_profile *profile);

#endif
