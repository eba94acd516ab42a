/* SPDX-License-Identifier: MIT */
#include "profiler.h"
#include "../../kernprof/load.h"
#include "../../kernprof/rendering.h"
#include "../core/snapshot.h"
#include "blocks.h"
#include "epochs.h"
#include "hooks.h"
#include "native.h"
#include "prepare.h"
#include "select.h"
#include "statements.h"
#include "texts.h"
#include "tracer.h"
#include <unistd.h>

struct profiler {
    PyObject_HEAD
    struct clp_window window; /* its `recorder` is NULL until it is set up, and after close() */
    PyObject *texts;          /* owned dict */
    PyTypeObject *block_type; /* owned; NULL before the first block */
    bool has_heap;
    bool ended;               /* the program is over: nothing more is selected */
    double started;           /* seconds since 1970 */
    uint64_t start_nanos;     /* CLOCK_MONOTONIC then */
};

static struct profiler *cast(PyObject *object)
{
    return (struct profiler *)object;
}

/* The process's, made for the first profiler. It stays: code objects, other threads' ends and the
 * interpreter's slot for code data point to it. */
static struct clp_recorder *process_recorder;

/* "3.12.1" */
static void add_version(char *text, size_t room)
{
    (void)snprintf(text, room, "%.20s", Py_GetVersion());
    text[strcspn(text, " ")] = 0;
}

/* What is read already, for whoever has no wish. */
static enum clp_memory usual_mode(void)
{
    const struct clp_recorder *recorder = process_recorder;

    return recorder != NULL && recorder->with_memory != 0 ? recorder->proc.mode : CLP_MEMORY_RSS;
}

/* None and True are the usual one, False is nothing; else by name. */
static bool read_mode(PyObject *object, enum clp_memory *mode)
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
    PyErr_Format(PyExc_ValueError, "memory is one of 'off', 'rss', 'anon', 'uss', 'pss', True or "
                                   "False, not %R", object);
    return false;
}

struct wishes {
    const char *tracer;
    enum clp_memory memory;
    int by_statement;
    Py_ssize_t heap;    /* bytes between samples; 0: no table of live blocks */
    const char *leaks;  /* epochs of verdicts; NULL: none */
    long long leak_limit; /* bytes; negative: the usual limit */
    int started;
};

static bool set_up_heap(struct profiler *self, const struct wishes *wishes)
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

static void note_start(struct profiler *self, const struct clp_recorder *recorder)
{
    self->started = recorder->started;
    self->start_nanos = recorder->start_nanos;
    if (recorder->tracer == NULL)
        return;
    self->started = clp_clock_wall();
    self->start_nanos = clp_clock_monotonic();
}

static bool set_up(struct profiler *self, const struct wishes *wishes)
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

static PyObject *profiler_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"tracer", "memory", "by_statement", "heap", "leaks",
                            "leak_limit", "started", NULL};
    struct wishes wishes = {.leak_limit = -1, .started = true};
    PyObject *memory = NULL; /* borrowed */

    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|zOpnzLp:Profiler", names, &wishes.tracer,
                                     &memory, &wishes.by_statement, &wishes.heap, &wishes.leaks,
                                     &wishes.leak_limit, &wishes.started) ||
        !read_mode(memory, &wishes.memory))
        return NULL;
    PyObject *self = type->tp_alloc(type, 0);
    if (self != NULL && !set_up(cast(self), &wishes))
        Py_CLEAR(self);
    return self;
}

static void give_up(struct profiler *self)
{
    struct clp_recorder *recorder = self->window.recorder;

    if (recorder == NULL)
        return;
    if (self->has_heap)
        clp_epochs_stop(recorder);
    self->has_heap = false;
    clp_window_clear(&self->window);
}

static void profiler_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    give_up(cast(self));
    Py_CLEAR(cast(self)->texts);
    Py_CLEAR(cast(self)->block_type);
    type->tp_free(self);
    Py_DECREF(type);
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

/* What selecting takes is no line's, neither its time nor what it allocates: a function may
 * define and select others. */
struct own_work {
    uint64_t start;
    uint32_t busy;
};

