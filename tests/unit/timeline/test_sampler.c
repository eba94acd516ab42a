/* SPDX-License-Identifier: MIT */
#include "emulated.h"
#include "timeline/sampler.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BLOCK ((size_t)32 << 20)
#define SLACK (1 << 20)

static size_t count_of(struct clp_sampler *sampler)
{
    clp_helper_hold(&sampler->helper);
    size_t count = sampler->samples.count;
    clp_helper_release(&sampler->helper);
    return count;
}

static void wait_for(struct clp_sampler *sampler, size_t count)
{
    const struct timespec moment = {.tv_nsec = 1000000};

    for (int i = 0; i < 10000 && count_of(sampler) < count; i++)
        nanosleep(&moment, NULL);
}

static uint64_t largest(const struct clp_sampler *sampler)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < sampler->samples.count; i++)
        if (sampler->samples.items[i].bytes > bytes)
            bytes = sampler->samples.items[i].bytes;
    return bytes;
}

Test(sampler, sees_memory_come_and_go)
{
    struct clp_sampler sampler = {.interval = 0.001};

    cr_assert_eq(clp_sampler_open(&sampler), 0);
    cr_assert_eq(sampler.samples.count, 1);
    uint64_t before = sampler.samples.items[0].bytes;
    cr_assert_eq(clp_sampler_start(&sampler), 0);
    char *block = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(block, 1, BLOCK);
    wait_for(&sampler, count_of(&sampler) + 3);
    munmap(block, BLOCK);
    wait_for(&sampler, count_of(&sampler) + 3);
    clp_helper_stop(&sampler.helper);
    size_t count = sampler.samples.count;
    cr_assert_geq(largest(&sampler), before + BLOCK - SLACK);
#ifndef CLP_PLAIN_CRITERION_H /* under a tool, what it notes of the block is resident, too */
    cr_assert_leq(largest(&sampler), before + BLOCK + SLACK);
    cr_assert_leq(sampler.samples.items[count - 1].bytes, before + SLACK);
#endif
    for (size_t i = 1; i < count; i++)
        cr_assert_gt(sampler.samples.items[i].time, sampler.samples.items[i - 1].time);
    clp_sampler_close(&sampler);
}

Test(sampler, its_own_memory_is_left_out)
{
    struct clp_sampler sampler = {.interval = 1};
    uint64_t before, with;

    test_skip_if_emulated();
    cr_assert_eq(clp_sampler_open(&sampler), 0); /* the first time maps pages of code */
    clp_sampler_close(&sampler);
    cr_assert_eq(sampler.pages.bytes, 0);
    cr_assert_eq(clp_processes_size(0, CLP_MEMORY_RSS, &before), 0);
    cr_assert_eq(clp_sampler_open(&sampler), 0);
    cr_assert_eq(clp_processes_size(0, CLP_MEMORY_RSS, &with), 0);
    cr_assert_geq(with, before + (1 << 20));
    cr_assert_leq(sampler.samples.items[0].bytes, before + (64 << 10));
    clp_sampler_close(&sampler);
}

/* Descriptors that the thread opens are its own: this one always gets the lowest free number. (By system calls:
 * ThreadSanitizer believes that threads share their descriptors.) */
Test(sampler, the_thread_takes_no_descriptor_of_the_program)
{
    struct clp_sampler sampler = {.interval = 0.001, .children = true};
    long lowest = syscall(SYS_dup, 0);

    syscall(SYS_close, lowest);
    cr_assert_eq(clp_sampler_open(&sampler), 0);
    cr_assert_eq(clp_sampler_start(&sampler), 0);
    wait_for(&sampler, 3);
    do {
        for (int i = 0; i < 200000; i++) {
            long file = syscall(SYS_dup, 0);
            cr_assert_eq(file, lowest);
            syscall(SYS_close, file);
        }
    } while (count_of(&sampler) <= 5);
    clp_helper_stop(&sampler.helper);
    cr_assert_gt(sampler.samples.count, 5);
    clp_sampler_close(&sampler);
}

/* For `SANITIZER=thread make unit`. */
Test(sampler, its_error_may_be_asked_for_while_it_runs)
{
    struct clp_sampler sampler = {.interval = 0.001};

    cr_assert_eq(clp_sampler_open(&sampler), 0);
    cr_assert_eq(clp_sampler_start(&sampler), 0);
    for (size_t count = 1; count < 5; count = count_of(&sampler))
        cr_assert_eq(__atomic_load_n(&sampler.error, __ATOMIC_RELAXED), 0);
    clp_helper_stop(&sampler.helper);
    clp_sampler_close(&sampler);
}

Test(sampler, a_process_that_is_not_there)
{
    struct clp_sampler sampler = {.pid = INT_MAX, .interval = 1};

    cr_assert_eq(clp_sampler_open(&sampler), ESRCH);
    cr_assert_null(sampler.block);
    cr_assert_eq(sampler.pages.bytes, 0);
}

Test(sampler, stops_and_starts_again)
{
    struct clp_sampler sampler = {.interval = 0};

    cr_assert_eq(clp_sampler_open(&sampler), 0);
    cr_assert_eq(sampler.interval, CLP_SAMPLER_LEAST);
    for (int i = 0; i < 20; i++) {
        size_t before = sampler.samples.count;
        cr_assert_eq(clp_sampler_start(&sampler), 0);
        cr_assert_eq(clp_sampler_start(&sampler), 0);
        wait_for(&sampler, before + 1);
        clp_helper_stop(&sampler.helper);
        clp_helper_stop(&sampler.helper);
        cr_assert_gt(sampler.samples.count, before);
    }
    clp_helper_hold(&sampler.helper);
    clp_sampler_look(&sampler);
    clp_helper_release(&sampler.helper);
    clp_sampler_close(&sampler);
}

static void count_call(void *data)
{
    ++*(int *)data;
}

Test(sampler, tells_of_each_look)
{
    int calls = 0;
    struct clp_sampler sampler = {.interval = 0.001, .after = count_call, .data = &calls};

    cr_assert_eq(clp_sampler_open(&sampler), 0);
    cr_assert_eq(clp_sampler_start(&sampler), 0);
    wait_for(&sampler, 5);
    clp_helper_stop(&sampler.helper);
    cr_assert_geq(calls, 4);
    clp_sampler_close(&sampler);
}
