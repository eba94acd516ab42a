/* SPDX-License-Identifier: MIT */
#include "around_costs.h"
#include "cpython/recorder/callees.h"
#include "cpython/recorder/recorder.h"
#include "selecting.h"
#include "starting.h"
#include <stdlib.h>

#define ROUNDS 15
#define TURNS 50
#define IN_TURN 8 /* operators, or calls, in each turn of a loop */

/* Eight operators on lines of their own, where no mark is needed; on one line, where the first needs none; and calls
 * of the cheapest C function. */
#define EIGHT(text) text text text text text text text text
static const char program[] =
    "def turns(r):\n"
    "    for i in r:\n"
    "        pass\n"
    "def apart(r):\n"
    "    a = 7\n"
    "    for i in r:\n" EIGHT("        b = a & 3\n")
    "def together(r):\n"
    "    a = 7\n"
    "    for i in r:\n"
    "        " EIGHT("b = a & 3;") "\n"
    "def calls(r):\n"
    "    for i in r:\n"
    "        " EIGHT("callable(i);") "\n";

/* What a turn of a function's loop takes, in 1/256 ticks: by the clock, and what the engine has counted as called. */
struct turn {
    int64_t time, called;
};

enum { WITH_TURNS, APART, TOGETHER, CALLS, FUNCTIONS };
static const char *const names[FUNCTIONS] = {"turns", "apart", "together", "calls"};

struct trial {
    struct clp_code_window window;
    PyObject *numbers, *bare, *selected; /* owned */
    struct turn without[FUNCTIONS], with[FUNCTIONS];
};

static PyObject *load(void)
{
    PyObject *known = PyDict_New();
    PyObject *code = Py_CompileString(program, "<clineprof calibration of calls>", Py_file_input);
    PyObject *result = NULL;

    if (known != NULL && code != NULL &&
        PyDict_SetItemString(known, "__builtins__", PyEval_GetBuiltins()) == 0)
        result = PyEval_EvalCode(code, known, known);
    Py_XDECREF(code);
    if (result == NULL)
        Py_CLEAR(known);
    Py_XDECREF(result);
    return known;
}

static bool select_all(struct trial *trial)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        PyObject *function = PyDict_GetItemString(trial->selected, names[i]); /* borrowed */
        PyObject *name = PyUnicode_FromString(names[i]);
        bool done = function != NULL && name != NULL && clp_tracer_select(&trial->window, function, name, false);
        Py_XDECREF(name);
        if (!done)
            return false;
    }
    return true;
}

/* All that the calling thread has counted as called so far. */
static int64_t called_so_far(void)
{
    const struct clp_thread *thread = clp_thread_here;
    int64_t sum = 0;

    for (size_t i = 0; thread != NULL && i < thread->block_room; i++) {
        const struct clp_block *block = thread->blocks[i];
        for (uint32_t j = 0; block != NULL && block->called != NULL && j < block->line_count; j++)
            sum += block->called[j].time[CLP_CALLED_NATIVE] + block->called[j].time[CLP_CALLED_LIBRARY];
    }
    return sum;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int64_t median(int64_t *values)
{
    qsort(values, ROUNDS, sizeof *values, compare);
    return values[ROUNDS / 2];
}

/* Medians of several runs; the first one makes the counters, and is ignored. */
static bool time_one(const struct trial *trial, PyObject *function, struct turn *turn)
{
    const struct clp_clock *clock = &trial->window.recorder->clock;
    int64_t times[ROUNDS], called[ROUNDS];

    for (int round = -1; round < ROUNDS; round++) {
        int64_t before = called_so_far();
        uint64_t start = clp_clock_read(clock);
        PyObject *result = PyObject_CallOneArg(function, trial->numbers);
        uint64_t end = clp_clock_read(clock);
        if (result == NULL)
            return false;
        Py_DECREF(result);
        if (round >= 0) {
            times[round] = (int64_t)(end - start) * CLP_CORRECTION_ONE / TURNS;
            called[round] = (called_so_far() - before) / TURNS;
        }
    }
    *turn = (struct turn){median(times), median(called)};
    return true;
}

static bool time_all(const struct trial *trial, PyObject *functions, struct turn *turns)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        PyObject *function = PyDict_GetItemString(functions, names[i]); /* borrowed */
        if (function == NULL || !time_one(trial, function, &turns[i]))
            return false;
    }
    return true;
}

