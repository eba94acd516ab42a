/* SPDX-License-Identifier: MIT */
#include "profiler.h"
#include "bridge/content.h"
#include "bridge/load.h"
#include "bridge/rendering.h"
#include "cpython/memory/hooks.h"
#include "cpython/recorder/device_time.h"
#include "cpython/recorder/heap_table.h"
#include "cpython/recorder/line_log.h"
#include "cpython/recorder/own_work.h"
#include "engine/devices.h"
#include "cpython/windows/prepare.h"
#include "profiler_run.h"
#include "cpython/recorder/recorder.h"
#include "cpython/windows/cython_selecting.h"
#include "cpython/windows/select.h"
#include "setup.h"
#include "cpython/tracers/tracer.h"
#include "cpython/tracers/counting.h"
#include "with_block.h"
#include <structmember.h>

/* Reads the argument `context`; None becomes NULL. False with an exception set. */
static bool read_context(PyObject **context)
{
    if (*context == Py_None)
        *context = NULL;
    if (*context == NULL || PyContextVar_CheckExact(*context))
        return true;
    PyErr_Format(PyExc_TypeError, "context is a contextvars.ContextVar or None, not %R", *context);
    return false;
}

static PyObject *profiler_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"tracer", "memory", "by_statement", "heap", "leaks",
                            "leak_limit", "started", "source", "cpu", "counters", "native", "context",
                            "tensors", "cuda", "line_log", "nvtx", "torch_names", NULL};
    struct clp_wishes wishes = {.leak_limit = -1, .started = true};
    PyObject *memory = NULL; /* borrowed */
    const char *counters = "";

    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|zOpnzLpzpspOppppp:Profiler", names, &wishes.tracer,
                                     &memory, &wishes.by_statement, &wishes.heap, &wishes.leaks,
                                     &wishes.leak_limit, &wishes.started, &wishes.source, &wishes.cpu,
                                     &counters, &wishes.native, &wishes.context, &wishes.tensors, &wishes.cuda,
                                     &wishes.line_log, &wishes.nvtx, &wishes.torch_names) ||
        !read_context(&wishes.context) || !clp_setup_read_memory(memory, &wishes.memory) ||
        !clp_setup_read_counters(counters, &wishes.tallies))
        return NULL;
    wishes.names_memory = memory != NULL && PyUnicode_Check(memory) && wishes.memory != CLP_MEMORY_OFF &&
                          wishes.memory != CLP_MEMORY_RSS;
    PyObject *self = type->tp_alloc(type, 0);
    if (self != NULL && !clp_setup_profiler(clp_profiler_of(self), &wishes))
        Py_CLEAR(self);
    return self;
}

static void profiler_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    if (clp_profiler_of(self)->weak_references != NULL)
        PyObject_ClearWeakRefs(self);
    Py_CLEAR(clp_profiler_of(self)->left_out);
    Py_CLEAR(clp_profiler_of(self)->destination);
    clp_setup_undo(clp_profiler_of(self));
    Py_CLEAR(clp_profiler_of(self)->block_type);
    Py_CLEAR(clp_profiler_of(self)->context);
    type->tp_free(self);
    Py_DECREF(type);
}

static int profiler_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(clp_profiler_of(self)->context);
    return 0;
}

/* The level, for a warning, of the user's frame. With `from clineprof import profile` a Python function lies in
 * between. */
static Py_ssize_t level_of_user(void)
{
    PyObject *globals = PyEval_GetGlobals(); /* borrowed */
    PyObject *name = globals == NULL ? NULL : PyDict_GetItemString(globals, "__name__");
    bool is_ours = name != NULL && PyUnicode_Check(name) &&
                   PyUnicode_CompareWithASCIIString(name, "clineprof._global") == 0;

    return is_ours ? 2 : 1;
}

/* Why nothing is profiled of the object. */
static const char *why_not_code(const struct clp_recorder *recorder, PyObject *object)
{
    if (PyType_Check(object) && PyType_HasFeature((PyTypeObject *)object, Py_TPFLAGS_HEAPTYPE))
        return "has no Python functions of its own";
    if (clp_cython_is(object) && clp_cython_missing(recorder) != NULL)
        return clp_cython_missing(recorder);
    return "is not Python code";
}

