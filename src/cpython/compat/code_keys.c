/* SPDX-License-Identifier: MIT */
#include "code_keys.h"

static PyObject *keys_of_constants(PyObject *constants);

/* Returns the key of a constant. 1, True and 1.0 need different keys although they are equal, and so do 0.0 and -0.0.
 * The hash of -1 is the hash of -2, so an int is keyed by its text, in base 16, for which CPython has no limit of
 * digits. Inner code has the key None. */
static PyObject *key_of_constant(PyObject *item)
{
    if (PyCode_Check(item))
        return Py_NewRef(Py_None);
    if (PyTuple_CheckExact(item))
        return keys_of_constants(item);
    if (PyFloat_CheckExact(item) || PyComplex_CheckExact(item))
        return PyObject_Repr(item);
    if (PyLong_CheckExact(item))
        return PyNumber_ToBase(item, 16);
    return PyTuple_Pack(2, Py_TYPE(item), item);
}

/* Returns the keys of a tuple of constants, an owned tuple; NULL with an exception set. */
static PyObject *keys_of_constants(PyObject *constants)
{
    PyObject *keys = PyTuple_New(PyTuple_GET_SIZE(constants));

    for (Py_ssize_t i = 0; keys != NULL && i < PyTuple_GET_SIZE(constants); i++) {
        PyObject *key = key_of_constant(PyTuple_GET_ITEM(constants, i));
        if (key == NULL)
            Py_CLEAR(keys);
        else
            PyTuple_SET_ITEM(keys, i, key);
    }
    return keys;
}

/* Returns where each line begins and ends in the code. It is part of the key because the text may since have got
 * comments, which change only the line numbers. Owned tuple; NULL with an exception set. */
static PyObject *lines_of(PyObject *code)
{
    PyObject *lines = PyObject_CallMethod(code, "co_lines", NULL);
    PyObject *all = lines != NULL ? PySequence_Tuple(lines) : NULL;

    Py_XDECREF(lines);
    return all;
}

PyObject *clp_code_key(PyCodeObject *code)
{
    PyObject *object = (PyObject *)code;
    PyObject *const parts[] = {
        Py_NewRef(code->co_name),
        PyLong_FromLong(code->co_firstlineno),
        lines_of(object),
        PyObject_GetAttrString(object, "co_code"),
        Py_NewRef(code->co_names),
        PyObject_GetAttrString(object, "co_varnames"),
        PyObject_GetAttrString(object, "co_freevars"),
        keys_of_constants(code->co_consts),
    };
    const Py_ssize_t count = sizeof parts / sizeof *parts;
    PyObject *all = PyTuple_New(count), *key = NULL;
    bool whole = all != NULL;

    for (Py_ssize_t i = 0; i < count; i++) {
        whole = whole && parts[i] != NULL;
        if (all != NULL)
            PyTuple_SET_ITEM(all, i, parts[i]); /* takes over the reference */
        else
            Py_XDECREF(parts[i]);
    }
    Py_hash_t hash = whole ? PyObject_Hash(all) : -1;
    if (hash != -1)
        key = PyLong_FromSsize_t(hash);
    Py_XDECREF(all);
    return key;
}

/* Adds the keys of the code and of all code within it to the set. Returns false with an exception set. */
static bool add_keys(PyObject *keys, PyCodeObject *code)
{
    PyObject *key = clp_code_key(code);
    bool done = key != NULL && PySet_Add(keys, key) == 0;

    Py_XDECREF(key);
    for (Py_ssize_t i = 0; done && i < PyTuple_GET_SIZE(code->co_consts); i++) {
        PyObject *item = PyTuple_GET_ITEM(code->co_consts, i);
        done = !PyCode_Check(item) || add_keys(keys, (PyCodeObject *)item);
    }
    return done;
}

/* ---- compiling ---- */

/* The file name of texts while they are compiled. Only clineprof has a warnings filter with this name. */
#define FILE_NAME "<text of clineprof>"

/* A filter at the front of the list of the module warnings. Audit hooks may run during the compilation, and then other
 * threads too, which may also add a filter or change the list. So each thread removes only its own filter. */
struct silence {
    PyObject *filters, *own; /* owned: the list and the filter; NULL: nothing must be removed */
};

/* An object that looks like a compiled pattern, so that the module re need not be imported: its match() is
 * FILE_NAME.startswith. CPython 3.15 compares file names with patterns only, and calls match(name, position), too. */
static PyObject *pattern_of_texts(void)
{
    PyObject *implementation = PySys_GetObject("implementation"); /* a types.SimpleNamespace, borrowed */
    PyObject *name = PyUnicode_FromString(FILE_NAME), *pattern = NULL;
    PyObject *starts = name != NULL ? PyObject_GetAttrString(name, "startswith") : NULL;

    if (implementation != NULL && starts != NULL)
        pattern = PyObject_CallNoArgs((PyObject *)Py_TYPE(implementation));
    if (pattern != NULL && PyObject_SetAttrString(pattern, "match", starts) != 0)
        Py_CLEAR(pattern);
    Py_XDECREF(starts);
    Py_XDECREF(name);
    return pattern;
}

static struct silence silence_warnings(void)
{
    PyObject *module = PyImport_ImportModule("warnings"), *pattern = pattern_of_texts();
    struct silence silence = {
        module != NULL ? PyObject_GetAttrString(module, "filters") : NULL,
        pattern != NULL ? Py_BuildValue("(sOOOi)", "ignore", Py_None, PyExc_Warning, pattern, 0) : NULL,
    };

    if (silence.own != NULL && silence.filters != NULL && PyList_Check(silence.filters))
        (void)PyList_Insert(silence.filters, 0, silence.own);
    PyErr_Clear();
    Py_XDECREF(pattern);
    Py_XDECREF(module);
    return silence;
}

static void end_silence(struct silence silence)
{
    if (silence.filters != NULL && PyList_Check(silence.filters))
        for (Py_ssize_t i = PyList_GET_SIZE(silence.filters); i-- > 0;)
            if (PyList_GET_ITEM(silence.filters, i) == silence.own &&
                PyList_SetSlice(silence.filters, i, i + 1, NULL) != 0)
                PyErr_Clear();
    Py_XDECREF(silence.filters);
    Py_XDECREF(silence.own);
}

/* Returns the text as eval() would compile it, without the blanks before it; for other kinds of code the whole text. */
static const char *text_for(int start, const char *text)
{
    return start == Py_eval_input ? text + strspn(text, " \t") : text;
}

PyObject *clp_code_keys(const char *text, int features)
{
    static const int starts[] = {Py_file_input, Py_eval_input, Py_single_input};
    PyCompilerFlags flags = {
        .cf_flags = features | PyCF_IGNORE_COOKIE | PyCF_SOURCE_IS_UTF8,
        .cf_feature_version = PY_MINOR_VERSION,
    };
    PyObject *keys = PySet_New(NULL), *file = PyUnicode_FromString(FILE_NAME);
    struct silence silence = silence_warnings();

    for (size_t i = 0; keys != NULL && file != NULL && i < sizeof starts / sizeof *starts; i++) {
        PyCompilerFlags its = flags;
        PyObject *code = Py_CompileStringObject(text_for(starts[i], text), file, starts[i], &its, -1);
        if (code != NULL && !add_keys(keys, (PyCodeObject *)code))
            Py_CLEAR(keys);
        Py_XDECREF(code);
        PyErr_Clear(); /* the text does not compile as this kind of code */
    }
    end_silence(silence);
    Py_XDECREF(file);
    return keys;
}
