/* SPDX-License-Identifier: MIT */
/* The extension module clineprof._core. */
#include "run/api_recording.h"
#include "bridge/content.h"
#include "bridge/measure_rows.h"
#include "run/memory.h"
#include "run/places.h"
#include "run/imports.h"
#include "run/run.h"
#include "run/selection.h"
#include "view/diff_content.h"
#include "view/viewer.h"
#include "bridge/console.h"
#include "bridge/values.h"
#include "base/escape.h"
#include "base/version.h"
#include "cpython/compat/compat.h"
#include "cpython/memory/hooks.h"
#include "cpython/object/profiler.h"
#include "cpython/object/profiler_run.h"
#include "cpython/object/setup.h"
#include "cpython/recorder/program_counters.h"
#include "cpython/recorder/selected.h"
#include "os/pages.h"
#include "profile/amount.h"
#include "cpython/tracers/tracers.h"
#include <math.h>

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

static PyObject *module_tracer(PyObject *module, PyObject *nothing)
{
    const struct clp_recorder *recorder = clp_process_recorder();

    (void)module, (void)nothing;
    if (recorder == NULL || recorder->tracer == NULL)
        Py_RETURN_NONE;
    return PyUnicode_FromString(recorder->tracer->name);
}

static PyObject *module_main(PyObject *module, PyObject *arguments)
{
    const char *kind;
    PyObject *words;

    if (!PyArg_ParseTuple(arguments, "sO!:main", &kind, &PyList_Type, &words))
        return NULL;
    if (strcmp(kind, "view") == 0)
        return clp_viewer_main(words);
    PyObject *type = PyObject_GetAttrString(module, "Profiler");
    PyObject *result = type != NULL ? clp_run_main(type, words) : NULL;
    Py_XDECREF(type);
    return result;
}

static PyObject *module_few_tensors(PyObject *module, PyObject *nothing)
{
    const char *few = clp_setup_few_tensors();

    (void)module, (void)nothing;
    return PyUnicode_FromString(few != NULL ? few : "");
}

static PyObject *module_join(PyObject *module, PyObject *arguments)
{
    PyObject *type = PyObject_GetAttrString(module, "Profiler");
    PyObject *result = type != NULL ? clp_run_join(type, arguments) : NULL;

    Py_XDECREF(type);
    return result;
}

static PyObject *module_print(PyObject *module, PyObject *text)
{
    const char *bytes = PyUnicode_AsUTF8(text);

    (void)module;
    if (bytes == NULL)
        return NULL;
    (void)clp_console_write(1, bytes, strlen(bytes));
    Py_RETURN_NONE;
}

/* Encodes a str in UTF-8. Characters that stand for undecodable bytes (surrogateescape) become these bytes again; other
 * surrogates are encoded as such. New bytes, or NULL with an exception set. */
static PyObject *encode(PyObject *text)
{
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape");

    if (bytes == NULL && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
        PyErr_Clear();
        bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    }
    return bytes;
}

static PyObject *module_shown(PyObject *module, PyObject *text)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf shown;

    (void)module;
    PyObject *bytes = encode(text);
    if (bytes == NULL)
        return NULL;
    clp_buf_init(&shown, &mem);
    clp_escape_add(&shown, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    Py_DECREF(bytes);
    return clp_text_take(&shown);
}

static PyObject *module_amount(PyObject *module, PyObject *arguments)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;
    const char *name;
    double value;
    int with_sign = 0;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "sd|p:amount", &name, &value, &with_sign))
        return NULL;
    enum clp_measure measure = clp_measure_named(name, strlen(name));
    if (measure == CLP_MEASURES)
        return PyErr_Format(PyExc_ValueError, "no measure is called '%s'", name);
    enum clp_measure_kind kind = clp_measure_rows[measure].kind;
    if (kind == CLP_MEASURE_NANOS)
        value = rint(value * 1e12) / 1e3; /* the nanoseconds that the seconds were made of */
    clp_buf_init(&text, &mem);
    clp_amount_add(&text, kind, value, with_sign);
    return clp_text_take(&text);
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

/* The program's trace and profile functions do not see this call. On 3.11 they must not: if another call waits
 * meanwhile, the interpreter would come back for ever to the first instruction of a body that is traced. */
static int call_pending(void *function)
{
#if PY_VERSION_HEX >= 0x030B0000
    PyThreadState *thread = PyThreadState_Get();

    PyThreadState_EnterTracing(thread);
#endif
    PyObject *result = PyObject_CallNoArgs(function);
#if PY_VERSION_HEX >= 0x030B0000
    PyThreadState_LeaveTracing(thread);
#endif
    Py_DECREF((PyObject *)function);
    Py_XDECREF(result);
    return result != NULL ? 0 : -1;
}

