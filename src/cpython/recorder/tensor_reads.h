/* SPDX-License-Identifier: MIT */
/* The memory of tensors on CUDA devices, where the library of memory/tensors.h is missing: what PyTorch's own
 * statistics changed by since they were last read belongs to the line that has just ended. They are read after the
 * events that end long lines, when a window begins or ends to count, and for a profile. They are the process's, so work
 * of other threads goes to whoever reads.
 *
 * Only functions of torch._C are called, and only after the program has initialised CUDA and used the device. No Python
 * code runs, nothing is imported, and an exception that is set stays set. Should such a function give up the
 * interpreter's lock, other threads' lines are not read meanwhile. Protected as recorder_state.h says. */
#ifndef CLP_TENSOR_READS_H
#define CLP_TENSOR_READS_H

#include "profile/profile.h"
#include "recorder_state.h"

/* Count the profilers that want it. What was allocated before the first one began belongs to no line. */
void clp_tensor_reads_start(struct clp_recorder *recorder);
void clp_tensor_reads_stop(struct clp_recorder *recorder);

/* A line that took so many ticks ends in the calling thread, at `now` by the clock. True: statistics are to be read after
 * the event. */
bool clp_tensor_reads_note(struct clp_thread *thread, uint64_t ticks, uint64_t now);

/* Reads what clp_tensor_reads_note has found to be due. Call it after the event. True: time has passed. */
bool clp_tensor_reads_read(struct clp_thread *thread);

/* Reads, and gives what has changed to the line that runs in the calling thread, or to none. */
void clp_tensor_reads_look(void);

/* Were statistics of any device read in this process? */
enum clp_tensors_read clp_tensor_reads_state(void);

/* The first device that has no place, because all are taken; NULL: there is none. */
const char *clp_tensor_reads_refused(void);

#endif
