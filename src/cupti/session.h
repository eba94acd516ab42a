/* SPDX-License-Identifier: MIT */
/* Listens to CUPTI: puts the time of kernels and copies, and the waiting for devices, on lines (device_sums.h).
 *
 *   a call of CUDA begins   -> launches.h remembers its line, in the calling thread
 *   a record comes, later   -> its time goes to that line, in a thread of CUPTI
 *   a call that waits ends  -> how long it took goes to the line of the calling thread; of an asynchronous copy, once
 *                              its record has told that it waited
 *
 * One for the process, as CUPTI's subscriber is. clp_session_start, _stop and _flush are called by one thread at a time.
 * A child of a fork has none: CUDA does not work there. */
#ifndef CLP_SESSION_H
#define CLP_SESSION_H

#include "cupti.h"
#include "engine/devices.h"

/* Who listens. All are called in any thread, without the interpreter's lock. */
struct clp_session_wish {
    /* Does anything count now, and on which line is the calling thread? CLP_LAUNCH_.. (launches.h). */
    int (*where)(struct clp_device_place *place);
    void (*due)(void); /* about a second has passed since it was last called, or since the start; may be NULL */
};

struct clp_session_fault {
    const char *function; /* of CUPTI, which failed; NULL: it is the version, or it lacks a function if `number` is 0 */
    int number;           /* what the function returned, or the version */
};

/* Begins with a loaded CUPTI. False: *fault says why not, and nothing is held of CUPTI. */
bool clp_session_start(void *library, const struct clp_session_wish *wish, struct clp_session_fault *fault);

/* Does it listen, in this process? */
bool clp_session_runs(void);

/* Has CUPTI hand over what has ended. */
void clp_session_flush(void);

/* Ends it: takes what there is, and gives up the subscriber, which is then free for others. */
void clp_session_stop(void);

#endif
