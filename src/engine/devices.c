/* SPDX-License-Identifier: MIT */
#include "devices.h"
#include "reaping.h"
#include "threads.h"
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

/* ---- places ---- */

bool clp_devices_place_of(const struct clp_thread *thread, struct clp_device_place *place)
{
    const struct clp_activation *top = thread != NULL ? clp_engine_top(thread) : NULL;

    if (top == NULL || top->cell == &thread->outside)
        return false;
    *place = (struct clp_device_place){top->block->function, (uint32_t)clp_engine_line_index(top), thread->group};
    return true;
}

struct clp_device_cell *clp_devices_cell(struct clp_engine *engine, const struct clp_device_place *place)
{
    struct clp_thread *ended;
    struct clp_block *block;

    if (place->function >= engine->functions.count || place->group > engine->groups.count ||
        place->line >= engine->functions.items[place->function].line_count ||
        (ended = clp_engine_ended_of(engine, place->group)) == NULL ||
        (block = clp_engine_block(ended, place->function)) == NULL || block->devices == NULL)
        return NULL;
    return &block->devices[place->line];
}

/* ---- backward() ---- */

#define BACKWARDS 16 /* calls at once; further ones have no place, and their work is no line's */

/* The threads that run backward(), the latest last. It is one for the process, as torch's threads are. */
static const struct clp_thread *backwards[BACKWARDS];
static uint32_t backward_count; /* atomic */

void clp_devices_begin_backward(const struct clp_thread *thread)
{
    lock();
    if (backward_count < BACKWARDS && thread != NULL) {
        backwards[backward_count] = thread;
        __atomic_store_n(&backward_count, backward_count + 1, __ATOMIC_RELEASE);
    }
    unlock();
}

void clp_devices_end_backward(const struct clp_thread *thread)
{
    uint32_t at;

    lock();
    for (at = backward_count; at > 0 && backwards[at - 1] != thread; at--)
        continue;
    if (at > 0) {
        memmove(&backwards[at - 1], &backwards[at], (backward_count - at) * sizeof *backwards);
        __atomic_store_n(&backward_count, backward_count - 1, __ATOMIC_RELEASE);
    }
    unlock();
}

void clp_devices_after_fork(const struct clp_thread *left)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < backward_count; i++)
        if (backwards[i] == left)
            backwards[count++] = left;
    backward_count = count;
    unlock();
}

const struct clp_thread *clp_devices_thread(const struct clp_thread *own)
{
    const struct clp_thread *latest = NULL;

    if (own != NULL && clp_engine_top(own)->cell != &own->outside)
        return own;
    if (__atomic_load_n(&backward_count, __ATOMIC_ACQUIRE) == 0 || !clp_thread_is_named("pt_autograd"))
        return NULL;
    lock();
    if (backward_count > 0)
        latest = backwards[backward_count - 1];
    unlock();
    return latest;
}
