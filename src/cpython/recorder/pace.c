/* SPDX-License-Identifier: MIT */
#include "pace.h"

/* A look takes about 5 us, half a hundredth of the time between two. The pace was seen to change every few
 * milliseconds. */
#define TURNS 16
#define GAP_NANOS 1e6
/* Lines of this length are long enough for a look not to matter. Where all lines are shorter, interrupts lengthen one now
 * and then. */
#define SPAN_NANOS 5000
/* Nothing was seen to become slower by more. What took longer was interrupted. */
#define SLOWEST 3
#define TIMES 2 /* that the work is done in a look */

bool clp_pace_make(struct clp_recorder *recorder)
{
    struct clp_pace *pace = &recorder->pace;

    if (pace->dict != NULL)
        return true;
    /* with numbers as small as these nothing is allocated, which would count for the line that runs */
    Py_XSETREF(pace->small, PyLong_FromLong(5));
    Py_XSETREF(pace->large, PyLong_FromLong(77));
    Py_XSETREF(pace->key, PyUnicode_FromString("key"));
    Py_XSETREF(pace->attribute, PyUnicode_FromString("__doc__"));
    Py_XSETREF(pace->texts, Py_BuildValue("(sss)", "one", "other", "third"));
    pace->dict = PyDict_New();
    if (pace->small != NULL && pace->large != NULL && pace->key != NULL && pace->attribute != NULL &&
        pace->texts != NULL && pace->dict != NULL && PyDict_SetItem(pace->dict, pace->key, pace->small) == 0)
        return true;
    Py_CLEAR(pace->dict);
    return false;
}

/* Many different functions, because the processor has to fetch much code for an event, too. None allocates. */
static void take_turn(const struct clp_pace *pace)
{
    Py_XDECREF(PyNumber_Add(pace->small, pace->large));
    Py_XDECREF(PyNumber_Multiply(pace->small, pace->small));
    (void)PyObject_RichCompareBool(pace->small, pace->large, Py_LT);
    (void)PyObject_RichCompareBool(pace->texts, pace->dict, Py_EQ);
    (void)PyDict_GetItemWithError(pace->dict, pace->key);
    (void)PySequence_Contains(pace->texts, pace->key);
    (void)PyUnicode_Compare(pace->key, pace->attribute);
    (void)PyObject_Hash(pace->key);
    (void)PyObject_IsTrue(pace->dict);
    (void)PyObject_IsInstance(pace->small, (PyObject *)&PyLong_Type);
    Py_XDECREF(PyObject_GetItem(pace->dict, pace->key));
    Py_XDECREF(PyObject_GetAttr(pace->dict, pace->attribute));
    Py_XDECREF(PySequence_GetItem(pace->texts, 1));
}

static uint64_t time_turns(const struct clp_recorder *recorder)
{
    uint64_t start = clp_clock_read(&recorder->clock);
    for (int i = 0; i < TURNS; i++)
        take_turn(&recorder->pace);
    return clp_clock_read(&recorder->clock) - start;
}

uint64_t clp_pace_work(const struct clp_recorder *recorder)
{
    uint64_t first = time_turns(recorder), second = time_turns(recorder);

    return first < second ? first : second;
}

void clp_pace_begin(struct clp_recorder *recorder, uint64_t usual)
{
    struct clp_pace *pace = &recorder->pace;

    pace->usual = usual;
    pace->sum = pace->count = 1; /* the calibration itself */
    recorder->engine.pace_next = usual != 0 ? 0 : UINT64_MAX;
    recorder->engine.pace_span = usual != 0 ? clp_clock_ticks(&recorder->clock, SPAN_NANOS) : UINT64_MAX;
    clp_engine_spread_spans(&recorder->engine);
}

static void look(struct clp_recorder *recorder)
{
    struct clp_pace *pace = &recorder->pace;

    if (PyErr_Occurred() != NULL) /* the work would take it for its own failure */
        return;
    double seen = (double)clp_pace_work(recorder) / (double)pace->usual;
    recorder->engine.pace_next = clp_clock_read(&recorder->clock) + clp_clock_ticks(&recorder->clock, GAP_NANOS);
    if (PyErr_Occurred() != NULL) { /* the program is as deep as recursion may be */
        PyErr_Clear();
        return;
    }
    if (seen <= 0 || seen > SLOWEST)
        return;
    pace->sum += seen;
    pace->count++;
    recorder->engine.costs.pace = clp_pace_mean(recorder);
    if (recorder->live.header != NULL)
        recorder->live.header->costs.pace = recorder->engine.costs.pace;
}

uint64_t clp_pace_look(struct clp_recorder *recorder)
{
    uint64_t start = clp_clock_read(&recorder->clock), most = SLOWEST * TIMES * recorder->pace.usual;

    look(recorder);
    uint64_t ticks = clp_clock_read(&recorder->clock) - start;
    return ticks < most ? ticks : most;
}
