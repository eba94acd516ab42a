/* SPDX-License-Identifier: MIT */
#include "engine/devices.h"
#include "engine/engine.h"
#include "engine/parts.h"
#include "engine/tensors.h"
#include "engine/threads.h"
#include "helpers.h"
#include <pthread.h>
#include <sys/prctl.h>

Test(devices, each_name_has_one_place)
{
    char names[CLP_DEVICES][CLP_DEVICE_NAME];

    cr_expect_eq(clp_devices_place("cpu"), 0);
    cr_expect_eq(clp_devices_place("cuda:0"), 1);
    cr_expect_eq(clp_devices_place("cpu"), 0);
    clp_devices_names(names);
    cr_expect_str_eq(names[1], "cuda:0");
    cr_expect_str_empty(names[2]);
    cr_expect_eq(clp_devices_place("cuda:1"), 2);
    cr_expect_eq(clp_devices_place("a name that is longer than a place"), 3);
    cr_expect_eq(clp_devices_place("a name that is longer than a place"), 3);
    cr_expect_eq(clp_devices_place("cuda:2"), -1, "all places are taken");
    cr_expect_eq(clp_devices_place("cuda:1"), 2);
}

Test(devices, merging_and_subtracting)
{
    struct clp_function function = {.first_line = 9, .lowest_line = 10, .line_count = 2};
    struct clp_pages pages = {0};
    struct clp_pool pool;

    clp_pool_init(&pool, &pages);
    struct clp_block *into = clp_block_new(&pool, &function, 0, CLP_PARTS_ALL);
    struct clp_block *from = clp_block_new(&pool, &function, 0, CLP_PART_DEVICES);
    struct clp_block *without = clp_block_new(&pool, &function, 0, CLP_PART_CALLED);
    into->devices[1].tensors[2] = (struct clp_tensor_cell){.allocated = 1, .freed = 2, .reserved = -3, .peak = 40};
    from->devices[1] = (struct clp_device_cell){.time = 6, .wait = 7, .launches = 8};
    from->devices[1].tensors[2] = (struct clp_tensor_cell){.allocated = 10, .freed = 20, .reserved = 30, .peak = 50};
    from->devices[1].tensors[3].peak = 4;
    clp_block_merge(into, from);
    clp_block_merge(into, without);
    clp_block_merge(without, from);
    const struct clp_device_cell *cell = &into->devices[1];
    cr_expect_eq(cell->tensors[2].allocated, 11);
    cr_expect_eq(cell->tensors[2].freed, 22);
    cr_expect_eq(cell->tensors[2].reserved, 27);
    cr_expect_eq(cell->tensors[2].peak, 50);
    cr_expect_eq(cell->tensors[3].peak, 4);
    cr_expect_eq(cell->time, 6);
    cr_expect_eq(into->devices[0].launches, 0);
    clp_block_merge(into, from);
    clp_block_subtract(into, from);
    cr_expect_eq(cell->tensors[2].freed, 22);
    cr_expect_eq(cell->wait, 7);
    cr_expect_eq(cell->launches, 8);
    clp_block_forget_largest(into);
    cr_expect_eq(cell->tensors[2].peak, 0);
    cr_expect_eq(cell->tensors[2].allocated, 11);
    clp_block_merge_largest(into, from);
    cr_expect_eq(cell->tensors[2].peak, 50);
    clp_pool_clear(&pool);
}

Test(devices, cells_by_place)
{
    const struct clp_function wanted = {.file = "f.py", .name = "f", .first_line = 1, .lowest_line = 2, .line_count = 3};
    struct clp_mem mem = clp_mem_system();
    struct clp_pages pages = {0};
    struct clp_engine engine;
    uint32_t function, group;

    clp_engine_init(&engine, &mem, &pages);
    cr_assert_eq(clp_functions_add(&engine.functions, &wanted, &function), CLP_OK);
    struct clp_device_place place = {function, 2, 0}, top;
    cr_expect_null(clp_devices_cell(&engine, &place), "blocks have no such cells");
    cr_assert(clp_engine_add_parts(&engine, CLP_PART_DEVICES));
    struct clp_device_cell *cell = clp_devices_cell(&engine, &place);
    cr_assert_not_null(cell);
    cell->time = 5;
    cr_expect_eq(clp_devices_cell(&engine, &place), cell);
    cr_expect_null(clp_devices_cell(&engine, &(struct clp_device_place){function, 3, 0}), "no such line");
    cr_expect_null(clp_devices_cell(&engine, &(struct clp_device_place){function + 1, 0, 0}), "no such function");
    cr_expect_null(clp_devices_cell(&engine, &(struct clp_device_place){function, 2, 1}), "no such group");
    cr_assert_eq(clp_groups_find(&engine.groups, "worker", &group), CLP_OK);
    place.group = group;
    cr_expect_neq(clp_devices_cell(&engine, &place), cell, "each group has counters of its own");

    struct clp_thread *thread = clp_engine_new_thread(&engine, 0, 0);
    thread->group = group;
    cr_expect_not(clp_devices_place_of(NULL, &top));
    cr_expect_not(clp_devices_place_of(thread, &top), "it is on no line");
    cr_expect_null(clp_devices_thread(thread));
    cr_assert_not_null(clp_engine_enter(thread, function, NULL, 1));
    cr_expect_not(clp_devices_place_of(thread, &top), "its first line has not begun");
    clp_engine_line(thread, 3, 2);
    cr_expect(clp_devices_place_of(thread, &top));
    cr_expect(top.function == function && top.line == 1 && top.group == group);
    cr_expect_eq(clp_devices_thread(thread), thread);
    clp_engine_clear(&engine);
}

