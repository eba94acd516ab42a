/* SPDX-License-Identifier: MIT */
#include "memory.h"
#include "os/file.h"
#include "timeline/history.h"
#include "bridge/content.h"
#include "formats/lprof/wire.h"
#include "run/processes/fork_helpers.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

struct sampler {
    PyObject_HEAD
    struct clp_sampler *sampler; /* owned; does not move; NULL: making the object has failed */
};

static struct clp_sampler *cast(PyObject *object)
{
    return ((struct sampler *)object)->sampler;
}

/* Returns true for 0; false with OSError set for another errno. */
static bool check(int error)
{
    errno = error;
    if (error != 0)
        PyErr_SetFromErrno(PyExc_OSError);
    return error == 0;
}

static bool read_mode(const char *name, enum clp_memory *memory)
{
    enum clp_memory mode = clp_memory_named(name);

    *memory = mode;
    if (mode != CLP_MEMORY_OFF && mode < CLP_MEMORY_TREE)
        return true;
    PyErr_Format(PyExc_ValueError, "a size is 'rss', 'anon', 'pss' or 'uss', not '%s'", name);
    return false;
}

/* (pid, bytes) in Python. The sampler calls this process 0; Python gets its real number. */
static PyObject *size_of(uint32_t pid, uint64_t bytes)
{
    return Py_BuildValue("IK", pid != 0 ? (unsigned)pid : (unsigned)getpid(),
                         (unsigned long long)bytes);
}

static bool append(PyObject *list, PyObject *item)
{
    bool done = item != NULL && PyList_Append(list, item) == 0;

    Py_XDECREF(item);
    return done;
}

/* ---- one sample ---- */

static PyObject *sizes_of(uint32_t pid, bool children, enum clp_memory memory,
                          struct clp_process *room)
{
    size_t count = children ? clp_processes_below(pid, room, CLP_SAMPLER_PROCESSES) : 0;
    PyObject *list = PyList_New(0);
    uint64_t bytes;

    if (list == NULL || !check(clp_processes_size(pid, memory, &bytes)) ||
        !append(list, size_of(pid, bytes)))
        Py_CLEAR(list);
    for (size_t i = 0; list != NULL && i < count; i++)
        if (clp_processes_size(room[i].pid, memory, &bytes) == 0 &&
            !append(list, size_of(room[i].pid, bytes)))
            Py_CLEAR(list);
    return list;
}

PyObject *clp_memory_sizes(PyObject *module, PyObject *arguments)
{
    enum clp_memory memory;
    const char *name;
    unsigned pid;
    int children;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "Ips:sizes", &pid, &children, &name) ||
        !read_mode(name, &memory))
        return NULL;
    struct clp_process *room = PyMem_RawMalloc(CLP_SAMPLER_PROCESSES * sizeof *room);
    if (room == NULL)
        return PyErr_NoMemory();
    PyObject *list = sizes_of(pid, children, memory, room);
    PyMem_RawFree(room);
    return list;
}

/* ---- the type ---- */

static PyObject *sampler_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"pid", "interval", "children", "kind", NULL};
    struct clp_sampler wish = {0};
    const char *kind = "rss";
    int children = 0;

    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "Id|ps:Sampler", names, &wish.pid,
                                     &wish.interval, &children, &kind) ||
        !read_mode(kind, &wish.memory))
        return NULL;
    wish.children = children;
    PyObject *self = type->tp_alloc(type, 0);
    struct clp_sampler *sampler = self != NULL ? PyMem_RawMalloc(sizeof *sampler) : NULL;
    if (sampler == NULL) {
        Py_XDECREF(self);
        return PyErr_NoMemory();
    }
    *sampler = wish;
    ((struct sampler *)self)->sampler = sampler;
    if (!check(clp_sampler_open(sampler)))
        Py_CLEAR(self);
    return self;
}

static void sampler_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    if (cast(self) != NULL) {
        clp_fork_helpers_remove(&cast(self)->helper);
        clp_sampler_close(cast(self));
        PyMem_RawFree(cast(self));
    }
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *sampler_start(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    if (!check(clp_sampler_start(cast(self))))
        return NULL;
    clp_fork_helpers_add(&cast(self)->helper);
    Py_RETURN_NONE;
}

static PyObject *sampler_stop(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    clp_fork_helpers_remove(&cast(self)->helper);
    Py_RETURN_NONE;
}

static PyObject *sampler_look(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    clp_helper_hold(&cast(self)->helper);
    clp_sampler_look(cast(self));
    clp_helper_release(&cast(self)->helper);
    Py_RETURN_NONE;
}

/* (time, [(pid, bytes), ..]) in Python, of the samples that were taken in one look at all processes. samples[start] is
 * the first of them; *end becomes the index behind the last. */
static PyObject *look_of(const struct clp_sampler *sampler, size_t start, size_t *end)
{
    const struct clp_samples *samples = &sampler->samples;
    PyObject *list = PyList_New(0);
    size_t i = start;

    do {
        if (list != NULL && !append(list, size_of(samples->items[i].pid, samples->items[i].bytes)))
            Py_CLEAR(list);
    } while (++i < samples->count && !samples->items[i].first);
    *end = i;
    return list == NULL ? NULL
                        : Py_BuildValue("dN", sampler->start +
                                                  (double)samples->items[start].time * 1e-9, list);
}

static PyObject *all_looks(const struct clp_sampler *sampler)
{
    PyObject *looks = PyList_New(0);

    for (size_t at = 0; looks != NULL && at < sampler->samples.count;)
        if (!append(looks, look_of(sampler, at, &at)))
            Py_CLEAR(looks);
    return looks;
}

