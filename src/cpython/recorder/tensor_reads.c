/* SPDX-License-Identifier: MIT */
#include "tensor_reads.h"
#include "cpython/compat/raised.h"
#include "engine/resident.h"
#include "engine/tensors.h"
#include "own_work.h"
#include <stdio.h>
#include <string.h>

/* PyTorch makes a dictionary of some hundred numbers for each read; making one takes about 10 us. So lines are read
 * that take ten times as long, and cannot become much slower by it. Where a read takes longer, nothing is read for four
 * times as long after it: then reading takes a fifth of the program's time at most. */
#define LEAST_NANOS 100e3
#define REST 4

#define INDEXES 64                      /* PyTorch allows as many devices */
#define MOST_BYTES ((int64_t)1 << 48)   /* no device has as many; so no sum of a few numbers overflows */

/* What PyTorch says of a device. */
struct numbers {
    int64_t allocated, freed; /* since the start of the process, or since the program has set them back */
    int64_t current, reserved;
    int64_t peak; /* of `current`, since the same */
};

/* A process has one PyTorch, and so one of these. */
static struct {
    struct clp_recorder *recorder;
    size_t wanted;
    bool reading;
    enum clp_tensors_read state;
    struct numbers last[INDEXES];
    bool used[INDEXES]; /* the device has a context, which it keeps */
    char refused[CLP_DEVICE_NAME];
    struct clp_read_cost cost;
    uint64_t rests_until; /* by the clock */
    struct clp_thread *due; /* in which a line has ended that is to be read; NULL: there is none */
    struct clp_tensor_place place; /* that line */
} reads;

enum clp_tensors_read clp_tensor_reads_state(void)
{
    return reads.state;
}

const char *clp_tensor_reads_refused(void)
{
    return reads.refused[0] != 0 ? reads.refused : NULL;
}

static void set_state(enum clp_tensors_read state)
{
    reads.state = state;
    if (reads.recorder->live.header != NULL)
        reads.recorder->live.header->tensors_read = state;
}

/* ---- PyTorch ---- */

/* The names of a module that the program has imported, borrowed; NULL: it has not. */
static PyObject *names_of(const char *module)
{
    PyObject *modules = PySys_GetObject("modules"); /* borrowed; NULL at the end of the interpreter */
    PyObject *found = modules != NULL && PyDict_Check(modules) ? PyDict_GetItemString(modules, module) : NULL;

    return found != NULL && PyModule_Check(found) ? PyModule_GetDict(found) : NULL;
}

/* Calls a function of torch._C; without an argument if that is NULL. NULL: it failed, or there is no C function of this
 * name. Anything else that has the name could be code of the program. */
static PyObject *call(PyObject *names, const char *name, PyObject *argument)
{
    PyObject *found = PyDict_GetItemString(names, name);
    int flags = argument != NULL ? METH_O : METH_NOARGS;

    if (found == NULL || !PyCFunction_CheckExact(found) || PyCFunction_GET_FLAGS(found) != flags ||
        strcmp(((PyCFunctionObject *)found)->m_ml->ml_name, name) != 0)
        return NULL;
    Py_INCREF(found);
    PyObject *result = argument != NULL ? PyObject_CallOneArg(found, argument) : PyObject_CallNoArgs(found);
    Py_DECREF(found);
    return result;
}

/* Does the function say yes, or no? */
static bool says(PyObject *names, const char *name, PyObject *argument, PyObject *wanted)
{
    PyObject *answer = call(names, name, argument);
    bool so = answer == wanted;

    PyErr_Clear();
    Py_XDECREF(answer);
    return so;
}

/* The names of torch._C, owned, if torch.cuda.is_initialized() would be true; that is Python code. */
static PyObject *find_torch(void)
{
    PyObject *cuda = names_of("torch.cuda"), *names = names_of("torch._C");

    if (cuda == NULL || names == NULL || PyDict_GetItemString(cuda, "_initialized") != Py_True)
        return NULL;
    Py_INCREF(names);
    if (!says(names, "_cuda_isInBadFork", NULL, Py_False))
        Py_CLEAR(names);
    return names;
}

/* A number of statistics[group]["all"][name]; -1: there is none that can be true. */
static int64_t number_in(PyObject *statistics, const char *group, const char *name)
{
    const char *const path[] = {group, "all", name};
    PyObject *at = statistics; /* borrowed */
    int overflow;

    for (size_t i = 0; i < sizeof path / sizeof *path && at != NULL; i++)
        at = PyDict_CheckExact(at) ? PyDict_GetItemString(at, path[i]) : NULL;
    if (at == NULL || !PyLong_CheckExact(at))
        return -1;
    int64_t value = PyLong_AsLongLongAndOverflow(at, &overflow);
    return overflow == 0 && value >= 0 && value < MOST_BYTES ? value : -1;
}

static bool get_numbers(PyObject *statistics, struct numbers *numbers)
{
    const char *const bytes = "allocated_bytes";

    *numbers = (struct numbers){
        .allocated = number_in(statistics, bytes, "allocated"),
        .freed = number_in(statistics, bytes, "freed"),
        .current = number_in(statistics, bytes, "current"),
        .reserved = number_in(statistics, "reserved_bytes", "current"),
        .peak = number_in(statistics, bytes, "peak"),
    };
    return (numbers->allocated | numbers->freed | numbers->current | numbers->reserved | numbers->peak) >= 0;
}

/* PyTorch's statistics of a device would give it a context, which takes memory of the device, so only those of devices
 * are read that have one. False: there is nothing to read. */
