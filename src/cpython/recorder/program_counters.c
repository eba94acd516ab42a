/* SPDX-License-Identifier: MIT */
#include "program_counters.h"
#include "cpython/compat/raised.h"
#include "engine/parts.h"
#include "engine/resident.h"
#include "engine/tallies.h"
#include "formats/live/live.h"
#include "os/signals.h"
#include "tally_reads.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

#define BUDGET_NANOS 5e6 /* what reads behind short lines may take at once */
#define FEW 8 /* reads that teach what a read costs: some are interrupted */

struct counter {
    PyObject *read;  /* owned; NULL: there is no counter */
    PyObject *fault; /* owned: the text of the exception by which `read` failed; it is not called again */
    char title[CLP_TALLY_NAME];
    double every; /* seconds; CLP_COUNTER_BY_COST */
    int64_t last; /* its value when it was last read */
    struct clp_read_cost cost;
    uint32_t reads; /* so far, up to FEW */
    struct clp_tally_budget budget;
    struct clp_counter_unread unread;
};

static struct {
    struct counter items[CLP_TALLY_COUNTERS];
    bool reading; /* what a function of the program does has events of its own */
    /* The line that ended, by its function and its place in a block, and which counters are read for it. */
    struct clp_thread *due;
    uint32_t function, cell;
    bool wanted[CLP_TALLY_COUNTERS];
    struct clp_read_cost cost; /* of what is done for all of them together */
} counters;

void clp_program_counters_titles(char titles[CLP_TALLY_COUNTERS][CLP_TALLY_NAME])
{
    for (size_t i = 0; i < CLP_TALLY_COUNTERS; i++)
        memcpy(titles[i], counters.items[i].title, CLP_TALLY_NAME);
}

struct clp_counter_unread clp_program_counters_unread(size_t counter)
{
    return counters.items[counter].unread;
}

void clp_program_counters_fill(struct clp_live_header *header)
{
    clp_program_counters_titles(header->counters);
    for (size_t i = 0; i < CLP_TALLY_COUNTERS; i++)
        header->unread[i] = counters.items[i].unread;
}

PyObject *clp_program_counters_fault(size_t counter)
{
    return counters.items[counter].fault;
}

static bool is_read(const struct counter *counter)
{
    return counter->read != NULL && counter->fault == NULL;
}

static uint64_t cost_of(const struct counter *counter)
{
    return counters.cost.least + counter->cost.least;
}

/* The ticks of the shortest line behind which the counter is read. */
static uint64_t ticks_of(const struct clp_recorder *recorder, const struct counter *counter)
{
    if (counter->every == CLP_COUNTER_BY_COST)
        return clp_tallies_shortest(&counter->budget, cost_of(counter));
    return clp_clock_ticks(&recorder->clock, counter->every * 1e9);
}

static void fill_budget(struct clp_tally_budget *budget, const struct clp_clock *clock)
{
    uint64_t most = clp_clock_ticks(clock, BUDGET_NANOS);

    if (budget->most == 0)
        *budget = (struct clp_tally_budget){.left = most, .most = most};
}

/* Says to all events from which length on lines are looked at. */
static void set_span(struct clp_recorder *recorder)
{
    recorder->counter_span = UINT64_MAX;
    for (size_t i = 0; i < CLP_TALLY_COUNTERS; i++) {
        const struct counter *counter = &counters.items[i];
        if (is_read(counter) && ticks_of(recorder, counter) < recorder->counter_span)
            recorder->counter_span = ticks_of(recorder, counter);
    }
    clp_tally_reads_set_span(recorder);
}

void clp_program_counters_join(struct clp_recorder *recorder)
{
    bool any = false;

    for (size_t i = 0; i < CLP_TALLY_COUNTERS; i++) {
        fill_budget(&counters.items[i].budget, &recorder->clock);
        any |= is_read(&counters.items[i]);
    }
    if (any && clp_engine_add_parts(&recorder->engine, CLP_PART_TALLIES))
        set_span(recorder);
}

/* ---- reading ---- */

