/* SPDX-License-Identifier: MIT */
#include "code_window.h"
#include "block_places.h"
#include "change.h"
#include "cpython/recorder/compile_calls.h"
#include "cpython/recorder/cpu_time.h"
#include "cpython/recorder/device_time.h"
#include "device_modules.h"
#include "engine/devices.h"
#include "cpython/recorder/ranges.h"
#include "cpython/recorder/gc_calls.h"
#include "cpython/recorder/line_log.h"
#include "cpython/compat/inner_code.h"
#include "cpython/compat/raised.h"
#include "modules.h"
#include "cpython/recorder/moments.h"
#include "cpython/recorder/program_counters.h"
#include "cpython/recorder/tally_reads.h"
#include "cpython/recorder/tensor_reads.h"
#include "cpython/tracers/offering.h"
#include "cpython/tracers/cython_monitoring.h"
#include "cpython/tracers/settrace.h"
#include "readers.h"
#include "cpython/recorder/selected.h"
#include "engine/called.h"
#include "engine/parts.h"
#include "settling.h"
#include "cpython/compat/turn.h"
#include "cpython/tracers/counting.h"

static uint64_t now_of(const struct clp_code_window *window)
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

static bool set_counting(struct clp_code_window *window);

/* Makes room for a window that is to count. A window with a limit counts alone, and gives way to any other: what one
 * event adds to the counters cannot be told apart. False: the window itself gives way. */
static bool take_place(struct clp_code_window *window)
{
    struct clp_recorder *recorder = window->recorder;
    struct clp_code_window *limited = recorder->limit.window;

    window->displaced |= window->limit != NULL && recorder->views.counting != 0;
    if (window->displaced)
        return false;
    if (limited != NULL) {
        limited->displaced = true;
        (void)set_counting(limited);
    }
    if (window->limit != NULL)
        recorder->limit = (struct clp_limit){window->limit, window->owner, window, &window->view};
    return true;
}

/* Looks whether functions run that a window begins to count. */
static void look_for_running(struct clp_recorder *recorder)
{
    if (recorder->tracer == &clp_tracer_settrace)
        clp_recorder_look_for_running(recorder, NULL);
    else
        recorder->opened_late = true;
}

/* Lets the view count, or stop, as the window's flags say, and begins or ends the reading of memory with that. */
static bool set_counting(struct clp_code_window *window)
{
    bool wanted = window->open && !window->shut && !window->paused && !window->displaced;
    bool counted = window->view.counting != 0;
    struct clp_recorder *recorder = window->recorder;

    if (wanted == counted || (wanted && !take_place(window)))
        return true;
    if (wanted && window->view.count != 0)
        look_for_running(recorder);
    if (wanted && window->memory)
        clp_recorder_begin_reading(recorder);
    clp_counting_look(recorder);
    if (window->cpu)
        clp_cpu_time_look(recorder);
    if (window->called)
        clp_called_look(&recorder->engine, now_of(window));
    if (window->devices & CLP_DEVICE_TIME)
        clp_device_time_look();
    if (window->devices & CLP_DEVICE_READS)
        clp_tensor_reads_look();
    bool done = is_done(clp_view_set_counting(&window->view, wanted, now_of(window)));
    if ((window->devices & CLP_DEVICE_TIME) && (window->view.counting != 0) != counted)
        clp_device_time_counts(counted ? -1 : 1);
    if (window->memory && window->view.counting == 0)
        clp_recorder_end_reading(recorder);
    if (recorder->limit.window == window && window->view.counting == 0)
        recorder->limit = (struct clp_limit){0};
    clp_ranges_catch_up();
    return done;
}

/* ---- one change at a time ---- */

static void clear(struct clp_code_window *window);

bool clp_code_window_is_there(const struct clp_code_window *window)
{
    if (window->recorder != NULL && !window->gone)
        return true;
    PyErr_SetString(PyExc_ValueError, "clineprof: this Profiler is closed; make another one");
    return false;
}

bool clp_code_window_hold(struct clp_code_window *window)
{
    if (!clp_code_window_is_there(window))
        return false;
    window->held++;
    clp_change_begin(window->recorder);
    return true;
}

void clp_code_window_release(struct clp_code_window *window)
{
    struct clp_recorder *recorder = window->recorder;
    struct clp_raised raised = clp_raised_take();

    if (window->held == 1 && window->gone)
        clear(window);
    else
        window->held--;
    clp_change_end(recorder);
    clp_raised_give(raised);
}

/* ---- functions ---- */

bool clp_chooser_takes(const struct clp_chooser *chooser, PyCodeObject *code, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8(name);

    if (text != NULL)
        return chooser->chooses(chooser->data, code, text);
    PyErr_Clear(); /* a name with half a surrogate pair is chosen by nobody */
    return false;
}

bool clp_code_window_wants_within(const struct clp_code_window *window, PyCodeObject *code, PyObject *name)
{
    return !clp_inner_code_is_part_of_line(code) &&
           (window->within == NULL || clp_chooser_takes(window->within, code, name));
}

