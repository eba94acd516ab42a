/* SPDX-License-Identifier: MIT */
#include "opcodes.h"

#if CLP_HAS_PROBES

/* Returns the code of a module of the interpreter. Owned; NULL with an exception set. */
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

/* The __import__ of a module that run_module runs: runs the module _opcode_metadata too, and passes every other call to
 * `own`, the interpreter's __import__. */
static PyObject *import_beside(PyObject *own, PyObject *arguments)
{
    static const char part[] = "_opcode_metadata"; /* since 3.13 `opcode` takes most names from this module */

    if (PyTuple_GET_SIZE(arguments) > 0 && PyUnicode_Check(PyTuple_GET_ITEM(arguments, 0)) &&
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(arguments, 0), part) == 0)
        return run_module(part);
    return PyObject_Call(own, arguments, NULL);
}

static PyMethodDef import_method = {"__import__", import_beside, METH_VARARGS, NULL};

/* Returns a copy of the builtins in which __import__ is import_beside. Owned; NULL with an exception set. */
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

/* Runs a module of the interpreter without importing it. An import would leave the module in sys.modules for the
 * program to find, and would meet an import of the same module that is going on in another thread, or that a signal
 * handler has interrupted. Returns the module, owned; NULL with an exception set. */
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

/* Is the name one of a cache unit, or of an instruction that only the interpreter writes into running code? */
static bool is_internal(const char *name)
{
    static const char *const names[] = {"CACHE", "RESERVED", "ENTER_EXECUTOR", "TRACE_RECORD"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return strncmp(name, "INSTRUMENTED_", strlen("INSTRUMENTED_")) == 0;
}

/* Returns the number of cache units of the instruction; 0 when none are listed. */
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
    if (value >= 0 && value <= 255 && !is_internal(text)) /* numbers above 255 exist only within the compiler */
        clp_bytecode_add(bytecode, text, (uint8_t)value, (uint8_t)caches_of(caches, name, number));
    return true;
}

/* Adds all instructions of `map`. `caches` has the cache units by name since 3.13, by number before. */
static bool add_all(struct clp_bytecode *bytecode, PyObject *map, PyObject *caches)
{
    PyObject *numbers = PyDict_New(); /* a copy of the map, which is not a dict on 3.15 */
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
