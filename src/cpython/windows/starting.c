/* SPDX-License-Identifier: MIT */
#include "starting.h"
#include "calibrate.h"
#include "cpython/tracers/code_copies.h"
#include "cpython/tracers/offering.h"
#include "cpython/recorder/pace.h"
#include "cpython/recorder/recorder.h"
#include "profile/profile.h"
#include "selecting.h"
#include "cpython/tracers/tracers.h"
#include "cpython/compat/turn.h"

static bool start_one(struct clp_recorder *recorder, const struct clp_tracer *tracer)
{
    if (!clp_tracer_begin(recorder, tracer))
        return false;
    recorder->tracer = tracer;
    return true;
}

static bool start_first(struct clp_recorder *recorder)
{
    for (size_t i = 0; clp_tracers[i] != NULL; i++) {
        PyErr_Clear();
        if (start_one(recorder, clp_tracers[i]))
            return true;
    }
    return false;
}

static bool start_named(struct clp_recorder *recorder, const char *name)
{
    if (name == NULL || strcmp(name, "auto") == 0)
        return start_first(recorder);
    const struct clp_tracer *tracer = clp_tracer_named(name);
    return tracer != NULL && start_one(recorder, tracer);
}

/* The calibration, in memory of its own: the child of a fork in another thread has the window, but not this
 * thread's stack. */
struct trial {
    struct clp_code_window window;
    struct clp_calibration calibration;
    struct clp_costs costs;
};

/* Starts the tracer, unless a signal handler, for example, has started it meanwhile. */
static bool start_chosen(struct clp_recorder *recorder, const char *name)
{
    if (recorder->tracer == NULL)
        recorder->awake = start_named(recorder, name);
    return recorder->tracer != NULL;
}

static bool measure(struct trial *trial, const char *name)
{
    struct clp_recorder *recorder = trial->window.recorder;
    bool done = clp_pace_make(recorder) && clp_calibration_begin(&trial->calibration, &trial->window) &&
                start_chosen(recorder, name) && clp_code_window_open(&trial->window) &&
                clp_calibration_measure(&trial->calibration, &trial->window, &trial->costs,
                                        &recorder->cost_error);

    clp_calibration_clear(&trial->calibration);
    return done;
}

bool clp_starting_is_alone(const struct clp_recorder *recorder, const struct clp_view *view)
{
    const struct clp_thread *threads = recorder->engine.threads;

    return recorder->windows == 1 && recorder->engine.functions.count == view->count &&
           threads == clp_thread_here && (threads == NULL || threads->next == NULL);
}

/* Measures the tracer. The window is cleared before the engine forgets what the window has counted. Where the
 * engine cannot forget that, the functions of the calibration stay in it, and belong to no window. */
static bool try_out(struct clp_recorder *recorder, struct trial *trial, const char *name)
{
    clp_code_window_init(&trial->window, recorder, false, false, 0, false, 0);
    bool done = measure(trial, name), alone = clp_starting_is_alone(recorder, &trial->window.view);
    clp_code_window_clear(&trial->window);
    if (!done && recorder->windows == 0)
        recorder->tracer = NULL; /* the tracer's events have stopped, because the window is closed */
    if (done && alone)
        clp_recorder_forget(recorder);
    if (done) {
        clp_engine_set_costs(&recorder->engine, &trial->costs);
        clp_pace_begin(recorder, trial->calibration.work);
    }
    return done;
}

bool clp_tracer_start(struct clp_recorder *recorder, const char *name)
{
    recorder->tracers = clp_tracers;
    clp_code_copies_give(clp_tracer_use_copy);
    bool counts_only = name != NULL && strcmp(name, CLP_TRACER_LIGHT) == 0; /* its events have no time to be charged */
    if (counts_only || clp_turn_is_nested()) /* nested: the interrupted caller will measure */
        return start_chosen(recorder, name);
    struct trial *trial = clp_mem_alloc(&recorder->mem, 1, sizeof *trial);
    if (trial == NULL) {
        PyErr_NoMemory();
        return false;
    }
    bool done = try_out(recorder, trial, name);
    clp_mem_free(&recorder->mem, trial, 1, sizeof *trial);
    return done;
}
