/* SPDX-License-Identifier: MIT */
#include "thread.h"
#include <criterion/criterion.h>
#include <stddef.h>

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
