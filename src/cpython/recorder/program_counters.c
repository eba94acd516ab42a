/* SPDX-License-Identifier: MIT */
#include "program_counters.h"
#include "cpython/compat/raised.h"
#include "engine/parts.h"
#include "engine/tallies.h"
#include "formats/live/live.h"
#include "os/signals.h"
#include "tally_reads.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

struct counter {
    PyObject *read;  /* owned; NULL: there is no counter */
    PyObject *fault; /* owned: the text of the exception by which `read` failed; it is not called again */
    char title[CLP_TALLY_NAME];
    double every; /* seconds */
    int64_t last; /* its value when it was last read */
};

static struct {
    struct counter items[CLP_TALLY_COUNTERS];
    bool reading; /* what a function of the program does has events of its own */
    /* The line that ended, by its function and its place in a block, and for how many ticks it ran. */
    struct clp_thread *due;
    uint32_t function, cell;
    uint64_t ticks;
} counters;

void clp_program_counters_titles(char titles[CLP_TALLY_COUNTERS][CLP_TALLY_NAME])
{
    for (size_t i = 0; i < CLP_TALLY_COUNTERS; i++)
        memcpy(titles[i], counters.items[i].title, CLP_TALLY_NAME);
}

PyObject *clp_program_counters_fault(size_t counter)
{
    return counters.items[counter].fault;
}

static bool is_read(const struct counter *counter)
{
    return counter->read != NULL && counter->fault == NULL;
}

static uint64_t ticks_of(const struct clp_recorder *recorder, const struct counter *counter)
{
    return clp_clock_ticks(&recorder->clock, counter->every * 1e9);
}

void clp_program_counters_join(struct clp_recorder *recorder)
{
    uint64_t span = UINT64_MAX;

    for (size_t i = 0; i < CLP_TALLY_COUNTERS; i++) {
        const struct counter *counter = &counters.items[i];
        if (is_read(counter) && ticks_of(recorder, counter) < span)
            span = ticks_of(recorder, counter);
    }
    if (span == UINT64_MAX || !clp_engine_add_parts(&recorder->engine, CLP_PART_TALLIES))
        return;
    recorder->counter_span = span;
    clp_tally_reads_set_span(recorder);
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

/* Reads the counters that want lines of this length. */
static void read_all(struct clp_thread *thread, uint32_t function, uint32_t cell, uint64_t ticks)
{
    const struct clp_recorder *recorder = clp_recorder_of(thread);

    for (size_t i = 0; i < CLP_TALLY_COUNTERS; i++) {
        struct counter *counter = &counters.items[i];
        int64_t value;
        if (!is_read(counter) || ticks < ticks_of(recorder, counter) || !read_one(counter, &value))
            continue;
        struct clp_tally_cell *into = due_cell(thread, function, cell); /* Python code has run */
        clp_tallies_note(into, (enum clp_tally)(CLP_TALLY_COUNTER + i), 1, &value, &counter->last);
        if (into != NULL && value > into->most[i])
            into->most[i] = value;
    }
}

bool clp_program_counters_note(struct clp_thread *thread, uint64_t ticks)
{
    const struct clp_activation *top = thread->top;
    bool wanted = false;

    if (counters.reading || top->cell == &thread->outside)
        return false;
    for (size_t i = 0; i < CLP_TALLY_COUNTERS; i++)
        wanted |= is_read(&counters.items[i]) && ticks >= ticks_of(clp_recorder_of(thread), &counters.items[i]);
    if (!wanted)
        return false;
    counters.due = thread;
    counters.function = top->block->function;
    counters.cell = (uint32_t)clp_engine_line_index(top);
    counters.ticks = ticks;
    return true;
}

bool clp_program_counters_read(struct clp_thread *thread)
{
    if (counters.due != thread)
        return false;
    struct clp_raised kept = clp_raised_take();
    struct clp_signals signals;
    counters.due = NULL;
    /* Handlers of signals run between two instructions, and what they raise is the program's. Those of signals that came
     * during the line run now, and the others when the program goes on. */
    if (PyErr_CheckSignals() == 0) {
        clp_signals_hold(&signals);
        counters.reading = true;
        read_all(thread, counters.function, counters.cell, counters.ticks);
        counters.reading = false;
        clp_signals_release(&signals);
    } else {
        raise_later();
    }
    clp_tally_reads_skip(thread);
    clp_raised_give(kept);
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
    if (recorder == NULL)
        return true;
    clp_program_counters_join(recorder);
    if (recorder->live.header != NULL) {
        clp_program_counters_titles(recorder->live.header->counters);
        recorder->live.header->parts |= recorder->engine.parts & CLP_PART_TALLIES;
    }
    return true;
}
