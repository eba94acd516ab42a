/* SPDX-License-Identifier: MIT */
#include "os/thread.h"
#include <criterion/criterion.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/mman.h>
#include <time.h>

struct seat {
    const struct clp_thread_hook *hook;
    int first, second;
};

static void mark(void *data)
{
    ++*(int *)data;
}

static void *give_nothing(void *data)
{
    (void)data;
    return NULL;
}

static void *give_one(void *data)
{
    struct seat *seat = data;

    clp_thread_hook_set(seat->hook, &seat->first);
    return NULL;
}

static void *give_another(void *data)
{
    struct seat *seat = data;

    clp_thread_hook_set(seat->hook, &seat->first);
    clp_thread_hook_set(seat->hook, &seat->second);
    return NULL;
}

static void *take_back(void *data)
{
    struct seat *seat = data;

    clp_thread_hook_set(seat->hook, &seat->first);
    clp_thread_hook_set(seat->hook, NULL);
    return NULL;
}

static struct seat run(void *(*body)(void *))
{
    struct clp_thread_hook hook;
    struct seat seat = {.hook = &hook};
    pthread_t thread;

    cr_assert_eq(clp_thread_hook_init(&hook, mark), CLP_OK);
    cr_assert_eq(pthread_create(&thread, NULL, body, &seat), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    return seat;
}

Test(thread, the_hook_is_called_once_for_a_thread_that_gave_data)
{
    cr_assert_eq(run(give_one).first, 1);
}

Test(thread, the_hook_is_not_called_for_other_threads)
{
    cr_assert_eq(run(give_nothing).first, 0);
    cr_assert_eq(run(take_back).first, 0);
}

Test(thread, the_last_data_given_counts)
{
    struct seat seat = run(give_another);

    cr_assert_eq(seat.first, 0);
    cr_assert_eq(seat.second, 1);
}

Test(thread, every_thread_has_its_own)
{
    enum { COUNT = 8 };
    struct clp_thread_hook hook;
    struct seat seats[COUNT];
    pthread_t threads[COUNT];

    cr_assert_eq(clp_thread_hook_init(&hook, mark), CLP_OK);
    for (int i = 0; i < COUNT; i++) {
        seats[i] = (struct seat){.hook = &hook};
        cr_assert_eq(pthread_create(&threads[i], NULL, give_one, &seats[i]), 0);
    }
    for (int i = 0; i < COUNT; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
        cr_assert_eq(seats[i].first, 1);
    }
}

Test(thread, no_key_left_is_said)
{
    struct clp_thread_hook hook;
    clp_status status = CLP_OK;

    for (int i = 0; i < 100000 && status == CLP_OK; i++)
        status = clp_thread_hook_init(&hook, mark);
    cr_assert_eq(status, CLP_UNSUPPORTED);
}

struct counter {
    struct clp_lock lock;
    long value;
};

static void *count_up(void *data)
{
    struct counter *counter = data;

    for (int i = 0; i < 100000; i++) {
        cr_assert(clp_lock_take(&counter->lock));
        counter->value++;
        clp_lock_give(&counter->lock);
    }
    return NULL;
}

Test(thread, lock_keeps_others_out)
{
    struct counter counter = {0};
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, count_up, &counter), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    cr_assert_eq(counter.value, 400000);
}

Test(thread, lock_that_is_never_given_back)
{
    struct clp_lock lock = {1};

    cr_assert_not(clp_lock_take(&lock), "waits for ever");
}

/* ---- use ---- */

#define TOUCHED ((size_t)256)

static void *touch_and_wait(void *data)
{
    char *block = mmap(NULL, TOUCHED * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);
    struct clp_thread_use *uses = data;

    cr_assert_neq(block, MAP_FAILED);
    madvise(block, TOUCHED * 4096, MADV_NOHUGEPAGE);
    clp_thread_get_use(&uses[0]);
    for (size_t i = 0; i < TOUCHED; i++)
        ((volatile char *)block)[i * 4096] = 1;
    clp_thread_get_use(&uses[1]);
    /* On a busy machine a sleep can be over before the thread has given up its core: no wait then. */
    for (int i = 0; i < 1000; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
        clp_thread_get_use(&uses[2]);
        if (uses[2].waits - uses[1].waits >= 10)
            break;
    }
    munmap(block, TOUCHED * 4096);
    return NULL;
}

Test(thread, knows_its_own_use)
{
    struct clp_thread_use before, after, others[3];
    pthread_t thread;

#ifdef CLP_PLAIN_CRITERION_H
    cr_skip_test("the tool has page faults of its own");
#endif
    clp_thread_get_use(&before);
    cr_assert_eq(pthread_create(&thread, NULL, touch_and_wait, others), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    clp_thread_get_use(&after);
    cr_expect_geq(others[1].faults - others[0].faults, TOUCHED);
    cr_expect_gt(others[1].nanos, others[0].nanos);
    cr_expect_geq(others[2].waits - others[1].waits, 10);
    cr_expect_lt(after.faults - before.faults, TOUCHED, "another thread's faults");
}

static void *ask_whether_alone(void *data)
{
    *(bool *)data = clp_thread_alone();
    return NULL;
}

Test(thread, a_second_thread_ends_being_alone)
{
    pthread_t thread;
    bool alone = true;

    cr_assert_eq(pthread_create(&thread, NULL, ask_whether_alone, &alone), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_expect_not(alone);
}

/* ---- helpers ---- */

static void note_slack(void *data)
{
    int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);

    __atomic_store_n((int *)data, slack, __ATOMIC_RELAXED);
}

/* What a helper says of itself when it works: by how many nanoseconds the system may put off its work. */
static int slack_of_helper(bool punctual)
{
    struct clp_pages pages = {0};
    int slack = 0;
    struct clp_helper helper = {.work = note_slack, .data = &slack, .interval = 0.001, .pages = &pages,
                                .punctual = punctual};

    cr_assert_eq(clp_helper_start(&helper), 0);
    while (__atomic_load_n(&slack, __ATOMIC_RELAXED) == 0)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    clp_helper_stop(&helper);
    clp_helper_clear(&helper);
    return slack;
}

Test(helper, may_be_punctual)
{
    cr_expect_eq(slack_of_helper(true), 1);
    cr_expect_gt(slack_of_helper(false), 1);
}

Test(thread, processors_are_those_that_the_thread_may_use)
{
    cpu_set_t all, one;
    size_t first = 0;

    cr_assert_eq(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(first, &all))
        first++;
    cr_expect_eq(clp_thread_processors(), (unsigned)CPU_COUNT(&all));
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
    cr_expect_eq(clp_thread_processors(), 1);
    cr_assert_eq(sched_setaffinity(0, sizeof all, &all), 0);
}