/* Warns that nothing is profiled of the object. An object whose repr() fails is named by its class. */
static bool warn_not_code(const struct clp_recorder *recorder, PyObject *object)
{
    PyObject *shown = PyObject_Repr(object);

    if (shown == NULL) {
        PyErr_Clear();
        shown = PyUnicode_FromFormat("an object of class %s", Py_TYPE(object)->tp_name);
    }
    int failed = shown == NULL ||
                 PyErr_WarnFormat(PyExc_RuntimeWarning, level_of_user(),
                                  "clineprof: %U %s; it is not profiled", shown, why_not_code(recorder, object)) < 0;
    Py_XDECREF(shown);
    return !failed;
}

/* The profiler's window; NULL with an exception set, because the profiler was closed. */
static struct clp_code_window *window_of(PyObject *self)
{
    struct clp_code_window *window = &clp_profiler_of(self)->window;

    return clp_code_window_is_there(window) ? window : NULL;
}

static int select_untimed(PyObject *self, PyObject *object, bool with_inner)
{
    struct clp_profiler *profiler = clp_profiler_of(self);
    struct clp_recorder *recorder = profiler->window.recorder;
    struct clp_own_work work = clp_own_work_begin(recorder);
    struct clp_selecting selecting = {with_inner, with_inner ? self : NULL, profiler->left_out};
    int found = clp_select_object(&profiler->window, object, &selecting);

    clp_own_work_end(recorder, work);
    return found;
}

/* Selects the object, unless the program is over: finalizers and daemon threads continue after its end. */
static PyObject *profiler_select(PyObject *self, PyObject *object, bool with_inner)
{
    int found = 1;

    if (window_of(self) == NULL)
        return NULL;
    if (!clp_profiler_of(self)->ended)
        found = select_untimed(self, object, with_inner);
    if (found < 0 || (found == 0 && !warn_not_code(clp_profiler_of(self)->window.recorder, object)))
        return NULL;
    return Py_NewRef(object);
}

static PyObject *profiler_add(PyObject *self, PyObject *object)
{
    return profiler_select(self, object, false);
}

/* profile(..): accepts the arguments of memory_profiler's `profile`, which say where its tables go and how they
 * look. Here the tables are a report at the end, with options of its own, so these arguments have no effect. */
static PyObject *profiler_call(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"", "stream", "precision", "backend", NULL};
    PyObject *object = NULL, *stream = Py_None, *ignored;

    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O$OOO:profile", names, &object, &stream,
                                     &ignored, &ignored))
        return NULL;
    if (stream != Py_None &&
        PyErr_WarnEx(PyExc_RuntimeWarning, "clineprof: profile(stream=..) writes nothing there; the tables "
                                           "come at the end of the run", level_of_user()) < 0)
        return NULL;
    return object != NULL ? profiler_select(self, object, true) : Py_NewRef(self);
}

/* Removes the function that has the code, and those within it. */
static bool remove_code(struct clp_code_window *window, PyCodeObject *code)
{
    const struct clp_selected *selected = clp_recorder_selected(window->recorder, (PyObject *)code);
    PyObject *constants = Py_NewRef(selected != NULL && selected->original != NULL
                                        ? ((PyCodeObject *)selected->original)->co_consts
                                        : code->co_consts);
    bool done = selected == NULL || selected->function == CLP_UNSELECTED ||
                clp_code_window_remove(window, selected->function);

    for (Py_ssize_t i = 0; done && i < PyTuple_GET_SIZE(constants); i++) {
        PyObject *item = PyTuple_GET_ITEM(constants, i);
        done = !PyCode_Check(item) || remove_code(window, (PyCodeObject *)item);
    }
    Py_DECREF(constants);
    return done;
}

