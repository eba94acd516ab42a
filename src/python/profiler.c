/* SPDX-License-Identifier: MIT */
#include "profiler.h"
#include "../core/snapshot.h"
#include "prepare.h"
#include "select.h"
#include "statements.h"
#include "texts.h"
#include "tracer.h"
#include <unistd.h>

struct profiler {
    PyObject_HEAD
    struct clp_recorder *recorder; /* owned, but never freed once code objects point to it */
    PyObject *texts;               /* owned dict */
    const char *tracer_name;       /* borrowed from the tracer's table */
};

static struct profiler *cast(PyObject *object)
{
    return (struct profiler *)object;
}

/* Statements are found where the probes are put in. */
static bool set_up_statements(struct clp_recorder *recorder)
{
    if (recorder->tracer->install == NULL) {
        PyErr_Format(PyExc_ValueError,
                     "--by-statement needs the probe tracer (CPython 3.11 and newer), not %s",
                     recorder->tracer->name);
        return false;
    }
    recorder->statements = clp_statements_start();
    return recorder->statements != NULL;
}

/* "3.12.1" */
static void add_version(char *text, size_t room)
{
    (void)snprintf(text, room, "%.20s", Py_GetVersion());
    text[strcspn(text, " ")] = 0;
}

static bool set_up(struct profiler *self, const char *tracer, bool memory, bool by_statement)
{
    const char *refusal = clp_compat_refusal();

    if (refusal != NULL) {
        PyErr_Format(PyExc_RuntimeError, "clineprof: %s", refusal);
        return false;
    }
    self->texts = PyDict_New();
    self->recorder = PyMem_RawMalloc(sizeof *self->recorder);
    if (self->texts == NULL || self->recorder == NULL) {
        PyErr_NoMemory();
        return false;
    }
    if (!clp_recorder_init(self->recorder, memory) || !clp_tracer_start(self->recorder, tracer))
        return false;
    self->tracer_name = self->recorder->tracer->name;
    return !by_statement || set_up_statements(self->recorder);
}

static PyObject *profiler_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"tracer", "memory", "by_statement", NULL};
    const char *tracer = NULL;
    int memory = 1, by_statement = 0;

    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|zpp:Profiler", names, &tracer, &memory,
                                     &by_statement))
        return NULL;
    PyObject *self = type->tp_alloc(type, 0);
    if (self != NULL && !set_up(cast(self), tracer, memory, by_statement))
        Py_CLEAR(self);
    return self;
}

/* The recorder stays: selected code objects, other threads' ends and the interpreter's slot for
 * code data point to it, and nobody tells when the last of them is gone. */
static void profiler_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject *error, *value, *trace; /* why it was not made */

    PyErr_Fetch(&error, &value, &trace);
    PyObject_GC_UnTrack(self);
    if (cast(self)->recorder != NULL)
        clp_tracer_stop(cast(self)->recorder);
    Py_CLEAR(cast(self)->texts);
    if (cast(self)->recorder != NULL)
        Py_CLEAR(cast(self)->recorder->statements);
    type->tp_free(self);
    Py_DECREF(type);
    PyErr_Restore(error, value, trace);
}

static int profiler_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(cast(self)->texts);
    return 0;
}

/* An object that cannot even show itself is named by its class. */
static bool warn_not_code(PyObject *object)
{
    PyObject *shown = PyObject_Repr(object);

    if (shown == NULL) {
        PyErr_Clear();
        shown = PyUnicode_FromFormat("an object of class %s", Py_TYPE(object)->tp_name);
    }
    int failed = shown == NULL ||
                 PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                                  "clineprof: %U is not Python code; it is not profiled",
                                  shown) < 0;
    Py_XDECREF(shown);
    return !failed;
}

/* What selecting takes is no line's: a function may define and select others. */
static void stand_still_since(const struct profiler *self, uint64_t start)
{
    if (clp_thread_here != NULL)
        clp_engine_stand_still(clp_thread_here, clp_clock_read(&self->recorder->clock) - start);
}

static int select_untimed(struct profiler *self, PyObject *object)
{
    uint64_t start = clp_clock_read(&self->recorder->clock);
    int found = clp_select_object(self->recorder, self->texts, object);

    stand_still_since(self, start);
    return found;
}

static PyObject *profiler_select(PyObject *self, PyObject *object)
{
    int found = select_untimed(cast(self), object);

    if (found < 0 || (found == 0 && !warn_not_code(object)))
        return NULL;
    return Py_NewRef(object);
}

