/* SPDX-License-Identifier: MIT */
#include "engine/devices.h"
#include "helpers.h"

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