static PyObject *profiler_remove(PyObject *self, PyObject *function)
{
    bool is_cython = clp_cython_is(function);
    if (!is_cython && !PyFunction_Check(function)) {
        PyErr_SetString(PyExc_TypeError, "remove_function() takes a Python function");
        return NULL;
    }
    struct clp_code_window *window = window_of(self);
    if (window == NULL)
        return NULL;
    if (is_cython)
        return clp_cython_remove(window, function) ? Py_NewRef(Py_None) : NULL;
    PyObject *code = Py_NewRef(PyFunction_GetCode(function));
    bool done = remove_code(window, (PyCodeObject *)code);
    Py_DECREF(code);
    return done ? Py_NewRef(Py_None) : NULL;
}

/* ---- windows ---- */

/* Changes the window. The time of that counts for no line. Returns None, or NULL with an exception set. */
static PyObject *untimed(PyObject *self, bool (*change)(struct clp_code_window *))
{
    struct clp_code_window *window = window_of(self);

    if (window == NULL)
        return NULL;
    struct clp_recorder *recorder = window->recorder;
    struct clp_own_work work = clp_own_work_begin(recorder);
    bool done = change(window);
    clp_own_work_end(recorder, work);
    return done ? Py_NewRef(Py_None) : NULL;
}

static PyObject *profiler_start(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    return untimed(self, clp_code_window_open);
}

static PyObject *profiler_stop(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    return untimed(self, clp_code_window_close);
}

static bool open_gate(struct clp_code_window *window)
{
    return clp_code_window_set_gate(window, true);
}

static bool shut_gate(struct clp_code_window *window)
{
    return clp_code_window_set_gate(window, false);
}

static bool pause_counting(struct clp_code_window *window)
{
    return clp_code_window_set_pause(window, true);
}

static bool resume_counting(struct clp_code_window *window)
{
    return clp_code_window_set_pause(window, false);
}

static PyObject *profiler_pause(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    return untimed(self, pause_counting);
}

static PyObject *profiler_resume(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    return untimed(self, resume_counting);
}

static PyObject *profiler_gate(PyObject *self, PyObject *open)
{
    int wanted = PyObject_IsTrue(open);

    return wanted < 0 ? NULL : untimed(self, wanted ? open_gate : shut_gate);
}

static bool reset(struct clp_code_window *window)
{
    if (window->line_log)
        clp_line_log_reset(window->recorder);
    if (window->devices & CLP_DEVICE_TIME)
        clp_device_time_look();
    window->outside = clp_device_time_outside();
    clp_counting_look(window->recorder);
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
    clp_profiler_of(self)->started = clp_clock_wall();
    clp_profiler_of(self)->start_nanos = clp_clock_monotonic();
    return done;
}

static PyObject *profiler_close(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    clp_setup_undo(clp_profiler_of(self));
    Py_RETURN_NONE;
}

static const char *state_of(const struct clp_profiler *self)
{
    const struct clp_code_window *window = &self->window;

    if (window->recorder == NULL || window->gone)
        return "closed";
    if (self->ended)
        return "ended";
    if (!window->open)
        return "stopped";
    if (window->displaced)
        return "another Profiler counts";
    return window->paused ? "paused" : window->shut ? "its gate is shut" : "counting";
}

/* The number of functions that are selected now. */
static size_t selected_count(const struct clp_profiler *profiler)
{
    size_t count = 0;

    for (size_t i = 0; profiler->window.recorder != NULL && i < profiler->window.view.count; i++)
        count += profiler->window.view.items[i].selected;
    return count;
}

static PyObject *profiler_function_count(PyObject *self, void *nothing)
{
    (void)nothing;
    return PyLong_FromSize_t(selected_count(clp_profiler_of(self)));
}

/* Tells, for example, "counting, tracer probe, 3 functions, for 'x.lprof'". */
static PyObject *profiler_summary(PyObject *self, void *nothing)
{
    const struct clp_profiler *profiler = clp_profiler_of(self);
    const struct clp_recorder *recorder = profiler->window.recorder;
    const char *state = state_of(profiler);
    size_t count = selected_count(profiler);

    (void)nothing;
    if (recorder == NULL || recorder->tracer == NULL)
        return PyUnicode_FromString(state);
    PyObject *text = PyUnicode_FromFormat("%s, tracer %s, %zu function%s", state, recorder->tracer->name,
                                          count, count == 1 ? "" : "s");
    if (text != NULL && profiler->destination != NULL)
        Py_SETREF(text, PyUnicode_FromFormat("%U, for %R", text, profiler->destination));
    return text;
}