static int64_t not_negative(int64_t cost)
{
    return cost > 0 ? cost : 0;
}

/* What one of the operators, or calls, takes without events, where `others` instructions stand around it. */
static int64_t bare(const struct trial *trial, int which, int64_t others, int64_t instruction)
{
    int64_t time = trial->without[which].time - trial->without[WITH_TURNS].time;

    return not_negative(time / IN_TURN - others * instruction);
}

/* What the turns of this function take longer with events, less the events of `lines` lines. */
static int64_t added(const struct trial *trial, int which, int64_t lines, const struct clp_costs *costs)
{
    return trial->with[which].time - trial->without[which].time - lines * costs->line;
}

static struct clp_around_costs costs_of(const struct trial *trial, const struct clp_costs *costs)
{
    int64_t iterated = not_negative(added(trial, WITH_TURNS, 2, costs));
    int64_t operated = not_negative(added(trial, APART, IN_TURN + 1, costs) - iterated) / IN_TURN;
    int64_t mark = not_negative(added(trial, TOGETHER, 2, costs) - iterated - IN_TURN * operated) / (IN_TURN - 1);
    int64_t call = not_negative(added(trial, CALLS, 2, costs) - iterated) / IN_TURN;
    int64_t step = trial->with[WITH_TURNS].called;
    int64_t operator = bare(trial, APART, 3, costs->instruction); /* two loads and a store beside it */
    int64_t at_line = (trial->with[APART].called - step) / IN_TURN;
    int64_t at_mark = (trial->with[TOGETHER].called - step - at_line) / (IN_TURN - 1);

    return (struct clp_around_costs){
        .begin = call / 2,
        .end = call - call / 2,
        .mark = mark,
        .operated = operated,
        .iterated = iterated,
        .call_inside = not_negative((trial->with[CALLS].called - step) / IN_TURN -
                                    bare(trial, CALLS, 3, costs->instruction)),
        .marked_inside = not_negative(at_mark - operator),
        .line_inside = not_negative(at_line - operator),
    };
}

static bool measure(struct trial *trial)
{
    trial->numbers = PyObject_CallFunction((PyObject *)&PyRange_Type, "i", TURNS);
    trial->bare = load();
    trial->selected = load();
    return trial->numbers != NULL && trial->bare != NULL && trial->selected != NULL &&
           time_all(trial, trial->bare, trial->without) && clp_code_window_open(&trial->window) &&
           select_all(trial) && time_all(trial, trial->selected, trial->with);
}

/* As try_out in starting.c. */
static bool try_out(struct clp_recorder *recorder, struct trial *trial)
{
    struct clp_costs costs = recorder->engine.costs;

    clp_code_window_init(&trial->window, recorder, false, false, 0, true);
    bool done = measure(trial), alone = clp_starting_is_alone(recorder, &trial->window.view);
    clp_code_window_clear(&trial->window);
    if (done && alone) {
        clp_callees_forget(recorder);
        clp_recorder_forget(recorder);
        clp_engine_set_costs(&recorder->engine, &costs);
    }
    if (done)
        recorder->engine.around = costs_of(trial, &costs);
    recorder->around_known = done;
    Py_XDECREF(trial->numbers);
    Py_XDECREF(trial->bare);
    Py_XDECREF(trial->selected);
    return done;
}

bool clp_around_is_carried(const struct clp_recorder *recorder)
{
    return recorder->tracer->install != NULL;
}

bool clp_around_start(struct clp_recorder *recorder)
{
    if (recorder->around_known || !clp_around_is_carried(recorder))
        return true;
    if (!clp_callees_start(recorder))
        return false;
    struct trial *trial = clp_mem_alloc(&recorder->mem, 1, sizeof *trial);
    if (trial == NULL) {
        PyErr_NoMemory();
        return false;
    }
    bool done = try_out(recorder, trial);
    clp_mem_free(&recorder->mem, trial, 1, sizeof *trial);
    return done;
}
