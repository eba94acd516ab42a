/* SPDX-License-Identifier: MIT */
/* Follows what CPython's Modules/main.c does for `python script`, `python folder`,
 * `python -m module`, `python -c code` and `python -`, through the public API. */
#include "program.h"
#include "bridge/console.h"
#include "cpython/compat/compat.h"
#include "cpython/compat/raised.h"
#include "os/file.h"
#include "cli/first_path.h"
#include "program_sys.h"
#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <marshal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define NO_SUCH_FILE 2 /* the exit code of `python missing.py` */

/* ---- running ---- */

static bool begin(struct clp_program_hook hook)
{
    return hook.begin == NULL || hook.begin(hook.data);
}

/* The namespace of __main__, a dict: a new reference, or NULL with an exception set. */
static PyObject *main_names(void)
{
    PyObject *main = PyImport_AddModule("__main__"); /* borrowed */

    return main != NULL ? Py_XNewRef(PyModule_GetDict(main)) : NULL;
}

/* Has __main__ a __spec__? runpy sets it when it has found the module's code and is about to run it. */
static bool has_specification(PyObject *names)
{
    PyObject *specification = names != NULL ? PyDict_GetItemString(names, "__spec__") : NULL; /* borrowed */

    return specification != NULL && specification != Py_None;
}

static PyObject *run_module(const char *name, bool change_argv, struct clp_program_hook hook,
                            struct clp_program_end *end)
{
    PyObject *names = main_names();
    PyObject *runpy = PyImport_ImportModule("runpy");
    PyObject *run = runpy != NULL ? PyObject_GetAttrString(runpy, "_run_module_as_main") : NULL;
    PyObject *result = NULL;

    if (run != NULL && begin(hook))
        result = PyObject_CallFunction(run, "si", name, change_argv ? 1 : 0);
    end->started = has_specification(names);

    Py_XDECREF(names);
    Py_XDECREF(runpy);
    Py_XDECREF(run);
    return result;
}

/* Sets __file__ in the names of __main__, and __cached__ where Python has it (up to 3.14). */
static bool set_file(PyObject *names, PyObject *file)
{
    return PyDict_SetItemString(names, "__file__", file) == 0 &&
           (!CLP_MAIN_HAS_CACHED || PyDict_SetItemString(names, "__cached__", Py_None) == 0);
}

static bool set_main_file(PyObject *names, PyObject *file, const char *loader_name)
{
    PyObject *importlib = PyImport_ImportModule("_frozen_importlib_external");
    PyObject *loader = importlib != NULL ? PyObject_CallMethod(importlib, loader_name, "sO", "__main__", file)
                                         : NULL;
    bool done = loader != NULL && set_file(names, file) &&
                PyDict_SetItemString(names, "__loader__", loader) == 0;

    Py_XDECREF(importlib);
    Py_XDECREF(loader);
    return done;
}

/* Compiles a script that has failed to compile once more, from the file as python does. So the exception is the same,
 * as the parser reads parts of its message (the line, a bad encoding) from the file. */
