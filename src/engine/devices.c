/* SPDX-License-Identifier: MIT */
#include "devices.h"
#include <stdio.h>
#include <string.h>

static char known[CLP_DEVICES][CLP_DEVICE_NAME];
static char (*mirror)[CLP_DEVICE_NAME]; /* a second copy of the names; NULL: there is none */
static bool locked; /* some thread uses the names, for a moment */

static void lock(void)
{
    while (__atomic_test_and_set(&locked, __ATOMIC_ACQUIRE))
        continue;
}

static void unlock(void)
{
    __atomic_clear(&locked, __ATOMIC_RELEASE);
}

int clp_devices_place(const char *name)
{
    int place = 0;

    lock();
    while (place < CLP_DEVICES && known[place][0] != 0 &&
           strncmp(known[place], name, CLP_DEVICE_NAME - 1) != 0)
        place++;
    if (place < CLP_DEVICES && known[place][0] == 0) {
        (void)snprintf(known[place], CLP_DEVICE_NAME, "%s", name);
        if (mirror != NULL)
            memcpy(mirror[place], known[place], CLP_DEVICE_NAME);
    }
    unlock();
    return place < CLP_DEVICES ? place : -1;
}

void clp_devices_mirror(char (*into)[CLP_DEVICE_NAME])
{
    lock();
    if (into != NULL)
        memcpy(into, known, sizeof known);
    mirror = into;
    unlock();
}

void clp_devices_after_fork(void)
{
    unlock();
}

void clp_devices_names(char names[CLP_DEVICES][CLP_DEVICE_NAME])
{
    lock();
    memcpy(names, known, sizeof known);
    unlock();
}

struct clp_device_cell *clp_devices_of_top(const struct clp_thread *thread)
{
    const struct clp_activation *top = thread->top;

    if (top->cell == &thread->outside || top->block->devices == NULL)
        return NULL;
    return &top->block->devices[clp_engine_line_index(top)];
}
