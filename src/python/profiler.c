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
    struct clp_recorder *recorder; /* owned, but never freed once code objects point to it */
    PyObject *texts;               /* owned dict */
    const char *tracer_name;       /* borrowed from the tracer's table */
    PyTypeObject *block_type;      /* owned; NULL before the first block */
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

/* None and True are the resident size, False is nothing; else by name. */
static bool read_mode(PyObject *object, enum clp_memory *mode)
{
    if (object == NULL || object == Py_None || PyBool_Check(object)) {
        *mode = object == Py_False ? CLP_MEMORY_OFF : CLP_MEMORY_RSS;
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
};

static bool set_up_heap(struct profiler *self, const struct wishes *wishes)
{
    Py_ssize_t interval = wishes->heap != 0 ? wishes->heap : CLP_HEAP_INTERVAL;

    if (wishes->heap == 0 && wishes->leaks == NULL)
        return true;
    if (wishes->heap < 0 || wishes->memory == CLP_MEMORY_OFF) {
        PyErr_SetString(PyExc_ValueError, wishes->memory != CLP_MEMORY_OFF
                                              ? "heap is a number of bytes, not negative"
                                              : "heap and leaks need memory");
        return false;
    }
    self->recorder->epochs.limit = wishes->leak_limit;
    return clp_epochs_start(self->recorder, (uint64_t)interval, wishes->leaks);
}

/* The latest, which is never freed. Each thread has one place for its counters, so a second profiler
 * would count into those of the first. */
static struct clp_recorder *latest;

static bool is_alone(void)
{
    const char *reason = NULL;

    if (latest != NULL && latest->tracer != NULL)
        reason = "another Profiler is recording in this process; there can be one at a time";
    else if (latest != NULL)
        for (struct clp_thread *at = latest->engine.threads; at != NULL; at = at->next)
            if (at != clp_thread_here && !at->ended)
                reason = "threads that an earlier Profiler has measured are still running";
    if (reason != NULL)
        PyErr_Format(PyExc_RuntimeError, "clineprof: %s", reason);
    return reason == NULL;
}

static bool set_up(struct profiler *self, const struct wishes *wishes)
{
    const char *refusal = clp_compat_refusal();

    if (refusal != NULL) {
        PyErr_Format(PyExc_RuntimeError, "clineprof: %s", refusal);
        return false;
    }
    if (!is_alone())
        return false;
    self->texts = PyDict_New();
    self->recorder = PyMem_RawMalloc(sizeof *self->recorder);
    if (self->texts == NULL || self->recorder == NULL) {
        PyErr_NoMemory();
        return false;
    }
    if (!clp_recorder_init(self->recorder, wishes->memory) ||
        !clp_tracer_start(self->recorder, wishes->tracer))
        return false;
    self->tracer_name = self->recorder->tracer->name;
    latest = self->recorder;
    return (!wishes->by_statement || set_up_statements(self->recorder)) &&
           set_up_heap(self, wishes);
}

static PyObject *profiler_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"tracer", "memory", "by_statement", "heap", "leaks",
                            "leak_limit", NULL};
    struct wishes wishes = {.leak_limit = -1};
    PyObject *memory = NULL; /* borrowed */

    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|zOpnzL:Profiler", names, &wishes.tracer,
                                     &memory, &wishes.by_statement, &wishes.heap, &wishes.leaks,
                                     &wishes.leak_limit) || !read_mode(memory, &wishes.memory))
        return NULL;
    PyObject *self = type->tp_alloc(type, 0);
    if (self != NULL && !set_up(cast(self), &wishes))
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
    Py_CLEAR(cast(self)->block_type);
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

/* What selecting takes is no line's, neither its time nor what it allocates: a function may
 * define and select others. */
struct own_work {
    uint64_t start;
    uint32_t busy;
};

static struct own_work begin_own_work(const struct profiler *self)
{
    return (struct own_work){clp_clock_read(&self->recorder->clock), clp_hooks_pause()};
}

