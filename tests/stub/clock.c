/* SPDX-License-Identifier: MIT */
/* Keeps the clocks of a program as libfaketime does: since the start, so much time has passed as $CLOCK_PACE says, 0 to 1
 * for each second. What counts the processor's time is left alone. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct timespec start;
static double pace;

__attribute__((constructor)) static void begin(void)
{
    const char *told = getenv("CLOCK_PACE");

    pace = told != NULL ? atof(told) : 1;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &start);
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    int done = (int)syscall(SYS_clock_gettime, id, now);

    if (id != CLOCK_MONOTONIC || done != 0)
        return done;
    double passed = ((double)(now->tv_sec - start.tv_sec) + (double)(now->tv_nsec - start.tv_nsec) * 1e-9) * pace;
    long long nanos = start.tv_nsec + (long long)(passed * 1e9);
    *now = (struct timespec){start.tv_sec + nanos / 1000000000, nanos % 1000000000};
    return 0;
}
