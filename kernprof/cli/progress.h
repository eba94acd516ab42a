/* SPDX-License-Identifier: MIT */
/* "reading 37 of 100" on a terminal's standard error, for what takes longer than half a second. */
#ifndef CLP_PROGRESS_H
#define CLP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct clp_progress {
    uint64_t start; /* CLOCK_MONOTONIC */
    bool able;      /* somebody sees it, on a terminal that can clear a line */
    bool shown;
};

struct clp_progress clp_progress_start(void);
void clp_progress_say(struct clp_progress *progress, const char *what, int number, int count);

/* Takes the line away, before anything else is printed. */
void clp_progress_clear(struct clp_progress *progress);

#endif
