/* SPDX-License-Identifier: MIT */
/* Measures what an event costs. The same small functions run bare and selected, in turns: a machine that is shared may
 * be half as quick a millisecond later. What the selected ones take longer, divided by the number of their events, is
 * the cost. First quartiles of several rounds count: a processor that others share is now quicker and now slower, and a
 * median may be one of this and one of that. How much slower events are during the run is told by pace.h. How much of an
 * event the processor hides behind the work beside it depends on that work: the same probe was seen to take between 7 and
 * 12 ns. So the lines here are a mixture.
 *
 * The engine itself tells where in a body a cost lies. All lines of callee() and quick() do the same, so they
 * differ by the events that begin and end them. The first line of a body is longer than a line in the middle by
 * what an entry adds behind its reading of the clock, beyond what a line event adds there. The last line is
 * longer by what an exit adds before its reading of the clock. What a call costs beyond that belongs to its
 * caller.
 *
 * moves(), bare and less its loop, tells how short a line may be: it has the cheapest instructions there are.
 *
 * The interpreter adapts an instruction to what it meets (PEP 659), but not an instruction that must tell of a
 * line. So a line that begins with the load of a global is slower. globals() has such lines only; they call a builtin,
 * as short lines that begin with a global do. Where ways within a line meet again, the interpreter looks whether a line
 * begins. merges() has such lines only.
 *
 * A tracer that is called for all code also slows bare functions. So its costs are found against bare runs from before
 * it started, and the cost of a foreign event against bare runs beside it. A foreign call costs more than its events: the
 * interpreter calls a traced function more slowly.
 *
 * The code is compiled twice, because selecting belongs to a code object. Everything is measured twice: how far
 * the results lie apart says how well the costs are known. */
#include "calibrate.h"
#include "cpython/recorder/pace.h"
#include "cpython/tracers/settrace.h"
#include "engine/event_costs.h"
#include "prepare.h"
#include "selecting.h"

#define ROUNDS 15
#define QUARTER (ROUNDS / 4)
#define SAME_PACE 0.074  /* the share by which the same work differs by chance */
#define MORE_TRIES 6     /* some 30 ms, and only for settrace */
#define CALLS 50         /* iterations of each program's loop; twice as many measured no better */
#define LINES_IN_LOOP 9  /* line events of one iteration of lines(), of globals() and of merges() */
#define TURN_LINES 2     /* line events of one iteration of turns() */
#define INSTRUCTIONS_IN_LOOP 27 /* instructions of one iteration of lines() */
#define MOVES_IN_LOOP (2 * 16 * 2) /* instructions of one iteration of moves(), without those of its loop */
/* The first line of a function that is watched. Line 0 is the function's decorator. */
#define CALLEE_LINE 2
#define YIELD_LINE 3
#define QUICK_LINES 4    /* line events of quick() */
#define DEEP_CALLS 9     /* of deep() for deep(4); each has a line event and that of its return */
#define SOURCE_LINES 2   /* line events of source() for each value */
#define RETURN_INSTRUCTIONS 2 /* of quick()'s last line: load and return */
#define YIELD_INSTRUCTIONS 2  /* of source()'s line, as far as they run in the body */

/* No move waits for the one before: none reads what another writes, and they copy different objects, whose
 * reference counts change. */
#define FOUR_MOVES "        e = a\n        f = b\n        g = c\n        h = d\n"
#define SIXTEEN_MOVES FOUR_MOVES FOUR_MOVES FOUR_MOVES FOUR_MOVES

#define TWO_LINES(line) "        " line "\n        " line "\n"
#define EIGHT_LINES(line) TWO_LINES(line) TWO_LINES(line) TWO_LINES(line) TWO_LINES(line)

static const char program[] =
    "profile = lambda f: f\n" /* with the decorator, probes can be there before the functions are */
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
    "def globals(r):\n"
    "    for i in r:\n"
    EIGHT_LINES("len(r)")
    "@profile\n"
    "def merges(r):\n"
    "    for i in r:\n"
    EIGHT_LINES("a = i and r")
    "@profile\n"
    "def callee(a):\n"
    "    b = a\n"
    "    a = b\n"
    "    b = a\n"
    "    a = b\n"
    "def calls(r, f):\n"
    "    for i in r:\n"
    "        f(i)\n"
    "@profile\n"
    "def quick(a):\n"
    "    b = a\n"
    "    a = b\n"
    "    b = a\n"
    "    return b\n"
    "@profile\n"
    "def source(r):\n"
    "    for i in r:\n"
    "        yield\n"
    "def drains(r, f):\n"
    "    for i in f(r):\n"
    "        pass\n"
    "def deep(n):\n"
    "    return n if n < 2 else deep(n - 1) + deep(n - 2)\n"
    "def dives(r, f):\n"
    "    for i in r:\n"
    "        f(4)\n"
    "def moves(r):\n"
    "    a = 1; b = 2; c = 3; d = 4\n"
    "    for i in r:\n"
    SIXTEEN_MOVES SIXTEEN_MOVES
    "@profile\n"
    "def turns(r):\n"
    "    for i in r:\n"
    "        pass\n"
    "@profile\n"
    "def strays(r):\n"
    "    for i in r: pass\n";

