/* SPDX-License-Identifier: MIT */
/* Follows what CPython's Modules/main.c does for `python script`, `python folder` and
 * `python -m module`, through the public API. */
#include "program.h"
#include "../src/core/file.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
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

/* python, then the program's own words: what sys.orig_argv says without a profiler. */
static bool set_orig_argv(const struct clp_run_options *options)
{
    PyObject *words = list_of(options->program_argv, options->program_argc);
    PyObject *python = PySys_GetObject("executable"); /* borrowed */
    bool done = words != NULL && python != NULL;

    if (done && options->target_kind == CLP_TARGET_MODULE) {
        PyObject *flag = PyUnicode_FromString("-m");
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

    if (done && options->target_kind == CLP_TARGET_MODULE) /* runpy puts the file's name there */
        done = PyList_SetItem(words, 0, PyUnicode_FromString("-m")) == 0;
    done = done && PySys_SetObject("argv", words) == 0;
    Py_XDECREF(words);
    return done;
}

static bool flag_is_set(const char *name)
{
    PyObject *flags = PySys_GetObject("flags"); /* borrowed */
    PyObject *flag = flags != NULL ? PyObject_GetAttrString(flags, name) : NULL;
    bool set = flag != NULL && PyObject_IsTrue(flag) == 1;

    Py_XDECREF(flag);
    PyErr_Clear(); /* safe_path is unknown to 3.10 */
    return set;
}

/* python puts no folder first under -P or -I. */
static bool has_first_path(void)
{
    return !flag_is_set("safe_path") && !flag_is_set("isolated");
}

bool clp_program_leave_folder(void)
{
    PyObject *path = PySys_GetObject("path"); /* borrowed */

    if (path == NULL || !PyList_Check(path) || PyList_GET_SIZE(path) == 0 || !has_first_path())
        return true;
    return PySequence_DelItem(path, 0) == 0;
}

static bool set_first_path(PyObject *entry)
{
    PyObject *path = PySys_GetObject("path"); /* borrowed */

    if (entry == NULL)
        return false;
    if (path == NULL || !PyList_Check(path) || !has_first_path())
        return true;
    return PyList_Insert(path, 0, entry) == 0;
}

static PyObject *folder_of_script(const char *script)
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

/* As python names it: made absolute, but neither links nor dots resolved. */
static PyObject *name_of_script(const char *script)
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

/* A folder or archive that has its own importer is run by its __main__ (python FOLDER). */
static bool is_importable(const char *path)
{
    PyObject *name = name_of_script(path);
    PyObject *importer = name != NULL ? PyImport_GetImporter(name) : NULL;
    bool found = importer != NULL && importer != Py_None;

    Py_XDECREF(name);
    Py_XDECREF(importer);
    PyErr_Clear();
    return found;
}

static bool set_path(const struct clp_run_options *options)
{
    PyObject *entry;

    if (options->target_kind == CLP_TARGET_MODULE)
        entry = working_folder();
    else if (is_importable(options->target))
        entry = name_of_script(options->target);
    else
        entry = folder_of_script(options->target);
    bool done = set_first_path(entry);
    Py_XDECREF(entry);
    return done;
}

/* ---- __main__ ---- */

/* A fresh one, with what the interpreter gives its own: the one there belongs to the way in. */
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
#if PY_VERSION_HEX < 0x030E0000
               PyDict_SetItemString(names, "__annotations__", notes) == 0 &&
#endif
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

/* ---- running ---- */

/* Owned dict of __main__. */
static PyObject *main_names(void)
{
    PyObject *main = PyImport_AddModule("__main__"); /* borrowed */

    return main != NULL ? Py_XNewRef(PyModule_GetDict(main)) : NULL;
}

static PyObject *run_module(const char *name, bool change_argv)
{
    PyObject *runpy = PyImport_ImportModule("runpy");
    PyObject *run = runpy != NULL ? PyObject_GetAttrString(runpy, "_run_module_as_main") : NULL;
    PyObject *result =
        run != NULL ? PyObject_CallFunction(run, "si", name, change_argv ? 1 : 0) : NULL;

    Py_XDECREF(runpy);
    Py_XDECREF(run);
    return result;
}

static bool set_main_file(PyObject *names, PyObject *file)
{
    PyObject *importlib = PyImport_ImportModule("_frozen_importlib_external");
    PyObject *loader = importlib != NULL ? PyObject_CallMethod(importlib, "SourceFileLoader", "sO",
                                                               "__main__", file)
                                         : NULL;
    bool done = loader != NULL && PyDict_SetItemString(names, "__file__", file) == 0 &&
#if PY_VERSION_HEX < 0x030F0000
                PyDict_SetItemString(names, "__cached__", Py_None) == 0 &&
#endif
                PyDict_SetItemString(names, "__loader__", loader) == 0;

    Py_XDECREF(importlib);
    Py_XDECREF(loader);
    return done;
}

/* The parser finds what it says of a broken file in the file itself (the line, a bad encoding): it
 * is asked again, in the way python asks it. */
static PyObject *fail_from_file(const char *script, PyObject *names)
{
    FILE *file = fopen(script, "rbe");
    PyObject *name = name_of_script(script);
    PyObject *bytes = name != NULL ? PyUnicode_EncodeFSDefault(name) : NULL;
    PyObject *result = NULL;

    if (file != NULL && bytes != NULL) {
        PyErr_Clear();
        result = PyRun_FileExFlags(file, PyBytes_AS_STRING(bytes), Py_file_input, names, names, 0,
                                   NULL);
    }
    if (file != NULL)
        fclose(file);
    Py_XDECREF(name);
    Py_XDECREF(bytes);
    return result;
}

/* Takes the code: were it held while its copy runs, all code within it would seem shared. */
static PyObject *run_code(PyObject *code, PyObject *names, struct clp_program_hook hook)
{
    PyObject *prepared = hook.prepare(hook.data, code);
    Py_DECREF(code);
    PyObject *result = prepared != NULL ? PyEval_EvalCode(prepared, names, names) : NULL;

    Py_XDECREF(prepared);
    return result;
}

static PyObject *run_source(const char *script, PyObject *file, const struct clp_buf *source,
                            struct clp_program_hook hook)
{
    PyObject *names = main_names(), *code = NULL, *result = NULL;

    if (names != NULL && set_main_file(names, file)) {
        if (memchr(clp_buf_text(source), 0, source->used) == NULL)
            code = Py_CompileStringObject(clp_buf_text(source), file, Py_file_input, NULL, -1);
        result = code != NULL ? run_code(code, names, hook) : fail_from_file(script, names);
    }
    Py_XDECREF(names);
    return result;
}

static void complain_missing(PyObject *file, int error)
{
    PyObject *python = PySys_GetObject("executable"); /* borrowed */

    PySys_FormatStderr("%S: can't open file %R: [Errno %d] %s\n", python, file, error,
                       strerror(error));
}

/* NULL with an exception set, or without one when the file could not be read: *missing. */
static PyObject *run_script(const char *script, struct clp_program_hook hook, bool *missing)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf source;
    struct clp_fault fault;
    PyObject *file = name_of_script(script), *result = NULL;

    clp_buf_init(&source, &mem);
    if (file == NULL) {
        PyErr_Clear();
        *missing = true;
    } else if (clp_file_read(script, SIZE_MAX, &source, &fault) != CLP_OK) {
        complain_missing(file, fault.os_error);
        *missing = true;
    } else {
        result = run_source(script, file, &source, hook);
    }
    Py_XDECREF(file);
    clp_buf_clear(&source);
    return result;
}

