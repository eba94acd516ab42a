/* SPDX-License-Identifier: MIT */
/* What the profiler's own work takes. */
#include "embedded.h"
#include "cpython/recorder/own_work.h"
#include <criterion/criterion.h>
#include <time.h>

static struct clp_recorder recorder;

Test(python_own_work, what_the_thread_waits_is_no_cost)
{
    const struct timespec while_others_run = {.tv_nsec = 20000000};

    test_start_interpreter();
    recorder.clock = clp_clock_start();
    uint64_t used = clp_thread_cpu_nanos();
    struct clp_own_work work = clp_own_work_begin(&recorder);
    (void)nanosleep(&while_others_run, NULL);
    uint64_t ticks = clp_own_work_take(&recorder, work);
    used = clp_thread_cpu_nanos() - used;
    cr_expect_leq((double)ticks * recorder.clock.rough_nanos, (double)used);
    cr_expect_gt(ticks, 0);
}
