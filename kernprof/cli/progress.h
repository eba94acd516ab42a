/* SPDX-License-Identifier: MIT */
/* Shows "reading 37 of 100" on standard error, if that is a terminal, once a task takes longer than half a second. */
#ifndef CLP_PROGRESS_H
#define CLP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct clp_progress {
    uint64_t start; /* when the task began: CLOCK_MONOTONIC, nanoseconds */
    bool able;      /* standard error is a terminal that can clear a line */
    bool shown;     /* a line is on the terminal */
};

struct clp_progress clp_progress_start(void);

/* Shows "WHAT NUMBER of COUNT" in place of the line before, once half a second has passed. */
void clp_progress_say(struct clp_progress *progress, const char *what, int number, int count);

/* Removes the line. To be called before anything else is printed. */
void clp_progress_clear(struct clp_progress *progress);

#endif