static bool read_device(PyObject *names, int index, struct numbers *numbers)
{
    PyObject *number = PyLong_FromLong(index), *statistics = NULL;
    bool done = false;

    if (number != NULL && !reads.used[index])
        reads.used[index] = says(names, "_cuda_hasPrimaryContext", number, Py_True);
    if (number != NULL && reads.used[index]) {
        statistics = call(names, "_cuda_memoryStats", number);
        done = statistics != NULL && get_numbers(statistics, numbers);
        set_state(done && reads.state != CLP_TENSORS_READ_IN_PART ? CLP_TENSORS_READ : CLP_TENSORS_READ_IN_PART);
    }
    PyErr_Clear();
    Py_XDECREF(statistics);
    Py_XDECREF(number);
    return done;
}

static int device_count(PyObject *names)
{
    PyObject *answer = call(names, "_cuda_getDeviceCount", NULL);
    long count = answer != NULL && PyLong_CheckExact(answer) ? PyLong_AsLong(answer) : 0;

    PyErr_Clear();
    Py_XDECREF(answer);
    return count < 0 ? 0 : count < INDEXES ? (int)count : INDEXES;
}

/* ---- changes ---- */

/* What happened between two reads. The program may have set numbers back, and another allocator of PyTorch keeps only
 * `current` and `peak`; then at least as much was allocated or freed as `current` says. A peak that is another one was
 * reached between the two. */
static struct clp_tensor_sum sum_of(const struct numbers *from, const struct numbers *to)
{
    struct clp_tensor_sum sum = {.allocated = to->allocated - from->allocated, .freed = to->freed - from->freed,
                                 .reserved = to->reserved - from->reserved};
    int64_t more = to->current - from->current;

    if (sum.allocated < 0 || sum.freed < 0 || sum.allocated - sum.freed != more) {
        sum.allocated = more > 0 ? more : 0;
        sum.freed = more < 0 ? -more : 0;
    }
    sum.high = to->peak != from->peak && to->peak - from->current > more ? to->peak - from->current : more;
    return sum;
}

static void note(struct clp_thread *thread, const struct clp_tensor_place *place, int index, const struct numbers *now)
{
    struct clp_tensor_sum sum = sum_of(&reads.last[index], now);
    char name[CLP_DEVICE_NAME];

    if (sum.allocated == 0 && sum.freed == 0 && sum.reserved == 0 && sum.high <= 0)
        return;
    (void)snprintf(name, sizeof name, "cuda:%d", index);
    sum.place = clp_devices_place(name);
    if (sum.place >= 0)
        clp_tensors_note_sum(&reads.recorder->engine, thread, place, &sum);
    else if (reads.refused[0] == 0)
        memcpy(reads.refused, name, sizeof name);
}

/* Reads all devices. What has changed belongs to the place; NULL: it is not counted. False: nothing could be read. */
static bool read_all(struct clp_thread *thread, const struct clp_tensor_place *place)
{
    PyObject *names = find_torch();
    int count = names != NULL ? device_count(names) : 0;
    struct numbers now;
    bool any = false;

    for (int i = 0; i < count && reads.state != CLP_TENSORS_READ_IN_PART; i++) {
        if (!read_device(names, i, &now))
            continue;
        if (place != NULL)
            note(thread, place, i, &now);
        reads.last[i] = now;
        any = true;
    }
    Py_XDECREF(names);
    return any;
}

/* ---- when ---- */

static bool may_read(void)
{
    return reads.wanted != 0 && !reads.reading && reads.state != CLP_TENSORS_READ_IN_PART;
}

/* Reads without being seen: no collection starts, and an exception that is set stays set. */
static void read_unseen(struct clp_thread *thread, const struct clp_tensor_place *place)
{
    const struct clp_clock *clock = &reads.recorder->clock;
    uint64_t start = clp_clock_read(clock);
    bool collected = clp_compat_stop_collecting();
    struct clp_raised raised = clp_raised_take();

    reads.reading = true;
    if (read_all(thread, place)) {
        uint64_t now = clp_clock_read(clock);
        reads.rests_until = now + REST * clp_read_cost_of(&reads.cost, now - start);
    }
    reads.reading = false;
    clp_raised_give(raised);
    clp_compat_collect_again(collected);
}

bool clp_tensor_reads_note(struct clp_thread *thread, uint64_t ticks, uint64_t now)
{
    if (!may_read() || ticks < reads.recorder->tensor_span || now < reads.rests_until)
        return false;
    clp_tensors_expect(thread, &reads.place);
    reads.due = thread;
    return true;
}

bool clp_tensor_reads_read(struct clp_thread *thread)
{
    if (reads.due != thread || reads.reading)
        return false;
    const struct clp_tensor_place place = reads.place; /* other threads may note lines while this one reads */
    reads.due = NULL;
    uint32_t busy = clp_hooks_pause();
    read_unseen(thread, &place);
    clp_hooks_resume(busy);
    clp_tally_reads_skip(thread);
    return true;
}

void clp_tensor_reads_look(void)
{
    struct clp_tensor_place place;

    if (!may_read())
        return;
    struct clp_own_work work = clp_own_work_begin(reads.recorder);
    clp_tensors_expect(clp_thread_here, &place);
    read_unseen(clp_thread_here, &place);
    clp_own_work_end(reads.recorder, work);
}

static void set_span(struct clp_recorder *recorder, uint64_t span)
{
    recorder->tensor_span = span;
    clp_tally_reads_set_span(recorder);
}

void clp_tensor_reads_start(struct clp_recorder *recorder)
{
    reads.recorder = recorder;
    if (reads.wanted++ != 0)
        return;
    set_span(recorder, clp_clock_ticks(&recorder->clock, LEAST_NANOS));
    if (may_read())
        read_unseen(NULL, NULL);
}

void clp_tensor_reads_stop(struct clp_recorder *recorder)
{
    if (--reads.wanted == 0)
        set_span(recorder, UINT64_MAX);
}
