/* SPDX-License-Identifier: MIT */
#include "greenlets.h"
#include "cpython/compat/raised.h"
#include "engine/suspended.h"
#include "events.h"

static struct clp_recorder *recorder_of(PyObject *capsule)
{
    return PyCapsule_GetPointer(capsule, NULL);
}

/* ---- switches ---- */

/* Calls the program's own trace function. If that fails, greenlet removes the trace function. So the program's
 * is forgotten, and ours comes back with the thread's next event. */
static PyObject *call_own(PyObject *function, PyObject *arguments)
{
    Py_INCREF(function);
    PyObject *result = PyObject_Call(function, arguments, NULL);
    Py_DECREF(function);
    if (result != NULL)
        return result;
    struct clp_raised raised = clp_raised_take();
    (void)clp_greenlet_place_set_own(NULL);
    if (clp_thread_here != NULL)
        clp_greenlet_place_hook_later(clp_thread_here);
    clp_raised_give(raised);
    return NULL;
}

/* The trace function: callback("switch" or "throw", (origin, target)). greenlet calls it in the target. */
static PyObject *on_switch(PyObject *self, PyObject *arguments)
{
    struct clp_recorder *recorder = recorder_of(self);
    struct clp_thread *thread = clp_thread_here;
    PyObject *event, *origin, *target, *own;

    if (!PyArg_ParseTuple(arguments, "O(OO)", &event, &origin, &target))
        return NULL;
    /* without a view that counts all stacks are empty; a dead greenlet switches to its parent, maybe to itself */
    if (thread != NULL && recorder->views.counting != 0 && origin != target) {
        if (clp_compat_running_frame(PyThreadState_Get()) == NULL) /* the target begins now */
            clp_engine_forget_stack(&recorder->engine, target);
        clp_recorder_switch_stack(recorder, thread, origin, target);
    }
    own = clp_greenlet_place_own();
    return own != NULL ? call_own(own, arguments) : Py_NewRef(Py_None);
}

static PyMethodDef on_switch_method = {"clineprof_switch", on_switch, METH_VARARGS, NULL};

/* ---- what the program sees ---- */

static PyObject *settrace(PyObject *self, PyObject *function)
{
    PyObject *before = clp_greenlet_place_own();

    before = Py_NewRef(before != NULL ? before : Py_None);
    if (clp_greenlet_place_set_own(function != Py_None ? function : NULL) &&
        clp_greenlet_place_take(&recorder_of(self)->greenlets))
        return before;
    Py_DECREF(before);
    return PyErr_Occurred() != NULL ? NULL : PyErr_NoMemory();
}

static PyObject *gettrace(PyObject *self, PyObject *nothing)
{
    PyObject *own = clp_greenlet_place_own();

    (void)self, (void)nothing;
    return Py_NewRef(own != NULL ? own : Py_None);
}

static PyMethodDef own_methods[] = {
    {"settrace", settrace, METH_O,
     "settrace(callback) -> object\n\nSets a new tracing function and returns the previous one."},
    {"gettrace", gettrace, METH_NOARGS,
     "gettrace() -> object\n\nReturns the currently set tracing function, or None."},
};

/* Puts our method in the place of the module's own, in the module and in the package `greenlet`. */
static bool replace(PyObject *module, PyMethodDef *method, PyObject *capsule)
{
    PyObject *original = PyObject_GetAttrString(module, method->ml_name);
    PyObject *name = PyModule_GetNameObject(module);
    PyObject *ours = name != NULL ? PyCFunction_NewEx(method, capsule, name) : NULL;
    PyObject *package = PyImport_AddModule("greenlet"); /* borrowed */
    bool done = original != NULL && ours != NULL && package != NULL &&
                PyObject_SetAttrString(module, method->ml_name, ours) == 0;

    if (done && PyObject_HasAttrString(package, method->ml_name))
        done = PyObject_SetAttrString(package, method->ml_name, ours) == 0;
    Py_XDECREF(original);
    Py_XDECREF(name);
    Py_XDECREF(ours);
    return done;
}

static void hook_threads(struct clp_recorder *recorder)
{
    struct clp_thread *thread = recorder->engine.threads;

    for (; thread != NULL; thread = thread->next)
        if (thread != clp_thread_here)
            clp_greenlet_place_hook_later(thread);
    if (clp_thread_here != NULL)
        clp_greenlet_place_hook(&recorder->greenlets, clp_thread_here);
}

/* The module's own settrace(). It is called within events, so it must not run Python code. A new reference;
 * NULL if there is none, or the program has replaced it. */
static PyObject *settrace_of(PyObject *module)
{
    PyObject *function = PyObject_GetAttrString(module, "settrace");

    if (function != NULL && !PyCFunction_Check(function))
        Py_CLEAR(function); /* the program has put something else there */
    return function;
}

/* Finds the module's functions and exchanges them. Where a part of it fails, a later call goes on with what was
 * found. False: greenlets are not told of, or the program can see our trace function. */
static bool adopt(struct clp_recorder *recorder, PyObject *module)
{
    struct clp_greenlets *greenlets = &recorder->greenlets;
    PyObject *settrace_function = settrace_of(module), *capsule = PyCapsule_New(recorder, NULL, NULL);
    bool done = false;

    if (greenlets->settrace == NULL) /* otherwise another thread has found it */
        greenlets->settrace = Py_XNewRef(settrace_function);
    if (capsule != NULL && greenlets->settrace != NULL && greenlets->callback == NULL)
        greenlets->callback = PyCFunction_New(&on_switch_method, capsule);
    if (greenlets->callback != NULL)
        done = replace(module, &own_methods[0], capsule) &&
               replace(module, &own_methods[1], capsule);
    if (greenlets->callback != NULL)
        hook_threads(recorder);
    Py_XDECREF(settrace_function);
    Py_XDECREF(capsule);
    return done;
}

/* ---- meeting the module ---- */

void clp_greenlets_meet(struct clp_recorder *recorder, PyObject *module)
{
    recorder->greenlets.met = true;
    if (recorder->greenlets.callback == NULL && PyObject_HasAttrString(module, "settrace"))
        (void)adopt(recorder, module);
}
