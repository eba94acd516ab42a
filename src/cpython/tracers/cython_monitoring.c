/* SPDX-License-Identifier: MIT */
#include "cython_monitoring.h"
#include "cpython/compat/raised.h"
#include "cpython/compat/sysmon.h"
#include "cython.h"
#include "monitoring.h"

#if CLP_CYTHON_MONITORS

/* The recorder that gets the events. A callback has no room for it. */
static struct clp_recorder *hooked;
static PyObject *disable; /* owned: sys.monitoring.DISABLE; NULL: not needed yet */

/* Takes an event of code that nobody has selected off the line on top, in whose time it lies. */
static void charge_line(void)
{
    if (clp_thread_here != NULL)
        clp_engine_add_cost(clp_thread_here, hooked->cython.cost);
}

/* What a callback answers for code that nobody has selected. */
static PyObject *not_selected(void)
{
    charge_line();
    return Py_NewRef(disable);
}

/* With an exception set, something is thrown into a generator that has not begun. A callback must then fail with that
 * exception, which goes on. */
static PyObject *on_start(PyObject *nothing, PyObject *const *args, Py_ssize_t count)
{
    struct clp_cython_function *function;

    (void)nothing, (void)count;
    if (PyErr_Occurred())
        return NULL;
    function = clp_cython_find(hooked, args[0]);
    if (function == NULL)
        return not_selected();
    clp_cython_enter(function);
    Py_RETURN_NONE;
}

static PyObject *on_line(PyObject *nothing, PyObject *const *args, Py_ssize_t count)
{
    struct clp_cython_function *function = clp_cython_find(hooked, args[0]);

    (void)nothing, (void)count;
    if (function == NULL)
        return not_selected();
    clp_cython_line(function, clp_compat_small_int(args[1]));
    Py_RETURN_NONE;
}

static PyObject *on_leave(PyObject *nothing, PyObject *const *args, Py_ssize_t count)
{
    struct clp_cython_function *function = clp_cython_find(hooked, args[0]);

    (void)nothing, (void)count;
    if (function == NULL)
        return not_selected();
    clp_cython_leave(function);
    Py_RETURN_NONE;
}

/* PY_UNWIND cannot be switched off. */
static PyObject *on_unwind(PyObject *nothing, PyObject *const *args, Py_ssize_t count)
{
    struct clp_cython_function *function = clp_cython_find(hooked, args[0]);

    (void)nothing, (void)count;
    if (function != NULL)
        clp_cython_leave(function);
    else
        charge_line();
    Py_RETURN_NONE;
}

static PyMethodDef handlers[] = {
    {"PY_START", CLP_C_FUNCTION(on_start), METH_FASTCALL, NULL},
    {"LINE", CLP_C_FUNCTION(on_line), METH_FASTCALL, NULL},
    {"PY_RETURN", CLP_C_FUNCTION(on_leave), METH_FASTCALL, NULL},
    {"PY_YIELD", CLP_C_FUNCTION(on_leave), METH_FASTCALL, NULL},
    {"PY_UNWIND", CLP_C_FUNCTION(on_unwind), METH_FASTCALL, NULL},
};

#define HANDLER_COUNT (sizeof handlers / sizeof *handlers)

#define COST_EVENTS 200 /* events in a trial */
#define COST_TRIALS 8

/* Sends events as Cython does, of code that nobody has selected. */
static bool send(int tool, PyObject *code)
{
    for (int i = 0; i < COST_EVENTS; i++) {
        PyMonitoringState state = {.active = (uint8_t)(1u << tool)};
        if (PyMonitoring_FireLineEvent(&state, code, 0, 1) < 0)
            return false;
    }
    return true;
}

/* Measures what an event costs besides its recording: the quickest of some trials, for the others were disturbed. */
static bool measure_cost(struct clp_recorder *recorder)
{
    PyObject *code = (PyObject *)PyCode_NewEmpty("<clineprof>", "event", 1);
    uint64_t least = UINT64_MAX;
    bool done = code != NULL;

    recorder->cython.cost = 0; /* these events belong to no line */
    for (int i = 0; done && i < COST_TRIALS; i++) {
        uint64_t start = clp_clock_read(&recorder->clock);
        done = send(recorder->cython.tool, code);
        uint64_t ticks = clp_clock_read(&recorder->clock) - start;
        least = ticks < least ? ticks : least;
    }
    if (done)
        recorder->cython.cost = (int64_t)(least * CLP_CORRECTION_ONE / COST_EVENTS);
    Py_XDECREF(code);
    return done;
}

static bool begin(struct clp_recorder *recorder)
{
    static const int tool_ids[] = {3, 4, 5, 2, 1, 0, -1};
    struct clp_cython *cython = &recorder->cython;
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
    long events;

    if (cython->monitored || cython->functions.count == 0 || recorder->open == 0)
        return true;
    hooked = recorder;
    if (disable == NULL && monitoring != NULL)
        disable = PyObject_GetAttrString(monitoring, "DISABLE");
    if (disable == NULL || (cython->tool = clp_sysmon_take(tool_ids)) < 0)
        return false;
    cython->monitored = true;
    clp_monitoring_give_way(recorder);
    if (clp_sysmon_register(cython->tool, handlers, HANDLER_COUNT, NULL, &events) && measure_cost(recorder) &&
        clp_sysmon_call("set_events", "(il)", cython->tool, events))
        return true;
    clp_cython_end(recorder);
    return false;
}

bool clp_cython_begin(struct clp_recorder *recorder)
{
    if (begin(recorder))
        return true;
    PyErr_Clear();
    return PyErr_WarnEx(PyExc_RuntimeWarning, "clineprof: lines of Cython's functions are not seen, because other "
                                              "tools hold all six ids of sys.monitoring", 1) == 0;
}

void clp_cython_end(struct clp_recorder *recorder)
{
    struct clp_cython *cython = &recorder->cython;

    if (!cython->monitored)
        return;
    cython->monitored = false;
    struct clp_raised raised = clp_raised_take();
    (void)clp_sysmon_call("set_events", "(ii)", cython->tool, 0);
    PyErr_Clear();
    clp_sysmon_free(cython->tool, handlers, HANDLER_COUNT);
    clp_raised_give(raised);
}

#else

bool clp_cython_begin(struct clp_recorder *recorder)
{
    (void)recorder;
    return true;
}

void clp_cython_end(struct clp_recorder *recorder)
{
    (void)recorder;
}

#endif
