/* SPDX-License-Identifier: MIT */
#include "window.h"
#include "blocks.h"
#include "greenlets.h"
#include "tracer.h"

static uint64_t now_of(const struct clp_window *window)
{
    return clp_clock_read(&window->recorder->clock);
}

static bool is_done(clp_status status)
{
    if (status != CLP_OK)
        PyErr_NoMemory();
    return status == CLP_OK;
}

/* ---- counting ---- */

/* Where the two differ, memory was not read or is not read any more. */
static bool set_counting(struct clp_window *window)
{
    bool wanted = window->open && !window->shut, counted = window->view.counting != 0;
    struct clp_recorder *recorder = window->recorder;

    if (wanted == counted)
        return true;
    recorder->opened_late |= wanted && window->view.count != 0;
    if (wanted && window->memory)
        clp_recorder_add_reader(recorder);
    bool done = is_done(clp_view_set_counting(&window->view, wanted, now_of(window)));
    if (window->memory && window->view.counting == 0)
        clp_recorder_drop_reader(recorder);
    return done;
}

/* ---- functions ---- */

static struct clp_site *site_of(const struct clp_window *window, uint32_t function)
{
    return &window->recorder->sites[function]; /* made when it was added */
}

bool clp_window_add(struct clp_window *window, uint32_t function, bool known)
{
    struct clp_recorder *recorder = window->recorder;
    struct clp_audience *audience;

    if (clp_view_has(&window->view, function))
        return true;
    if (clp_recorder_site(recorder, function) == NULL ||
        !is_done(clp_view_add(&window->view, function, now_of(window))))
        return false;
    audience = recorder->views.audiences[function];
    audience->slow = recorder->watches_calls || recorder->engine.functions.items[function].generator;
    if (window->open)
        site_of(window, function)->open++;
    if (known && window == recorder->live_window)
        clp_live_note_own(&recorder->live, function);
    return true;
}

bool clp_window_add_function(struct clp_window *window, const struct clp_function *wanted,
                             uint32_t *number)
{
    struct clp_recorder *recorder = window->recorder;
    size_t before = recorder->engine.functions.count;

    recorder->live.foreign = window != recorder->live_window;
    if (clp_functions_add(&recorder->engine.functions, wanted, number) != CLP_OK) {
        PyErr_NoMemory();
        return false;
    }
    return clp_window_add(window, *number, recorder->engine.functions.count == before);
}

static bool close_one(struct clp_window *window, uint32_t function)
{
    return --site_of(window, function)->open > 0 ||
           clp_tracer_close(window->recorder, function);
}

/* Nobody has it: what hangs on function objects goes. */
static void forget_functions(const struct clp_window *window, uint32_t function)
{
    if (window->recorder->views.audiences[function]->views == 0)
        Py_CLEAR(site_of(window, function)->functions);
}

bool clp_window_remove(struct clp_window *window, uint32_t function)
{
    if (!clp_view_has(&window->view, function))
        return true;
    bool done = is_done(clp_view_remove(&window->view, function, now_of(window)));
    done = (!window->open || close_one(window, function)) && done;
    forget_functions(window, function);
    return done;
}

/* ---- opening and closing ---- */

/* Exchanging code may run code of the program's, which may select; so nothing is kept over it. */
static bool open_all(struct clp_window *window)
{
    bool done = true;

    for (size_t i = 0; i < window->view.count; i++) {
        uint32_t function = window->view.items[i].function;
        if (window->view.items[i].selected && site_of(window, function)->open++ == 0 && done)
            done = clp_tracer_open(window->recorder, function);
    }
    return done;
}

static bool close_all(struct clp_window *window)
{
    bool done = true;

    for (size_t i = 0; i < window->view.count; i++)
        if (window->view.items[i].selected)
            done = close_one(window, window->view.items[i].function) && done;
    return done;
}

bool clp_window_open(struct clp_window *window)
{
    if (window->open)
        return true;
    if (!clp_tracer_wake(window->recorder))
        return false;
    window->open = true;
    window->recorder->open++;
    bool done = open_all(window);
    return set_counting(window) && done;
}

static bool stop_counting(struct clp_window *window)
{
    window->open = false;
    window->recorder->open--;
    return set_counting(window);
}

bool clp_window_close(struct clp_window *window)
{
    if (!window->open)
        return true;
    bool done = stop_counting(window);
    done = close_all(window) && done;
    if (window->recorder->open == 0)
        clp_tracer_rest(window->recorder);
    return done;
}

bool clp_window_set_gate(struct clp_window *window, bool open)
{
    window->shut = !open;
    return set_counting(window);
}

void clp_window_end(struct clp_window *window)
{
    if (!window->open)
        return;
    if (!stop_counting(window))
        PyErr_Clear();
    if (window->recorder->open == 0)
        clp_tracer_rest(window->recorder);
}

/* ---- beginning and end ---- */

void clp_window_init(struct clp_window *window, struct clp_recorder *recorder, bool memory)
{
    *window = (struct clp_window){.recorder = recorder, .memory = memory};
    clp_view_init(&window->view, &recorder->views, false);
    recorder->windows++;
    recorder->with_memory += memory;
}

void clp_window_clear(struct clp_window *window)
{
    struct clp_recorder *recorder = window->recorder;
    PyObject *type, *value, *trace;

    PyErr_Fetch(&type, &value, &trace);
    if (!clp_window_close(window))
        PyErr_Clear();
    for (size_t i = 0; i < window->view.count; i++)
        if (!clp_window_remove(window, window->view.items[i].function))
            PyErr_Clear();
    clp_view_clear(&window->view, now_of(window));
    if (--recorder->windows == 0) {
        clp_blocks_stop(recorder);
        clp_greenlets_unwatch(recorder);
    }
    recorder->with_memory -= window->memory;
    if (window == recorder->live_window)
        recorder->live_window = NULL;
    *window = (struct clp_window){0};
    PyErr_Restore(type, value, trace);
}