static void end_own_work(const struct profiler *self, struct own_work work)
{
    clp_hooks_resume(work.busy);
    if (clp_thread_here != NULL)
        clp_engine_stand_still(clp_thread_here,
                               clp_clock_read(&self->recorder->clock) - work.start);
}

static int select_untimed(struct profiler *self, PyObject *object)
{
    struct own_work work = begin_own_work(self);
    int found = clp_select_object(self->recorder, self->texts, object);

    end_own_work(self, work);
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

static struct clp_stay *open_block(struct profiler *self, PyFrameObject *frame, PyObject *name)
{
    struct own_work work = begin_own_work(self);
    struct clp_stay *stay = clp_blocks_open(self->recorder, self->texts, frame, name);

    end_own_work(self, work);
    if (stay != NULL)
        clp_blocks_begin(stay);
    return stay;
}

static PyObject *block_enter(PyObject *self, PyObject *nothing)
{
    struct block *block = (struct block *)self;
    PyFrameObject *frame = frame_of_with();

    (void)nothing;
    if (block->stay == NULL && frame != NULL && cast(block->profiler)->recorder->tracer != NULL)
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
        (cast(self)->recorder->tracer != NULL &&
         open_block(cast(self), (PyFrameObject *)frame, NULL) == NULL))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *profiler_leave_block(PyObject *self, PyObject *frame)
{
    struct clp_stay *stay;

    if (!check_frame(frame))
        return NULL;
    stay = clp_blocks_find(cast(self)->recorder, (PyFrameObject *)frame);
    if (stay != NULL)
        clp_blocks_close(stay);
    Py_RETURN_NONE;
}

static bool has_heap(PyObject *self)
{
    if (cast(self)->recorder->heap == NULL)
        PyErr_SetString(PyExc_ValueError, "this profiler has no table of live blocks (heap=)");
    return cast(self)->recorder->heap != NULL;
}

static PyObject *profiler_start_leaks(PyObject *self, PyObject *arguments)
{
    int warmups;
    long long limit;

    if (!PyArg_ParseTuple(arguments, "iL:start_leaks", &warmups, &limit) || !has_heap(self) ||
        !clp_epochs_restart(cast(self)->recorder, warmups, limit))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *profiler_stop_leaks(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    (void)clp_hooks_set_heap(cast(self)->recorder, NULL);
    Py_RETURN_NONE;
}

static PyObject *profiler_checkpoint(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    clp_epochs_checkpoint(cast(self)->recorder);
    Py_RETURN_NONE;
}

/* The file under /proc is still the parent's. */
static PyObject *profiler_after_fork(PyObject *self, PyObject *nothing)
{
    struct clp_proc *proc = &cast(self)->recorder->proc;
    enum clp_memory mode = proc->mode;

    (void)nothing;
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
    struct own_work work = begin_own_work(cast(self));
    clp_profile_init(&profile, &mem);
    if (clp_profiler_snapshot(self, &profile) == CLP_OK)
        dict = clp_load_dict(&profile);
    else
        PyErr_NoMemory();
    clp_profile_clear(&profile);
    end_own_work(cast(self), work);
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
    struct own_work work = begin_own_work(cast(self));
    PyObject *rendered = clp_rendering_make(self, &rendering);
    end_own_work(cast(self), work);
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
    {"snapshot", profiler_snapshot, METH_NOARGS,
     "snapshot()\n--\n\nWhat was recorded so far, as a dict; clineprof.Profile makes more of it.\n"
     "To be called where nothing selected runs."},
    {"block", profiler_block, METH_O,
     "block(name)\n--\n\n`with profiler.block(\"name\"):` counts the lines of the block as a function."},
    {"enter_block", profiler_enter_block, METH_O,
     "enter_block(frame)\n--\n\nA block without a name begins in this frame."},
    {"leave_block", profiler_leave_block, METH_O,
     "leave_block(frame)\n--\n\nIt ends."},
    {"after_fork", profiler_after_fork, METH_NOARGS,
     "after_fork()\n--\n\nThis process is a fork's child: its memory is read from now on."},
    {"start_leaks", profiler_start_leaks, METH_VARARGS,
     "start_leaks(warmups, limit)\n--\n\nEmpties the table of live blocks and begins again."},
    {"stop_leaks", profiler_stop_leaks, METH_NOARGS,
     "stop_leaks()\n--\n\nBlocks are only counted from now on."},
    {"checkpoint", profiler_checkpoint, METH_NOARGS,
     "checkpoint()\n--\n\nAn epoch is over."},
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
    struct own_work work = begin_own_work(self);
    PyObject *prepared = clp_prepare_code(self->recorder, code, chooser);

    if (prepared != NULL && functions->count != before &&
        !clp_texts_note(self->texts, ((PyCodeObject *)code)->co_filename, globals))
        Py_CLEAR(prepared);
    end_own_work(self, work);
    return prepared;
}

bool clp_profiler_prepare_function(PyObject *profiler, PyObject *function,
                                   const struct clp_chooser *chooser)
{
    const struct profiler *self = cast(profiler);
    PyObject *file = Py_NewRef(((PyCodeObject *)PyFunction_GetCode(function))->co_filename);
    struct own_work work = begin_own_work(self);
    bool done = clp_prepare_function(self->recorder, function, chooser) &&
                clp_texts_note(self->texts, file, PyFunction_GetGlobals(function));

    end_own_work(self, work);
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
    header->memory = recorder->proc.mode;
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

enum clp_heap_state clp_profiler_heap_state(PyObject *profiler)
{
    const struct clp_recorder *recorder = cast(profiler)->recorder;

    if (recorder->engine.with_rss && !clp_hooks_alive())
        return CLP_HEAP_HOOKS_LOST;
    if (recorder->heap == NULL)
        return CLP_HEAP_FINE;
    if (recorder->heap->lost)
        return CLP_HEAP_MEMORY_OUT;
    return recorder->epochs.kind != CLP_EPOCHS_NONE && !clp_epochs_enough(recorder)
               ? CLP_HEAP_EPOCHS_FEW
               : CLP_HEAP_FINE;
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
    if (recorder->heap != NULL)
        meta->own_bytes += recorder->heap->pages.bytes;
    meta->inexact_memory = recorder->engine.with_rss && !recorder->memory_check.exact;
    meta->memory_step = recorder->memory_check.step;
    meta->heap_before = recorder->heap_before;
    meta->heap_native = recorder->heap != NULL && clp_native_is_used();
    clp_status status = clp_profile_set_text(profile, &meta->python, version);
    if (status == CLP_OK)
        status = clp_profile_set_text(profile, &meta->tracer, self->tracer_name);
    if (status == CLP_OK && meta->has_memory)
        status = clp_profile_set_text(profile, &meta->memory,
                                      clp_memory_name(recorder->proc.mode));
    return status;
}

/* Where the hooks were lost the table holds what is long gone: nothing is said of it. */
static clp_status fill_heap(struct clp_recorder *recorder, struct clp_profile *profile)
{
    const struct clp_functions *functions = &recorder->engine.functions;
    const struct clp_heap_judging judging = {.warmups = recorder->epochs.warmups,
                                             .limit = recorder->epochs.limit,
                                             .seconds = (double)profile->meta.wall * 1e-9};

    if (!clp_hooks_alive())
        return CLP_OK;
    clp_epochs_finish(recorder);
    clp_status status = clp_heap_fill(recorder->heap, functions, profile);
    return status == CLP_OK ? clp_heap_judge(recorder->heap, functions, &judging, profile) : status;
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
    if (status == CLP_OK && recorder->heap != NULL)
        status = fill_heap(recorder, profile);
    return status;
}