/* Is the code that of a selected function, and has it no probes? */
static PyObject *profiler_selects_plain(PyObject *self, PyObject *code)
{
    const struct clp_code_window *window = window_of(self);

    if (window == NULL)
        return NULL;
    const struct clp_selected *selected = PyCode_Check(code) ? clp_recorder_selected(window->recorder, code) : NULL;
    return PyBool_FromLong(selected != NULL && selected->function != CLP_UNSELECTED && !selected->probed &&
                           clp_view_has(&window->view, selected->function));
}

/* Are blocks of the allocator's domain "raw" left out of what lines allocate? */
static PyObject *profiler_lacks_raw(PyObject *self, void *nothing)
{
    (void)nothing;
    return PyBool_FromLong(clp_profiler_of(self)->window.memory && !clp_hooks_have_raw());
}

static PyObject *profiler_repr(PyObject *self)
{
    PyObject *summary = profiler_summary(self, NULL);
    PyObject *text = summary != NULL ? PyUnicode_FromFormat("<clineprof.Profiler: %U>", summary) : NULL;

    Py_XDECREF(summary);
    return text;
}

static PyObject *profiler_running(PyObject *self, void *nothing)
{
    (void)nothing;
    return PyBool_FromLong(clp_profiler_of(self)->window.recorder != NULL && clp_profiler_of(self)->window.open);
}

/* enable(), disable() and the like, which line_profiler needs around a part of the program. They do nothing
 * here, because selected functions are measured wherever they run. */
static PyObject *profiler_nothing(PyObject *self, PyObject *arguments)
{
    (void)self, (void)arguments;
    Py_RETURN_NONE;
}

static PyObject *profiler_itself(PyObject *self, PyObject *arguments)
{
    (void)arguments;
    return Py_NewRef(self);
}

/* Pickles the profiler, because functions that use it are pickled with it, for example by dill. There may be no
 * clineprof where they are unpickled. So the result is the `profile` of that run, or else a function that
 * returns its argument. */
static PyObject *profiler_reduce(PyObject *self, PyObject *nothing)
{
    PyObject *eval = PyDict_GetItemString(PyEval_GetBuiltins(), "eval"); /* borrowed */

    (void)self, (void)nothing;
    if (eval == NULL)
        return PyErr_Format(PyExc_TypeError, "cannot pickle a Profiler where there is no eval()");
    return Py_BuildValue("O(s)", eval, "vars(__import__('builtins')).get('profile') or "
                                       "(lambda function: function)");
}

static bool has_heap(PyObject *self)
{
    if (!clp_profiler_of(self)->has_heap)
        PyErr_SetString(PyExc_ValueError, "this profiler has no table of live blocks (heap=)");
    return clp_profiler_of(self)->has_heap;
}

