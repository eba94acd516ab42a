/* SPDX-License-Identifier: MIT */
/* Remembers which line launched what: CUPTI has a number for each call of CUDA, the correlation, which the records of
 * kernels and copies repeat when they come, later and in another thread.
 *
 * Numbers ascend by one, so each has its place in a ring. A launch is forgotten when so many others have come that its
 * place is needed again. Several records may have one number: a graph has many kernels. No lock is needed. */
#ifndef CLP_LAUNCHES_H
#define CLP_LAUNCHES_H

#include "engine/devices.h"

#define CLP_LAUNCHES 262144 /* calls of CUDA that are remembered */

enum clp_launch {
    CLP_LAUNCH_UNKNOWN, /* it was forgotten, or never seen */
    CLP_LAUNCH_LEFT_OUT, /* nothing was counted when it began */
    CLP_LAUNCH_OUTSIDE, /* it was on no line */
    CLP_LAUNCH_ON_LINE
};

/* Touches the memory of the ring, so that this is not done within the launches of the program. */
void clp_launches_prepare(void);

/* Remembers a launch. `place` is looked at if it is on a line. */
void clp_launches_note(uint32_t correlation, enum clp_launch launch, const struct clp_device_place *place);

/* Finds a launch; sets *place if it is on a line. */
enum clp_launch clp_launches_find(uint32_t correlation, struct clp_device_place *place);

/* Whether a copy waits for the device is known when its record comes, and how long, when its call ends. Whichever comes
 * second of these two adds the time to the line. */

/* The call of the launch has ended, and took so long. True: its record has come already, and says that it waited. */
bool clp_launches_end(uint32_t correlation, uint64_t nanos);

/* The record of a launch that was found says that its call waits. How long that took; 0 if it goes on, or if another
 * record of the launch has asked. */
uint64_t clp_launches_take_wait(uint32_t correlation);

#endif