static struct own_work begin_own_work(const struct clp_recorder *recorder)
{
    return (struct own_work){clp_clock_read(&recorder->clock), clp_hooks_pause()};
}

static void end_own_work(const struct clp_recorder *recorder, struct own_work work)
{
    clp_hooks_resume(work.busy);
    if (clp_thread_here != NULL)
        clp_engine_stand_still(clp_thread_here, clp_clock_read(&recorder->clock) - work.start);
}

/* NULL with an exception set: it was closed. */
static struct clp_window *window_of(PyObject *self)
{
    if (cast(self)->window.recorder != NULL)
        return &cast(self)->window;
    PyErr_SetString(PyExc_ValueError, "clineprof: this Profiler is closed; make another one");
    return NULL;
}

static int select_untimed(struct profiler *self, PyObject *object)
{
    struct clp_recorder *recorder = self->window.recorder;
    struct own_work work = begin_own_work(recorder);
    int found = clp_select_object(&self->window, self->texts, object);

    end_own_work(recorder, work);
    return found;
}

/* Behind the program's end finalisers and daemon threads go on. */
static PyObject *profiler_select(PyObject *self, PyObject *object)
{
    int found = 1;

    if (window_of(self) == NULL)
        return NULL;
    if (!cast(self)->ended)
        found = select_untimed(cast(self), object);
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
    struct clp_window *window = window_of(self);
    if (window == NULL)
        return NULL;
    const struct clp_selected *selected =
        clp_recorder_selected(window->recorder, PyFunction_GetCode(function));
    if (selected != NULL && selected->function != CLP_UNSELECTED &&
        !clp_window_remove(window, selected->function))
        return NULL;
    Py_RETURN_NONE;
}

/* ---- windows ---- */

/* None, or NULL with an exception set; what it took is no line's. */
static PyObject *untimed(PyObject *self, bool (*change)(struct clp_window *))
{
    struct clp_window *window = window_of(self);

    if (window == NULL)
        return NULL;
    struct clp_recorder *recorder = window->recorder;
    struct own_work work = begin_own_work(recorder);
    bool done = change(window);
    end_own_work(recorder, work);
    return done ? Py_NewRef(Py_None) : NULL;
}

static PyObject *profiler_start(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    return untimed(self, clp_window_open);
}

static PyObject *profiler_stop(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    return untimed(self, clp_window_close);
}

static bool open_gate(struct clp_window *window)
{
    return clp_window_set_gate(window, true);
}

static bool shut_gate(struct clp_window *window)
{
    return clp_window_set_gate(window, false);
}

static PyObject *profiler_gate(PyObject *self, PyObject *open)
{
    int wanted = PyObject_IsTrue(open);

    return wanted < 0 ? NULL : untimed(self, wanted ? open_gate : shut_gate);
}

static bool reset(struct clp_window *window)
{
    if (clp_view_reset(&window->view, clp_clock_read(&window->recorder->clock)) == CLP_OK)
        return true;
    PyErr_NoMemory();
    return false;
}

static PyObject *profiler_reset(PyObject *self, PyObject *nothing)
{
    PyObject *done = untimed(self, reset);

    (void)nothing;
    if (done == NULL)
        return NULL;
    cast(self)->started = clp_clock_wall();
    cast(self)->start_nanos = clp_clock_monotonic();
    return done;
}

static PyObject *profiler_close(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    give_up(cast(self));
    Py_RETURN_NONE;
}

static PyObject *profiler_running(PyObject *self, void *nothing)
{
    (void)nothing;
    return PyBool_FromLong(cast(self)->window.recorder != NULL && cast(self)->window.open);
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

/* ---- blocks ---- */

/* `with profile.block("name"):`; its __enter__ is no Python function, so the frame that runs is that of
 * the `with`. */
struct block {
    PyObject_HEAD
    PyObject *profiler; /* owned */
    PyObject *name;     /* owned */
    struct clp_stay *stay; /* NULL: not entered */
};

static void block_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    struct block *block = (struct block *)self;

    Py_XDECREF(block->profiler);
    Py_XDECREF(block->name);
    type->tp_free(self);
    Py_DECREF(type);
}