static PyObject *profiler_start_leaks(PyObject *self, PyObject *arguments)
{
    int warmups;
    long long limit;

    if (!PyArg_ParseTuple(arguments, "iL:start_leaks", &warmups, &limit) || !has_heap(self) ||
        !clp_heap_table_restart(clp_profiler_of(self)->window.recorder, warmups, limit))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *profiler_stop_leaks(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    if (!has_heap(self))
        return NULL;
    clp_heap_table_rest(clp_profiler_of(self)->window.recorder);
    Py_RETURN_NONE;
}

static PyObject *profiler_checkpoint(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    if (clp_profiler_of(self)->has_heap)
        clp_epochs_checkpoint(&clp_profiler_of(self)->window.recorder->epochs);
    Py_RETURN_NONE;
}

static PyObject *profiler_after_fork(PyObject *self, PyObject *nothing)
{
    (void)self, (void)nothing;
    clp_recorder_after_fork(clp_process_recorder());
    Py_RETURN_NONE;
}

/* Makes an object of what was counted so far. NULL with an exception set. */
static PyObject *snapshot(PyObject *self, PyObject *(*make)(const struct clp_profile *profile))
{
    struct clp_mem mem = clp_mem_system();
    struct clp_profile profile;
    PyObject *dict = NULL;

    if (window_of(self) == NULL)
        return NULL;
    struct clp_recorder *recorder = clp_profiler_of(self)->window.recorder;
    struct clp_own_work work = clp_own_work_begin(recorder);
    clp_profile_init(&profile, &mem);
    if (clp_profiler_snapshot(self, &profile) == CLP_OK)
        dict = make(&profile);
    else
        PyErr_NoMemory();
    clp_profile_clear(&profile);
    clp_own_work_end(recorder, work);
    return dict;
}

/* Warns, once in a process, if the time of devices is wanted, but cannot be counted. False with an exception set. */
static bool warn_of_devices(const struct clp_code_window *window)
{
    static bool warned;
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;

    if (warned || (window->devices & CLP_DEVICE_TIME) == 0 || !clp_device_time_failed())
        return true;
    warned = true;
    clp_buf_init(&text, &mem);
    bool done = !clp_device_time_explain(&text) ||
                PyErr_WarnFormat(PyExc_RuntimeWarning, level_of_user(), "clineprof: %s", clp_buf_text(&text)) == 0;
    clp_buf_clear(&text);
    return done;
}

static PyObject *profiler_snapshot(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    if (!warn_of_devices(&clp_profiler_of(self)->window))
        return NULL;
    return snapshot(self, clp_load_dict);
}

static PyObject *profiler_whole(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    return snapshot(self, clp_content_dict);
}

/* Renders what the profiler has counted so far. */
static PyObject *render(PyObject *self, const struct clp_rendering *wanted)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_profile profile;
    PyObject *rendered = NULL;

    clp_profile_init(&profile, &mem);
    if (clp_profiler_snapshot(self, &profile) != CLP_OK ||
        clp_profile_set_text(&profile, &profile.meta.command, wanted->command) != CLP_OK)
        PyErr_NoMemory();
    else
        rendered = clp_rendering_of(&profile, wanted);
    clp_profile_clear(&profile);
    return rendered;
}

static PyObject *profiler_render(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    struct clp_rendering rendering;

    if (!clp_rendering_read(&rendering, arguments, keywords) || window_of(self) == NULL)
        return NULL;
    struct clp_recorder *recorder = clp_process_recorder();
    struct clp_own_work work = clp_own_work_begin(recorder);
    PyObject *rendered = render(self, &rendering);
    clp_own_work_end(recorder, work);
    return rendered;
}

/* ---- code that is about to run ---- */

static PyObject *profiler_prepare(PyObject *self, PyObject *arguments)
{
    PyObject *code, *globals = PyDict_New();
    const char *which = "all";
    const struct clp_chooser *chooser;
    PyObject *prepared = NULL;

    if (globals != NULL && PyArg_ParseTuple(arguments, "O!|s:prepare", &PyCode_Type, &code, &which) &&
        (chooser = clp_chooser_named(which)) != NULL)
        prepared = clp_profiler_prepare(self, code, chooser, globals);
    Py_XDECREF(globals);
    return prepared;
}

static PyObject *profiler_displaced(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    return PyBool_FromLong(clp_profiler_displaced(self) || clp_profiler_of(self)->window.displaced);
}

