/* SPDX-License-Identifier: MIT */
/* What an event costs. The same small functions run bare, before the tracer starts, and selected;
 * what selected ones take longer, divided by the events they cause, is the cost: the median of
 * several rounds. How much of an event the processor hides behind the work beside it depends on
 * that work: between 7 and 12 ns were seen of the same probe. So the lines here are a mixture.
 *
 * How the cost of an entry and an exit falls to the caller and to the body is read off the engine
 * itself: what it measured for the body's one line, beyond the cost of a line event, is the body's
 * part; the rest is the caller's. The line itself (pass, yield) is taken to cost nothing.
 *
 * A tracer that is called for all code slows the bare functions too, once it runs: that is the cost
 * of a foreign event.
 *
 * The code is compiled twice: selection belongs to a code object. All of it is measured twice: how
 * far the results lie apart says how well the costs are known. */
#include "calibrate.h"
#include "prepare.h"
#include "tracer.h"

#define ROUNDS 15
#define CALLS 100        /* iterations of each program's loop */
#define LINES_IN_LOOP 9  /* line events of one iteration of lines() */
#define CALLEE_LINE 16   /* of the program below: pass */
#define YIELD_LINE 27    /* yield */

static const char program[] =
    "profile = lambda f: f\n" /* so that probes may be there before the functions are */
    "@profile\n"
    "def lines(r):\n"
    "    for i in r:\n"
    "        a = 1\n"
    "        b = a\n"
    "        c = b + i\n"
    "        if c == a: b = 0\n"
    "        a = c & 255\n"
    "        c = b\n"
    "        b = a * 3\n"
    "        a = c\n"
    "@profile\n"
    "def callee():\n"
    "    pass\n"
    "def calls(r, f):\n"
    "    for i in r:\n"
    "        f()\n"
    "@profile\n"
    "def quick():\n"
    "    a = 1\n"
    "    return a\n"
    "@profile\n"
    "def source(r):\n"
    "    for i in r:\n"
    "        yield\n"
    "def drains(r, f):\n"
    "    for i in f(r):\n"
    "        pass\n";

