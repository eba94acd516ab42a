/* SPDX-License-Identifier: MIT */
/* What an event costs. The same small functions run bare and selected; what selected ones take
 * longer, divided by the events they cause, is the cost. Disturbances only ever add time, so of
 * several rounds the quickest counts.
 *
 * The code is compiled twice: selection belongs to a code object. */
#include "tracer.h"

#define ROUNDS 7
#define CALLS 100        /* iterations of each program's loop */
#define LINES_IN_LOOP 9  /* line events of one iteration of lines() */

static const char program[] =
    "def lines(r):\n"
    "    for i in r:\n"
    "        a = 1\n"
    "        b = 2\n"
    "        a = 3\n"
    "        b = 4\n"
    "        a = 5\n"
    "        b = 6\n"
    "        a = 7\n"
    "        b = 8\n"
    "def callee():\n"
    "    pass\n"
    "def calls(r, f):\n"
    "    for i in r:\n"
    "        f()\n"
    "def source(r):\n"
    "    for i in r:\n"
    "        yield\n"
    "def drains(r, f):\n"
    "    for i in f(r):\n"
    "        pass\n";

/* One copy of the program: its functions by name. Owned. */
static PyObject *load(void)
{
    PyObject *names = PyDict_New();
    PyObject *code = Py_CompileString(program, "<clineprof calibration>", Py_file_input);
    PyObject *result = NULL;

    if (names != NULL && code != NULL &&
        PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()) == 0)
        result = PyEval_EvalCode(code, names, names);
    Py_XDECREF(code);
    if (result == NULL)
        Py_CLEAR(names);
    Py_XDECREF(result);
    return names;
}

/* Borrowed; NULL with an exception set. */
static PyObject *get(PyObject *names, const char *name)
{
    PyObject *found = PyDict_GetItemString(names, name);

    if (found == NULL)
        PyErr_SetString(PyExc_SystemError, "clineprof: calibration lost a function");
    return found;
}

static bool select_named(struct clp_recorder *recorder, PyObject *names, const char *name)
{
    PyObject *function = get(names, name);
    PyObject *text = PyUnicode_FromString(name);
    bool done = function != NULL && text != NULL &&
                clp_tracer_select(recorder, (PyCodeObject *)PyFunction_GetCode(function), text);

    Py_XDECREF(text);
    return done;
}

/* Ticks of the quickest of several calls; 0 with an exception set when one fails. */
static uint64_t time_call(const struct clp_recorder *recorder, PyObject *function,
                          PyObject *numbers, PyObject *argument)
{
    uint64_t best = UINT64_MAX;

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = clp_clock_read(&recorder->clock);
        PyObject *result = PyObject_CallFunctionObjArgs(function, numbers, argument, NULL);
        uint64_t ticks = clp_clock_read(&recorder->clock) - start;
        if (result == NULL)
            return 0;
        Py_DECREF(result);
        if (ticks < best)
            best = ticks;
    }
    return best;
}

/* Cost in 1/256 ticks of each of `events` events, which made the difference. */
static uint64_t cost_of(uint64_t with, uint64_t without, uint64_t events)
{
    return with > without ? (with - without) * CLP_CORRECTION_ONE / events : 0;
}

static uint64_t less(uint64_t whole, uint64_t part)
{
    return whole > part ? whole - part : 0;
}

static bool measure(const struct clp_recorder *recorder, PyObject *bare, PyObject *selected,
                    PyObject *numbers, struct clp_costs *costs)
{
    PyObject *calls = get(bare, "calls"), *drains = get(bare, "drains");
    uint64_t line = cost_of(time_call(recorder, get(selected, "lines"), numbers, NULL),
                            time_call(recorder, get(bare, "lines"), numbers, NULL),
                            CALLS * LINES_IN_LOOP);
    uint64_t call = cost_of(time_call(recorder, calls, numbers, get(selected, "callee")),
                            time_call(recorder, calls, numbers, get(bare, "callee")), CALLS);
    uint64_t pass = cost_of(time_call(recorder, drains, numbers, get(selected, "source")),
                            time_call(recorder, drains, numbers, get(bare, "source")), CALLS);

    /* a call is an entry, a line and a leaving; a pass of the generator is a suspension, a
     * resumption and two lines; both parts of a pair are taken to cost the same */
    *costs = (struct clp_costs){
        .line = line,
        .enter = less(call, line) / 2,
        .leave = less(call, line) / 2,
        .suspend = less(pass, 2 * line) / 2,
        .resume = less(pass, 2 * line) / 2,
    };
    return !PyErr_Occurred();
}

bool clp_calibrate(struct clp_recorder *recorder, struct clp_costs *costs)
{
    PyObject *numbers = PyObject_CallFunction((PyObject *)&PyRange_Type, "i", CALLS);
    PyObject *bare = load(), *selected = load();
    bool done = numbers != NULL && bare != NULL && selected != NULL &&
                select_named(recorder, selected, "lines") &&
                select_named(recorder, selected, "callee") &&
                select_named(recorder, selected, "source") &&
                measure(recorder, bare, selected, numbers, costs);

    Py_XDECREF(numbers);
    Py_XDECREF(bare);
    Py_XDECREF(selected);
    return done;
}
