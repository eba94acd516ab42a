/* SPDX-License-Identifier: MIT */
#include "readers.h"
#include "cpython/compat/inner_code.h"
#include "retreat.h"
#include "cpython/recorder/selected.h"

#define CLOUDPICKLE "cloudpickle"

/* The packages that read code. `function`: only this function reads it, while others make copies that must
 * count. `compiler`: the package runs code of its own instead. */
static const struct reader {
    const char *package, *function, *compiler;
} readers[] = {
    {"numba", NULL, "numba"},
    {"hypothesis.internal.lambda_sources", NULL, NULL},
    {"hypothesis.internal.reflection", "is_identity_function", NULL},
    {"pony", NULL, NULL},
    {CLOUDPICKLE, NULL, NULL},
    {"dill", NULL, NULL},
};

#define DYNAMO "torch.compile"

static struct clp_recorder *watcher;

static bool is_within(const char *module, const char *package)
{
    size_t bytes = strlen(package);

    return strncmp(module, package, bytes) == 0 && (module[bytes] == 0 || module[bytes] == '.');
}

/* Is the module of the reader's package? Engines carry copies of cloudpickle, such as pyspark.cloudpickle.cloudpickle. */
static bool is_of(const char *module, const struct reader *reader)
{
    return is_within(module, reader->package) ||
           (strcmp(reader->package, CLOUDPICKLE) == 0 && strstr(module, ".cloudpickle.") != NULL);
}

static bool is_running(const char *function)
{
    PyFrameObject *frame = PyEval_GetFrame(); /* borrowed */
    PyCodeObject *code = frame != NULL ? PyFrame_GetCode(frame) : NULL;
    bool same = code != NULL && PyUnicode_CompareWithASCIIString(code->co_name, function) == 0;

    Py_XDECREF(code);
    return same;
}

/* The reader whose module is running. NULL: somebody else asks. */
static const struct reader *asking(void)
{
    PyObject *globals = PyEval_GetGlobals(); /* borrowed */
    PyObject *name = globals != NULL ? PyDict_GetItemString(globals, "__name__") : NULL;
    const char *module = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;

    PyErr_Clear();
    for (size_t i = 0; module != NULL && i < sizeof readers / sizeof *readers; i++) {
        if (is_of(module, &readers[i]) &&
            (readers[i].function == NULL || is_running(readers[i].function)))
            return &readers[i];
    }
    return NULL;
}

/* ---- code without probes ---- */

/* Notes that the code's lines run elsewhere, too, from now on. */
static void note_compiler(struct clp_recorder *recorder, struct clp_selected *selected,
                          const char *compiler)
{
    if (compiler == NULL)
        return;
    selected->compiler = compiler;
    if (selected->function != CLP_UNSELECTED)
        recorder->engine.functions.items[selected->function].compiler = compiler;
}

void clp_readers_note_compiler(struct clp_recorder *recorder, PyObject *code, const char *compiler)
{
    struct clp_selected *selected = clp_recorder_selected(recorder, code);

    if (selected != NULL)
        note_compiler(recorder, selected, compiler);
}

/* A request for code without probes; `compiler` may be NULL. */
struct reading {
    struct clp_recorder *recorder;
    const char *compiler;
};

static PyObject *plain_within(void *data, PyObject *code)
{
    const struct reading *reading = data;
    struct clp_selected *selected = clp_recorder_selected(reading->recorder, code);
    const struct clp_selected *copy = clp_recorder_probes(reading->recorder, code);

    if (selected != NULL)
        note_compiler(reading->recorder, selected, reading->compiler);
    return clp_inner_code_replaced(copy != NULL ? copy->original : code, plain_within, data);
}

/* The code without probes, with all code within it, which is compiled together with it. A new reference; NULL
 * with an exception set. */
static PyObject *plain_code(PyObject *code, const char *compiler)
{
    struct reading reading = {watcher, compiler};

    return plain_within(&reading, code);
}

/* ---- the attributes ---- */