Test(devices, numbers_that_are_read_belong_to_the_line_that_ended)
{
    const struct clp_function wanted = {
        .file = "f.py", .name = "f", .first_line = 1, .lowest_line = 2, .line_count = 3,
    };
    struct clp_mem mem = clp_mem_system();
    struct clp_pages pages = {0};
    struct clp_engine engine;
    struct clp_tensor_place place;
    uint32_t f;

    clp_engine_init(&engine, &mem, &pages);
    cr_assert_eq(clp_functions_add(&engine.functions, &wanted, &f), CLP_OK);
    cr_assert(clp_engine_add_parts(&engine, CLP_PART_DEVICES));
    struct clp_thread *thread = clp_engine_new_thread(&engine, 0, 0);
    clp_tensors_expect(thread, &place);
    cr_assert_not_null(clp_engine_enter(thread, f, NULL, 1));
    clp_tensors_note_sum(&engine, thread, &place, &(struct clp_tensor_sum){1, 7, 3, 9, 5});
    clp_tensors_note_sum(&engine, NULL, &place, &(struct clp_tensor_sum){1, 1, 0, 0, 1});
    cr_expect_eq(engine.tensors->cells[1].allocated, 8, "no line ran");
    cr_expect_eq(engine.tensors->cells[1].reserved, 9);

    clp_engine_line(thread, 2, 10);
    clp_tensors_expect(thread, &place);
    clp_engine_line(thread, 3, 20);
    clp_tensors_note_sum(&engine, thread, &place, &(struct clp_tensor_sum){1, 100, 40, -4, 90});
    const struct clp_device_cell *cells = thread->blocks[f]->devices;
    const struct clp_tensor_cell *first = &cells[0].tensors[1], *second = &cells[1].tensors[1];
    cr_expect(first->allocated == 100 && first->freed == 40 && first->reserved == -4 && first->peak == 90);
    cr_expect(second->allocated == 0 && second->peak == 0, "it began behind that");

    clp_tensors_expect(thread, &place); /* line 3 calls f */
    cr_assert_not_null(clp_engine_enter(thread, f, NULL, 30));
    clp_tensors_note_sum(&engine, thread, &place, &(struct clp_tensor_sum){1, 5, 0, 0, 5});
    clp_engine_line(thread, 4, 40);
    clp_tensors_expect(thread, &place);
    clp_engine_leave(thread, 50);
    clp_tensors_note_sum(&engine, thread, &place, &(struct clp_tensor_sum){1, 20, 20, 0, 20});
    cr_expect(cells[2].tensors[1].allocated == 20 && cells[2].tensors[1].peak == 20);
    cr_expect(second->allocated == 5 && second->peak == 25, "the peak has what the line calls");
    cr_expect_eq(first->peak, 90);
    clp_engine_clear(&engine);
}

static void *ask_as_autograd(void *name)
{
    (void)prctl(PR_SET_NAME, name);
    return (void *)(uintptr_t)clp_devices_thread(NULL);
}

static const void *asked_by(char *name)
{
    pthread_t thread;
    void *found = NULL;

    cr_assert_eq(pthread_create(&thread, NULL, ask_as_autograd, name), 0);
    (void)pthread_join(thread, &found);
    return found;
}

Test(devices, threads_of_autograd_work_for_who_calls_backward)
{
    static struct clp_thread first, second;

    cr_expect_null(asked_by("pt_autograd_0"));
    clp_devices_begin_backward(&first);
    cr_expect_eq(asked_by("pt_autograd_0"), &first);
    cr_expect_null(asked_by("pt_data_worker"));
    clp_devices_begin_backward(&second);
    cr_expect_eq(asked_by("pt_autograd_7"), &second, "the latest");
    clp_devices_end_backward(&first); /* they do not end in the order of a stack */
    cr_expect_eq(asked_by("pt_autograd_7"), &second);
    clp_devices_end_backward(&second);
    cr_expect_null(asked_by("pt_autograd_0"));
    clp_devices_end_backward(&second);
    clp_devices_begin_backward(&second);
    clp_devices_begin_backward(&first);
    clp_devices_begin_backward(&second);
    clp_devices_after_fork(&first);
    cr_expect_eq(asked_by("pt_autograd_0"), &first, "no other thread is in the child");
    clp_devices_end_backward(&first);
    cr_expect_null(asked_by("pt_autograd_0"));
    for (int i = 0; i < 40; i++)
        clp_devices_begin_backward(&first);
    for (int i = 0; i < 40; i++)
        clp_devices_end_backward(&first);
    cr_expect_null(asked_by("pt_autograd_0"));
}