static PyObject *sampler_take(PyObject *self, PyObject *nothing)
{
    struct clp_sampler *sampler = cast(self);

    (void)nothing;
    bool collected = clp_compat_stop_collecting(); /* a finalizer could give up the interpreter's lock, and another
                                                      thread would wait for the helper that is held here */
    clp_helper_hold(&sampler->helper);
    PyObject *looks = all_looks(sampler);
    if (looks != NULL)
        clp_samples_empty(&sampler->samples);
    clp_helper_release(&sampler->helper);
    clp_compat_collect_again(collected);
    return looks;
}

static PyObject *sampler_error(PyObject *self, void *nothing)
{
    (void)nothing;
    return PyLong_FromLong(__atomic_load_n(&cast(self)->error, __ATOMIC_RELAXED));
}

/* ---- saving the samples as a profile ---- */

static clp_status make_profile(const struct clp_sampler *sampler, const char *command,
                               struct clp_profile *profile)
{
    const struct clp_samples *samples = &sampler->samples;

    profile->meta.pid = sampler->pid;
    profile->meta.start = sampler->start;
    profile->meta.has_memory = true;
    if (samples->count != 0)
        profile->meta.wall = samples->items[samples->count - 1].time;
    clp_status status = clp_profile_set_text(profile, &profile->meta.command, command);
    return status == CLP_OK ? clp_history_add_samples(samples, sampler->start,
                                                        (uint64_t)getpid(), profile) : status;
}

static clp_status write_profile(const struct clp_sampler *sampler, const char *command,
                                const char *path, struct clp_fault *fault)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_profile profile;
    struct clp_buf bytes;

    clp_buf_init(&bytes, &mem);
    clp_profile_init(&profile, &mem);
    clp_status status = make_profile(sampler, command, &profile);
    if (status == CLP_OK)
        status = clp_wire_encode(&profile, &bytes);
    *fault = (struct clp_fault){.status = status};
    if (status == CLP_OK)
        status = clp_file_write(path, &(struct clp_file_content){clp_buf_text(&bytes), bytes.used, CLP_FILE_PRIVATE},
                                fault);
    clp_profile_clear(&profile);
    clp_buf_clear(&bytes);
    return status;
}

static PyObject *sampler_save(PyObject *self, PyObject *arguments)
{
    struct clp_sampler *sampler = cast(self);
    struct clp_fault fault;
    const char *command;
    PyObject *path;

    if (!PyArg_ParseTuple(arguments, "O&s:save", PyUnicode_FSConverter, &path, &command))
        return NULL;
    clp_helper_hold(&sampler->helper);
    clp_status status = write_profile(sampler, command, PyBytes_AS_STRING(path), &fault);
    clp_helper_release(&sampler->helper);
    Py_DECREF(path);
    if (status == CLP_NO_MEMORY)
        return PyErr_NoMemory();
    if (status != CLP_OK) {
        (void)check(fault.os_error != 0 ? fault.os_error : EIO);
        return NULL;
    }
    Py_RETURN_NONE;
}

/* The samples as a profile, without a wall time: the profile that they are added to has one. */
static PyObject *content_of(const struct clp_sampler *sampler)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_profile profile;
    PyObject *content = NULL;

    clp_profile_init(&profile, &mem);
    if (make_profile(sampler, NULL, &profile) == CLP_OK) {
        profile.meta.wall = 0;
        content = clp_content_of(&profile);
    } else {
        PyErr_NoMemory();
    }
    clp_profile_clear(&profile);
    return content;
}

static PyObject *sampler_content(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    clp_helper_hold(&cast(self)->helper);
    PyObject *content = content_of(cast(self));
    clp_helper_release(&cast(self)->helper);
    return content;
}

static PyMethodDef sampler_methods[] = {
    {"start", sampler_start, METH_NOARGS, "start()\n--\n\nStarts to take a sample every `interval` seconds."},
    {"stop", sampler_stop, METH_NOARGS, "stop()\n--\n\nStops taking samples."},
    {"look", sampler_look, METH_NOARGS, "look()\n--\n\nTakes a sample now."},
    {"take", sampler_take, METH_NOARGS,
     "take()\n--\n\nReturns the samples since the last call, [(time, [(pid, bytes), ..]), ..], and forgets them."},
    {"save", sampler_save, METH_VARARGS,
     "save(path, command)\n--\n\nWrites the samples that take() has not returned as a profile with a timeline."},
    {"content", sampler_content, METH_NOARGS,
     "content()\n--\n\nReturns the samples that take() has not returned as the content of a .lprof file."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef sampler_attributes[] = {
    {"error", sampler_error, NULL, "errno of the last sample, 0 if it was taken; ESRCH: the process has ended", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot sampler_slots[] = {
    {Py_tp_doc, "Samples the size of a process over time. pid 0 is this process; the memory of the sampler itself\n"
                "is then subtracted. Raises OSError when the process cannot be seen."},
    {Py_tp_new, sampler_new},
    {Py_tp_dealloc, sampler_free},
    {Py_tp_methods, sampler_methods},
    {Py_tp_getset, sampler_attributes},
    {0, NULL},
};

static PyType_Spec sampler_spec = {
    .name = "clineprof._core.Sampler",
    .basicsize = sizeof(struct sampler),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = sampler_slots,
};

PyObject *clp_memory_make_type(PyObject *module)
{
    return PyType_FromModuleAndSpec(module, &sampler_spec, NULL);
}
