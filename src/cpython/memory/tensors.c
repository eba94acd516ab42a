/* SPDX-License-Identifier: MIT */
#include "tensors.h"
#include "engine/devices.h"
#include "native/tensors.h"
#include "thread_here.h"
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define TYPES 32   /* c10::DeviceType has 21 */
#define INDEXES 64 /* c10 allows as many devices of a type */

/* A process has one PyTorch, and so one of these. */
static struct {
    const struct clp_tensors_door *door; /* NULL: not used */
    struct clp_engine *engine;
    struct clp_thread *owner; /* for which autograd's threads work; NULL: for none */
    uint32_t workers;         /* of these threads, those that use `owner` at this moment */
    char refused[CLP_DEVICE_NAME];
    int8_t places[TYPES][INDEXES + 1]; /* clp_devices_place plus 1, by index plus 1; 0: not asked yet; -1: none */
    uint64_t reserved[CLP_DEVICES];    /* what the device's allocator held at its last report */
} tensors;

/* ---- devices ---- */

static const char *const type_names[] = {"cpu", "cuda", "mkldnn", "opengl", "opencl", "ideep",  "hip",
                                         "fpga", "maia", "xla",   "vulkan", "metal",  "xpu",    "mps",
                                         "meta", "hpu",  "ve",    "lazy",   "ipu",    "mtia",   "privateuseone"};

#define KNOWN_TYPES (sizeof type_names / sizeof *type_names)

/* PyTorch's own names, but for those devices of which a machine has only one. */
static void name_device(struct clp_tensors_device device, char name[CLP_DEVICE_NAME])
{
    bool only = device.index < 0 || device.type == 0 || device.type == 13; /* cpu, mps */

    if ((size_t)device.type >= KNOWN_TYPES)
        (void)snprintf(name, CLP_DEVICE_NAME, "type%d:%d", device.type, device.index);
    else if (only)
        (void)snprintf(name, CLP_DEVICE_NAME, "%s", type_names[device.type]);
    else
        (void)snprintf(name, CLP_DEVICE_NAME, "%s:%d", type_names[device.type], device.index);
}

static __attribute__((noinline)) int find_place(struct clp_tensors_device device, int8_t *known)
{
    char name[CLP_DEVICE_NAME];

    name_device(device, name);
    int place = clp_devices_place(name);
    if (place < 0 && tensors.refused[0] == 0)
        memcpy(tensors.refused, name, sizeof name);
    __atomic_store_n(known, (int8_t)(place < 0 ? -1 : place + 1), __ATOMIC_RELAXED);
    return place;
}

/* -1: the device has no place. */
static int place_of(struct clp_tensors_device device)
{
    if (device.type < 0 || device.type >= TYPES || device.index < -1 || device.index >= INDEXES)
        return -1;
    int8_t *known = &tensors.places[device.type][device.index + 1];
    int8_t place = __atomic_load_n(known, __ATOMIC_RELAXED);

    return CLP_UNLIKELY(place == 0) ? find_place(device, known) : place > 0 ? place - 1 : -1;
}

/* By how much the device's allocator holds more than at its last report. That of the processor holds nothing back. */
static int64_t reserved_change(struct clp_tensors_device device, int place, uint64_t reserved)
{
    if (device.type == 0)
        return 0;
    return (int64_t)(reserved - __atomic_exchange_n(&tensors.reserved[place], reserved, __ATOMIC_RELAXED));
}

/* ---- the hooks ---- */

/* In a thread of autograd's own. Its owner does not end while `workers` is not 0. */
static void note_for_owner(struct clp_engine *engine, const struct clp_tensor_change *change)
{
    (void)__atomic_fetch_add(&tensors.workers, 1, __ATOMIC_SEQ_CST);
    struct clp_thread *owner = __atomic_load_n(&tensors.owner, __ATOMIC_SEQ_CST);

    if (owner != NULL)
        clp_tensors_note_for(engine, owner, change);
    (void)__atomic_fetch_sub(&tensors.workers, 1, __ATOMIC_SEQ_CST);
    if (owner == NULL)
        clp_tensors_note(engine, NULL, change);
}

static void note_changed(struct clp_tensors_device device, int64_t bytes, uint64_t reserved, bool in_engine)
{
    struct clp_engine *engine = __atomic_load_n(&tensors.engine, __ATOMIC_ACQUIRE);
    struct clp_thread *thread = clp_thread_here;
    int place = place_of(device);

    if (place < 0)
        return;
    const struct clp_tensor_change change = {place, bytes, reserved_change(device, place, reserved)};
    if (in_engine && (thread == NULL || !clp_tensors_have_line(thread)))
        note_for_owner(engine, &change);
    else
        clp_tensors_note(engine, thread, &change);
}

static void *note_entered(void)
{
    struct clp_thread *thread = clp_thread_here;
    struct clp_device_cell *before = thread != NULL ? clp_tensors_send(thread) : NULL;

    __atomic_store_n(&tensors.owner, thread, __ATOMIC_SEQ_CST);
    return before;
}

static void note_left(void *before)
{
    if (clp_thread_here != NULL)
        clp_tensors_take_back(clp_thread_here, before);
}

static const struct clp_tensors_hooks hooks = {note_changed, note_entered, note_left};

void clp_tensors_forget(struct clp_thread *thread)
{
    if (!__atomic_compare_exchange_n(&tensors.owner, &thread, NULL, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return;
    while (__atomic_load_n(&tensors.workers, __ATOMIC_SEQ_CST) != 0)
        (void)sched_yield();
}

/* ---- the door ---- */

static const struct clp_tensors_door *find_door(void)
{
    const struct clp_tensors_door *door = dlsym(RTLD_DEFAULT, CLP_TENSORS_DOOR);

    return door != NULL && door->version == CLP_TENSORS_VERSION ? door : NULL;
}

bool clp_tensors_are_there(void)
{
    return find_door() != NULL;
}

/* The threads of the parent are not in the child of a fork. */
static void after_fork(void)
{
    tensors.workers = 0;
    if (tensors.owner != clp_thread_here)
        tensors.owner = NULL;
    clp_devices_after_fork(clp_thread_here);
}

bool clp_tensors_use(struct clp_engine *engine)
{
    if (tensors.door != NULL)
        return true;
    const struct clp_tensors_door *door = find_door();
    if (door == NULL || pthread_atfork(NULL, NULL, after_fork) != 0)
        return false;
    tensors.door = door;
    __atomic_store_n(&tensors.engine, engine, __ATOMIC_RELEASE);
    door->set(&hooks);
    return true;
}

const char *clp_tensors_refused(void)
{
    return tensors.refused[0] != 0 ? tensors.refused : NULL;
}
