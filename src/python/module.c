/* SPDX-License-Identifier: MIT */
/* clineprof._core: the extension module. */
#include "../../kernprof/keep.h"
#include "../../kernprof/load.h"
#include "../../kernprof/memory.h"
#include "../../kernprof/run.h"
#include "../../kernprof/selection.h"
#include "../../kernprof/together.h"
#include "../../kernprof/words.h"
#include "../core/version.h"
#include "hooks.h"
#include "profiler.h"
#include "tracer.h"

static PyObject *module_tracers(PyObject *module, PyObject *nothing)
{
    PyObject *names = PyList_New(0);

    (void)module, (void)nothing;
    for (size_t i = 0; names != NULL && clp_tracers[i] != NULL; i++) {
        PyObject *name = PyUnicode_FromString(clp_tracers[i]->name);
        if (name == NULL || PyList_Append(names, name) != 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    PyObject *tuple = names != NULL ? PyList_AsTuple(names) : NULL;
    Py_XDECREF(names);
    return tuple;
}

static PyObject *module_main(PyObject *module, PyObject *arguments)
{
    const char *kind;
    PyObject *words;

    if (!PyArg_ParseTuple(arguments, "sO!:main", &kind, &PyList_Type, &words))
        return NULL;
    if (strcmp(kind, "view") == 0)
        return clp_view_main(words);
    PyObject *type = PyObject_GetAttrString(module, "Profiler");
    PyObject *result = type != NULL ? clp_run_main(type, words) : NULL;
    Py_XDECREF(type);
    return result;
}

static PyObject *module_join(PyObject *module, PyObject *arguments)
{
    PyObject *type = PyObject_GetAttrString(module, "Profiler");
    PyObject *result = type != NULL ? clp_run_join(type, arguments) : NULL;

    Py_XDECREF(type);
    return result;
}

static PyObject *module_together(PyObject *module, PyObject *arguments)
{
    (void)module;
    return clp_together_begin(arguments);
}

static PyObject *module_load(PyObject *module, PyObject *paths)
{
    (void)module;
    return clp_load_files(paths);
}

static PyObject *module_sum(PyObject *module, PyObject *paths)
{
    (void)module;
    return clp_load_sum(paths);
}

static PyObject *module_hottest(PyObject *module, PyObject *arguments)
{
    Py_ssize_t size, count;
    const char *bytes;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "y#n:hottest", &bytes, &size, &count))
        return NULL;
    return clp_load_hottest(bytes, (size_t)size, count > 0 ? (size_t)count : 1);
}

static PyObject *module_print(PyObject *module, PyObject *text)
{
    const char *bytes = PyUnicode_AsUTF8(text);

    (void)module;
    if (bytes == NULL)
        return NULL;
    clp_words_print(1, bytes);
    Py_RETURN_NONE;
}

static PyObject *module_sizes(PyObject *module, PyObject *arguments)
{
    (void)module;
    return clp_memory_sizes(arguments);
}

static PyObject *module_recording(PyObject *module, PyObject *nothing)
{
    (void)module, (void)nothing;
    return PyBool_FromLong(clp_profiler_any_counts());
}

static PyObject *module_checkpoint(PyObject *module, PyObject *nothing)
{
    (void)module, (void)nothing;
    clp_hooks_checkpoint();
    Py_RETURN_NONE;
}

/* keep(profiler, outfile, command) */
static PyObject *module_keep(PyObject *module, PyObject *arguments)
{
    (void)module;
    return clp_keep_begin(arguments);
}

static PyObject *module_keep_end(PyObject *module, PyObject *written)
{
    (void)module;
    return clp_keep_end(written);
}

static PyMethodDef module_methods[] = {
    {"recording", module_recording, METH_NOARGS,
     "recording()\n--\n\nDoes any Profiler of this process count at the moment?"},
    {"keep", module_keep, METH_VARARGS,
     "keep(profiler, outfile, command)\n--\n\nA live file is kept beside the file from now on: its path; or None,\n"
     "when that is too late: another Profiler, functions or threads are known."},
    {"keep_end", module_keep_end, METH_O,
     "keep_end(written)\n--\n\nIt goes away when the profile has been written."},
    {"checkpoint", module_checkpoint, METH_NOARGS,
     "checkpoint()\n--\n\nWith ckernprof --leaks=checkpoints: an epoch is over. Else nothing."},
    {"tracers", module_tracers, METH_NOARGS,
     "tracers()\n--\n\nNames of the tracers that this interpreter has, the preferred one first."},
    {"load", module_load, METH_VARARGS,
     "load(*paths)\n--\n\nThe sum of these profiles as one dict; clineprof.load makes more of it."},
    {"sum", module_sum, METH_VARARGS,
     "sum(*paths)\n--\n\nThe sum of these profiles as the bytes of a .lprof file."},
    {"hottest", module_hottest, METH_VARARGS,
     "hottest(data, count)\n--\n\nThe table of the lines that took the most time of their own in a profile,\n"
     "the content of an .lprof file."},
    {"print", module_print, METH_O,
     "print(text)\n--\n\nTo standard output, past sys.stdout, behind what is in its buffer. A reader that\n"
     "has gone is no error."},
    {"sizes", module_sizes, METH_VARARGS,
     "sizes(pid, children, kind)\n--\n\n[(pid, bytes), ..] of a process and, with children, of what\n"
     "descends from it. kind: 'rss', 'anon', 'pss' or 'uss'. OSError when the process cannot be seen."},
    {"main", module_main, METH_VARARGS,
     "main(kind, words)\n--\n\nRuns the command line `words` of ckernprof (kind 'run') or of the\n"
     "viewer (kind 'view'); raises SystemExit with the exit code."},
    {"together", module_together, METH_VARARGS,
     "together(profiler, outfile, family, command, is_server)\n--\n\nThis process and those that it\n"
     "starts count together; clineprof._together does the rest. None where that cannot be."},
    {"join", module_join, METH_VARARGS,
     "join(family, outfile, folder, words, is_server)\n--\n\nThis process takes part in the run of\n"
     "ckernprof with this command line, which began in this folder as process `family`."},
    {NULL, NULL, 0, NULL},
};

/* Takes the reference to the type; NULL is a failure that has its exception already. */
static bool add_type(PyObject *module, const char *name, PyObject *type)
{
    bool done = type != NULL && PyModule_AddObjectRef(module, name, type) == 0;

    Py_XDECREF(type);
    return done;
}

static int module_exec(PyObject *module)
{
    bool done = add_type(module, "Profiler", clp_profiler_make_type(module)) &&
                add_type(module, "Selection", clp_selection_make_type(module)) &&
                add_type(module, "Sampler", clp_memory_make_type(module)) &&
                PyModule_AddStringConstant(module, "__version__", CLP_VERSION) == 0;

    return done ? 0 : -1;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "clineprof._core",
    .m_doc = "The engine of clineprof, and the command lines in front of it.",
    .m_size = 0,
    .m_methods = module_methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&module_def);
}
