/* SPDX-License-Identifier: MIT */
#include "gc_calls.h"
#include "moments.h"
#include "cpython/compat/raised.h"
#include "engine/garbage.h"

static void tell(struct clp_recorder *recorder, bool begins)
{
    uint64_t now = clp_clock_read(&recorder->clock);

    if (begins)
        clp_garbage_begin(&recorder->engine, clp_thread_here, now);
    else
        clp_garbage_end(&recorder->engine, now);
    if (recorder->heap != NULL)
        clp_heap_collects(recorder->heap, begins);
}

/* callback("start" or "stop", {"generation": ..}), in the thread that collects. */
static PyObject *on_collection(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    struct clp_recorder *recorder = PyCapsule_GetPointer(self, NULL);

    if (clp_thread_here != NULL)
        clp_recorder_see_waiting(recorder, clp_thread_here);
    if (count == 2 && PyUnicode_Check(arguments[0])) /* the program may call it with anything */
        tell(recorder, PyUnicode_CompareWithASCIIString(arguments[0], "start") == 0);
    return Py_NewRef(Py_None);
}

static PyMethodDef on_collection_method = {"clineprof_collection", CLP_C_FUNCTION(on_collection), METH_FASTCALL,
                                           "Tells clineprof of garbage collections."};

/* Returns gc.callbacks, owned; NULL with an exception set. The module is not left in sys.modules, where it is usually
 * not before the program imports it. */
static PyObject *callbacks(void)
{
    PyObject *name = PyUnicode_FromString("gc"), *modules = PyImport_GetModuleDict(); /* borrowed */
    bool known = name != NULL && PyDict_Contains(modules, name) == 1;
    PyObject *module = name != NULL ? PyImport_ImportModuleLevel("gc", NULL, NULL, NULL, 0) : NULL;
    PyObject *list = module != NULL ? PyObject_GetAttrString(module, "callbacks") : NULL;

    if (module != NULL && !known && PyDict_DelItem(modules, name) != 0)
        PyErr_Clear();
    Py_XDECREF(module);
    Py_XDECREF(name);
    return list;
}

void clp_gc_calls_find(struct clp_recorder *recorder)
{
    struct clp_raised raised = clp_raised_take();
    struct clp_gc_calls *calls = &recorder->gc_calls;
    PyObject *self = PyCapsule_New(recorder, NULL, NULL);

    calls->list = callbacks();
    calls->function = self != NULL ? PyCFunction_New(&on_collection_method, self) : NULL;
    if (calls->function == NULL || calls->list == NULL || !PyList_CheckExact(calls->list))
        Py_CLEAR(calls->list);
    Py_XDECREF(self);
    clp_raised_give(raised);
}

/* The place of the function in the list; -1: it is not there. */
static Py_ssize_t place_of(const struct clp_gc_calls *calls)
{
    for (Py_ssize_t i = 0; calls->list != NULL && i < PyList_GET_SIZE(calls->list); i++)
        if (PyList_GET_ITEM(calls->list, i) == calls->function)
            return i;
    return -1;
}

bool clp_gc_calls_cleared(const struct clp_recorder *recorder)
{
    const struct clp_gc_calls *calls = &recorder->gc_calls;

    return calls->cleared || (calls->on && place_of(calls) < 0);
}

void clp_gc_calls_watch(struct clp_recorder *recorder)
{
    struct clp_gc_calls *calls = &recorder->gc_calls;

    if (calls->on || calls->cleared || calls->list == NULL)
        return;
    calls->on = PyList_Append(calls->list, calls->function) == 0;
    if (!calls->on)
        PyErr_Clear();
}

void clp_gc_calls_leave(struct clp_recorder *recorder)
{
    struct clp_gc_calls *calls = &recorder->gc_calls;
    Py_ssize_t place = place_of(calls);

    calls->cleared = clp_gc_calls_cleared(recorder);
    calls->on = false;
    recorder->engine.collection.running = false;
    if (recorder->heap != NULL)
        clp_heap_collects(recorder->heap, false);
    if (place >= 0 && PyList_SetSlice(calls->list, place, place + 1, NULL) != 0)
        PyErr_Clear();
}