static PyObject *profiler_call(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    PyObject *object;

    if (keywords != NULL && PyDict_GET_SIZE(keywords) != 0) {
        PyErr_SetString(PyExc_TypeError, "profile() takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_UnpackTuple(arguments, "profile", 1, 1, &object))
        return NULL;
    return profiler_select(self, object);
}

static PyObject *profiler_remove(PyObject *self, PyObject *function)
{
    if (!PyFunction_Check(function)) {
        PyErr_SetString(PyExc_TypeError, "remove_function() takes a Python function");
        return NULL;
    }
    if (!clp_tracer_remove(cast(self)->recorder, function))
        return NULL;
    Py_RETURN_NONE;
}

/* Selected functions are measured wherever they run, so switching on and off around a part of the
 * program, which line_profiler needs, has nothing to do here. */
static PyObject *profiler_nothing(PyObject *self, PyObject *arguments)
{
    (void)self, (void)arguments;
    Py_RETURN_NONE;
}

static PyObject *profiler_with(PyObject *self, PyObject *arguments)
{
    (void)arguments;
    return Py_NewRef(self);
}

static PyMethodDef profiler_methods[] = {
    {"add_function", profiler_select, METH_O,
     "add_function(function)\n--\n\nSelects the function's code; the same as calling the profiler."},
    {"remove_function", profiler_remove, METH_O,
     "remove_function(function)\n--\n\nTakes the function off; it gets its original code back."},
    {"enable", profiler_nothing, METH_NOARGS, "Selected functions are always measured."},
    {"disable", profiler_nothing, METH_NOARGS, "Selected functions are always measured."},
    {"enable_by_count", profiler_nothing, METH_NOARGS, "As enable()."},
    {"disable_by_count", profiler_nothing, METH_NOARGS, "As disable()."},
    {"__enter__", profiler_with, METH_NOARGS, NULL},
    {"__exit__", profiler_nothing, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot profiler_slots[] = {
    {Py_tp_doc, "Measures hits, time and memory of every line of the functions it is called with."},
    {Py_tp_new, profiler_new},
    {Py_tp_dealloc, profiler_free},
    {Py_tp_traverse, profiler_traverse},
    {Py_tp_call, profiler_call},
    {Py_tp_methods, profiler_methods},
    {0, NULL},
};

static PyType_Spec profiler_spec = {
    .name = "clineprof._core.Profiler",
    .basicsize = sizeof(struct profiler),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = profiler_slots,
};

PyObject *clp_profiler_make_type(PyObject *module)
{
    return PyType_FromModuleAndSpec(module, &profiler_spec, NULL);
}

PyObject *clp_profiler_prepare(PyObject *profiler, PyObject *code,
                               const struct clp_chooser *chooser, PyObject *globals)
{
    const struct profiler *self = cast(profiler);
    struct clp_functions *functions = &self->recorder->engine.functions;
    size_t before = functions->count;
    uint64_t start = clp_clock_read(&self->recorder->clock);
    PyObject *prepared = clp_prepare_code(self->recorder, code, chooser);

    if (prepared != NULL && functions->count != before &&
        !clp_texts_note(self->texts, ((PyCodeObject *)code)->co_filename, globals))
        Py_CLEAR(prepared);
    stand_still_since(self, start);
    return prepared;
}

bool clp_profiler_prepare_function(PyObject *profiler, PyObject *function,
                                   const struct clp_chooser *chooser)
{
    const struct profiler *self = cast(profiler);
    PyObject *file = Py_NewRef(((PyCodeObject *)PyFunction_GetCode(function))->co_filename);
    uint64_t start = clp_clock_read(&self->recorder->clock);
    bool done = clp_prepare_function(self->recorder, function, chooser) &&
                clp_texts_note(self->texts, file, PyFunction_GetGlobals(function));

    stand_still_since(self, start);
    Py_DECREF(file);
    return done;
}

static void start_header(const struct profiler *self, struct clp_live_header *header)
{
    const struct clp_recorder *recorder = self->recorder;

    *header = (struct clp_live_header){
        .pid = (uint64_t)getpid(),
        .start = recorder->started,
        .start_nanos = recorder->start_nanos,
        .counter = recorder->clock.counter,
        .with_rss = recorder->engine.with_rss,
        .rough_nanos = recorder->clock.rough_nanos,
        .start_ticks = recorder->clock.start_ticks,
        .clock_nanos = recorder->clock.start_nanos,
        .costs = recorder->engine.costs,
        .cost_error = recorder->cost_error,
    };
    if (recorder->engine.with_rss && !recorder->memory_check.exact)
        header->memory_step = recorder->memory_check.step;
    clp_proc_boot(header->boot, sizeof header->boot);
    add_version(header->python, sizeof header->python);
    (void)snprintf(header->tracer, sizeof header->tracer, "%s", self->tracer_name);
}

clp_status clp_profiler_go_live(PyObject *profiler, const char *path, const char *command,
                                struct clp_fault *fault)
{
    struct profiler *self = cast(profiler);
    struct clp_recorder *recorder = self->recorder;
    const struct clp_costs costs = recorder->engine.costs;
    struct clp_live_header header;

    start_header(self, &header);
    clp_status status = clp_live_open(&recorder->live, &recorder->pages, &recorder->mem, path,
                                      &header, fault);
    if (status != CLP_OK)
        return status;
    clp_live_note_command(&recorder->live, command);
    clp_recorder_forget(recorder); /* the calling thread's counters move into the file */
    clp_engine_set_costs(&recorder->engine, &costs);
    recorder->engine.functions.added = clp_live_note_function;
    recorder->engine.functions.listener = &recorder->live;
    if (!clp_texts_set_live(self->texts, &recorder->live))
        PyErr_Clear(); /* its reader shows the numbers without source */
    return CLP_OK;
}

struct clp_live *clp_profiler_live(PyObject *profiler)
{
    return &cast(profiler)->recorder->live;
}

const struct clp_clock *clp_profiler_clock(PyObject *profiler)
{
    return &cast(profiler)->recorder->clock;
}

void clp_profiler_set_helper(PyObject *profiler, const struct clp_pages *pages)
{
    struct clp_recorder *recorder = cast(profiler)->recorder;

    recorder->helpers[recorder->helpers[0] != NULL] = pages;
}

const struct clp_pages *clp_profiler_pages(PyObject *profiler)
{
    return &cast(profiler)->recorder->pages;
}

void clp_profiler_set_watch(PyObject *profiler, struct clp_watch *watch)
{
    cast(profiler)->recorder->watch = watch;
}

bool clp_profiler_know(PyObject *profiler, PyObject *file_name, const char *text, size_t bytes)
{
    return clp_texts_know(cast(profiler)->texts, file_name, text, bytes);
}

void clp_profiler_stop(PyObject *profiler)
{
    clp_tracer_stop(cast(profiler)->recorder);
    /* a program that ran out of descriptors has left this one to write the profile with */
    clp_proc_close(&cast(profiler)->recorder->proc);
}

size_t clp_profiler_function_count(PyObject *profiler)
{
    return cast(profiler)->recorder->engine.functions.count;
}

bool clp_profiler_lost(PyObject *profiler)
{
    return cast(profiler)->recorder->engine.lost;
}

const struct clp_refusal *clp_profiler_refusals(PyObject *profiler)
{
    return cast(profiler)->recorder->refusals;
}

bool clp_profiler_displaced(PyObject *profiler)
{
    return cast(profiler)->recorder->displaced;
}

static void unwind_all(struct clp_recorder *recorder)
{
    uint64_t now = clp_clock_read(&recorder->clock);

    for (struct clp_thread *thread = recorder->engine.threads; thread != NULL;
         thread = thread->next)
        clp_engine_unwind(thread, now);
}

static clp_status fill_meta(const struct profiler *self, struct clp_profile *profile)
{
    const struct clp_recorder *recorder = self->recorder;
    struct clp_profile_meta *meta = &profile->meta;
    char version[32];

    add_version(version, sizeof version);
    meta->pid = (uint64_t)getpid();
    meta->start = recorder->started;
    meta->wall = clp_clock_monotonic() - recorder->start_nanos;
    meta->overhead_error = (uint64_t)((double)meta->overhead * recorder->cost_error);
    meta->own_bytes = recorder->pages.bytes;
    meta->inexact_memory = recorder->engine.with_rss && !recorder->memory_check.exact;
    meta->memory_step = recorder->memory_check.step;
    clp_status status = clp_profile_set_text(profile, &meta->python, version);
    if (status == CLP_OK)
        status = clp_profile_set_text(profile, &meta->tracer, self->tracer_name);
    return status;
}

clp_status clp_profiler_snapshot(PyObject *profiler, struct clp_profile *profile)
{
    struct profiler *self = cast(profiler);
    struct clp_recorder *recorder = self->recorder;
    clp_status status;

    unwind_all(recorder);
    status = clp_snapshot_take(&recorder->engine, clp_clock_nanos_per_tick(&recorder->clock),
                               profile);
    if (status == CLP_OK)
        status = clp_texts_fill(self->texts, profile);
    if (status == CLP_OK)
        status = fill_meta(self, profile);
    return status;
}