/* A frame of contextlib's, whose ExitStack enters it for somebody else, is not meant. */
static PyFrameObject *frame_of_with(void)
{
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef((PyObject *)PyEval_GetFrame());

    while (frame != NULL) {
        PyObject *globals = PyObject_GetAttrString((PyObject *)frame, "f_globals");
        PyObject *name =
            globals != NULL ? PyDict_GetItemString(globals, "__name__") : NULL; /* borrowed */
        bool between = name != NULL && PyUnicode_Check(name) &&
                       PyUnicode_CompareWithASCIIString(name, "contextlib") == 0;
        Py_XDECREF(globals);
        if (!between)
            break;
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    return frame;
}

/* Outside windows a block costs nothing; one in which a window opens does not count. */
static bool takes_blocks(const struct profiler *self)
{
    return self->window.recorder != NULL && !self->ended && self->window.open;
}

static struct clp_stay *open_block(struct profiler *self, PyFrameObject *frame, PyObject *name)
{
    struct clp_recorder *recorder = self->window.recorder;
    struct own_work work = begin_own_work(recorder);
    struct clp_stay *stay = clp_blocks_open(&self->window, self->texts, frame, name);

    end_own_work(recorder, work);
    if (stay != NULL)
        clp_blocks_begin(stay);
    return stay;
}

static PyObject *block_enter(PyObject *self, PyObject *nothing)
{
    struct block *block = (struct block *)self;
    PyFrameObject *frame = frame_of_with();

    (void)nothing;
    if (block->stay == NULL && frame != NULL && takes_blocks(cast(block->profiler)))
        block->stay = open_block(cast(block->profiler), frame, block->name);
    Py_XDECREF(frame);
    return PyErr_Occurred() ? NULL : Py_NewRef(self);
}

static PyObject *block_exit(PyObject *self, PyObject *arguments)
{
    struct block *block = (struct block *)self;
    struct clp_stay *stay = block->stay;

    (void)arguments;
    block->stay = NULL;
    if (stay != NULL)
        clp_blocks_close(stay);
    Py_RETURN_NONE;
}

static PyMethodDef block_methods[] = {
    {"__enter__", block_enter, METH_NOARGS, NULL},
    {"__exit__", block_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot block_slots[] = {
    {Py_tp_doc, "The lines of a `with` block, counted as a function of their own."},
    {Py_tp_dealloc, block_free},
    {Py_tp_methods, block_methods},
    {0, NULL},
};

static PyType_Spec block_spec = {
    .name = "clineprof._core.Block",
    .basicsize = sizeof(struct block),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = block_slots,
};

static PyObject *profiler_block(PyObject *self, PyObject *name)
{
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "the name of a block is a str, not %R", name);
        return NULL;
    }
    if (cast(self)->block_type == NULL)
        cast(self)->block_type = (PyTypeObject *)PyType_FromSpec(&block_spec);
    if (cast(self)->block_type == NULL)
        return NULL;
    struct block *block = PyObject_New(struct block, cast(self)->block_type);
    if (block == NULL)
        return NULL;
    block->profiler = Py_NewRef(self);
    block->name = Py_NewRef(name);
    block->stay = NULL;
    return (PyObject *)block;
}

static bool check_frame(PyObject *frame)
{
    if (!PyFrame_Check(frame))
        PyErr_SetString(PyExc_TypeError, "a frame object is wanted");
    return PyFrame_Check(frame);
}

static PyObject *profiler_enter_block(PyObject *self, PyObject *frame)
{
    if (!check_frame(frame) ||
        (takes_blocks(cast(self)) &&
         open_block(cast(self), (PyFrameObject *)frame, NULL) == NULL))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *profiler_leave_block(PyObject *self, PyObject *frame)
{
    struct clp_stay *stay;

    (void)self;
    if (!check_frame(frame))
        return NULL;
    stay = clp_blocks_find(process_recorder, (PyFrameObject *)frame);
    if (stay != NULL)
        clp_blocks_close(stay);
    Py_RETURN_NONE;
}

static bool has_heap(PyObject *self)
{
    if (!cast(self)->has_heap)
        PyErr_SetString(PyExc_ValueError, "this profiler has no table of live blocks (heap=)");
    return cast(self)->has_heap;
}

static PyObject *profiler_start_leaks(PyObject *self, PyObject *arguments)
{
    int warmups;
    long long limit;

    if (!PyArg_ParseTuple(arguments, "iL:start_leaks", &warmups, &limit) || !has_heap(self) ||
        !clp_epochs_restart(cast(self)->window.recorder, warmups, limit))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *profiler_stop_leaks(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    if (!has_heap(self))
        return NULL;
    (void)clp_hooks_set_heap(cast(self)->window.recorder, NULL);
    Py_RETURN_NONE;
}

static PyObject *profiler_checkpoint(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    if (cast(self)->has_heap)
        clp_epochs_checkpoint(cast(self)->window.recorder);
    Py_RETURN_NONE;
}

/* The file under /proc is still the parent's. */
static PyObject *profiler_after_fork(PyObject *self, PyObject *nothing)
{
    struct clp_proc *proc = &process_recorder->proc;
    enum clp_memory mode = proc->mode;

    (void)self, (void)nothing;
    if (proc->file >= 0) {
        clp_proc_close(proc);
        (void)clp_proc_open_for(proc, mode);
    }
    Py_RETURN_NONE;
}

static PyObject *profiler_snapshot(PyObject *self, PyObject *nothing)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_profile profile;
    PyObject *dict = NULL;

    (void)nothing;
    if (window_of(self) == NULL)
        return NULL;
    struct clp_recorder *recorder = cast(self)->window.recorder;
    struct own_work work = begin_own_work(recorder);
    clp_profile_init(&profile, &mem);
    if (clp_profiler_snapshot(self, &profile) == CLP_OK)
        dict = clp_load_dict(&profile);
    else
        PyErr_NoMemory();
    clp_profile_clear(&profile);
    end_own_work(recorder, work);
    return dict;
}

static PyObject *profiler_render(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"format", "unit", "skip_zero", "command", "sort", "details",
                            "summarize", "memory", "marked", "folder", NULL};
    struct clp_rendering rendering = {
        .unit = 1e-6, .command = "", .details = true, .memory = true};

    if (!PyArg_ParseTupleAndKeywords(
            arguments, keywords, "s|dps$pppppz:render", names, &rendering.format, &rendering.unit,
            &rendering.skip_zero, &rendering.command, &rendering.sort, &rendering.details,
            &rendering.summarize, &rendering.memory, &rendering.marked, &rendering.folder))
        return NULL;
    if (window_of(self) == NULL)
        return NULL;
    struct clp_recorder *recorder = process_recorder;
    struct own_work work = begin_own_work(recorder);
    PyObject *rendered = clp_rendering_make(self, &rendering);
    end_own_work(recorder, work);
    return rendered;
}

/* ---- code that is about to run ---- */

static bool is_module(PyCodeObject *code)
{
    return PyUnicode_CompareWithASCIIString(code->co_name, "<module>") == 0;
}

static bool chooses_all(void *data, PyCodeObject *code, const char *name)
{
    (void)data, (void)code, (void)name;
    return true;
}

/* What `def` defines has a body with fast locals, unlike a class, and a name, unlike a lambda. */
static bool chooses_functions(void *data, PyCodeObject *code, const char *name)
{
    (void)data, (void)name;
    return is_module(code) ||
           ((code->co_flags & CO_OPTIMIZED) != 0 && PyUnicode_GET_LENGTH(code->co_name) > 0 &&
            PyUnicode_READ_CHAR(code->co_name, 0) != '<');
}

static bool chooses_module(void *data, PyCodeObject *code, const char *name)
{
    (void)data, (void)name;
    return is_module(code);
}

/* NULL with an exception set. */
static const struct clp_chooser *chooser_named(const char *name)
{
    static const struct clp_chooser all = {chooses_all, NULL}, functions = {chooses_functions, NULL},
                                    module = {chooses_module, NULL};

    if (strcmp(name, "all") == 0)
        return &all;
    if (strcmp(name, "functions") == 0)
        return &functions;
    if (strcmp(name, "module") == 0)
        return &module;
    PyErr_Format(PyExc_ValueError, "which is 'all', 'functions' or 'module', not '%s'", name);
    return NULL;
}

static PyObject *profiler_prepare(PyObject *self, PyObject *arguments)
{
    PyObject *code, *globals = PyDict_New();
    const char *which = "all";
    const struct clp_chooser *chooser;
    PyObject *prepared = NULL;

    if (globals != NULL && PyArg_ParseTuple(arguments, "O!|s:prepare", &PyCode_Type, &code, &which) &&
        (chooser = chooser_named(which)) != NULL)
        prepared = clp_profiler_prepare(self, code, chooser, globals);
    Py_XDECREF(globals);
    return prepared;
}

static PyObject *profiler_displaced(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    return PyBool_FromLong(clp_profiler_displaced(self));
}

static PyMethodDef profiler_methods[] = {
    {"prepare", profiler_prepare, METH_VARARGS,
     "prepare(code, which='all')\n--\n\nThe code object to run in the place of this one, a module's:\n"
     "its lines count, and those of the code within it. which: 'all'; 'functions': of that within\n"
     "only what def defines; 'module': none of it. Its text is looked up by its file name, in\n"
     "linecache where there is no such file."},
    {"render", (PyCFunction)(void (*)(void))profiler_render, METH_VARARGS | METH_KEYWORDS,
     "render(format, unit=1e-06, skip_zero=False, command='', *, sort=False, details=True,\n"
     "       summarize=False, memory=True, marked=False, folder=None)\n--\n\n"
     "What was recorded so far: 'text', the report, times in units of so many seconds; 'mp',\n"
     "memory_profiler's table; 'lprof' and 'line_profiler', the bytes of such a file.\n"
     "skip_zero: without functions that never ran. command: what ran, for readers of the file.\n"
     "Of the report, sort: the slowest function last; details: with the tables; summarize: a line\n"
     "for each function at the end; memory: with its columns; marked: for clineprof._rich; folder:\n"
     "file names under it are relative to it.\n"
     "ValueError for another format, or for 'mp' when memory was not read."},
    {"block", profiler_block, METH_O,
     "block(name)\n--\n\n`with profiler.block(\"name\"):` counts the lines of the block as a function."},
    {"enter_block", profiler_enter_block, METH_O,
     "enter_block(frame)\n--\n\nA block without a name begins in this frame."},
    {"leave_block", profiler_leave_block, METH_O,
     "leave_block(frame)\n--\n\nIt ends."},
    {"after_fork", profiler_after_fork, METH_NOARGS,
     "after_fork()\n--\n\nThis process is a fork's child: its memory is read from now on."},
    {"start", profiler_start, METH_NOARGS,
     "start()\n--\n\nOpens the window: lines of the selected functions that run from now on count.\n"
     "Functions that run at the moment are counted from their next line on; on CPython 3.11 from\n"
     "their next call. When it is open already nothing happens.\n"
     "RuntimeError: other tools leave no place for the tracer."},
    {"stop", profiler_stop, METH_NOARGS,
     "stop()\n--\n\nCloses the window. Functions on which no Profiler has an open window run their own\n"
     "code, at no cost. What was counted stays."},
    {"gate", profiler_gate, METH_O,
     "gate(open)\n--\n\nWhile the gate is not open nothing counts, as after stop(); but code is not\n"
     "exchanged: quick to switch, and a line costs some nanoseconds meanwhile."},
    {"reset", profiler_reset, METH_NOARGS,
     "reset()\n--\n\nForgets all numbers. Functions stay selected, the window stays as it is."},
    {"close", profiler_close, METH_NOARGS,
     "close()\n--\n\nGives up everything, numbers too; the same happens when the object dies. Then every\n"
     "other method but close() raises ValueError."},
    {"snapshot", profiler_snapshot, METH_NOARGS,
     "snapshot()\n--\n\nWhat was counted so far, as a dict; clineprof.Profile makes more of it. Times are\n"
     "nanoseconds, memory is bytes. May be called at any time, from any thread; what runs is included\n"
     "up to now, and nothing changes by it.\nMemoryError."},
    {"displaced", profiler_displaced, METH_NOARGS,
     "displaced()\n--\n\nHas another tool taken sys.settrace away from the tracer settrace? What ran\n"
     "then is missing."},
    {"start_leaks", profiler_start_leaks, METH_VARARGS,
     "start_leaks(warmups, limit)\n--\n\nEmpties the table of live blocks and begins again."},
    {"stop_leaks", profiler_stop_leaks, METH_NOARGS,
     "stop_leaks()\n--\n\nBlocks are only counted from now on."},
    {"checkpoint", profiler_checkpoint, METH_NOARGS,
     "checkpoint()\n--\n\nAn epoch is over."},
    {"add_function", profiler_select, METH_O,
     "add_function(function)\n--\n\nSelects a function, or what is in a method, property, partial, class ..;\n"
     "the same as calling the profiler. Returns its argument. RuntimeWarning: it is not Python code."},
    {"remove_function", profiler_remove, METH_O,
     "remove_function(function)\n--\n\nTakes the function off, and all that were made of the same code. What was\n"
     "counted stays. When no other Profiler has it, it gets its own code back.\n"
     "TypeError: it is no Python function."},
    {"enable", profiler_nothing, METH_NOARGS, "Selected functions are always measured."},
    {"disable", profiler_nothing, METH_NOARGS, "Selected functions are always measured."},
    {"enable_by_count", profiler_nothing, METH_NOARGS, "As enable()."},
    {"disable_by_count", profiler_nothing, METH_NOARGS, "As disable()."},
    {"__enter__", profiler_with, METH_NOARGS, NULL},
    {"__exit__", profiler_nothing, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef profiler_attributes[] = {
    {"running", profiler_running, NULL, "Is the window open (start, stop)?", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot profiler_slots[] = {
    {Py_tp_doc,
     "Profiler(tracer=None, memory=True, by_statement=False, heap=0, leaks=None, leak_limit=-1, "
     "started=True)\n--\n\n"
     "Measures hits, time and memory of every line of the functions it is called with. There may be\n"
     "any number at once; each has its own functions, windows and numbers.\n\n"
     "tracer: 'probe', 'monitoring', 'settrace'; the process's first Profiler chooses for all.\n"
     "memory: 'rss', 'anon', 'uss', 'pss', True (what is measured already, or 'rss'), False.\n"
     "by_statement: a statement over several lines counts once, at its first line.\n"
     "heap: mean bytes between samples of the table of live blocks; 0: no table.\n"
     "leaks: what ends an epoch: 'calls', 'checkpoints', seconds, or the name of a function.\n"
     "leak_limit: bytes by which a line may grow; negative: the usual limit.\n"
     "started: does the window open at once?\n\n"
     "ValueError: no such tracer or memory. RuntimeError: another Profiler of the process has chosen\n"
     "otherwise, or the interpreter or another tool leaves no place."},
    {Py_tp_new, profiler_new},
    {Py_tp_dealloc, profiler_free},
    {Py_tp_traverse, profiler_traverse},
    {Py_tp_call, profiler_call},
    {Py_tp_methods, profiler_methods},
    {Py_tp_getset, profiler_attributes},
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
    struct profiler *self = cast(profiler);
    struct clp_recorder *recorder = self->window.recorder;
    const struct clp_view *view = &self->window.view;
    size_t before = view->count;

    if (recorder == NULL || self->ended)
        return Py_NewRef(code);
    struct own_work work = begin_own_work(recorder);
    PyObject *prepared = clp_prepare_code(&self->window, code, chooser);
    if (prepared != NULL && view->count != before &&
        !clp_texts_note(self->texts, ((PyCodeObject *)code)->co_filename, globals))
        Py_CLEAR(prepared);
    end_own_work(recorder, work);
    return prepared;
}

bool clp_profiler_prepare_function(PyObject *profiler, PyObject *function,
                                   const struct clp_chooser *chooser)
{
    struct profiler *self = cast(profiler);
    struct clp_recorder *recorder = self->window.recorder;

    if (recorder == NULL || self->ended)
        return true;
    PyObject *file = Py_NewRef(((PyCodeObject *)PyFunction_GetCode(function))->co_filename);
    struct own_work work = begin_own_work(recorder);
    bool done = clp_prepare_function(&self->window, function, chooser) &&
                clp_texts_note(self->texts, file, PyFunction_GetGlobals(function));
    end_own_work(recorder, work);
    Py_DECREF(file);
    return done;
}

static void start_header(const struct profiler *self, struct clp_live_header *header)
{
    const struct clp_recorder *recorder = self->window.recorder;

    *header = (struct clp_live_header){
        .pid = (uint64_t)getpid(),
        .start = recorder->started,
        .start_nanos = recorder->start_nanos,
        .counter = recorder->clock.counter,
        .with_rss = self->window.memory,
        .rough_nanos = recorder->clock.rough_nanos,
        .start_ticks = recorder->clock.start_ticks,
        .clock_nanos = recorder->clock.start_nanos,
        .costs = recorder->engine.costs,
        .cost_error = recorder->cost_error,
    };
    if (self->window.memory && !recorder->memory_check.exact)
        header->memory_step = recorder->memory_check.step;
    header->memory = recorder->proc.mode;
    clp_proc_boot(header->boot, sizeof header->boot);
    add_version(header->python, sizeof header->python);
    (void)snprintf(header->tracer, sizeof header->tracer, "%s", recorder->tracer->name);
}

clp_status clp_profiler_go_live(PyObject *profiler, const char *path, const char *command,
                                struct clp_fault *fault)
{
    struct profiler *self = cast(profiler);
    struct clp_recorder *recorder = process_recorder;
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
    recorder->live_window = &self->window;
    self->window.view.pool = &recorder->engine.pool;
    if (!clp_texts_set_live(self->texts, &recorder->live))
        PyErr_Clear(); /* its reader shows the numbers without source */
    return CLP_OK;
}

struct clp_live *clp_profiler_live(PyObject *profiler)
{
    (void)profiler;
    return &process_recorder->live;
}

const struct clp_clock *clp_profiler_clock(PyObject *profiler)
{
    (void)profiler;
    return &process_recorder->clock;
}

const struct clp_functions *clp_profiler_functions(PyObject *profiler)
{
    (void)profiler;
    return &process_recorder->engine.functions;
}

void clp_profiler_set_helper(PyObject *profiler, const struct clp_pages *pages)
{
    struct clp_recorder *recorder = process_recorder;

    (void)profiler;
    recorder->helpers[recorder->helpers[0] != NULL] = pages;
}

const struct clp_pages *clp_profiler_pages(PyObject *profiler)
{
    (void)profiler;
    return &process_recorder->pages;
}

void clp_profiler_set_watch(PyObject *profiler, struct clp_watch *watch)
{
    (void)profiler;
    process_recorder->watch = watch;
}

bool clp_profiler_know(PyObject *profiler, PyObject *file_name, const char *text, size_t bytes)
{
    return clp_texts_know(cast(profiler)->texts, file_name, text, bytes);
}

bool clp_profiler_any_counts(void)
{
    return process_recorder != NULL && process_recorder->views.counting != 0;
}

void clp_profiler_stop(PyObject *profiler)
{
    struct profiler *self = cast(profiler);

    self->ended = true;
    if (self->window.recorder != NULL)
        clp_window_end(&self->window);
    /* a program that ran out of descriptors has left this one to write the profile with */
    if (process_recorder->readers == 0)
        clp_proc_close(&process_recorder->proc);
}

size_t clp_profiler_function_count(PyObject *profiler)
{
    return cast(profiler)->window.view.count;
}

bool clp_profiler_lost(PyObject *profiler)
{
    (void)profiler;
    return process_recorder->engine.lost;
}

const struct clp_refusal *clp_profiler_refusals(PyObject *profiler)
{
    (void)profiler;
    return process_recorder->refusals;
}

enum clp_heap_state clp_profiler_heap_state(PyObject *profiler)
{
    const struct clp_recorder *recorder = process_recorder;

    if (cast(profiler)->window.memory && !clp_hooks_alive())
        return CLP_HEAP_HOOKS_LOST;
    if (!cast(profiler)->has_heap)
        return CLP_HEAP_FINE;
    if (recorder->heap->lost)
        return CLP_HEAP_MEMORY_OUT;
    return recorder->epochs.kind != CLP_EPOCHS_NONE && !clp_epochs_enough(recorder)
               ? CLP_HEAP_EPOCHS_FEW
               : CLP_HEAP_FINE;
}

bool clp_profiler_displaced(PyObject *profiler)
{
    (void)profiler;
    return process_recorder->displaced;
}

/* ---- snapshots ---- */

static clp_status fill_meta(const struct profiler *self, struct clp_profile *profile)
{
    const struct clp_recorder *recorder = process_recorder;
    struct clp_profile_meta *meta = &profile->meta;
    char version[32];

    add_version(version, sizeof version);
    meta->pid = (uint64_t)getpid();
    meta->start = self->started;
    meta->wall = clp_clock_monotonic() - self->start_nanos;
    meta->overhead_error = (uint64_t)((double)meta->overhead * recorder->cost_error);
    meta->own_bytes = recorder->pages.bytes + recorder->view_pages.bytes;
    if (self->has_heap)
        meta->own_bytes += recorder->heap->pages.bytes;
    meta->inexact_memory = self->window.memory && !recorder->memory_check.exact;
    meta->memory_step = self->window.memory ? recorder->memory_check.step : 0;
    meta->heap_before = self->has_heap ? recorder->heap_before : 0;
    meta->heap_native = self->has_heap && clp_native_is_used();
    clp_status status = clp_profile_set_text(profile, &meta->python, version);
    if (status == CLP_OK)
        status = clp_profile_set_text(profile, &meta->tracer, recorder->tracer->name);
    if (status == CLP_OK && meta->has_memory)
        status = clp_profile_set_text(profile, &meta->memory,
                                      clp_memory_name(recorder->proc.mode));
    return status;
}

/* Where the hooks were lost the table holds what is long gone: nothing is said of it. While the window is
 * open the epoch goes on. */
static clp_status fill_heap(const struct profiler *self, struct clp_profile *profile)
{
    struct clp_recorder *recorder = process_recorder;
    const struct clp_heap_scope scope = {&recorder->engine.functions, &self->window.view};
    const struct clp_heap_judging judging = {.warmups = recorder->epochs.warmups,
                                             .limit = recorder->epochs.limit,
                                             .seconds = (double)profile->meta.wall * 1e-9};

    if (!clp_hooks_alive())
        return CLP_OK;
    if (!self->window.open)
        clp_epochs_finish(recorder);
    clp_status status = clp_heap_fill(recorder->heap, &scope, profile);
    return status == CLP_OK ? clp_heap_judge(recorder->heap, &scope, &judging, profile) : status;
}

static clp_status take_view(const struct clp_window *window, struct clp_profile *profile)
{
    struct clp_recorder *recorder = window->recorder;
    struct clp_ended ended;
    clp_status status = clp_ended_init(&ended, &recorder->engine, &recorder->views.scratch,
                                       clp_clock_read(&recorder->clock));

    if (status != CLP_OK)
        return status;
    status = clp_snapshot_take_view(&window->view, &ended, window->memory,
                                    clp_clock_nanos_per_tick(&recorder->clock), profile);
    clp_ended_clear(&ended);
    return status;
}

clp_status clp_profiler_snapshot(PyObject *profiler, struct clp_profile *profile)
{
    struct profiler *self = cast(profiler);
    clp_status status = CLP_OK;

    if (self->window.recorder != NULL) /* the program may have closed the launcher's */
        status = take_view(&self->window, profile);
    if (status == CLP_OK)
        status = clp_texts_fill(self->texts, profile);
    if (status == CLP_OK)
        status = fill_meta(self, profile);
    if (status == CLP_OK && self->has_heap)
        status = fill_heap(self, profile);
    return status;
}
