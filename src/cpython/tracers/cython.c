/* SPDX-License-Identifier: MIT */
#include "cython.h"
#include "cpython/recorder/callers.h"
#include "cpython/recorder/recorder.h"
#include "cpython/recorder/events.h"

/* ---- which functions there are ---- */

/* 0 with an exception set. */
static uint64_t key_of(PyObject *file, int32_t first_line)
{
    Py_ssize_t bytes;
    const char *text = PyUnicode_AsUTF8AndSize(file, &bytes);

    return text != NULL ? clp_hash_text((uint64_t)first_line, text, (size_t)bytes) : 0;
}

struct clp_cython_function *clp_cython_at(const struct clp_recorder *recorder, PyObject *file, int32_t first_line)
{
    uint64_t key = key_of(file, first_line), found;

    if (key == 0)
        PyErr_Clear();
    if (!clp_hashmap_get(&recorder->cython.functions, key, &found))
        return NULL;
    struct clp_cython_function *function = (void *)(uintptr_t)found;
    return function->first_line == first_line && PyUnicode_Compare(function->file, file) == 0 ? function : NULL;
}

struct clp_cython_function *clp_cython_find(const struct clp_recorder *recorder, PyObject *code)
{
    if (!PyCode_Check(code))
        return NULL;
    return clp_cython_at(recorder, ((PyCodeObject *)code)->co_filename, ((PyCodeObject *)code)->co_firstlineno);
}

bool clp_cython_add(struct clp_recorder *recorder, PyObject *file, int32_t first_line, uint32_t number)
{
    struct clp_cython_function *function = clp_mem_alloc(&recorder->mem, 1, sizeof *function);
    uint64_t key = key_of(file, first_line);

    if (function != NULL && key != 0 &&
        clp_hashmap_set(&recorder->cython.functions, key, (uintptr_t)function) == CLP_OK) {
        *function = (struct clp_cython_function){
            .file = Py_NewRef(file),
            .first_line = first_line,
            .selected = {.recorder = recorder, .function = number, .audience = recorder->views.audiences[number],
                         .identity = ++recorder->copies << 1 | 1},
        };
        return true;
    }
    clp_mem_free(&recorder->mem, function, 1, sizeof *function);
    if (!PyErr_Occurred())
        PyErr_NoMemory();
    return false;
}

/* ---- the events ---- */

/* Takes what surrounds an event off the line that runs, or off the first line of a body that has just begun. */
static void charge(const struct clp_recorder *recorder, struct clp_thread *thread)
{
    struct clp_activation *top = thread->top;
    int64_t cost = recorder->cython.cost;

    if (top->cell != &thread->outside || top == thread->stack) {
        clp_engine_add_cost(thread, cost);
        return;
    }
    thread->correction += cost;
    top->entry_cost += cost;
}

static bool is_on_top(const struct clp_thread *thread, const struct clp_selected *selected)
{
    return thread->top->code == selected->identity;
}

/* Notes the body that a call of the engine has put on top; NULL: it put none. */
static bool note(struct clp_thread *thread, const struct clp_selected *selected, struct clp_activation *activation)
{
    clp_recorder_note_code(activation, selected);
    clp_callers_note(selected->recorder, thread);
    return activation != NULL;
}

void clp_cython_enter(struct clp_cython_function *function, bool resumes)
{
    const struct clp_selected *selected = &function->selected;
    struct clp_recorder *recorder = selected->recorder;
    struct clp_thread *thread = clp_recorder_counts(selected) ? clp_recorder_thread(recorder) : NULL;

    if (thread == NULL)
        return;
    charge(recorder, thread);
    if (!resumes) {
        clp_recorder_enter(selected, thread, NULL);
        return;
    }
    struct clp_moment moment = clp_recorder_begin(recorder, thread);
    (void)note(thread, selected, clp_engine_resume(thread, selected->function, NULL, moment.now));
    clp_recorder_end(thread, moment);
}

/* Puts the body on top, if it is not: bodies above it have ended untold, or it ran before it was selected. False: drop
 * the event. */
static bool align(struct clp_thread *thread, const struct clp_selected *selected)
{
    struct clp_recorder *recorder = selected->recorder;

    if (is_on_top(thread, selected))
        return true;
    if (!clp_recorder_counts(selected))
        return false;
    uint64_t now = clp_clock_read(&recorder->clock);
    return note(thread, selected, clp_engine_align(thread, selected->function, NULL, now));
}

/* A line often comes several times in a row, as that of a `for` does at each step: once to get the next value, once to
 * assign it. It counts once, as in Python. */
void clp_cython_line(struct clp_cython_function *function, int32_t line)
{
    const struct clp_selected *selected = &function->selected;
    struct clp_recorder *recorder = selected->recorder;
    struct clp_thread *thread = clp_recorder_thread(recorder);

    if (thread == NULL || !align(thread, selected))
        return;
    charge(recorder, thread);
    if (clp_engine_current_line(thread) != line)
        clp_recorder_line(recorder, thread, line);
}

void clp_cython_leave(const struct clp_cython_function *function)
{
    const struct clp_selected *selected = &function->selected;
    struct clp_thread *thread = clp_thread_here;

    if (thread == NULL || !clp_engine_has_block(thread, selected->function) ||
        thread->blocks[selected->function]->running == 0 || !align(thread, selected))
        return;
    charge(selected->recorder, thread);
    clp_recorder_leave(thread);
}
