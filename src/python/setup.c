/* SPDX-License-Identifier: MIT */
#include "setup.h"
#include "epochs.h"
#include "statements.h"
#include "tracer.h"

/* The process's, made for the first profiler. It stays: code objects, other threads' ends and the
 * interpreter's slot for code data point to it. */
static struct clp_recorder *process_recorder;

struct clp_recorder *clp_setup_recorder(void)
{
    return process_recorder;
}

/* What is read already, for whoever has no wish. */
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

static bool set_up_heap(struct clp_profiler *self, const struct clp_wishes *wishes)
{
    struct clp_recorder *recorder = self->window.recorder;
    Py_ssize_t interval = wishes->heap != 0 ? wishes->heap : CLP_HEAP_INTERVAL;

    if (wishes->heap == 0 && wishes->leaks == NULL)
        return true;
    if (wishes->heap < 0 || wishes->memory == CLP_MEMORY_OFF) {
        PyErr_SetString(PyExc_ValueError, wishes->memory != CLP_MEMORY_OFF
                                              ? "heap is a number of bytes, not negative"
                                              : "heap and leaks need memory");
        return false;
    }
    self->has_heap = clp_epochs_start(recorder, (uint64_t)interval, wishes->leaks);
    if (self->has_heap && recorder->with_heap == 1)
        recorder->epochs.limit = wishes->leak_limit;
    return self->has_heap;
}

/* Statements are found where the probes are put in. */
static bool set_up_statements(struct clp_recorder *recorder, bool wanted)
{
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
    if ((recorder->statements != NULL) == wanted)
        return true;
    Py_CLEAR(recorder->statements);
    if (wanted)
        recorder->statements = clp_statements_start();
    return !wanted || recorder->statements != NULL;
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

static bool set_up_tracer(struct clp_recorder *recorder, const char *name)
{
    if (recorder->tracer == NULL)
        return clp_tracer_start(recorder, name);
    if (!is_other_tracer(recorder, name))
        return true;
    if (clp_tracer_named(name) == NULL)
        PyErr_Format(PyExc_ValueError, "CPython %d.%d has no tracer '%s'", PY_MAJOR_VERSION,
                     PY_MINOR_VERSION, name);
    else
        PyErr_Format(PyExc_RuntimeError,
                     "clineprof: this process records with the %s tracer, which its first Profiler "
                     "chose; it cannot be %s as well", recorder->tracer->name, name);
    return false;
}

/* Borrowed; NULL with an exception set. */
static struct clp_recorder *recorder_of_process(void)
{
    struct clp_recorder *recorder = process_recorder;

    if (recorder != NULL)
        return recorder;
    recorder = PyMem_RawMalloc(sizeof *recorder);
    if (recorder == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    if (!clp_recorder_init(recorder)) {
        PyMem_RawFree(recorder);
        return NULL;
    }
    process_recorder = recorder;
    return recorder;
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

bool clp_setup_profiler(struct clp_profiler *self, const struct clp_wishes *wishes)
{
    const char *refusal = clp_compat_refusal();

    if (refusal != NULL) {
        PyErr_Format(PyExc_RuntimeError, "clineprof: %s", refusal);
        return false;
    }
    struct clp_recorder *recorder = recorder_of_process();
    if (recorder == NULL)
        return false;
    note_start(self, recorder);
    if (!set_up_memory(recorder, wishes->memory) || !set_up_tracer(recorder, wishes->tracer) ||
        !set_up_statements(recorder, wishes->by_statement))
        return false;
    clp_window_init(&self->window, recorder,
                    wishes->memory != CLP_MEMORY_OFF && recorder->engine.with_rss);
    self->texts = PyDict_New();
    return self->texts != NULL && set_up_heap(self, wishes) &&
           (!wishes->started || clp_window_open(&self->window));
}

void clp_setup_undo(struct clp_profiler *self)
{
    struct clp_recorder *recorder = self->window.recorder;

    if (recorder == NULL)
        return;
    if (self->has_heap)
        clp_epochs_stop(recorder);
    self->has_heap = false;
    clp_window_clear(&self->window);
}