/* Turns a number into an integer. False with an exception set. */
static bool whole(PyObject *number, int64_t *value)
{
    if (PyFloat_Check(number)) {
        double rounded = round(PyFloat_AS_DOUBLE(number));
        if (rounded >= -0x1p63 && rounded < 0x1p63) {
            *value = (int64_t)rounded;
            return true;
        }
        PyErr_Format(PyExc_OverflowError, "%R is no number of 64 bits", number);
        return false;
    }
    *value = PyLong_AsLongLong(number);
    return *value != -1 || !PyErr_Occurred();
}

/* Asks the program. False with an exception set. */
static bool ask(PyObject *read, int64_t *value)
{
    if (PyCapsule_CheckExact(read)) {
        int64_t (*function)(void) = NULL;
        void *pointer = PyCapsule_GetPointer(read, PyCapsule_GetName(read));
        memcpy(&function, &pointer, sizeof function);
        if (function != NULL)
            *value = function();
        return function != NULL;
    }
    PyObject *number = PyObject_CallNoArgs(read);
    bool done = number != NULL && whole(number, value);
    Py_XDECREF(number);
    return done;
}

static struct clp_raised for_program; /* an exception that the program gets as soon as it goes on */

static int raise_it(void *nothing)
{
    (void)nothing;
    clp_raised_give(for_program);
    for_program = (struct clp_raised){0};
    return -1;
}

/* The exception that is set is the program's, which does not run just now. Where it waits for one already, this one is
 * lost. */
static void raise_later(void)
{
    struct clp_raised raised = clp_raised_take();

    if (for_program.exception == NULL && Py_AddPendingCall(raise_it, NULL) == 0)
        for_program = raised;
    else
        clp_raised_drop(&raised);
}

/* Takes the exception by which a counter's function failed. One that ends the program, such as SystemExit in the main
 * thread, is the program's. */
static void give_up(struct counter *counter)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception) && gettid() == getpid()) {
        raise_later();
        return;
    }
    struct clp_raised raised = clp_raised_take();
    PyObject *exception = clp_raised_exception(&raised);
    counter->fault = PyUnicode_FromFormat("%s: %S", Py_TYPE(exception)->tp_name, exception);
    if (counter->fault == NULL)
        counter->fault = PyUnicode_FromString("an exception that cannot be shown");
    PyErr_Clear();
    clp_raised_drop(&raised);
}

static bool read_one(struct counter *counter, int64_t *value)
{
    PyObject *read = Py_NewRef(counter->read); /* it may replace itself */
    bool done = ask(read, value);

    if (!done)
        give_up(counter);
    Py_DECREF(read);
    return done;
}

/* The cell of the line that ended; NULL: there is none any more. */
static struct clp_tally_cell *due_cell(const struct clp_thread *thread, uint32_t function, uint32_t cell)
{
    struct clp_block *block = function < thread->block_room ? thread->blocks[function] : NULL;

    return block != NULL && block->tallies != NULL && cell < block->line_count ? &block->tallies[cell] : NULL;
}

/* Reads the counters that are wanted, and learns what that costs. Returns the ticks that it took. */
static uint64_t read_all(struct clp_thread *thread, uint32_t function, uint32_t cell, uint64_t *waited)
{
    const struct clp_clock *clock = &clp_recorder_of(thread)->clock;
    uint64_t all = 0;

    for (size_t i = 0; i < CLP_TALLY_COUNTERS; i++) {
        struct counter *counter = &counters.items[i];
        uint64_t start = clp_clock_read(clock);
        int64_t value;
        if (!counters.wanted[i] || !is_read(counter) || !read_one(counter, &value))
            continue;
        uint64_t took = clp_clock_read(clock) - start;
        all += took;
        *waited += took - clp_read_cost_of(&counter->cost, took);
        counter->reads += counter->reads < FEW;
        struct clp_tally_cell *into = due_cell(thread, function, cell); /* Python code has run */
        clp_tallies_note(into, (enum clp_tally)(CLP_TALLY_COUNTER + i), 1, &value, &counter->last);
        if (into != NULL && value > into->most[i])
            into->most[i] = value;
    }
    return all;
}

/* From now on short lines are not looked at, or they are again. */
static void note_unread(struct clp_recorder *recorder, size_t i)
{
    struct counter *counter = &counters.items[i];
    uint64_t now = clp_clock_read(&recorder->clock);

    if (!counter->budget.spent)
        counter->unread.ticks += now - counter->unread.since;
    counter->unread.since = counter->budget.spent ? now : 0;
    if (recorder->live.header != NULL)
        recorder->live.header->unread[i] = counter->unread;
    set_span(recorder);
}

