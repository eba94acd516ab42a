/* SPDX-License-Identifier: MIT */
#include "setup.h"
#include "engine/devices.h"
#include "engine/tallies.h"
#include "bridge/console.h"
#include "cpython/memory/tensors.h"
#include "cpython/recorder/gc_calls.h"
#include "cpython/windows/around_costs.h"
#include "cpython/recorder/heap_table.h"
#include "cpython/recorder/moments.h"
#include "cpython/recorder/ranges.h"
#include "cpython/recorder/recorder.h"
#include "cpython/windows/starting.h"
#include "cpython/code/statements.h"
#include "cpython/tracers/tracers.h"
#include "cpython/compat/turn.h"
#include "torch_names.h"

/* The recorder of the process, made for the first profiler. It is never freed: code objects, the ends of other
 * threads, and the interpreter's slot for code data point to it. */
static struct clp_recorder *process_recorder;

struct clp_recorder *clp_process_recorder(void)
{
    return process_recorder;
}

/* The mode of memory for a profiler that has no wish: the one that is read already, if there is one. */
static enum clp_memory usual_mode(void)
{
    const struct clp_recorder *recorder = process_recorder;

    return recorder != NULL && recorder->with_memory != 0 ? recorder->proc.mode : CLP_MEMORY_RSS;
}

bool clp_setup_read_memory(PyObject *object, enum clp_memory *mode)
{
    if (object == NULL || object == Py_None || PyBool_Check(object)) {
        *mode = object == Py_False ? CLP_MEMORY_OFF : usual_mode();
        return true;
    }
    const char *name = PyUnicode_Check(object) ? PyUnicode_AsUTF8(object) : "";
    if (name == NULL)
        return false;
    *mode = clp_memory_named(name);
    if (*mode != CLP_MEMORY_MODES)
        return true;
    PyErr_Format(PyExc_ValueError, "memory is one of 'off', 'rss', 'anon', 'uss', 'pss', 'tree', True "
                                   "or False, not %R", object);
    return false;
}

bool clp_setup_read_counters(const char *names, uint32_t *tallies)
{
    *tallies = clp_tally_sources_named(names);
    if (*tallies != CLP_TALLY_SOURCE_UNKNOWN)
        return true;
    PyErr_Format(PyExc_ValueError, "counters are names of 'io', 'faults' and 'switches' with commas between them, "
                                   "not '%s'", names);
    return false;
}

/* What the wishes want of enum clp_device_source. */
static uint32_t devices_of(const struct clp_wishes *wishes, struct clp_recorder *recorder)
{
    uint32_t devices = wishes->cuda != 0 ? CLP_DEVICE_TIME : 0;

    if (wishes->tensors != 0)
        devices |= CLP_DEVICE_TENSORS | (clp_tensors_use(&recorder->engine) ? 0 : CLP_DEVICE_READS);
    return devices;
}

/* Is the process's tracer, or the one that is wished for, one that only counts? */
static bool counts_only(const struct clp_wishes *wishes)
{
    const struct clp_recorder *recorder = process_recorder;

    if (recorder != NULL && recorder->tracer != NULL)
        return strcmp(recorder->tracer->name, CLP_TRACER_LIGHT) == 0;
    return wishes->tracer != NULL && strcmp(wishes->tracer, CLP_TRACER_LIGHT) == 0;
}

static bool set_up_heap(struct clp_profiler *self, const struct clp_wishes *wishes)
{
    struct clp_recorder *recorder = self->window.recorder;
    Py_ssize_t interval = wishes->heap != 0 ? wishes->heap : CLP_HEAP_INTERVAL;

    if (wishes->heap == 0 && wishes->leaks == NULL)
        return true;
    bool lacks_memory = wishes->memory == CLP_MEMORY_OFF && !counts_only(wishes);
    if (wishes->heap < 0 || lacks_memory) {
        PyErr_SetString(PyExc_ValueError, !lacks_memory
                                              ? "heap is a number of bytes, not negative"
                                              : "heap and leaks need memory");
        return false;
    }
    self->has_heap = clp_heap_table_start(recorder, (uint64_t)interval, wishes->leaks);
    if (self->has_heap && recorder->with_heap == 1)
        recorder->epochs.limit = wishes->leak_limit;
    return self->has_heap;
}