static PyObject *fail_from_file(const char *script, PyObject *names)
{
    FILE *file = fopen(script, "rbe");
    PyObject *name = clp_program_name_of(script);
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

/* Runs code in a namespace, and takes the reference to the code. It is released before its copy with probes runs,
 * because code within it that is still referenced would be taken for shared with somebody else. */
static PyObject *run_code(PyObject *code, PyObject *names, struct clp_program_hook hook,
                          struct clp_program_end *end)
{
    PyObject *prepared = hook.prepare != NULL ? hook.prepare(hook.data, code) : Py_NewRef(code);
    PyObject *result = NULL;

    Py_DECREF(code);
    if (prepared != NULL && begin(hook)) {
        end->started = true;
        result = PyEval_EvalCode(prepared, names, names);
    }

    Py_XDECREF(prepared);
    return result;
}

static bool tell_text(struct clp_program_hook hook, PyObject *file, const struct clp_buf *source)
{
    return hook.know == NULL || hook.know(hook.data, file, clp_buf_text(source), source->used);
}

#define PYC_MAGIC 4 /* bytes */
#define PYC_HEADER 16 /* bytes: the magic number, then flags and the source's time and size, or its hash */

static bool has_magic(const struct clp_buf *bytes, size_t count)
{
    const uint32_t magic = htole32((uint32_t)PyImport_GetMagicNumber());

    return bytes->used >= count && memcmp(clp_buf_text(bytes), &magic, count) == 0;
}

/* Is the script a compiled program? Its name ends with .pyc, or it begins with the first half of the magic number, as
 * python checks it. */
static bool is_compiled(const char *script, const struct clp_buf *bytes)
{
    return clp_console_has_ending(script, ".pyc") || has_magic(bytes, PYC_MAGIC / 2);
}

static PyObject *unmarshal(const struct clp_buf *bytes)
{
    bool fits = has_magic(bytes, PYC_MAGIC);
    PyObject *code = NULL;

    if (fits && bytes->used > PYC_HEADER)
        code = PyMarshal_ReadObjectFromString(clp_buf_text(bytes) + PYC_HEADER, (Py_ssize_t)bytes->used - PYC_HEADER);
    if (code != NULL && PyCode_Check(code))
        return code;
    Py_XDECREF(code);
    PyErr_SetString(PyExc_RuntimeError, fits ? "Bad code object in .pyc file" : "Bad magic number in .pyc file");
    return NULL;
}

/* Runs the content of a .pyc, and takes the reference to names. */
static PyObject *run_compiled(PyObject *file, const struct clp_buf *bytes, PyObject *names,
                              struct clp_program_hook hook, struct clp_program_end *end)
{
    bool ready = names != NULL && set_main_file(names, file, "SourcelessFileLoader");
    PyObject *code = ready ? unmarshal(bytes) : NULL;
    PyObject *result = code != NULL ? run_code(code, names, hook, end) : NULL;

    Py_XDECREF(names);
    return result;
}

/* Runs source text, and takes the reference to names. */
static PyObject *run_source(const char *script, PyObject *file, const struct clp_buf *source,
                            PyObject *names, struct clp_program_hook hook,
                            struct clp_program_end *end)
{
    PyObject *code = NULL, *result = NULL;

    if (names != NULL && set_main_file(names, file, "SourceFileLoader") && tell_text(hook, file, source)) {
        if (memchr(clp_buf_text(source), 0, source->used) == NULL)
            code = Py_CompileStringObject(clp_buf_text(source), file, Py_file_input, NULL, -1);
        result = code != NULL ? run_code(code, names, hook, end) : fail_from_file(script, names);
        end->started |= result != NULL; /* 3.10 runs a file up to its first zero byte */
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

/* Runs a file, and takes the reference to names. NULL with an exception set; or, when the file could not be read, NULL
 * without one, after a message, and end->code is 2. */
static PyObject *run_script(const char *script, PyObject *names, struct clp_program_hook hook,
                            struct clp_program_end *end)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf source;
    struct clp_fault fault;
    PyObject *file = clp_program_name_of(script), *result = NULL;

    clp_buf_init(&source, &mem);
    if (file == NULL) {
        PyErr_Clear();
        end->code = NO_SUCH_FILE;
    } else if (clp_file_read(script, SIZE_MAX, &source, &fault) != CLP_OK) {
        complain_missing(file, fault.os_error);
        end->code = NO_SUCH_FILE;
    } else if (is_compiled(script, &source)) {
        result = run_compiled(file, &source, Py_XNewRef(names), hook, end);
    } else {
        result = run_source(script, file, &source, Py_XNewRef(names), hook, end);
    }
    Py_XDECREF(file);
    Py_XDECREF(names);
    clp_buf_clear(&source);
    return result;
}

/* ---- programs without a file ---- */

/* Reads a program from standard input, all of it before it runs, as python does from a pipe. False with an exception
 * set. */
static bool read_stdin(struct clp_buf *source)
{
    char block[1 << 16];
    ssize_t count;

    while ((count = read(0, block, sizeof block)) != 0) {
        if (count > 0)
            clp_buf_add(source, block, (size_t)count);
        else if (errno != EINTR)
            break;
        if (PyErr_CheckSignals() != 0)
            return false;
    }
    if (!source->failed && memchr(clp_buf_text(source), 0, source->used) == NULL)
        return true;
    PyErr_SetString(PyExc_SyntaxError, "source code cannot contain null bytes");
    return false;
}

static PyObject *run_stdin(struct clp_program_hook hook, struct clp_program_end *end)
{
    struct clp_mem mem = clp_mem_system();
    PyObject *names = main_names(), *file = PyUnicode_FromString("<stdin>");
    PyObject *code = NULL, *result = NULL;
    struct clp_buf source;

    clp_buf_init(&source, &mem);
    if (names != NULL && file != NULL && read_stdin(&source) && set_file(names, file) &&
        tell_text(hook, file, &source))
        code = Py_CompileStringObject(clp_buf_text(&source), file, Py_file_input, NULL, -1);
    clp_buf_clear(&source);
    if (code != NULL)
        result = run_code(code, names, hook, end);
    Py_XDECREF(names);
    Py_XDECREF(file);
    return result;
}

/* Registers the text of -c with linecache, from which tracebacks show its lines since 3.13. The key was the file's name
 * at first; since a later 3.13.x it is the code. An ordinary exception is ignored; false with another one set, such
 * as KeyboardInterrupt. */
static bool keep_for_tracebacks(PyObject *code, PyObject *file, PyObject *text)
{
    if (!CLP_KEEPS_COMMAND)
        return true;
    PyObject *linecache = PyImport_ImportModule("linecache"), *result = NULL;
    if (linecache != NULL) {
        PyObject *key = PyObject_HasAttrString(linecache, "_interactive_cache") ? code : file;
        result = PyObject_CallMethod(linecache, "_register_code", "OOO", key, text, file);
    }
    Py_XDECREF(linecache);
    Py_XDECREF(result);
    if (result == NULL && PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear();
    return !PyErr_Occurred();
}

/* The text of -c as a str. Since 3.14 python removes common indentation from it. NULL with an exception set. */
static PyObject *text_of_command(const char *command)
{
    PyObject *text = PyUnicode_DecodeFSDefault(command);

    if (CLP_DEDENTS_COMMAND && text != NULL && strchr(" \t\n", command[0]) != NULL) {
        PyObject *textwrap = PyImport_ImportModule("textwrap"), *indented = text;
        text = textwrap != NULL ? PyObject_CallMethod(textwrap, "dedent", "O", indented) : NULL;
        Py_DECREF(indented);
        Py_XDECREF(textwrap);
    }
    return text;
}

static PyObject *compile_command(PyObject *text, PyObject *file, struct clp_program_hook hook)
{
    PyCompilerFlags flags = {.cf_flags = PyCF_IGNORE_COOKIE,
                             .cf_feature_version = PY_MINOR_VERSION};
    Py_ssize_t bytes;
    const char *source = PyUnicode_AsUTF8AndSize(text, &bytes);

    if (source == NULL || (hook.know != NULL && !hook.know(hook.data, file, source, (size_t)bytes)))
        return NULL;
    PyObject *code = Py_CompileStringObject(source, file, Py_file_input, &flags, -1);
    if (code != NULL && !keep_for_tracebacks(code, file, text))
        Py_CLEAR(code);
    return code;
}

static PyObject *run_command(const char *command, struct clp_program_hook hook,
                             struct clp_program_end *end)
{
    PyObject *names = main_names(), *file = PyUnicode_FromString("<string>");
    PyObject *text = text_of_command(command), *code = NULL, *result = NULL;

    if (names != NULL && file != NULL && text != NULL)
        code = compile_command(text, file, hook);
    if (code != NULL)
        result = run_code(code, names, hook, end);
    Py_XDECREF(names);
    Py_XDECREF(file);
    Py_XDECREF(text);
    return result;
}

/* ---- the end of the program ---- */

static void show_exception(struct clp_program_hook hook)
{
    struct clp_raised raised = clp_raised_take();

    if (hook.pause != NULL)
        hook.pause(hook.data);
    clp_raised_give(raised);
    PyErr_Print();
    if (hook.pause != NULL && !begin(hook))
        PyErr_Clear();
}

static int outcome_of_exception(struct clp_program_hook hook, struct clp_program_end *end)
{
    clp_program_end_describe(end);
    if (PyErr_ExceptionMatches(PyExc_SystemExit))
        return -1;
    bool interrupted = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
    show_exception(hook);
    if (!interrupted)
        return 1;
    clp_program_end_tell_interrupted();
    return CLP_INTERRUPTED;
}

/* Has sys.monitoring set up its events in the frames of the start-up code. Those frames were hidden while the program
 * ran, so events that a tool or a tracer has set meanwhile are missing there; 3.15 crashes when an exception leaves
 * such a frame. */
static void tell_monitoring(void)
{
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed; NULL before 3.12 */

    if (monitoring == NULL)
        return;
    struct clp_raised raised = clp_raised_take();
    Py_XDECREF(PyObject_CallMethod(monitoring, "restart_events", NULL));
    PyErr_Clear();
    clp_raised_give(raised);
}

static PyObject *run_target(const struct clp_run_options *options, struct clp_program_hook hook,
                            struct clp_program_end *end)
{
    switch (options->target_kind) {
    case CLP_TARGET_MODULE:
        return run_module(options->target, true, hook, end);
    case CLP_TARGET_CODE:
        return run_command(options->target, hook, end);
    case CLP_TARGET_STDIN:
        return run_stdin(hook, end);
    default:
        return clp_program_is_importable(options->target)
                   ? run_module("__main__", false, hook, end)
                   : run_script(options->target, main_names(), hook, end);
    }
}

/* A namespace for --setup: it looks like that of __main__, but belongs to no module. A new reference, or NULL with an
 * exception set. */
static PyObject *names_of_setup(void)
{
    PyObject *names = PyDict_New(), *name = PyUnicode_FromString("__main__");

    if (names == NULL || name == NULL || PyDict_SetItemString(names, "__name__", name) != 0 ||
        PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()) != 0)
        Py_CLEAR(names);
    Py_XDECREF(name);
    return names;
}

/* Moves the setup file's folder from the first place of sys.path to the second, behind the program's folder. Nothing is
 * moved if the setup code has changed the first place. False with an exception set. */
static bool move_behind(PyObject *path, PyObject *folder)
{
    PyObject *first = PyList_GET_SIZE(path) != 0 ? PyList_GET_ITEM(path, 0) : NULL; /* borrowed */

    if (first == NULL || PyObject_RichCompareBool(first, folder, Py_EQ) != 1)
        return !PyErr_Occurred();
    return PySequence_DelItem(path, 0) == 0 && PyList_Insert(path, 1, folder) == 0;
}

static PyObject *run_setup(const struct clp_run_options *options, struct clp_program_hook none,
                           struct clp_program_end *end)
{
    PyObject *path = PySys_GetObject("path"); /* borrowed */
    PyObject *folder = clp_program_folder_of(options->setup), *result = NULL;

    if (folder != NULL && clp_first_path_set(folder))
        result = run_script(options->setup, names_of_setup(), none, end);
    if (result != NULL && path != NULL && PyList_Check(path) && clp_first_path_is_used() &&
        !move_behind(path, folder))
        Py_CLEAR(result);
    Py_XDECREF(folder);
    return result;
}

/* Calls `run` (the setup or the program) with an empty stack of frames, and handles the exception that ends it. */
static struct clp_program_end run_alone(const struct clp_run_options *options, struct clp_program_hook hook,
                                        PyObject *(*run)(const struct clp_run_options *, struct clp_program_hook,
                                                         struct clp_program_end *))
{
    PyThreadState *state = PyThreadState_Get();
    struct clp_hidden_frames hidden = clp_compat_hide_frames(state);
    struct clp_program_end end = {0};
    PyObject *result = run(options, hook, &end);

    if (result == NULL && end.code == 0)
        end.code = outcome_of_exception(hook, &end);
    Py_XDECREF(result);
    clp_compat_show_frames(state, hidden);
    tell_monitoring();
    return end;
}

int clp_program_set_up(const struct clp_run_options *options)
{
    return options->setup != NULL ? run_alone(options, (struct clp_program_hook){0}, run_setup).code : 0;
}

struct clp_program_end clp_program_run(const struct clp_run_options *options, struct clp_program_hook hook)
{
    return run_alone(options, hook, run_target);
}