static struct clp_site *site_of(const struct clp_code_window *window, uint32_t function)
{
    return window->recorder->sites[function]; /* the site was made when the function was added */
}

bool clp_code_window_add(struct clp_code_window *window, uint32_t function, bool known)
{
    struct clp_recorder *recorder = window->recorder;
    struct clp_audience *audience;

    if (clp_view_has(&window->view, function))
        return true;
    if (clp_recorder_site(recorder, function) == NULL)
        return false;
    clp_counting_look_at(recorder, function);
    bool done = is_done(clp_view_add(&window->view, function, now_of(window)));
    if (!clp_view_has(&window->view, function))
        return false;
    audience = recorder->views.audiences[function];
    audience->slow = recorder->watches_calls || recorder->engine.functions.items[function].generator;
    if (window->open)
        site_of(window, function)->open++;
    if (known && window == recorder->live_window)
        clp_live_note_own(&recorder->live, function);
    return done;
}

static bool add_version(struct clp_code_window *window, struct clp_function wanted, uint32_t *number)
{
    struct clp_recorder *recorder = window->recorder;
    size_t before = recorder->engine.functions.count;

    wanted.text = clp_source_cache_of_function(&recorder->texts, &recorder->engine.functions, &wanted);
    recorder->live.foreign = window != recorder->live_window;
    return is_done(clp_functions_add(&recorder->engine.functions, &wanted, number)) &&
           clp_code_window_add(window, *number, recorder->engine.functions.count == before);
}

bool clp_code_window_add_function(struct clp_code_window *window, PyObject *file, PyObject *name,
                                  const struct clp_function *wanted, uint32_t *number)
{
    PyObject *file_bytes = PyUnicode_AsEncodedString(file, "utf-8", "backslashreplace");
    PyObject *name_bytes = PyUnicode_AsEncodedString(name, "utf-8", "backslashreplace");
    struct clp_function named = *wanted;
    bool done = false;

    if (file_bytes != NULL && name_bytes != NULL) {
        named.file = PyBytes_AS_STRING(file_bytes);
        named.name = PyBytes_AS_STRING(name_bytes);
        done = add_version(window, named, number);
    }
    Py_XDECREF(file_bytes);
    Py_XDECREF(name_bytes);
    return done;
}

/* Forgets the function objects of a function that no window has. */
static void forget_functions(const struct clp_recorder *recorder, uint32_t function)
{
    if (recorder->views.audiences[function]->views == 0)
        Py_CLEAR(recorder->sites[function]->functions);
}

static bool remove_function(struct clp_code_window *window, uint32_t function)
{
    clp_counting_look_at(window->recorder, function);
    bool done = is_done(clp_view_remove(&window->view, function, now_of(window)));

    if (clp_view_has(&window->view, function))
        return false;
    if (window->open && --site_of(window, function)->open == 0)
        done = clp_tracer_settle(window->recorder, function) && done;
    forget_functions(window->recorder, function);
    return done;
}

bool clp_code_window_remove(struct clp_code_window *window, uint32_t function)
{
    if (!clp_code_window_hold(window))
        return false;
    bool done = !clp_view_has(&window->view, function) || remove_function(window, function);
    clp_code_window_release(window);
    return done;
}

/* ---- opening and closing ---- */

/* Counts this window, which was just opened or closed, in the sites of all its functions at once. */
static void count_open(const struct clp_code_window *window)
{
    for (size_t i = 0; i < window->view.count; i++)
        if (window->view.items[i].selected) {
            uint32_t *open = &site_of(window, window->view.items[i].function)->open;
            *open = window->open ? *open + 1 : *open - 1;
        }
}

/* Gives functions back their own code for which this was the last open window. */
static bool settle_closed(const struct clp_code_window *window)
{
    bool done = true;

    for (size_t i = 0; i < window->view.count; i++) {
        uint32_t function = window->view.items[i].function;
        if (window->view.items[i].selected && site_of(window, function)->open == 0)
            done = clp_tracer_settle(window->recorder, function) && done;
    }
    return done;
}

/* Exchanges the code of functions for which this is the first open window, and of those that hold such code. */
static bool settle_open(const struct clp_code_window *window)
{
    struct clp_recorder *recorder = window->recorder;
    bool done = true;

    recorder->opening = true;
    recorder->holders_noted = false;
    for (size_t i = 0; i < window->view.count && done; i++)
        if (window->view.items[i].selected)
            done = clp_tracer_settle(recorder, window->view.items[i].function);
    recorder->opening = false;
    return done;
}

static bool open_window(struct clp_code_window *window)
{
    if (window->open)
        return true;
    clp_readers_watch(window->recorder);
    if (!clp_tracer_wake(window->recorder))
        return false;
    clp_counting_wake(window->recorder);
    clp_gc_calls_watch(window->recorder);
    window->open = true;
    window->displaced = false;
    window->recorder->open++;
    count_open(window);
    bool done = settle_open(window);
    return set_counting(window) && done;
}