/* Sets whether statements count or lines. Statements are found by the helper (statements.h) where probes are
 * put in; without a helper each line counts. False with an exception set. */
static bool set_up_statements(struct clp_recorder *recorder, PyObject *helper)
{
    bool wanted = helper != NULL;

    if (wanted && recorder->tracer->install == NULL) {
        PyErr_Format(PyExc_ValueError,
                     "--by-statement needs the probe tracer (CPython 3.11 and newer), not %s",
                     recorder->tracer->name);
        return false;
    }
    if (recorder->windows != 0 && (recorder->statements != NULL) != wanted) {
        PyErr_Format(PyExc_RuntimeError,
                     "clineprof: another Profiler of this process counts by %s; so must this one",
                     wanted ? "line" : "statement");
        return false;
    }
    if ((recorder->statements != NULL) != wanted)
        Py_XSETREF(recorder->statements, Py_XNewRef(helper));
    return true;
}

static bool set_up_memory(struct clp_recorder *recorder, enum clp_memory memory)
{
    if (memory == CLP_MEMORY_OFF)
        return true;
    if (recorder->with_memory != 0 && recorder->proc.mode != memory) {
        PyErr_Format(PyExc_RuntimeError,
                     "clineprof: another Profiler of this process measures memory as '%s', not '%s'",
                     clp_memory_name(recorder->proc.mode), clp_memory_name(memory));
        return false;
    }
    return clp_recorder_open_memory(recorder, memory);
}

static bool is_other_tracer(const struct clp_recorder *recorder, const char *name)
{
    return name != NULL && strcmp(name, "auto") != 0 && strcmp(name, recorder->tracer->name) != 0;
}

static bool start_tracer(struct clp_recorder *recorder, const char *name)
{
    if (recorder->tracer == NULL && !clp_tracer_start(recorder, name))
        return false;
    if (!is_other_tracer(recorder, name))
        return true;
    if (clp_tracer_named(name) != NULL)
        PyErr_Format(PyExc_RuntimeError,
                     "clineprof: this process records with the %s tracer, which its first Profiler "
                     "chose; it cannot be %s as well", recorder->tracer->name, name);
    return false;
}

/* Makes the recorder, unless there is one by now. False with an exception set. */
static bool make_recorder(void)
{
    struct clp_recorder *recorder = PyMem_RawMalloc(sizeof *recorder);

    if (recorder == NULL) {
        PyErr_NoMemory();
        return false;
    }
    bool done = clp_recorder_learn(recorder);
    if (done && process_recorder == NULL && (done = clp_recorder_init(recorder)))
        process_recorder = recorder;
    if (process_recorder == recorder)
        clp_gc_calls_find(recorder);
    if (process_recorder != recorder)
        PyMem_RawFree(recorder);
    return done;
}

static void note_start(struct clp_profiler *self, const struct clp_recorder *recorder)
{
    self->started = recorder->started;
    self->start_nanos = recorder->start_nanos;
    if (recorder->tracer == NULL)
        return;
    self->started = clp_clock_wall();
    self->start_nanos = clp_clock_monotonic();
}

/* Fits the wishes to a tracer that only counts: waiting comes with its samples, and resident memory is not read. False
 * with an exception set: something is wished for that has to be looked at with each line. */
static bool fit_to_counts(struct clp_wishes *wishes)
{
    const char *wish = wishes->native != 0                          ? "native"
                       : wishes->nvtx != 0                          ? "nvtx"
                       : wishes->line_log != 0                      ? "line_log"
                       : wishes->tallies != 0                       ? "counters"
                       : wishes->tensors != 0                       ? "tensors"
                       : wishes->cuda != 0                          ? "cuda"
                       : wishes->context != NULL                    ? "context"
                       : clp_epochs_go_by_name(wishes->leaks)       ? "leaks=FUNCTION"
                       : wishes->names_memory                       ? "memory"
                                                                    : NULL;

    if (!counts_only(wishes))
        return true;
    wishes->memory = CLP_MEMORY_OFF;
    wishes->cpu = 1;
    if (wish != NULL)
        PyErr_Format(PyExc_ValueError, "clineprof: %s looks at each line as it runs, and the tracer light does not", wish);
    return wish == NULL;
}

