/* SPDX-License-Identifier: MIT */
#include "os/clock.h"
#include <criterion/criterion.h>
#include <math.h>
#include <time.h>

static void rest(long nanos)
{
    const struct timespec span = {.tv_nsec = nanos};

    (void)nanosleep(&span, NULL);
}

/* Reads both clocks again if another process ran between the two readings. */
static void read_both(const struct clp_clock *clock, uint64_t *ticks, uint64_t *nanos)
{
    do {
        *nanos = clp_clock_monotonic();
        *ticks = clp_clock_read(clock);
    } while (clp_clock_monotonic() - *nanos > 50000);
}

/* Sleeping longer than asked does no harm: both clocks see it. */
static void check_rate(struct clp_clock clock)
{
    uint64_t first_ticks, first_nanos, ticks, nanos;

    read_both(&clock, &first_ticks, &first_nanos);
    rest(20000000);
    read_both(&clock, &ticks, &nanos);
    ticks -= first_ticks;
    nanos -= first_nanos;
    double rate = clp_clock_nanos_per_tick(&clock);
    cr_assert_float_eq((double)ticks * rate / (double)nanos, 1.0, 0.01, "%g nanoseconds per tick",
                       rate);
    cr_assert_float_eq(clock.rough_nanos / rate, 1.0, 0.1, "rough %g, exact %g", clock.rough_nanos,
                       rate);
}

static void check_monotone(struct clp_clock clock)
{
    uint64_t last = clp_clock_read(&clock);

    cr_assert_geq(last, clock.start_ticks);
    for (int i = 0; i < 100000; i++) {
        uint64_t now = clp_clock_read(&clock);
        cr_assert_geq(now, last);
        last = now;
    }
    cr_assert_gt(last, clock.start_ticks, "it stands still");
}

Test(clock, the_chosen_clock_is_monotone)
{
    check_monotone(clp_clock_start());
}

Test(clock, the_system_clock_is_monotone)
{
    check_monotone(clp_clock_start_monotonic());
}

Test(clock, the_chosen_clock_keeps_the_system_clocks_rate)
{
    check_rate(clp_clock_start());
}

Test(clock, the_system_clock_counts_nanoseconds)
{
    struct clp_clock clock = clp_clock_start_monotonic();

    cr_assert_not(clock.counter);
    cr_assert_eq(clp_clock_nanos_per_tick(&clock), 1);
    check_rate(clock);
}

/* The names are those of the kernel's drivers; "" stands for a machine without /sys. */
Test(clock, the_kernels_choice_of_clock_decides)
{
#if defined(__x86_64__)
    static const char *const others[] = {"", "tsc-early", "kvm-clock", "hyperv_clocksource_tsc_page",
                                         "hyperv_clocksource_msr", "acpi_pm", "hpet", "xen", "refined-jiffies"};

    cr_expect(clp_clock_trusts("tsc"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_expect_not(clp_clock_trusts(others[i]), "'%s'", others[i]);
#elif defined(__aarch64__)
    cr_expect(clp_clock_trusts("arch_sys_counter"));
    cr_expect(clp_clock_trusts(""));
#endif
}

#if defined(__aarch64__)
/* The counter says itself how many ticks a second has. */
Test(clock, a_tick_is_as_long_as_the_counter_says)
{
    struct clp_clock clock = clp_clock_start();
    uint64_t ticks_per_second;

    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(ticks_per_second));
    cr_assert(clock.counter);
    rest(20000000);
    cr_expect_float_eq(clp_clock_nanos_per_tick(&clock) * (double)ticks_per_second, 1e9, 1e7);
    cr_expect_float_eq(clock.rough_nanos * (double)ticks_per_second, 1e9, 1e8);
}
#endif

/* Asked before any time has passed there is no ratio to take; the rough one must do. */
Test(clock, has_a_rate_at_once)
{
    struct clp_clock clock = clp_clock_start();

    if (!clock.counter)
        return;
    clock.start_ticks = UINT64_MAX;
    cr_assert_eq(clp_clock_nanos_per_tick(&clock), clock.rough_nanos);
    cr_assert_gt(clock.rough_nanos, 0);
}

Test(clock, the_wall_clock_is_the_systems)
{
    double before = (double)time(NULL), now = clp_clock_wall();

    cr_assert_geq(now, before - 1);
    cr_assert_leq(now, (double)time(NULL) + 2); /* time() may lie some milliseconds behind */
}
