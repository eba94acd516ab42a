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

/* Eight operators right behind the begin of their lines; eight that need a mark; eight calls of the cheapest C
 * function. */
#define EIGHT(text) text text text text text text text text
static const char program[] =
    "def turns(r):\n"
    "    for i in r:\n"
    "        pass\n"
    "def apart(r):\n"
    "    a = 7\n"
    "    for i in r:\n" EIGHT("        b = a & 3\n")
    "def marked(r):\n"
    "    a = 7\n"
    "    for i in r:\n"
    "        " EIGHT("a.real;b = a & 3;") "\n"
    "def calls(r):\n"
    "    for i in r:\n"
    "        " EIGHT("callable(i);") "\n";

/* What a turn of a function's loop takes, in 1/256 ticks: by the clock, and what the engine has counted as called. */
struct turn {
    int64_t time, called;
};

enum { WITH_TURNS, APART, MARKED, CALLS, FUNCTIONS };
static const char *const names[FUNCTIONS] = {"turns", "apart", "marked", "calls"};

enum { BARE, LINES, AROUND, COPIES };

struct trial {
    struct clp_code_window window;
    PyObject *numbers;                   /* owned */
    PyObject *copies[COPIES];            /* owned */
    struct turn turns[COPIES][FUNCTIONS];
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

static bool select_all(struct trial *trial, PyObject *functions)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        PyObject *function = PyDict_GetItemString(functions, names[i]); /* borrowed */
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
    int64_t time = trial->turns[BARE][which].time - trial->turns[BARE][WITH_TURNS].time;

    return not_negative(time / IN_TURN - others * instruction);
}

/* What the turns of this function take longer than with the probes of lines alone. */
static int64_t added(const struct trial *trial, int which)
{
    return trial->turns[AROUND][which].time - trial->turns[LINES][which].time;
}

static struct clp_around_costs costs_of(const struct trial *trial, int64_t instruction)
{
    const struct turn *around = trial->turns[AROUND];
    int64_t iterated = not_negative(added(trial, WITH_TURNS));
    int64_t operated = not_negative(added(trial, APART) - iterated) / IN_TURN;
    int64_t mark = not_negative(added(trial, MARKED) - iterated) / IN_TURN - operated;
    int64_t call = not_negative(added(trial, CALLS) - iterated) / IN_TURN;
    int64_t step = around[WITH_TURNS].called;
    int64_t operator = bare(trial, APART, 3, instruction); /* two loads and a store beside it */
    int64_t at_line = (around[APART].called - step) / IN_TURN;
    int64_t at_mark = (around[MARKED].called - step) / IN_TURN;

    return (struct clp_around_costs){
        .begin = call / 2,
        .end = call - call / 2,
        .mark = not_negative(mark),
        .operated = operated,
        .iterated = iterated,
        .call_inside = not_negative((around[CALLS].called - step) / IN_TURN - bare(trial, CALLS, 3, instruction)),
        .marked_inside = not_negative(at_mark - operator),
        .line_inside = not_negative(at_line - operator),
    };
}

/* Selects the copy with the probes of lines alone, and the one with all. */
static bool select_copies(struct trial *trial)
{
    struct clp_recorder *recorder = trial->window.recorder;
    size_t with_called = recorder->with_called;

    recorder->with_called = 0;
    bool done = select_all(trial, trial->copies[LINES]);
    recorder->with_called = with_called;
    return done && select_all(trial, trial->copies[AROUND]);
}

static bool measure(struct trial *trial)
{
    bool done = true;

    trial->numbers = PyObject_CallFunction((PyObject *)&PyRange_Type, "i", TURNS);
    for (int i = 0; i < COPIES; i++)
        done = (trial->copies[i] = load()) != NULL && done;
    done = done && trial->numbers != NULL && clp_code_window_open(&trial->window) && select_copies(trial);
    for (int i = 0; i < COPIES && done; i++)
        done = time_all(trial, trial->copies[i], trial->turns[i]);
    return done;
}

/* As try_out in starting.c. */
static bool try_out(struct clp_recorder *recorder, struct trial *trial)
{
    struct clp_costs costs = recorder->engine.costs;

    clp_code_window_init(&trial->window, recorder, false, false, 0, true, 0);
    bool done = measure(trial), alone = clp_starting_is_alone(recorder, &trial->window.view);
    clp_code_window_clear(&trial->window);
    if (done && alone) {
        clp_callees_forget(recorder);
        clp_recorder_forget(recorder);
        clp_engine_set_costs(&recorder->engine, &costs);
    }
    if (done)
        recorder->engine.around = costs_of(trial, costs.instruction);
    recorder->around_known = done;
    Py_XDECREF(trial->numbers);
    for (int i = 0; i < COPIES; i++)
        Py_XDECREF(trial->copies[i]);
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
