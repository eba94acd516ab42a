/* SPDX-License-Identifier: MIT */
#include "greenlet_place.h"
#include "cpython/compat/raised.h"
#include <unistd.h>

/* The key in a thread's dictionary under which the program's own trace function is kept. */
#define OWN_KEY "clineprof.greenlet"

PyObject *clp_greenlet_place_own(void)
{
    PyObject *data = PyThreadState_GetDict(); /* borrowed */

    return data != NULL ? PyDict_GetItemString(data, OWN_KEY) : NULL;
}

bool clp_greenlet_place_set_own(PyObject *function)
{
    PyObject *data = PyThreadState_GetDict();

    if (data == NULL)
        return false;
    if (function != NULL)
        return PyDict_SetItemString(data, OWN_KEY, function) == 0;
    return clp_greenlet_place_own() == NULL || PyDict_DelItemString(data, OWN_KEY) == 0;
}

bool clp_greenlet_place_take(const struct clp_greenlets *greenlets)
{
    PyObject *before =
        PyObject_CallFunctionObjArgs(greenlets->settrace, greenlets->callback, NULL);
    bool done = before != NULL;

    if (done && before != Py_None && before != greenlets->callback)
        done = clp_greenlet_place_set_own(before);
    Py_XDECREF(before);
    return done;
}

void clp_greenlet_place_hook(const struct clp_greenlets *greenlets, struct clp_thread *thread)
{
    thread->unhooked = false;
    thread->read_span = clp_engine_read_span(thread->engine);
    if (greenlets->callback == NULL)
        return;
    bool collected = clp_compat_stop_collecting(); /* this is in the middle of an event */
    struct clp_raised raised = clp_raised_take();
    (void)clp_greenlet_place_take(greenlets);
    clp_raised_give(raised);
    clp_compat_collect_again(collected);
}

void clp_greenlet_place_hook_later(struct clp_thread *thread)
{
    thread->unhooked = true;
    thread->read_span = 0;
}

void clp_greenlet_place_note_end(struct clp_greenlets *greenlets)
{
    __atomic_store_n(&greenlets->ended, CLP_FORGETS_SIGNALS, __ATOMIC_RELAXED);
}

static int do_nothing(void *unused)
{
    (void)unused;
    return 0;
}

void clp_greenlet_place_remind(struct clp_greenlets *greenlets)
{
    if (gettid() != getpid() || !clp_compat_may_ask_for_call())
        return;
    __atomic_store_n(&greenlets->ended, false, __ATOMIC_RELAXED);
    if (greenlets->callback != NULL)
        (void)Py_AddPendingCall(do_nothing, NULL);
}
