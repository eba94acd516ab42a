/* SPDX-License-Identifier: MIT */
#include "with_block.h"
#include "cpython/tracers/block_events.h"
#include "cpython/windows/blocks.h"
#include "cpython/recorder/own_work.h"
#include "frame_of_with.h"
#include "setup.h"
#include "torch_names.h"

/* The context manager of `with profile.block("name"):`. Its __enter__ is no Python function, so the running
 * frame is that of the `with`. */
struct block {
    PyObject_HEAD
    PyObject *profiler; /* owned */
    PyObject *name;     /* owned */
    struct clp_stay *stay; /* NULL: the block is not entered */
    PyObject *record; /* owned: torch's record_function, entered; NULL: torch.profiler does not run */
};

static void block_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    struct block *block = (struct block *)self;

    Py_XDECREF(block->profiler);
    Py_XDECREF(block->name);
    Py_XDECREF(block->record);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Opens a block and begins it. NULL with an exception set, or without one because another thread has closed the
 * profiler meanwhile. */
static struct clp_stay *open_block(struct clp_profiler *self, PyFrameObject *frame, PyObject *name)
{
    struct clp_recorder *recorder = self->window.recorder;
    struct clp_own_work work = clp_own_work_begin(recorder);
    struct clp_stay *stay = clp_blocks_open(&self->window, frame, name);

    clp_own_work_end(recorder, work);
    if (stay != NULL)
        clp_blocks_begin(stay);
    else if (self->window.recorder == NULL)
        PyErr_Clear();
    return stay;
}

/* ---- torch.profiler ---- */

/* torch.autograd, a new reference, if torch is imported and its profiler runs; else NULL. May set an exception. */
static PyObject *torch_that_records(void)
{
    PyObject *torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch"); /* borrowed */
    PyObject *autograd = torch != NULL ? PyObject_GetAttrString(torch, "autograd") : NULL;
    PyObject *enabled = autograd != NULL ? PyObject_CallMethod(autograd, "_profiler_enabled", NULL) : NULL;

    if (enabled != Py_True)
        Py_CLEAR(autograd);
    Py_XDECREF(enabled);
    return autograd;
}

/* Lets the trace of torch.profiler have the block, too. Returns what ends that, or NULL. No exception of torch gets into
 * the program. */
static PyObject *begin_record(PyObject *name)
{
    PyObject *autograd = torch_that_records();
    PyObject *module = autograd != NULL ? PyObject_GetAttrString(autograd, "profiler") : NULL;
    PyObject *record = module != NULL ? PyObject_CallMethod(module, "record_function", "O", name) : NULL;
    bool before = clp_torch_names_ignore(true); /* the block is there already */
    PyObject *entered = record != NULL ? PyObject_CallMethod(record, "__enter__", NULL) : NULL;

    (void)clp_torch_names_ignore(before);
    if (entered == NULL)
        Py_CLEAR(record);
    PyErr_Clear();
    Py_XDECREF(entered);
    Py_XDECREF(module);
    Py_XDECREF(autograd);
    return record;
}

/* Ends the record, which may be NULL. */
static void end_record(PyObject *record)
{
    PyObject *result =
        record != NULL ? PyObject_CallMethod(record, "__exit__", "OOO", Py_None, Py_None, Py_None) : NULL;

    PyErr_Clear();
    Py_XDECREF(result);
    Py_XDECREF(record);
}

/* ---- the context manager ---- */

static PyObject *block_enter(PyObject *self, PyObject *nothing)
{
    struct block *block = (struct block *)self;
    PyFrameObject *frame = clp_frame_of_with();
    struct clp_stay *stay = NULL;

    (void)nothing;
    if (block->record == NULL)
        block->record = begin_record(block->name);
    if (block->stay == NULL && frame != NULL && clp_profiler_takes_blocks(clp_profiler_of(block->profiler)))
        stay = open_block(clp_profiler_of(block->profiler), frame, block->name);
    if (block->stay == NULL)
        block->stay = stay;
    else if (stay != NULL) /* another thread has entered the block meanwhile */
        clp_blocks_close(stay);
    Py_XDECREF(frame);
    return PyErr_Occurred() ? NULL : Py_NewRef(self);
}

static PyObject *block_exit(PyObject *self, PyObject *arguments)
{
    struct block *block = (struct block *)self;
    struct clp_stay *stay = block->stay;

    (void)arguments;
    block->stay = NULL;
    if (stay != NULL)
        clp_blocks_close(stay);
    PyObject *record = block->record;
    block->record = NULL;
    end_record(record);
    Py_RETURN_NONE;
}

static PyMethodDef block_methods[] = {
    {"__enter__", block_enter, METH_NOARGS, NULL},
    {"__exit__", block_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot block_slots[] = {
    {Py_tp_doc, "The lines of a `with` block, counted as a function of their own."},
    {Py_tp_dealloc, block_free},
    {Py_tp_methods, block_methods},
    {0, NULL},
};

static PyType_Spec block_spec = {
    .name = "clineprof._core.Block",
    .basicsize = sizeof(struct block),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = block_slots,
};

PyObject *clp_with_block_new(PyObject *self, PyObject *name)
{
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "the name of a block is a str, not %R", name);
        return NULL;
    }
    if (clp_profiler_of(self)->block_type == NULL)
        clp_profiler_of(self)->block_type = (PyTypeObject *)PyType_FromSpec(&block_spec);
    if (clp_profiler_of(self)->block_type == NULL)
        return NULL;
    struct block *block = PyObject_New(struct block, clp_profiler_of(self)->block_type);
    if (block == NULL)
        return NULL;
    block->profiler = Py_NewRef(self);
    block->name = Py_NewRef(name);
    block->stay = NULL;
    block->record = NULL;
    return (PyObject *)block;
}

PyObject *clp_with_block_timestamp(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"name", NULL};
    PyObject *given = NULL;

    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:timestamp", names, &given))
        return NULL;
    PyObject *name = given != NULL ? Py_NewRef(given) : PyUnicode_FromString("<block>");
    PyObject *block = name != NULL ? clp_with_block_new(self, name) : NULL;
    Py_XDECREF(name);
    return block;
}

PyObject *clp_with_block_enter(PyObject *self, PyObject *nothing)
{
    PyFrameObject *frame = clp_frame_of_with();

    (void)nothing;
    if (frame != NULL && clp_profiler_takes_blocks(clp_profiler_of(self)))
        (void)open_block(clp_profiler_of(self), frame, NULL);
    Py_XDECREF(frame);
    return PyErr_Occurred() ? NULL : Py_NewRef(self);
}

PyObject *clp_with_block_leave(PyObject *self, PyObject *arguments)
{
    PyFrameObject *frame = clp_frame_of_with();
    struct clp_stay *stay = frame != NULL ? clp_blocks_find(clp_process_recorder(), frame) : NULL;

    (void)self, (void)arguments;
    Py_XDECREF(frame);
    if (stay != NULL)
        clp_blocks_close(stay);
    Py_RETURN_NONE;
}
