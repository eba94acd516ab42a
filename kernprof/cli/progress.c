/* SPDX-License-Identifier: MIT */
#include "progress.h"
#include "os/clock.h"
#include "bridge/console.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char clear[] = "\r\x1b[K"; /* clears the terminal's current line */

#define PATIENCE_NANOS UINT64_C(500000000)

struct clp_progress clp_progress_start(void)
{
    const char *terminal = getenv("TERM");

    return (struct clp_progress){
        .start = clp_clock_monotonic(),
        .able = terminal != NULL && strcmp(terminal, "dumb") != 0 && isatty(STDERR_FILENO),
    };
}

void clp_progress_say(struct clp_progress *progress, const char *what, int number, int count)
{
    char line[80];

    if (!progress->able || clp_clock_monotonic() - progress->start < PATIENCE_NANOS)
        return;
    (void)snprintf(line, sizeof line, "%s%s %d of %d", clear, what, number, count);
    (void)clp_console_write(STDERR_FILENO, line, strlen(line));
    progress->shown = true;
}

void clp_progress_clear(struct clp_progress *progress)
{
    if (progress->shown)
        (void)clp_console_write(STDERR_FILENO, clear, sizeof clear - 1);
    progress->shown = false;
}