static PyObject *module_call_soon(PyObject *module, PyObject *function)
{
    (void)module;
    if (Py_AddPendingCall(call_pending, Py_NewRef(function)) == 0)
        Py_RETURN_TRUE;
    Py_DECREF(function);
    Py_RETURN_FALSE;
}

/* The function's module is the one that its globals name: functools.wraps() gives a wrapper of a library the __module__
 * of the function that it wraps. */
static PyObject *module_arrived(PyObject *module, PyObject *arguments)
{
    PyObject *function, *bytes = NULL;
    int marked;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!p:arrived", &PyFunction_Type, &function, &marked))
        return NULL;
    PyObject *name = PyDict_GetItemString(PyFunction_GetGlobals(function), "__name__"); /* borrowed */
    name = name != NULL && PyUnicode_Check(name) ? Py_NewRef(name) : PyUnicode_FromString("");
    bool done = name != NULL && PyUnicode_FSConverter(name, &bytes) &&
                clp_imports_take(function, PyBytes_AS_STRING(bytes), marked != 0);
    Py_XDECREF(name);
    Py_XDECREF(bytes);
    return done ? Py_NewRef(Py_None) : NULL;
}

static PyObject *module_is_selected(PyObject *module, PyObject *function)
{
    const struct clp_recorder *recorder = clp_process_recorder();

    (void)module;
    if (!PyFunction_Check(function))
        return PyErr_Format(PyExc_TypeError, "is_selected() takes a function");
    const struct clp_selected *selected =
        recorder != NULL ? clp_recorder_selected(recorder, PyFunction_GetCode(function)) : NULL;
    return PyBool_FromLong(selected != NULL && selected->function != CLP_UNSELECTED);
}

static PyObject *module_unmap_page(PyObject *module, PyObject *number)
{
    void *page = PyLong_AsVoidPtr(number);

    (void)module;
    if (page == NULL && PyErr_Occurred())
        return NULL;
    clp_pages_unmap_foreign(page);
    Py_RETURN_NONE;
}

/* Is the text fit for the title of a column? False with an exception set. */
static bool check_name(PyObject *text, const char *what)
{
    PyObject *good = PyObject_CallMethod(text, "isprintable", NULL);
    bool is_good = good == Py_True;

    Py_XDECREF(good);
    if (!is_good && good != NULL)
        PyErr_Format(PyExc_ValueError, "clineprof: the %s of a counter is printable text, not %R", what, text);
    return is_good;
}

static PyObject *module_counter(PyObject *module, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"name", "read", "unit", "every", NULL};
    PyObject *name, *read, *unit = NULL, *seconds = Py_None, *title = NULL;

    (void)module;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "UO|$UO:counter", names, &name, &read, &unit, &seconds) ||
        !check_name(name, "name") || (unit != NULL && !check_name(unit, "unit")))
        return NULL;
    double every = seconds != Py_None ? PyFloat_AsDouble(seconds) : CLP_COUNTER_BY_COST;
    if (every == -1 && PyErr_Occurred())
        return NULL;
    if (PyUnicode_GET_LENGTH(name) == 0 || (seconds != Py_None && !(every >= 0 && every < 1e9))) {
        PyErr_SetString(PyExc_ValueError, "clineprof: a counter has a name, and every is a number of seconds");
        return NULL;
    }
    title = unit != NULL && PyUnicode_GET_LENGTH(unit) != 0 ? PyUnicode_FromFormat("%U (%U)", name, unit) : Py_NewRef(name);
    const char *text = title != NULL ? PyUnicode_AsUTF8(title) : NULL;
    bool done = text != NULL && clp_program_counters_add(clp_process_recorder(), text, read, every);
    Py_XDECREF(title);
    if (!done)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- the module ---- */