static PyMethodDef profiler_methods[] = {
    {"prepare", profiler_prepare, METH_VARARGS,
     "prepare(code, which='all')\n--\n\nThe code object to run in the place of this one, a module's:\n"
     "its lines count, and those of the code within it. which: 'all'; 'functions': of that within\n"
     "only what def defines; 'module': none of it. Its text is looked up by its file name, in\n"
     "linecache where there is no such file."},
    {"block", clp_with_block_new, METH_O,
     "block(name)\n--\n\n`with profiler.block(\"name\"):` counts the lines of the block as a function."},
    {"timestamp", CLP_C_FUNCTION(clp_with_block_timestamp), METH_VARARGS | METH_KEYWORDS,
     "timestamp(name='<block>')\n--\n\nblock() by the name that programs for mprof use."},
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
    {"pause", profiler_pause, METH_NOARGS,
     "pause()\n--\n\nNothing counts, in any thread, until resume(), whatever start() and gate() do meanwhile.\n"
     "However often it is called, one resume() ends it. As cheap as gate()."},
    {"resume", profiler_resume, METH_NOARGS,
     "resume()\n--\n\nCounting goes on as start() and gate() have it."},
    {"reset", profiler_reset, METH_NOARGS,
     "reset()\n--\n\nForgets all numbers. Functions stay selected, the window stays as it is."},
    {"close", profiler_close, METH_NOARGS,
     "close()\n--\n\nGives up everything, numbers too; the same happens when the object dies. Then every\n"
     "other method but close() raises ValueError."},
    {"displaced", profiler_displaced, METH_NOARGS,
     "displaced()\n--\n\nHas another tool taken sys.settrace away from the tracer settrace, or, with context=,\n"
     "another Profiler counted since start()? What ran then is missing."},
    {"start_leaks", profiler_start_leaks, METH_VARARGS,
     "start_leaks(warmups, limit)\n--\n\nEmpties the table of live blocks and begins again."},
    {"stop_leaks", profiler_stop_leaks, METH_NOARGS,
     "stop_leaks()\n--\n\nBlocks are only counted from now on."},
    {"checkpoint", profiler_checkpoint, METH_NOARGS,
     "checkpoint()\n--\n\nAn epoch is over."},
    {"add_function", profiler_add, METH_O,
     "add_function(function)\n--\n\nSelects a function, or what is in a method, property, partial, class ..,\n"
     "but not what is defined in its body; calling the profiler selects that, too. Returns its argument.\n"
     "RuntimeWarning: there is no Python code in it."},
    {"remove_function", profiler_remove, METH_O,
     "remove_function(function)\n--\n\nTakes the function off, what is defined in it, and all that were made of the\n"
     "same code. What was counted stays. When no other Profiler has it, it gets its own code back.\n"
     "TypeError: it is no Python function."},
    {"enable", profiler_nothing, METH_NOARGS, "Selected functions are always measured."},
    {"disable", profiler_nothing, METH_NOARGS, "Selected functions are always measured."},
    {"enable_by_count", profiler_nothing, METH_NOARGS, "As enable()."},
    {"disable_by_count", profiler_nothing, METH_NOARGS, "As disable()."},
    {"__enter__", clp_with_block_enter, METH_NOARGS, NULL},
    {"__copy__", profiler_itself, METH_NOARGS, NULL},
    {"__deepcopy__", profiler_itself, METH_O, NULL},
    {"__reduce__", profiler_reduce, METH_NOARGS,
     "The `profile` of the run that unpickles it; where there is none, a function that gives back its\n"
     "argument."},
    {"__exit__", clp_with_block_leave, METH_VARARGS, NULL},
    {"render", CLP_C_FUNCTION(profiler_render), METH_VARARGS | METH_KEYWORDS,
     "render(format, unit=1e-06, skip_zero=False, command='', *, sort=False, details=True,\n"
     "       summarize=False, memory=True, marked=False, folder=None)\n--\n\n"
     "What was recorded so far: 'text', the report, times in units of so many seconds, or in 's', 'ms',\n"
     "'us', 'ns' or, each time in the unit that fits it, 'auto'; 'mp',\n"
     "memory_profiler's table; 'lprof' and 'line_profiler', the bytes of such a file.\n"
     "skip_zero: without functions that never ran. command: what ran, for readers of the file.\n"
     "Of the report, sort: the slowest function last; details: with the tables; summarize: a line\n"
     "for each function at the end; memory: with its columns; marked: for clineprof's own\n"
     "code that prints on a terminal; folder:\n"
     "file names under it are relative to it.\n"
     "ValueError for another format, or for 'mp' when memory was not read."},
    {"snapshot", profiler_snapshot, METH_NOARGS,
     "snapshot()\n--\n\nWhat was counted so far, as a dict; clineprof.Profile makes more of it. Times are\n"
     "nanoseconds, memory is bytes. May be called at any time, from any thread; what runs is included\n"
     "up to now, and nothing changes by it.\nMemoryError."},
    {"_selects_plain", profiler_selects_plain, METH_O,
     "_selects_plain(code)\n--\n\nIs this the code object of a selected function, without probes?"},
    {"_whole", profiler_whole, METH_NOARGS,
     "_whole()\n--\n\nAs snapshot(), with the content of a .lprof file, which takes longer to make than the rest."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef profiler_attributes[] = {
    {"running", profiler_running, NULL, "Is the window open (start, stop)?", NULL},
    {"_summary", profiler_summary, NULL, "What its repr() tells.", NULL},
    {"_function_count", profiler_function_count, NULL, "The number of functions that are selected.", NULL},
    {"_lacks_raw", profiler_lacks_raw, NULL,
     "Does what lines allocate lack blocks of PyMem_RawMalloc? Other threads ran before memory was measured.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef profiler_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct clp_profiler, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot profiler_slots[] = {
    {Py_tp_doc,
     "Profiler(tracer=None, memory=True, by_statement=False, heap=0, leaks=None, leak_limit=-1, "
     "started=True, source=None, cpu=False, counters='', native=False, context=None, "
     "tensors=False, cuda=False, line_log=False, nvtx=False, torch_names=False)\n--\n\n"
     "Measures hits, time and memory of every line of the functions it is called with. There may be\n"
     "any number at once; each has its own functions, windows and numbers.\n\n"
     "tracer: 'probe', 'monitoring', 'settrace', 'light' (times are estimates); the first Profiler chooses.\n"
     "memory: 'rss', 'anon', 'uss', 'pss', 'tree', True (what is measured already, or 'rss'), False.\n"
     "by_statement: a statement over several lines counts once, at its first line.\n"
     "heap: mean bytes between samples of the table of live blocks; 0: no table.\n"
     "leaks: what ends an epoch: 'calls', 'checkpoints', seconds, or the name of a function.\n"
     "leak_limit: bytes by which a line may grow; negative: the usual limit.\n"
     "started: does the window open at once?\n"
     "source: whose text profiles have: 'functions' (usually), 'files' or 'none'.\n"
     "cpu: are times split into processor time and waiting?\n"
     "counters: what else is counted, of 'io', 'faults' and 'switches', with commas between them.\n"
     "native: how much of each line's time passes in C code and in library functions that it calls?\n"
     "context: a contextvars.ContextVar; only bodies count that begin or resume where it holds this Profiler.\n"
     "tensors, cuda, line_log: are tensors, devices and the order of lines recorded? See docs/training.md.\n"
     "nvtx: are functions and blocks ranges for NVIDIA Nsight Systems?\n"
     "torch_names: are the program's `with torch.profiler.record_function(..):` blocks of this Profiler?\n\n"
     "ValueError: no such tracer or memory. RuntimeError: another Profiler of the process has chosen\n"
     "otherwise, or the interpreter or another tool leaves no place."},
    {Py_tp_new, profiler_new},
    {Py_tp_dealloc, profiler_free},
    {Py_tp_traverse, profiler_traverse},
    {Py_tp_call, profiler_call},
    {Py_tp_repr, profiler_repr},
    {Py_tp_methods, profiler_methods},
    {Py_tp_getset, profiler_attributes},
    {Py_tp_members, profiler_members},
    {0, NULL},
};

static PyType_Spec profiler_spec = {
    .name = "clineprof._core.Profiler",
    .basicsize = sizeof(struct clp_profiler),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = profiler_slots,
};

PyObject *clp_profiler_make_type(PyObject *module)
{
    return PyType_FromModuleAndSpec(module, &profiler_spec, NULL);
}
