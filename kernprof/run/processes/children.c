/* SPDX-License-Identifier: MIT */
#include "children.h"
#include "cpython/recorder/device_time.h"
#include "cpython/recorder/own_work.h"
#include "cpython/object/profiler_run.h"
#include "cpython/object/setup.h"
#include "formats/live/live_lines.h"
#include "family.h"
#include "liverun.h"
#include "naming.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define FORKS_PER_SWEEP 64
#define CHILDREN_PER_SWEEP 32

/* ---- a process ---- */

/* Notes multiprocessing's name for this process in its live file. Does nothing without multiprocessing, and for the
 * main process. */
static void note_name(const struct clp_recording *recording)
{
    PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), "multiprocessing.process");
    PyObject *process = NULL, *name = NULL; /* owned; the module is borrowed */

    if (module != NULL)
        process = PyObject_CallMethod(module, "current_process", NULL);
    if (process != NULL)
        name = PyObject_GetAttrString(process, "name");
    const char *text = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (text != NULL && strcmp(text, "MainProcess") != 0)
        clp_live_set_name(recording->live.live, text);
    PyErr_Clear();
    Py_XDECREF(process);
    Py_XDECREF(name);
}

/* Writes the process's log of lines, which the live file does not have. */
static void write_lines(const struct clp_recording *recording)
{
    const char *path = clp_buf_text(&recording->live.path);
    struct clp_mem mem = clp_mem_system();
    struct clp_profile log;
    struct clp_fault fault;

    clp_profile_init(&log, &mem);
    if (clp_profiler_line_log(recording->profiler, &log) == CLP_OK &&
        clp_live_lines_write(path, &log, recording->rights, &fault) != CLP_OK)
        clp_recording_complain(recording, "cannot write the log of lines beside", path, &fault);
    clp_profile_clear(&log);
}

/* Is called when a child of multiprocessing ends, which runs no atexit functions: the last look for leaks, and the log of
 * lines. */
static PyObject *ended(PyObject *capsule, PyObject *nothing)
{
    const struct clp_recording *recording = PyCapsule_GetPointer(capsule, NULL);

    (void)nothing;
    if (recording != NULL && recording->live.live != NULL && recording->live.process == clp_identity_self()) {
        clp_profiler_mark_end(recording->profiler);
        write_lines(recording);
    }
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyObject *named(PyObject *capsule, PyObject *nothing)
{
    const struct clp_recording *recording = PyCapsule_GetPointer(capsule, NULL);

    (void)nothing;
    if (recording != NULL && recording->live.live != NULL)
        note_name(recording);
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyObject *forked(PyObject *capsule, PyObject *nothing)
{
    struct clp_recording *recording = PyCapsule_GetPointer(capsule, NULL);

    (void)nothing;
    if (recording != NULL)
        clp_recording_fork(recording);
    PyErr_Clear();
    Py_RETURN_NONE;
}

static void sweep(const struct clp_recording *recording)
{
    struct clp_own_work work = clp_own_work_begin(clp_process_recorder());

    clp_family_sweep(recording);
    clp_own_work_end(clp_process_recorder(), work);
}

/* Is called in the parent after a fork. */
static PyObject *has_forked(PyObject *capsule, PyObject *nothing)
{
    struct clp_recording *recording = PyCapsule_GetPointer(capsule, NULL);

    (void)nothing;
    if (recording != NULL && recording->live.live != NULL && ++recording->forks % FORKS_PER_SWEEP == 0)
        sweep(recording);
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"forked", forked, METH_NOARGS, NULL},
    {"named", named, METH_NOARGS, NULL},
    {"has_forked", has_forked, METH_NOARGS, NULL},
    {"ended", ended, METH_NOARGS, NULL},
};

#define METHODS (sizeof methods / sizeof *methods)

PyObject *clp_children_callbacks(struct clp_recording *recording)
{
    PyObject *capsule = PyCapsule_New(recording, NULL, NULL);
    PyObject *tuple = capsule != NULL ? PyTuple_New(METHODS) : NULL;

    for (size_t i = 0; tuple != NULL && i < METHODS; i++) {
        bool wanted = methods[i].ml_meth != ended || clp_profiler_logs_lines(recording->profiler) ||
                      clp_profiler_seeks_leaks(recording->profiler);
        PyObject *function = wanted ? PyCFunction_New(&methods[i], capsule) : Py_NewRef(Py_None);
        if (function == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, function);
    }
    Py_XDECREF(capsule);
    return tuple;
}

/* What a spawned process needs to take part: a new list of str [family, outfile, folder, words of ckernprof ..], or
 * NULL with an exception set. */
static PyObject *settings_of(const struct clp_recording *recording, const struct clp_command_words *words)
{
    char folder[PATH_MAX];
    struct clp_mem mem = clp_mem_system();
    struct clp_buf family;

    clp_buf_init(&family, &mem);
    clp_run_id_add(&family, recording->family);
    PyObject *list = Py_BuildValue("[sNN]", clp_buf_text(&family),
                                   PyUnicode_DecodeFSDefault(clp_recording_family_at(recording)),
                                   PyUnicode_DecodeFSDefault(
                                       getcwd(folder, sizeof folder) != NULL ? folder : "/"));
    clp_buf_clear(&family);
    for (int i = 0; list != NULL && i < words->count; i++) {
        PyObject *word = PyUnicode_DecodeFSDefault(words->items[i]);
        if (word == NULL || PyList_Append(list, word) != 0)
            Py_CLEAR(list);
        Py_XDECREF(word);
    }
    return list;
}

/* Has this process no live file? Then children could not have one, either; the first process says so. */
static bool has_no_place(const struct clp_recording *recording)
{
    if (recording->live.live == NULL && recording->is_first)
        clp_console_complain_format(recording->program, "--prof-child-procs: there is no place for files beside '%s'; "
                                      "only the first process is profiled",
                                    clp_buf_text(&recording->outfile));
    return recording->live.live == NULL;
}

bool clp_children_begin(struct clp_recording *recording, const struct clp_command_words *words)
{
    if (has_no_place(recording))
        return true;
    PyObject *helper = clp_compat_own_module("clineprof._children");
    PyObject *callbacks = clp_children_callbacks(recording);
    PyObject *settings = recording->is_first ? settings_of(recording, words) : Py_NewRef(Py_None);
    PyObject *result = NULL;

    if (helper != NULL && callbacks != NULL && settings != NULL)
        result = PyObject_CallMethod(helper, "begin", "OO", settings, callbacks);
    Py_XDECREF(helper);
    Py_XDECREF(callbacks);
    Py_XDECREF(settings);
    Py_XDECREF(result);
    return result != NULL;
}

void clp_children_leave(struct clp_recording *recording)
{
    if (recording->live.live == NULL || recording->live.process != clp_identity_self())
        return;
    note_name(recording);
    clp_device_time_end(); /* the live file is what is left of a child */
    clp_profiler_mark_end(recording->profiler);
    if (clp_profiler_function_count(recording->profiler) != 0)
        write_lines(recording);
    if (clp_profiler_function_count(recording->profiler) == 0)
        clp_liverun_end(&recording->live, recording->program, true);
    else if (getpid() % CHILDREN_PER_SWEEP == 0)
        clp_family_sweep(recording);
}