static PyMethodDef module_methods[] = {
    {"write", clp_places_write, METH_VARARGS,
     "write(path, content, rights)\n--\n\nReplaces a file by this content (bytes), with these rights at most.\n"
     "On failure raises OSError, and the old file stays."},
    {"probe", clp_places_probe, METH_VARARGS,
     "probe(path)\n--\n\nRaises OSError if write() could not write a file at this path. Leaves no file behind."},
    {"refuses", clp_places_refuses, METH_VARARGS,
     "refuses(program, path, kind)\n--\n\nReturns whether -o must not write over the file at this path. If so, prints\n"
     "one line of complaint, which begins with `program`. kind: what may be replaced, 'profile' or 'recording'."},
    {"put_aside", clp_places_put_aside, METH_VARARGS,
     "put_aside(name, content)\n--\n\nWrites content (bytes) to a new file in the temporary folder, which only\n"
     "its owner may read, and returns its path. The file's name ends with `name`. Raises OSError."},
    {"rights", clp_places_rights, METH_VARARGS,
     "rights(*paths)\n--\n\nReturns the rights that all of these files have; a file made of them may have no more."},
    {"own_name", clp_places_own_name, METH_VARARGS,
     "own_name(path, rights)\n--\n\nReturns `path` with the process's number in the file's name, a path that no other\n"
     "file has. Makes an empty file there if it can, so that no other process takes the name."},
    {"rank", clp_places_rank, METH_NOARGS,
     "rank()\n--\n\nReturns '.rank3' in a process that mpirun or torchrun has started, else ''."},
    {"identity", clp_places_identity, METH_NOARGS,
     "identity()\n--\n\nReturns (pid, start, machine and pid namespace) of this process, three str."},
    {"recording", module_recording, METH_NOARGS,
     "recording()\n--\n\nReturns whether any Profiler of this process counts at the moment."},
    {"call_soon", module_call_soon, METH_O,
     "call_soon(function)\n--\n\nHas the main thread call function() before its next instructions. False if too many calls\n"
     "wait already."},
    {"arrived", module_arrived, METH_VARARGS,
     "arrived(function, marked)\n--\n\nSelects in a function that another process has sent by value what -p and the like\n"
     "name, and the function itself if it was marked there."},
    {"exec_selected", clp_imports_exec, METH_VARARGS,
     "exec_selected(code, names)\n--\n\nRuns a module's code in its names, as exec() does. What -p and the like name in it is\n"
     "selected."},
    {"is_selected", module_is_selected, METH_O,
     "is_selected(function)\n--\n\nReturns whether any profiler has selected the function."},
    {"unmap_page", module_unmap_page, METH_O,
     "unmap_page(address)\n--\n\nUnmaps the page that gdb has mapped at this address for `clineprof attach`."},
    {"checkpoint", module_checkpoint, METH_NOARGS,
     "checkpoint()\n--\n\nEnds an epoch under ckernprof --leaks=checkpoints. Otherwise does nothing."},
    {"counter", CLP_C_FUNCTION(module_counter), METH_VARARGS | METH_KEYWORDS,
     "counter(name, read, *, unit='', every=None)\n--\n\n"
     "Counts a number of the program's own beside times: the report says by how much it changed while each line ran.\n"
     "read() returns the number, an int or a float, which is rounded; or read is a capsule of a C function\n"
     "int64_t (*)(void). It is called when a line has ended, as often as its cost allows: behind each line where it is\n"
     "cheap. With `every` it is called when a line that took so many seconds or more has ended. A name that has a\n"
     "counter already gets the new function. There may be four.\n\n"
     "What read() raises now is raised; later it ends the counter, and the run says so."},
    {"tracers", module_tracers, METH_NOARGS,
     "tracers()\n--\n\nReturns the names of the tracers that this interpreter has, the preferred one first."},
    {"tracer", module_tracer, METH_NOARGS,
     "tracer()\n--\n\nReturns the name of the tracer that all Profilers of this process have. None: there was no Profiler."},
    {"few_tensors", module_few_tensors, METH_NOARGS,
     "few_tensors()\n--\n\nSays once what tensors are not counted without the library of --tensors, which\n"
     "otherwise the first Profiler(tensors=True) prints; then returns \"\"."},
    {"load", clp_content_of_files, METH_VARARGS,
     "load(*paths)\n--\n\nReturns the sum of these profiles as a dict, of which clineprof.load makes a Profile."},
    {"sum", clp_content_sum, METH_VARARGS,
     "sum(*paths)\n--\n\nReturns the sum of these profiles as the bytes of a .lprof file."},
    {"merge", clp_content_merge, METH_VARARGS,
     "merge(*contents)\n--\n\nReturns the sum of profiles, each process once, as the content of a .lprof file. contents:\n"
     "those of .lprof files. The sum has a row for each process. Raises ValueError."},
    {"total", clp_content_total, METH_VARARGS,
     "total(contents, name=None)\n--\n\nReturns the sum of profiles, as load does. contents: a tuple with the contents\n"
     "of .lprof files. name(file) returns another name for a file, or None."},
    {"with_texts", clp_content_with_texts, METH_VARARGS,
     "with_texts(content, texts)\n--\n\nReturns a profile, the content of a .lprof file, with the texts of functions that\n"
     "have none. texts: {file: its text as bytes}."},
    {"with_devices", clp_content_with_devices, METH_VARARGS,
     "with_devices(content, rows, outside_time, outside_launches)\n--\n\n"
     "Returns a profile, the content of a .lprof file, with what devices did for its lines, and for no line, and\n"
     "without logs of lines. rows: a list of (place of the function, line, time, wait, launches)."},
    {"rendered", CLP_C_FUNCTION(clp_content_rendered), METH_VARARGS | METH_KEYWORDS,
     "rendered(content, format, ..)\n--\n\nReturns a profile as Profiler.render does. content: that of a .lprof file."},
    {"compare", clp_diff_content_compare, METH_VARARGS,
     "compare(before, after, names, what)\n--\n\nCompares two profiles, contents of .lprof files, which the text calls\n"
     "by these two names. what: 'text', 'marked' (with marks for colours), or 'object' (of --format json)."},
    {"hottest", clp_content_hottest, METH_VARARGS,
     "hottest(data, count)\n--\n\nReturns a table of the `count` lines with the most self time in a profile.\n"
     "data: the content of an .lprof file."},
    {"shown", module_shown, METH_O,
     "shown(text)\n--\n\nReturns the text as one line in which no character controls a terminal."},
    {"amount", module_amount, METH_VARARGS,
     "amount(measure, value, with_sign=False)\n--\n\nReturns a value of a measure with its unit, as '20.1 ms'.\n"
     "value: in seconds, bytes or a count. with_sign: a value above 0 gets a +."},
    {"quoted", clp_console_quoted, METH_O,
     "quoted(text)\n--\n\nReturns the text as one word of a shell's command line."},
    {"print", module_print, METH_O,
     "print(text)\n--\n\nWrites to file descriptor 1, behind what is in the buffer of sys.stdout. It is no error\n"
     "when nobody reads standard output any more."},
    {"sizes", clp_memory_sizes, METH_VARARGS,
     "sizes(pid, children, kind)\n--\n\nReturns [(pid, bytes), ..] of a process and, with children, of its\n"
     "descendants. kind: 'rss', 'anon', 'pss' or 'uss'. Raises OSError when the process cannot be seen."},
    {"main", module_main, METH_VARARGS,
     "main(kind, words)\n--\n\nRuns the command line `words` of ckernprof (kind 'run') or of the\n"
     "viewer (kind 'view'). Raises SystemExit with the exit code, or returns an object for sys.exit()."},
    {"interpreter", clp_run_interpreter, METH_VARARGS,
     "interpreter(words, active, usual)\n--\n\nReturns the path of the interpreter that this command line of\n"
     "ckernprof asks for: that of --python; or, with `active`, that of the active virtual environment; or the\n"
     "usual one."},
    {"join", module_join, METH_VARARGS,
     "join(family, outfile, folder, words, is_server)\n--\n\nLets this process take part in the run of the ckernprof\n"
     "with this command line, which began in this folder. `family` names the run."},
    {NULL, NULL, 0, NULL},
};

