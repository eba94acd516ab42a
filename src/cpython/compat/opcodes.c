/* SPDX-License-Identifier: MIT */
#include "opcodes.h"

#if CLP_HAS_PROBES

/* The code of this module of the interpreter's. Owned. */
static PyObject *code_of_module(const char *name)
{
    PyObject *importing = PyImport_ImportModule("_frozen_importlib_external");
    PyObject *finder = importing != NULL ? PyObject_GetAttrString(importing, "PathFinder") : NULL;
    PyObject *spec = finder != NULL ? PyObject_CallMethod(finder, "find_spec", "s", name) : NULL;
    PyObject *loader = spec != NULL ? PyObject_GetAttrString(spec, "loader") : NULL;
    PyObject *code = loader != NULL ? PyObject_CallMethod(loader, "get_code", "s", name) : NULL;

    Py_XDECREF(importing);
    Py_XDECREF(finder);
    Py_XDECREF(spec);
    Py_XDECREF(loader);
    return code;
}

static PyObject *run_module(const char *name);

/* __import__(name, ..) for a module that is run; `own` is the interpreter's. */
static PyObject *import_beside(PyObject *own, PyObject *arguments)
{
    static const char part[] = "_opcode_metadata"; /* since 3.13 `opcode` has most from there */

    if (PyTuple_GET_SIZE(arguments) > 0 && PyUnicode_Check(PyTuple_GET_ITEM(arguments, 0)) &&
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(arguments, 0), part) == 0)
        return run_module(part);
    return PyObject_Call(own, arguments, NULL);
}

static PyMethodDef import_method = {"__import__", import_beside, METH_VARARGS, NULL};

/* The builtins with that import. Owned. */
static PyObject *builtins_beside(void)
{
    PyObject *builtins = PyDict_Copy(PyEval_GetBuiltins());
    PyObject *own = builtins != NULL ? PyMapping_GetItemString(builtins, "__import__") : NULL;
    PyObject *ours = own != NULL ? PyCFunction_New(&import_method, own) : NULL;

    if (ours == NULL || PyDict_SetItemString(builtins, "__import__", ours) != 0)
        Py_CLEAR(builtins);
    Py_XDECREF(own);
    Py_XDECREF(ours);
    return builtins;
}

/* A module of the interpreter's, run and not imported: the program must not find it loaded on our account, and
 * may be importing it, in another thread or in what a signal handler has interrupted. Owned. */
static PyObject *run_module(const char *name)
{
    PyObject *code = code_of_module(name), *builtins = code != NULL ? builtins_beside() : NULL;
    PyObject *module = builtins != NULL ? PyModule_New(name) : NULL, *result = NULL;
    PyObject *names = module != NULL ? PyModule_GetDict(module) : NULL; /* borrowed */

    if (names != NULL && PyDict_SetItemString(names, "__builtins__", builtins) == 0)
        result = PyEval_EvalCode(code, names, names);
    if (result == NULL)
        Py_CLEAR(module);
    Py_XDECREF(code);
    Py_XDECREF(builtins);
    Py_XDECREF(result);
    return module;
}

/* What the interpreter alone writes into running code, and cache units. */
static bool is_internal(const char *name)
{
    static const char *const names[] = {"CACHE", "RESERVED", "ENTER_EXECUTOR", "TRACE_RECORD"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return strncmp(name, "INSTRUMENTED_", strlen("INSTRUMENTED_")) == 0;
}

/* Cache units of the instruction; 0 when nothing is listed. */
static long caches_of(PyObject *caches, PyObject *name, PyObject *number)
{
    PyObject *count = PyObject_GetItem(caches, PyList_Check(caches) ? number : name);
    long value = count != NULL ? PyLong_AsLong(count) : 0;

    Py_XDECREF(count);
    PyErr_Clear();
    return value;
}

static bool add_opcode(struct clp_bytecode *bytecode, PyObject *caches, PyObject *name, PyObject *number)
{
    const char *text = PyUnicode_AsUTF8(name);
    long value = PyLong_AsLong(number);

    if (text == NULL || (value == -1 && PyErr_Occurred()))
        return false;
    if (value >= 0 && value <= 255 && !is_internal(text)) /* others are the compiler's own, never in code */
        clp_bytecode_add(bytecode, text, (uint8_t)value, (uint8_t)caches_of(caches, name, number));
    return true;
}

/* `caches`: by name since 3.13, by number before. */
static bool add_all(struct clp_bytecode *bytecode, PyObject *map, PyObject *caches)
{
    PyObject *numbers = PyDict_New(); /* a copy: the map is no dict on 3.15 */
    PyObject *name, *number;
    Py_ssize_t at = 0;
    bool done = numbers != NULL && PyDict_Update(numbers, map) == 0;

    while (done && PyDict_Next(numbers, &at, &name, &number))
        done = add_opcode(bytecode, caches, name, number);
    Py_XDECREF(numbers);
    return done;
}

bool clp_opcodes_read(struct clp_bytecode *bytecode)
{
    PyObject *module = run_module("opcode");
    PyObject *map = module != NULL ? PyObject_GetAttrString(module, "opmap") : NULL;
    PyObject *caches = map != NULL ? PyObject_GetAttrString(module, "_inline_cache_entries") : NULL;

    *bytecode = (struct clp_bytecode){.minor = PY_MINOR_VERSION};
    bool done = caches != NULL && add_all(bytecode, map, caches);
    bytecode->known = done && clp_bytecode_agrees(bytecode);
    Py_XDECREF(caches);
    Py_XDECREF(map);
    Py_XDECREF(module);
    if (PyErr_ExceptionMatches(PyExc_AttributeError) || PyErr_ExceptionMatches(PyExc_ImportError)) {
        *bytecode = (struct clp_bytecode){.minor = PY_MINOR_VERSION};
        PyErr_Clear();
    }
    return !PyErr_Occurred();
}

#else

bool clp_opcodes_read(struct clp_bytecode *bytecode)
{
    *bytecode = (struct clp_bytecode){.minor = PY_MINOR_VERSION};
    return true;
}

#endif