/* Makes a copy of the program. Returns its functions by name, a new reference. */
static PyObject *load(struct clp_code_window *window)
{
    PyObject *names = PyDict_New();
    PyObject *plain = Py_CompileString(program, "<clineprof calibration>", Py_file_input);
    PyObject *code = plain != NULL ? clp_prepare_code(window, plain, NULL, NULL) : NULL;
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

/* A function of a copy by its name, borrowed; NULL with an exception set. */
static PyObject *get(PyObject *names, const char *name)
{
    PyObject *found = PyDict_GetItemString(names, name);

    if (found == NULL)
        PyErr_SetString(PyExc_SystemError, "clineprof: calibration lost a function");
    return found;
}

static bool select_named(struct clp_code_window *window, PyObject *names, const char *name)
{
    PyObject *function = get(names, name);
    PyObject *text = PyUnicode_FromString(name);
    bool done = function != NULL && text != NULL &&
                clp_tracer_select(window, function, text, false);

    Py_XDECREF(text);
    return done;
}

/* ---- timing ---- */

/* Inserts a time, so that the times stay in order. */
static void insert(int64_t *times, int count, int64_t ticks)
{
    for (; count > 0 && times[count - 1] > ticks; count--)
        times[count] = times[count - 1];
    times[count] = ticks;
}

/* The function that a run calls, and which of its lines are watched: `count` lines from `line` on. `function`
 * is borrowed; NULL: nothing is called. */
struct callee {
    PyObject *function;
    int line, count;
};

/* The counters of the callee's watched lines in the calling thread. NULL: there are none. */
static const struct clp_cell *watched(const struct clp_recorder *recorder, struct callee callee)
{
    const struct clp_thread *thread = clp_thread_here;
    const struct clp_selected *selected =
        callee.function != NULL
            ? clp_recorder_selected(recorder, PyFunction_GetCode(callee.function))
            : NULL;

    if (selected == NULL || thread == NULL || !clp_engine_has_block(thread, selected->function))
        return NULL;
    const struct clp_block *block = thread->blocks[selected->function];
    int32_t first_line = recorder->engine.functions.items[selected->function].first_line;
    return &block->cells[clp_line_map_find(block->map, first_line + callee.line)];
}

/* Times one run. False with an exception set. */
static bool time_run(const struct clp_recorder *recorder, PyObject *function, PyObject *numbers,
                     struct callee callee, struct clp_timing *timing)
{
    const struct clp_cell *cells = watched(recorder, callee);
    uint64_t before[CLP_TIMING_LINES];

    for (int i = 0; cells != NULL && i < callee.count; i++)
        before[i] = cells[i].self;
    uint64_t start = clp_clock_read(&recorder->clock);
    PyObject *result = PyObject_CallFunctionObjArgs(function, numbers, callee.function, NULL);
    timing->ticks = (int64_t)(clp_clock_read(&recorder->clock) - start);
    for (int i = 0; i < CLP_TIMING_LINES; i++)
        timing->lines[i] = cells != NULL && i < callee.count ? (int64_t)(cells[i].self - before[i]) : 0;
    Py_XDECREF(result);
    return result != NULL;
}

/* A loop that is timed, and what it calls. */
struct subject {
    PyObject *function; /* borrowed */
    struct callee callee;
    struct clp_timing *quartiles;
    int64_t ticks[ROUNDS], lines[CLP_TIMING_LINES][ROUNDS]; /* ascending */
};

#define MOST_SUBJECTS 17 /* all loops of two copies of the program */

/* What is timed together, because the machine may be slower a moment later. */
struct subjects {
    struct subject items[MOST_SUBJECTS];
    size_t count;
    bool failed; /* an exception is set */
    int64_t work[ROUNDS]; /* what the fixed work of pace.h took, ascending */
};

/* Adds the loop of this name in `names`. If there is a callee, the loop is bare, and calls the function of that name in
 * `names`. */
static void add_subject(struct subjects *subjects, PyObject *bare, PyObject *names, const char *loop,
                        const char *callee, int line, int count, struct clp_timing *quartiles)
{
    struct subject *subject = &subjects->items[subjects->count++];

    subject->function = get(callee != NULL ? bare : names, loop);
    subject->callee = (struct callee){callee != NULL ? get(names, callee) : NULL, line, count};
    subject->quartiles = quartiles;
    subjects->failed |= subject->function == NULL || (callee != NULL && subject->callee.function == NULL);
}

/* Adds all loops of a copy of the program. */
static void add_subjects(struct subjects *subjects, PyObject *bare, PyObject *names, struct clp_timings *timings)
{
    add_subject(subjects, bare, names, "lines", NULL, 0, 0, &timings->lines);
    add_subject(subjects, bare, names, "turns", NULL, 0, 0, &timings->turns);
    add_subject(subjects, bare, names, "calls", "callee", CALLEE_LINE, 4, &timings->calls);
    add_subject(subjects, bare, names, "calls", "quick", 0, 0, &timings->quick);
    add_subject(subjects, bare, names, "drains", "source", YIELD_LINE, 1, &timings->drains);
    add_subject(subjects, bare, names, "globals", NULL, 0, 0, &timings->globals);
    add_subject(subjects, bare, names, "merges", NULL, 0, 0, &timings->merges);
}

/* Adds the loops that only a tracer needs that is called for all code. */
static void add_foreign_subjects(struct subjects *subjects, PyObject *bare, PyObject *names,
                                 struct clp_timings *timings)
{
    add_subject(subjects, bare, names, "strays", NULL, 0, 0, &timings->strays);
    if (names == bare)
        add_subject(subjects, bare, bare, "dives", "deep", 0, 0, &timings->dives);
}

/* Runs each subject once. `round` -1 makes the counters, and is ignored. */
static void run_round(const struct clp_recorder *recorder, PyObject *numbers, struct subjects *subjects, int round)
{
    struct clp_timing timing;

    for (size_t i = 0; i < subjects->count && !subjects->failed; i++) {
        struct subject *subject = &subjects->items[i];
        subjects->failed = !time_run(recorder, subject->function, numbers, subject->callee, &timing);
        if (round < 0 || subjects->failed)
            continue;
        insert(subject->ticks, round, timing.ticks);
        for (int j = 0; j < CLP_TIMING_LINES; j++)
            insert(subject->lines[j], round, timing.lines[j]);
    }
    if (round >= 0 && !subjects->failed)
        insert(subjects->work, round, (int64_t)clp_pace_work(recorder));
}

/* Sets the first quartiles of several rounds, because other processes may have the processor for a while. In each round
 * all subjects take their turn: what differs between them is not that the machine was quicker at one time than at another.
 * False with an exception set. */
static bool time_all(const struct clp_recorder *recorder, PyObject *numbers, struct subjects *subjects)
{
    for (int round = -1; round < ROUNDS; round++)
        run_round(recorder, numbers, subjects, round);
    for (size_t i = 0; i < subjects->count && !subjects->failed; i++) {
        const struct subject *subject = &subjects->items[i];
        subject->quartiles->ticks = subject->ticks[QUARTER];
        for (int j = 0; j < CLP_TIMING_LINES; j++)
            subject->quartiles->lines[j] = subject->lines[j][QUARTER];
    }
    return !subjects->failed;
}

/* What each of `events` events takes, in 1/256 ticks, if together they take `ticks`. */
static int64_t each(int64_t ticks, int64_t events)
{
    return ticks * CLP_CORRECTION_ONE / events;
}

static int64_t not_negative(int64_t cost)
{
    return cost > 0 ? cost : 0;
}

bool clp_calibration_begin(struct clp_calibration *calibration, struct clp_code_window *window)
{
    struct subjects subjects = {.count = 0};
    PyObject *numbers = PyObject_CallFunction((PyObject *)&PyRange_Type, "i", CALLS);
    PyObject *bare = numbers != NULL ? load(window) : NULL;

    *calibration = (struct clp_calibration){.numbers = numbers, .bare = bare};
    if (bare != NULL) {
        add_subjects(&subjects, bare, bare, &calibration->times);
        add_foreign_subjects(&subjects, bare, bare, &calibration->times);
        add_subject(&subjects, bare, bare, "moves", NULL, 0, 0, &calibration->moves);
        if (time_all(window->recorder, calibration->numbers, &subjects)) {
            calibration->bare_work = subjects.work[QUARTER];
            return true;
        }
    }
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

/* What was added to each iteration of a loop over the numbers, less the foreign events of the loop itself.
 * 1/256 ticks. */
static int64_t added(const struct clp_timing *with, const struct clp_timing *without, int64_t foreign)
{
    return each(with->ticks - without->ticks, CALLS) - 2 * foreign;
}

/* What an average instruction takes, in 1/256 ticks. */
static int64_t instruction(const struct clp_timings *without)
{
    return each(without->lines.ticks, CALLS * INSTRUCTIONS_IN_LOOP);
}

static int64_t at_least(int64_t least, int64_t value)
{
    return value > least ? value : least;
}

/* Finds the costs of calls, from a call of a function with four like lines and of one with three such lines and
 * a `return`: what the body takes beyond its line events, and what is left for the caller. On 3.10 the line
 * events of a loop are the dearest, so the cost of a line, which is measured in a loop, is more than the
 * callee's lines take; but no interval may cost less than nothing. */
static void find_calls(const struct clp_timings *with, const struct clp_timings *without,
                       struct clp_costs *costs)
{
    const int64_t *lines = with->calls.lines;
    int64_t middle = (lines[1] + lines[2]) / 2;

    costs->enter.after = at_least(-costs->line, each(lines[0] - middle, CALLS));
    costs->leave.before = at_least(-costs->line - (costs->enter.after < 0 ? costs->enter.after : 0),
                                   each(lines[3] - middle, CALLS));
    int64_t outside = not_negative(added(&with->calls, &without->calls, costs->foreign) -
                                   4 * costs->line - costs->enter.after - costs->leave.before);
    costs->enter.before = outside / 2;
    costs->leave.after = outside - costs->enter.before;
    costs->last_line = added(&with->quick, &without->quick, costs->foreign) - 3 * costs->line -
                       costs->enter.after - costs->enter.before;
}

/* Finds the costs of suspensions, from the values of a generator: its line begins behind one resumption and
 * ends behind the next. */
static void find_suspensions(const struct clp_timings *with, const struct clp_timings *without,
                             struct clp_costs *costs)
{
    int64_t inside = each(with->drains.lines[0], CALLS) - costs->line -
                     YIELD_INSTRUCTIONS * instruction(without);
    int64_t outside = not_negative(added(&with->drains, &without->drains, costs->foreign) -
                                   2 * costs->line - inside);

    costs->resume = (struct clp_cost){outside / 2, inside / 2};
    costs->suspend = (struct clp_cost){inside - inside / 2, outside - outside / 2};
}

/* Finds the cost of a line, and what the interpreter's own events change in it. Probes change nothing: they are
 * instructions of their own. An iteration of lines(), globals() and merges() has the events of a loop and of eight lines;
 * of the eight lines all of globals() begin with an instruction that would be adapted, and the ways of all of merges()
 * meet again. */
static void find_line(const struct clp_timings *with, const struct clp_timings *without, bool has_probes,
                      struct clp_costs *costs)
{
    int64_t lines = with->lines.ticks - without->lines.ticks;

    costs->line = not_negative(each(lines - (with->turns.ticks - without->turns.ticks),
                                    CALLS * (LINES_IN_LOOP - TURN_LINES)));
    if (CLP_CODE_ADAPTS && !has_probes)
        costs->unadapted = not_negative(each(with->globals.ticks - without->globals.ticks - lines,
                                             CALLS * (LINES_IN_LOOP - 1)));
    if (CLP_LINES_MERGE && !has_probes)
        costs->merge = not_negative(each(with->merges.ticks - without->merges.ticks - lines,
                                         CALLS * (LINES_IN_LOOP - 1)));
}

/* Finds the costs of a tracer that is called for all code, from bare functions that run beside it. A call of quick() has
 * QUICK_LINES line events and that of its return; a resumption of source() has SOURCE_LINES and that of its suspension.
 * Each of these is charged by itself. Calls within calls are dearer; what a call is charged lies between. */
static void find_foreign(const struct clp_timings *beside, const struct clp_timings *without, struct clp_costs *costs)
{
    costs->foreign = not_negative(each(beside->lines.ticks - without->lines.ticks, CALLS * LINES_IN_LOOP));
    int64_t flat = added(&beside->quick, &without->quick, costs->foreign) - (QUICK_LINES + 1) * costs->foreign;
    int64_t deep = added(&beside->dives, &without->dives, costs->foreign) / DEEP_CALLS - 2 * costs->foreign;
    costs->foreign_call = not_negative((flat + deep) / 2);
    costs->foreign_resume = not_negative(added(&beside->drains, &without->drains, costs->foreign) -
                                         (SOURCE_LINES + 1) * costs->foreign);
}

/* What was measured once. */
struct measured {
    struct clp_costs costs;
    int64_t work;   /* ticks of the fixed work of pace.h beside the costs */
    double changed; /* how far it lies apart from the work beside the bare runs; 0 where these do not matter */
};

/* How far two numbers lie apart, as a share of the larger one. */
static double apart(double one, double other)
{
    double larger = one > other ? one : other, smaller = one > other ? other : one;

    return larger > 0 ? (larger - smaller) / larger : 0;
}

static bool measure(const struct clp_recorder *recorder, const struct clp_calibration *calibration,
                    struct measured *into)
{
    bool for_all = recorder->tracer == &clp_tracer_settrace; /* is the tracer called for all code? */
    struct clp_costs *costs = &into->costs;
    struct clp_timings with, beside;
    struct subjects subjects = {.count = 0};

    add_subjects(&subjects, calibration->bare, calibration->selected, &with);
    add_subjects(&subjects, calibration->bare, calibration->bare, &beside);
    if (for_all) {
        add_foreign_subjects(&subjects, calibration->bare, calibration->selected, &with);
        add_foreign_subjects(&subjects, calibration->bare, calibration->bare, &beside);
    }
    if (!time_all(recorder, calibration->numbers, &subjects))
        return false;
    const struct clp_timings *without = for_all ? &calibration->times : &beside;
    *costs = (struct clp_costs){
        .work = RETURN_INSTRUCTIONS * instruction(without),
        .instruction = not_negative(each(calibration->moves.ticks - calibration->times.turns.ticks,
                                         CALLS * MOVES_IN_LOOP)),
    };
    if (for_all) {
        find_foreign(&beside, without, costs);
        costs->stray = not_negative(each(with.strays.ticks - without->strays.ticks, CALLS));
    }
    find_line(&with, without, recorder->tracer->install != NULL, costs);
    find_calls(&with, without, costs);
    find_suspensions(&with, without, costs);
    into->work = subjects.work[QUARTER];
    into->changed = for_all ? apart((double)into->work, (double)calibration->bare_work) : 0;
    return true;
}

/* How far two estimates of the same costs lie apart, as a share of the larger one. */
static double spread(const struct clp_costs *one, const struct clp_costs *other)
{
    double a = (double)(one->line + one->enter.before + one->enter.after + one->leave.before +
                        one->leave.after);
    double b = (double)(other->line + other->enter.before + other->enter.after +
                        other->leave.before + other->leave.after);

    return apart(a, b);
}

/* Is the first one the better measurement? It was made at the pace of the bare runs, or is nearer to it than the other;
 * of two such the quicker one is, which less has disturbed. */
static bool is_better(const struct measured *one, const struct measured *other)
{
    if (one->changed > SAME_PACE || other->changed > SAME_PACE)
        return one->changed < other->changed;
    return one->costs.line < other->costs.line;
}

/* Measures twice, and again if the pace has changed since the bare runs. Sets *found to the best, and *error to how far
 * the first two lie apart. */
static bool find_best(const struct clp_recorder *recorder, const struct clp_calibration *calibration,
                      struct measured *found, double *error)
{
    struct measured next;

    if (!measure(recorder, calibration, found) || !measure(recorder, calibration, &next))
        return false;
    *error = spread(&found->costs, &next.costs);
    for (int more = 0;; more++) {
        if (is_better(&next, found))
            *found = next;
        if (found->changed <= SAME_PACE || more == MORE_TRIES)
            return true;
        if (!measure(recorder, calibration, &next))
            return false;
    }
}

bool clp_calibration_measure(struct clp_calibration *calibration, struct clp_code_window *window,
                             struct clp_costs *costs, double *error)
{
    struct measured found;

    calibration->selected = load(window);
    if (calibration->selected == NULL)
        return false;
    bool done = select_named(window, calibration->selected, "lines") &&
                select_named(window, calibration->selected, "turns") &&
                select_named(window, calibration->selected, "globals") &&
                select_named(window, calibration->selected, "merges") &&
                select_named(window, calibration->selected, "strays") &&
                select_named(window, calibration->selected, "callee") &&
                select_named(window, calibration->selected, "quick") &&
                select_named(window, calibration->selected, "source") &&
                find_best(window->recorder, calibration, &found, error);
    if (!done)
        return false;
    *costs = found.costs;
    calibration->work = (uint64_t)found.work;
    return true;
}