/* The interpreter ends by SIGINT after finalising only if code that it ran itself was interrupted;
 * running a line of such code tells it. */
static void tell_interrupted(void)
{
    PyObject *names = PyDict_New();
    PyObject *result = NULL;

    if (names != NULL && PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()) == 0)
        result = PyRun_String("raise KeyboardInterrupt", Py_file_input, names, names);
    Py_XDECREF(result);
    Py_XDECREF(names);
    PyErr_Clear();
}

static int outcome_of_exception(void)
{
    if (PyErr_ExceptionMatches(PyExc_SystemExit))
        return -1;
    bool interrupted = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
    PyErr_Print();
    if (!interrupted)
        return 1;
    tell_interrupted();
    return 130;
}

/* The start-up code was off the stack when tools, or a fallback tracer, set events for all code; the
 * interpreter must hear of it, for it looks up the events of whatever is left by an exception. */
static void tell_monitoring(void)
{
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed; NULL before 3.12 */
    PyObject *type, *value, *trace;

    if (monitoring == NULL)
        return;
    PyErr_Fetch(&type, &value, &trace);
    Py_XDECREF(PyObject_CallMethod(monitoring, "restart_events", NULL));
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
}

int clp_program_run(const struct clp_run_options *options, struct clp_program_hook hook)
{
    PyThreadState *state = PyThreadState_Get();
    struct clp_hidden_frames hidden = clp_compat_hide_frames(state);
    bool missing = false;
    PyObject *result;
    int code = 0;

    if (options->target_kind == CLP_TARGET_MODULE)
        result = run_module(options->target, true);
    else if (is_importable(options->target))
        result = run_module("__main__", false);
    else
        result = run_script(options->target, hook, &missing);
    if (result == NULL)
        code = missing ? 2 : outcome_of_exception();
    Py_XDECREF(result);
    clp_compat_show_frames(state, hidden);
    tell_monitoring();
    return code;
}