/* Prepares the recorder, with memory and its tracer, whoever has made it. This runs Python code, but none after
 * the tracer has started. */
static bool prepare_recorder(struct clp_profiler *self, const struct clp_wishes *wishes)
{
    if (process_recorder == NULL && !make_recorder())
        return false;
    note_start(self, process_recorder);
    return set_up_memory(process_recorder, wishes->memory) &&
           start_tracer(process_recorder, wishes->tracer) &&
           (wishes->native == 0 || clp_around_start(process_recorder));
}

/* Makes the profiler one of the recorder's, if their wishes agree at this moment. */
static bool join(struct clp_profiler *self, const struct clp_wishes *wishes, PyObject *statements)
{
    struct clp_recorder *recorder = process_recorder;

    if (!set_up_memory(recorder, wishes->memory) || !set_up_statements(recorder, statements))
        return false;
    clp_code_window_init(&self->window, recorder,
                         wishes->memory != CLP_MEMORY_OFF && (recorder->engine.parts & CLP_PART_MEMORY) != 0,
                         wishes->cpu != 0, wishes->tallies, wishes->native != 0 && clp_around_is_carried(recorder),
                         devices_of(wishes, recorder));
    if (wishes->line_log != 0)
        clp_code_window_log_lines(&self->window);
    self->window.ranges = wishes->nvtx != 0 && clp_ranges_start(recorder);
    self->context = Py_XNewRef(wishes->context);
    self->window.limit = self->context;
    self->window.owner = (PyObject *)self;
    self->window.view.limited = self->context != NULL;
    if (!clp_code_window_hold(&self->window))
        return false;
    bool done = set_up_heap(self, wishes);
    clp_code_window_release(&self->window);
    return done;
}

const char *clp_setup_few_tensors(void)
{
    static bool told;
    bool again = told;

    told = true;
    return again || clp_tensors_are_there() ? NULL
           : "only tensors on CUDA devices are counted, from PyTorch's statistics at the ends of lines of 100 us or "
             "more; start the program with ckernprof --tensors to count each allocation on each device";
}

static void say_few_tensors(const struct clp_wishes *wishes)
{
    const char *few = wishes->tensors != 0 ? clp_setup_few_tensors() : NULL;

    if (few != NULL)
        clp_console_complain("clineprof", few);
}

static bool set_up(struct clp_profiler *self, struct clp_wishes *wishes)
{
    PyObject *statements = wishes->by_statement ? clp_statements_start() : NULL;
    bool done = false;

    if ((!wishes->by_statement || statements != NULL) && clp_turn_begin()) {
        done = fit_to_counts(wishes) && prepare_recorder(self, wishes) && join(self, wishes, statements);
        clp_turn_end();
    }
    Py_XDECREF(statements);
    if (done)
        say_few_tensors(wishes);
    if (done && wishes->torch_names != 0)
        clp_torch_names_start(self);
    return done && (!wishes->started || clp_code_window_open(&self->window));
}

/* Sets whose text is kept. False with an exception set. */
static bool set_up_source(struct clp_profiler *self, const char *name)
{
    self->source = name != NULL ? clp_kept_source_named(name) : CLP_SOURCE_FUNCTIONS;
    if (self->source != CLP_SOURCE_MODES)
        return true;
    PyErr_Format(PyExc_ValueError, "source is 'functions', 'files' or 'none', not '%s'", name);
    return false;
}

bool clp_setup_profiler(struct clp_profiler *self, struct clp_wishes *wishes)
{
    const char *refusal = clp_compat_refusal();

    if (!set_up_source(self, wishes->source))
        return false;
    if (refusal == NULL)
        return set_up(self, wishes);
    PyErr_Format(PyExc_RuntimeError, "clineprof: %s", refusal);
    return false;
}

void clp_setup_undo(struct clp_profiler *self)
{
    struct clp_recorder *recorder = self->window.recorder;

    clp_torch_names_stop(self);
    if (recorder == NULL)
        return;
    if (self->has_heap)
        clp_heap_table_stop(recorder);
    self->has_heap = false;
    clp_code_window_clear(&self->window);
}
