/* SPDX-License-Identifier: MIT */
/* A torch._C that plays PyTorch's allocator of CUDA devices: the functions that clineprof reads, with PyTorch's names,
 * arguments and results, and others by which a program allocates. `behave` makes it break in a way. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <time.h>

#define DEVICES 6

static struct device {
    long long allocated, freed, current, peak, reserved;
    int has_context;
} devices[DEVICES];

static int count = 2, bad_fork, initialised, reads, reading;
static enum { HONEST, RAISES, SLOW, LIES, NO_DICTIONARY, NO_NUMBER, YIELDS, ASYNC } behaviour;
static PyObject *in_read; /* owned: what the program lets each read call; NULL: nothing */

static void after_fork(void)
{
    bad_fork = initialised;
}

/* ---- what clineprof calls ---- */

static PyObject *is_in_bad_fork(PyObject *self, PyObject *nothing)
{
    (void)self, (void)nothing;
    return PyBool_FromLong(bad_fork);
}

static PyObject *get_device_count(PyObject *self, PyObject *nothing)
{
    (void)self, (void)nothing;
    return PyLong_FromLong(count);
}

static PyObject *has_primary_context(PyObject *self, PyObject *index)
{
    (void)self;
    return PyBool_FromLong(devices[PyLong_AsLong(index)].has_context);
}

static PyObject *numbers(long long current, long long peak, long long allocated, long long freed)
{
    PyObject *all = Py_BuildValue("{sL sL sL sL}", "current", current, "peak", peak, "allocated", allocated, "freed",
                                  freed);

    return Py_BuildValue("{sN s{} s{}}", "all", all, "small_pool", "large_pool");
}

static PyObject *misbehave(void)
{
    static long long state = 1;

    state = (state * 25214903917 + 11) % (1LL << 48);
    switch (behaviour) {
    case RAISES:
        PyErr_SetString(PyExc_RuntimeError, "this allocator keeps no statistics");
        return NULL;
    case NO_DICTIONARY:
        return PyUnicode_FromString("allocated_bytes");
    case NO_NUMBER:
        return Py_BuildValue("{s{s{ss}}}", "allocated_bytes", "all", "current", "much");
    default:
        return Py_BuildValue("{sNsN}", "allocated_bytes", numbers(state, state / 3, state / 5, state / 7),
                             "reserved_bytes", numbers(state / 11, 0, 0, 0));
    }
}

static void sleep_for(long nanos)
{
    const struct timespec time = {0, nanos};

    Py_BEGIN_ALLOW_THREADS
    nanosleep(&time, NULL);
    Py_END_ALLOW_THREADS
}

static PyObject *statistics_of(PyObject *index)
{
    struct device *device = &devices[PyLong_AsLong(index)];
    int totals = behaviour != ASYNC, odd = ++reads % 2;

    device->has_context = 1; /* as the allocator cudaMallocAsync does */
    if (bad_fork)
        abort(); /* the lock of an allocator may be held for good */
    if (in_read != NULL)
        Py_XDECREF(PyObject_CallNoArgs(in_read));
    if (PyErr_Occurred())
        return NULL;
    if (behaviour == SLOW)
        sleep_for(20000000);
    /* may start a collection; dictionaries may not, because CPython keeps some for reuse */
    Py_XDECREF(Py_BuildValue("NNNN", PySet_New(NULL), PySet_New(NULL), PySet_New(NULL), PySet_New(NULL)));
    if (behaviour != HONEST && behaviour != SLOW && behaviour != YIELDS && behaviour != ASYNC)
        return misbehave();
    PyObject *told = Py_BuildValue(
        "{sN sN si}", "allocated_bytes",
        numbers(device->current, device->peak, totals * device->allocated, totals * device->freed),
        "reserved_bytes", numbers(device->reserved, device->reserved, device->reserved, 0), "num_ooms", 0);
    if (behaviour == YIELDS && odd)
        sleep_for(3000000); /* meanwhile others may read, and be quicker */
    return told;
}

static PyObject *memory_stats(PyObject *self, PyObject *index)
{
    (void)self;
    reading++;
    PyObject *statistics = statistics_of(index);
    reading--;
    return statistics;
}

/* ---- what programs call ---- */

static PyObject *init(PyObject *self, PyObject *nothing)
{
    (void)self, (void)nothing;
    initialised = 1;
    Py_RETURN_NONE;
}

/* allocate(bytes, device=0): more, or less if bytes is negative. What the allocator holds grows with it, and stays. */
static PyObject *allocate(PyObject *self, PyObject *arguments)
{
    long long bytes;
    int index = 0;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "L|i", &bytes, &index))
        return NULL;
    struct device *device = &devices[index];
    device->has_context = 1;
    *(bytes > 0 ? &device->allocated : &device->freed) += bytes > 0 ? bytes : -bytes;
    device->current += bytes;
    if (device->current > device->peak)
        device->peak = device->current;
    if (device->current > device->reserved)
        device->reserved = device->current;
    Py_RETURN_NONE;
}

static PyObject *empty_cache(PyObject *self, PyObject *nothing)
{
    (void)self, (void)nothing;
    for (int i = 0; i < DEVICES; i++)
        devices[i].reserved = devices[i].current;
    Py_RETURN_NONE;
}

static PyObject *reset_peak(PyObject *self, PyObject *nothing)
{
    (void)self, (void)nothing;
    for (int i = 0; i < DEVICES; i++)
        devices[i].peak = devices[i].current;
    Py_RETURN_NONE;
}

static PyObject *reset_accumulated(PyObject *self, PyObject *nothing)
{
    (void)self, (void)nothing;
    for (int i = 0; i < DEVICES; i++)
        devices[i].allocated = devices[i].freed = 0;
    Py_RETURN_NONE;
}

/* behave(way, count=2) */
static PyObject *behave(PyObject *self, PyObject *arguments)
{
    int way;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "i|i", &way, &count))
        return NULL;
    behaviour = way;
    Py_RETURN_NONE;
}

static PyObject *set_in_read(PyObject *self, PyObject *function)
{
    (void)self;
    Py_XSETREF(in_read, Py_NewRef(function));
    Py_RETURN_NONE;
}

static PyObject *get_reads(PyObject *self, PyObject *nothing)
{
    (void)self, (void)nothing;
    return PyLong_FromLong(reads);
}

static PyObject *is_reading(PyObject *self, PyObject *nothing)
{
    (void)self, (void)nothing;
    return PyBool_FromLong(reading);
}

static PyMethodDef functions[] = {
    {"_cuda_isInBadFork", is_in_bad_fork, METH_NOARGS, NULL},
    {"_cuda_getDeviceCount", get_device_count, METH_NOARGS, NULL},
    {"_cuda_hasPrimaryContext", has_primary_context, METH_O, NULL},
    {"_cuda_memoryStats", memory_stats, METH_O, NULL},
    {"_cuda_init", init, METH_NOARGS, NULL},
    {"allocate", allocate, METH_VARARGS, NULL},
    {"empty_cache", empty_cache, METH_NOARGS, NULL},
    {"reset_peak", reset_peak, METH_NOARGS, NULL},
    {"reset_accumulated", reset_accumulated, METH_NOARGS, NULL},
    {"behave", behave, METH_VARARGS, NULL},
    {"set_in_read", set_in_read, METH_O, NULL},
    {"is_reading", is_reading, METH_NOARGS, NULL},
    {"reads", get_reads, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "torch._C", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__C(void)
{
    (void)pthread_atfork(NULL, NULL, after_fork);
    return PyModule_Create(&definition);
}