/* Adds an object to the module, and takes the reference to it. NULL is an object that could not be made. False with an
 * exception set. */
static bool add_object(PyObject *module, const char *name, PyObject *object)
{
    bool done = object != NULL && PyModule_AddObjectRef(module, name, object) == 0;

    Py_XDECREF(object);
    return done;
}

/* Imports the module `_opcode` early. The first Profiler runs the module `opcode`, which imports `_opcode`, and must
 * not wait for an import then: a finalizer in the importing thread may wait for a lock that the Profiler holds. */
static void load_opcode(void)
{
    Py_XDECREF(PyImport_ImportModule("_opcode"));
    PyErr_Clear(); /* if the import fails, the first Profiler fails later, and says so */
}

static int module_exec(PyObject *module)
{
    load_opcode();
    bool done = add_object(module, "Profiler", clp_profiler_make_type(module)) &&
                add_object(module, "Recording", clp_api_recording_make_type(module)) &&
                add_object(module, "Selection", clp_selection_make_type(module)) &&
                add_object(module, "Sampler", clp_memory_make_type(module)) &&
                add_object(module, "MEASURES", clp_measure_rows_tuple()) &&
                PyModule_AddStringConstant(module, "__version__", CLP_VERSION) == 0;

    return done ? 0 : -1;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    CLP_MODULE_SLOTS
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