/* Is the counter to be read behind a line of so many ticks? */
static bool wants(struct clp_recorder *recorder, size_t i, uint64_t ticks)
{
    struct counter *counter = &counters.items[i];

    if (!is_read(counter))
        return false;
    if (counter->every != CLP_COUNTER_BY_COST)
        return ticks >= ticks_of(recorder, counter);
    bool spent = counter->budget.spent;
    bool wanted = counter->reads < FEW || clp_tallies_afford(&counter->budget, ticks, cost_of(counter));
    if (spent != counter->budget.spent)
        note_unread(recorder, i);
    return wanted;
}

bool clp_program_counters_note(struct clp_thread *thread, uint64_t ticks)
{
    const struct clp_activation *top = thread->top;
    bool any = false;

    if (counters.reading || top->cell == &thread->outside)
        return false;
    for (size_t i = 0; i < CLP_TALLY_COUNTERS; i++) {
        counters.wanted[i] = wants(clp_recorder_of(thread), i, ticks);
        any |= counters.wanted[i];
    }
    if (!any)
        return false;
    counters.due = thread;
    counters.function = top->block->function;
    counters.cell = (uint32_t)clp_engine_line_index(top);
    return true;
}

bool clp_program_counters_read(struct clp_thread *thread, uint64_t *waited)
{
    uint64_t inside = 0;

    if (counters.due != thread)
        return false;
    const struct clp_clock *clock = &clp_recorder_of(thread)->clock;
    uint64_t start = clp_clock_read(clock);
    struct clp_raised kept = clp_raised_take();
    struct clp_signals signals;
    counters.due = NULL;
    /* Handlers of signals run between two instructions, and what they raise is the program's. Those of signals that came
     * during the line run now, and the others when the program goes on. */
    if (PyErr_CheckSignals() == 0) {
        clp_signals_hold(&signals);
        counters.reading = true;
        inside = read_all(thread, counters.function, counters.cell, waited);
        counters.reading = false;
        clp_signals_release(&signals);
    } else {
        raise_later();
    }
    clp_tally_reads_skip(thread);
    clp_raised_give(kept);
    uint64_t around = clp_clock_read(clock) - start - inside;
    *waited += around - clp_read_cost_of(&counters.cost, around);
    return true;
}

void clp_program_counters_look(void)
{
    int64_t value;

    for (size_t i = 0; i < CLP_TALLY_COUNTERS; i++)
        if (is_read(&counters.items[i]) && read_one(&counters.items[i], &value))
            counters.items[i].last = value;
}

/* ---- adding ---- */

/* The place for a counter of this title; NULL with an exception set. */
static struct counter *place_for(const char *title)
{
    for (size_t i = 0; i < CLP_TALLY_COUNTERS; i++)
        if (counters.items[i].read == NULL || strcmp(counters.items[i].title, title) == 0)
            return &counters.items[i];
    PyErr_Format(PyExc_ValueError, "clineprof: at most %d counters", CLP_TALLY_COUNTERS);
    return NULL;
}

bool clp_program_counters_add(struct clp_recorder *recorder, const char *title, PyObject *read, double every)
{
    int64_t value;

    if (strlen(title) >= CLP_TALLY_NAME) {
        PyErr_Format(PyExc_ValueError, "clineprof: the counter's name and unit are longer than %d bytes: %s",
                     CLP_TALLY_NAME - 1, title);
        return false;
    }
    if (!ask(read, &value))
        return false;
    struct counter *counter = place_for(title);
    if (counter == NULL)
        return false;
    (void)strcpy(counter->title, title);
    counter->every = every;
    counter->last = value;
    Py_CLEAR(counter->fault);
    Py_XSETREF(counter->read, Py_NewRef(read));
    counter->cost = (struct clp_read_cost){0};
    counter->budget = (struct clp_tally_budget){0};
    counter->unread = (struct clp_counter_unread){0};
    counter->reads = 0;
    if (recorder == NULL)
        return true;
    clp_program_counters_join(recorder);
    if (recorder->live.header != NULL) {
        clp_program_counters_fill(recorder->live.header);
        recorder->live.header->parts |= recorder->engine.parts & CLP_PART_TALLIES;
    }
    return true;
}