static struct attribute {
    PyTypeObject *type;
    const char *name;
    getter get; /* the getter before the exchange */
} attributes[] = {
    {&PyFunction_Type, "__code__", NULL},
    {&PyFrame_Type, "f_code", NULL},
};

/* What the caller may see of the code, whose reference is taken over. NULL with an exception set. All
 * interpreters share the types, but not the data of code objects, so only the main one is served. */
static PyObject *shown(PyObject *code)
{
    const struct reader *reader = NULL;

    if (code != NULL && PyCode_Check(code) && clp_compat_is_main() &&
        clp_recorder_selected(watcher, code) != NULL)
        reader = asking();
    if (reader == NULL)
        return code;
    PyObject *plain = plain_code(code, reader->compiler);
    Py_DECREF(code);
    return plain;
}

static PyObject *code_of_function(PyObject *function, void *closure)
{
    return shown(attributes[0].get(function, closure));
}

static PyObject *code_of_frame(PyObject *frame, void *closure)
{
    return shown(attributes[1].get(frame, closure));
}

/* Exchanges the getter in the type's table, to which the attribute's descriptor points. 3.10 keeps f_code in
 * another way, and has no probes. */
static void exchange(struct attribute *attribute, getter ours)
{
    PyGetSetDef *entry = attribute->type->tp_getset;

    while (entry != NULL && entry->name != NULL && strcmp(entry->name, attribute->name) != 0)
        entry++;
    if (entry == NULL || entry->name == NULL)
        return;
    attribute->get = entry->get;
    entry->get = ours;
}

void clp_readers_watch(struct clp_recorder *recorder)
{
    if (watcher != NULL)
        return;
    watcher = recorder;
    exchange(&attributes[0], code_of_function);
    exchange(&attributes[1], code_of_frame);
}

bool clp_readers_wrap(PyObject *module, const char *name, PyMethodDef *ours)
{
    PyObject *inner = PyObject_GetAttrString(module, name);
    bool there = inner != NULL;

    if (there && !(PyCFunction_Check(inner) && PyCFunction_GetFunction(inner) == ours->ml_meth)) {
        PyObject *wrapped = PyCFunction_New(ours, inner);
        if (wrapped != NULL)
            (void)PyObject_SetAttrString(module, name, wrapped);
        Py_XDECREF(wrapped);
    }
    PyErr_Clear();
    Py_XDECREF(inner);
    return there;
}

/* ---- torch.compile ---- */

/* The wrapper: wrapped(code, ..) calls the wrapped function, which is `inner`, with the code without probes. */
static PyObject *call_with_plain(PyObject *inner, PyObject *arguments, PyObject *keywords)
{
    PyObject *code = PyTuple_GET_SIZE(arguments) > 0 ? PyTuple_GET_ITEM(arguments, 0) : NULL;

    if (code == NULL || !PyCode_Check(code) || !clp_compat_is_main())
        return PyObject_Call(inner, arguments, keywords);
    PyObject *rest = PyTuple_GetSlice(arguments, 1, PY_SSIZE_T_MAX);
    PyObject *plain = plain_code(code, DYNAMO);
    PyObject *first = plain != NULL ? PyTuple_Pack(1, plain) : NULL;
    PyObject *all = rest != NULL && first != NULL ? PySequence_Concat(first, rest) : NULL;
    PyObject *result = all != NULL ? PyObject_Call(inner, all, keywords) : NULL;
    Py_XDECREF(rest);
    Py_XDECREF(plain);
    Py_XDECREF(first);
    Py_XDECREF(all);
    return result;
}

static PyMethodDef wrapped_method = {"cleaned_instructions", CLP_C_FUNCTION(call_with_plain),
                                     METH_VARARGS | METH_KEYWORDS, NULL};

void clp_readers_meet_dynamo(struct clp_recorder *recorder, PyObject *module)
{
    clp_readers_watch(recorder); /* another thread may call this at the same time */
    if (!clp_readers_wrap(module, "_cached_cleaned_instructions", &wrapped_method))
        clp_retreat(recorder, "this version of torch reads code in a way that is not known");
    PyErr_Clear();
}