bool clp_code_window_open(struct clp_code_window *window)
{
    struct clp_recorder *recorder = window->recorder;
    bool done = false;

    if (recorder != NULL)
        clp_modules_watch(recorder);
    if (recorder != NULL && (window->devices & CLP_DEVICE_TIME))
        clp_device_modules_meet_loaded();
    clp_program_counters_look();
    if (!clp_turn_begin())
        return false;
    if (clp_code_window_hold(window)) {
        done = open_window(window);
        clp_code_window_release(window);
    }
    clp_turn_end();
    return done && clp_cython_begin(recorder);
}

/* Stops counting, and leaves code as it is. */
static bool stop_counting(struct clp_code_window *window)
{
    window->open = false;
    count_open(window);
    window->recorder->may_rest |= --window->recorder->open == 0;
    return set_counting(window);
}

bool clp_code_window_close(struct clp_code_window *window)
{
    if (!clp_code_window_hold(window))
        return false;
    bool done = true;
    if (window->open) {
        done = stop_counting(window);
        done = settle_closed(window) && done;
    }
    clp_code_window_release(window);
    return done;
}

static bool set_flag(struct clp_code_window *window, bool *flag, bool value)
{
    if (!clp_code_window_hold(window))
        return false;
    *flag = value;
    bool done = set_counting(window);
    clp_code_window_release(window);
    return done;
}

bool clp_code_window_set_gate(struct clp_code_window *window, bool open)
{
    return set_flag(window, &window->shut, !open);
}

bool clp_code_window_set_pause(struct clp_code_window *window, bool paused)
{
    return set_flag(window, &window->paused, paused);
}

void clp_code_window_end(struct clp_code_window *window)
{
    if (!window->open || !clp_code_window_hold(window))
        return;
    if (!stop_counting(window))
        PyErr_Clear();
    if (window->devices & CLP_DEVICE_TIME)
        clp_device_time_end();
    clp_code_window_release(window);
}

/* ---- beginning and end ---- */

void clp_code_window_init(struct clp_code_window *window, struct clp_recorder *recorder, bool memory,
                          bool cpu, uint32_t tallies, bool called, uint32_t devices)
{
    *window = (struct clp_code_window){.recorder = recorder, .memory = memory};
    clp_view_init(&window->view, &recorder->views, false);
    if (recorder->windows++ == 0)
        clp_compile_calls_watch(recorder);
    recorder->with_memory += memory;
    window->cpu = cpu && clp_cpu_time_start(recorder);
    window->tallies = clp_tally_reads_start(recorder, tallies);
    window->called = called && clp_engine_add_parts(&recorder->engine, CLP_PART_CALLED);
    recorder->with_called += window->called;
    window->devices = devices != 0 && clp_engine_add_parts(&recorder->engine, CLP_PART_DEVICES) ? devices : 0;
    if (window->devices & CLP_DEVICE_TIME)
        clp_device_time_start(recorder);
    if (window->devices & CLP_DEVICE_READS)
        clp_tensor_reads_start(recorder);
    window->outside = clp_device_time_outside();
    clp_program_counters_join(recorder);
}

void clp_code_window_log_lines(struct clp_code_window *window)
{
    clp_line_log_start(window->recorder);
    window->line_log = true;
}

static void give_up(struct clp_code_window *window)
{
    struct clp_recorder *recorder = window->recorder;

    clp_view_clear(&window->view, now_of(window));
    recorder->with_memory -= window->memory;
    if (window->cpu)
        clp_cpu_time_stop(recorder);
    if (window->ranges)
        clp_ranges_stop(recorder);
    clp_tally_reads_stop(recorder, window->tallies);
    if (window->line_log)
        clp_line_log_stop(recorder);
    recorder->with_called -= window->called;
    if (window->devices & CLP_DEVICE_TIME)
        clp_device_time_stop();
    if (window->devices & CLP_DEVICE_READS)
        clp_tensor_reads_stop(recorder);
    if (window == recorder->live_window)
        recorder->live_window = NULL;
    *window = (struct clp_code_window){0};
    if (--recorder->windows == 0) {
        clp_compile_calls_leave();
        clp_modules_unwatch();
        clp_cython_end(recorder);
        clp_blocks_stop(recorder); /* the program's audit hooks may make windows again */
    }
}

static void clear(struct clp_code_window *window)
{
    if (window->open) {
        (void)stop_counting(window);
        (void)settle_closed(window);
    }
    for (size_t i = 0; i < window->view.count; i++)
        if (window->view.items[i].selected)
            (void)remove_function(window, window->view.items[i].function);
    PyErr_Clear();
    give_up(window);
}

void clp_code_window_clear(struct clp_code_window *window)
{
    struct clp_raised raised = clp_raised_take();

    if (clp_code_window_hold(window)) {
        window->gone = true;
        clp_code_window_release(window);
    }
    clp_raised_give(raised);
}