/* One copy of the program: its functions by name. Owned. */
static PyObject *load(struct clp_window *window)
{
    PyObject *names = PyDict_New();
    PyObject *plain = Py_CompileString(program, "<clineprof calibration>", Py_file_input);
    PyObject *code = plain != NULL ? clp_prepare_code(window, plain, NULL) : NULL;
    PyObject *result = NULL;

    Py_XDECREF(plain);
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

static bool select_named(struct clp_window *window, PyObject *names, const char *name)
{
    PyObject *function = get(names, name);
    PyObject *text = PyUnicode_FromString(name);
    bool done = function != NULL && text != NULL &&
                clp_tracer_select(window, function, text);

    Py_XDECREF(text);
    return done;
}

/* Keeps them in order. */
static void insert(uint64_t *times, int count, uint64_t ticks)
{
    for (; count > 0 && times[count - 1] > ticks; count--)
        times[count] = times[count - 1];
    times[count] = ticks;
}

/* Median ticks of several calls; 0 with an exception set when one fails. */
static uint64_t time_call(const struct clp_recorder *recorder, PyObject *function,
                          PyObject *numbers, PyObject *argument)
{
    uint64_t times[ROUNDS];

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = clp_clock_read(&recorder->clock);
        PyObject *result = PyObject_CallFunctionObjArgs(function, numbers, argument, NULL);
        uint64_t ticks = clp_clock_read(&recorder->clock) - start;
        if (result == NULL)
            return 0;
        Py_DECREF(result);
        insert(times, round, ticks);
    }
    return times[ROUNDS / 2];
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

/* The self time per hit, in 1/256 ticks, that the engine measured for a line of this function. */
static uint64_t measured(const struct clp_recorder *recorder, PyObject *function, int line)
{
    const struct clp_selected *selected =
        clp_recorder_selected(recorder, PyFunction_GetCode(function));
    const struct clp_thread *thread = clp_thread_here;

    if (selected == NULL || thread == NULL ||
        !clp_engine_has_block(thread, selected->function))
        return 0;
    const struct clp_block *block = thread->blocks[selected->function];
    const struct clp_cell *cell = &block->cells[line - block->lowest_line];
    return cell->hits != 0 ? cell->self * CLP_CORRECTION_ONE / cell->hits : 0;
}

/* Splits what going in and coming out cost together, beyond line events: `inside` of it falls into
 * the body. A body begins with the second half of a line event and ends with the first half of the
 * next that never comes, so half a line is moved from its end to its beginning. */
static void split(uint64_t both, uint64_t inside, uint64_t line, struct clp_cost *in,
                  struct clp_cost *out)
{
    uint64_t moved = inside / 2 < line / 2 ? inside / 2 : line / 2;

    in->before = out->after = less(both, inside) / 2;
    in->after = inside / 2 + moved;
    out->before = inside / 2 - moved;
}

/* ---- the bare functions ---- */

static struct clp_bare_times time_bare(const struct clp_recorder *recorder,
                                       const struct clp_calibration *calibration)
{
    PyObject *bare = calibration->bare, *numbers = calibration->numbers;

    return (struct clp_bare_times){
        .lines = time_call(recorder, get(bare, "lines"), numbers, NULL),
        .calls = time_call(recorder, get(bare, "calls"), numbers, get(bare, "callee")),
        .quick_calls = time_call(recorder, get(bare, "calls"), numbers, get(bare, "quick")),
        .drains = time_call(recorder, get(bare, "drains"), numbers, get(bare, "source")),
    };
}

bool clp_calibration_begin(struct clp_calibration *calibration, struct clp_window *window)
{
    *calibration = (struct clp_calibration){
        .numbers = PyObject_CallFunction((PyObject *)&PyRange_Type, "i", CALLS),
        .bare = load(window),
    };
    if (calibration->numbers != NULL && calibration->bare != NULL)
        calibration->times = time_bare(window->recorder, calibration);
    if (!PyErr_Occurred())
        return true;
    clp_calibration_clear(calibration);
    return false;
}

void clp_calibration_clear(struct clp_calibration *calibration)
{
    Py_CLEAR(calibration->numbers);
    Py_CLEAR(calibration->bare);
    Py_CLEAR(calibration->selected);
}

/* ---- with the tracer ---- */

static bool measure(const struct clp_recorder *recorder, const struct clp_calibration *calibration,
                    struct clp_costs *costs)
{
    PyObject *bare = calibration->bare, *numbers = calibration->numbers;
    PyObject *lines = get(calibration->selected, "lines");
    PyObject *callee = get(calibration->selected, "callee");
    PyObject *quick = get(calibration->selected, "quick");
    PyObject *source = get(calibration->selected, "source");
    const struct clp_bare_times *times = &calibration->times;

    uint64_t foreign = cost_of(time_call(recorder, get(bare, "lines"), numbers, NULL),
                               times->lines, CALLS * LINES_IN_LOOP);
    uint64_t line = cost_of(time_call(recorder, lines, numbers, NULL), times->lines,
                            CALLS * LINES_IN_LOOP);
    uint64_t call = cost_of(time_call(recorder, get(bare, "calls"), numbers, callee),
                            times->calls, CALLS);
    uint64_t quick_call = cost_of(time_call(recorder, get(bare, "calls"), numbers, quick),
                                  times->quick_calls, CALLS);
    uint64_t pass = cost_of(time_call(recorder, get(bare, "drains"), numbers, source),
                            times->drains, CALLS);

    /* the driving loops have two lines, foreign here; a call has one line more, a quick call and a
     * pass have two */
    call = less(call, line + 2 * foreign);
    quick_call = less(quick_call, 2 * line + 2 * foreign);
    pass = less(pass, 2 * line + 2 * foreign);
    *costs = (struct clp_costs){.line = line, .foreign = foreign};
    split(call, less(measured(recorder, callee, CALLEE_LINE), line), line, &costs->enter,
          &costs->leave);
    costs->last_line = less(quick_call, costs->enter.before + costs->enter.after);
    split(pass, less(measured(recorder, source, YIELD_LINE), line), line, &costs->resume,
          &costs->suspend);
    return !PyErr_Occurred();
}

/* How far two estimates of the same costs lie apart, as a share of them. */
static double spread(const struct clp_costs *one, const struct clp_costs *other)
{
    double a = (double)(one->line + one->enter.before + one->enter.after + one->leave.before +
                        one->leave.after);
    double b = (double)(other->line + other->enter.before + other->enter.after +
                        other->leave.before + other->leave.after);
    double larger = a > b ? a : b, smaller = a > b ? b : a;

    return larger > 0 ? (larger - smaller) / larger : 0;
}

bool clp_calibration_measure(struct clp_calibration *calibration, struct clp_window *window,
                             struct clp_costs *costs, double *error)
{
    struct clp_costs again;

    calibration->selected = load(window);
    if (calibration->selected == NULL)
        return false;
    bool done = select_named(window, calibration->selected, "lines") &&
                select_named(window, calibration->selected, "callee") &&
                select_named(window, calibration->selected, "quick") &&
                select_named(window, calibration->selected, "source") &&
                measure(window->recorder, calibration, costs) &&
                measure(window->recorder, calibration, &again);
    if (!done)
        return false;
    *error = spread(costs, &again);
    if (again.line < costs->line)
        *costs = again;
    return true;
}
