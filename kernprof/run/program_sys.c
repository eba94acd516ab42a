/* SPDX-License-Identifier: MIT */
#include "program_sys.h"
#include "cli/first_path.h"
#include "cpython/compat/compat.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- sys ---- */

static PyObject *list_of(char **items, int count)
{
    PyObject *list = PyList_New(count);

    for (int i = 0; list != NULL && i < count; i++) {
        PyObject *item = PyUnicode_DecodeFSDefault(items[i]);
        if (item == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, item);
    }
    return list;
}

/* The option of python that stands before the target, -m or -c; NULL for a script. */
static const char *flag_of_target(const struct clp_run_options *options)
{
    return options->target_kind == CLP_TARGET_MODULE ? "-m"
           : options->target_kind == CLP_TARGET_CODE ? "-c"
                                                     : NULL;
}

/* Sets sys.orig_argv to what it is without a profiler: the interpreter and the program's own words. False with an
 * exception set. */
static bool set_orig_argv(const struct clp_run_options *options)
{
    PyObject *words = list_of(options->program_argv, options->program_argc);
    PyObject *python = PySys_GetObject("executable"); /* borrowed */
    bool done = words != NULL && python != NULL;

    if (done && flag_of_target(options) != NULL) {
        PyObject *flag = PyUnicode_FromString(flag_of_target(options));
        done = flag != NULL && PyList_Insert(words, 0, flag) == 0;
        Py_XDECREF(flag);
    }
    done = done && PyList_Insert(words, 0, python) == 0 && PySys_SetObject("orig_argv", words) == 0;
    Py_XDECREF(words);
    return done;
}

static bool set_argv(const struct clp_run_options *options)
{
    PyObject *words = list_of(options->program_argv, options->program_argc);
    bool done = words != NULL;

    /* runpy later replaces "-m" by the module's file name */
    if (done && flag_of_target(options) != NULL)
        done = PyList_SetItem(words, 0, PyUnicode_FromString(flag_of_target(options))) == 0;
    done = done && PySys_SetObject("argv", words) == 0;
    Py_XDECREF(words);
    return done;
}

PyObject *clp_program_folder_of(const char *script)
{
    char resolved[PATH_MAX];

    if (realpath(script, resolved) == NULL)
        (void)snprintf(resolved, sizeof resolved, "%s", script);
    char *slash = strrchr(resolved, '/');
    if (slash == NULL)
        return PyUnicode_FromString("");
    slash[slash == resolved] = 0;
    return PyUnicode_DecodeFSDefault(resolved);
}

static PyObject *working_folder(void)
{
    char folder[PATH_MAX];

    return PyUnicode_DecodeFSDefault(getcwd(folder, sizeof folder) != NULL ? folder : "");
}

PyObject *clp_program_name_of(const char *script)
{
    char folder[PATH_MAX];

    if (script[0] == '/' || getcwd(folder, sizeof folder) == NULL)
        return PyUnicode_DecodeFSDefault(script);
    PyObject *start = PyUnicode_DecodeFSDefault(folder), *rest = PyUnicode_DecodeFSDefault(script);
    PyObject *name = start != NULL && rest != NULL ? PyUnicode_FromFormat("%U/%U", start, rest)
                                                   : NULL;
    Py_XDECREF(start);
    Py_XDECREF(rest);
    return name;
}

bool clp_program_is_importable(const char *path)
{
    PyObject *name = clp_program_name_of(path);
    PyObject *importer = name != NULL ? PyImport_GetImporter(name) : NULL;
    bool found = importer != NULL && importer != Py_None;

    Py_XDECREF(name);
    Py_XDECREF(importer);
    PyErr_Clear();
    return found;
}

/* Leaves the name clineprof to a module of the program's own. `entry` will be first on sys.path. */
static bool step_aside(PyObject *entry)
{
    PyObject *boot = clp_compat_own_module("clineprof._boot"), *folders = NULL, *result = NULL;
    PyObject *path = PySys_GetObject("path"); /* borrowed */

    if (boot != NULL && entry != NULL && path != NULL)
        folders = PySequence_List(path);
    if (folders != NULL && (!clp_first_path_is_used() || PyList_Insert(folders, 0, entry) == 0))
        result = PyObject_CallMethod(boot, "step_aside", "O", folders);
    Py_XDECREF(boot);
    Py_XDECREF(folders);
    Py_XDECREF(result);
    return result != NULL;
}

static bool set_path(const struct clp_run_options *options)
{
    PyObject *entry;

    if (options->target_kind == CLP_TARGET_MODULE)
        entry = working_folder();
    else if (options->target_kind != CLP_TARGET_SCRIPT)
        entry = PyUnicode_FromString("");
    else if (clp_program_is_importable(options->target))
        entry = clp_program_name_of(options->target);
    else
        entry = clp_program_folder_of(options->target);
    bool done = step_aside(entry) && clp_first_path_set(entry);
    Py_XDECREF(entry);
    return done;
}

/* ---- __main__ ---- */

/* Makes a new module __main__ with the names that the interpreter gives it. The present __main__ is the start-up code
 * of ckernprof. False with an exception set. */
static bool make_main_module(void)
{
    PyObject *main = PyModule_New("__main__");
    PyObject *importlib = PyImport_ImportModule("_frozen_importlib");
    PyObject *loader = NULL, *builtins = NULL, *notes = NULL;
    bool done = false;

    if (importlib != NULL)
        loader = PyObject_GetAttrString(importlib, "BuiltinImporter");
    builtins = PyImport_ImportModule("builtins");
    notes = PyDict_New();
    if (main != NULL && loader != NULL && builtins != NULL && notes != NULL) {
        PyObject *names = PyModule_GetDict(main);
        done = PyDict_SetItemString(names, "__loader__", loader) == 0 &&
               (!CLP_MAIN_HAS_ANNOTATIONS || PyDict_SetItemString(names, "__annotations__", notes) == 0) &&
               PyDict_SetItemString(names, "__builtins__", builtins) == 0 &&
               PyDict_SetItemString(PyImport_GetModuleDict(), "__main__", main) == 0;
    }
    Py_XDECREF(main);
    Py_XDECREF(importlib);
    Py_XDECREF(loader);
    Py_XDECREF(builtins);
    Py_XDECREF(notes);
    return done;
}

bool clp_program_prepare(const struct clp_run_options *options)
{
    return set_orig_argv(options) && set_argv(options) && set_path(options) && make_main_module();
}
