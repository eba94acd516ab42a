/* SPDX-License-Identifier: MIT */
#include "opcodes.h"

#if PY_VERSION_HEX >= 0x030B0000

static void note_name(struct clp_opcodes *opcodes, const char *name, long number)
{
    static const char *const never[] = {"RESUME", "END_FOR", "END_SEND", "END_ASYNC_FOR", "CACHE"};

    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        opcodes->never_starts[number] |= strcmp(name, never[i]) == 0;
    opcodes->resumes[number] = strcmp(name, "RESUME") == 0;
    if (strcmp(name, "EXTENDED_ARG") == 0)
        opcodes->extended_arg = (int)number;
    if (strcmp(name, "YIELD_VALUE") == 0)
        opcodes->yield_value = (int)number;
    if (strcmp(name, "CACHE") == 0)
        opcodes->cache = (int)number;
}

static bool note_opcode(struct clp_opcodes *opcodes, PyObject *jumps, PyObject *name,
                        PyObject *number)
{
    const char *text = PyUnicode_AsUTF8(name);
    long value = PyLong_AsLong(number);
    int is_jump = PySequence_Contains(jumps, number);

    if (text == NULL || is_jump < 0 || PyErr_Occurred())
        return false;
    if (value < 0 || value > 255)
        return true; /* the compiler's own, never in code */
    note_name(opcodes, text, value);
    if (is_jump)
        opcodes->jump[value] = strstr(text, "BACKWARD") != NULL ? -1 : 1;
    return true;
}

/* Calls visit(data, name, number) for all; stops when that is false. */
static bool walk(PyObject *map, bool (*visit)(void *data, PyObject *name, PyObject *number),
                 void *data)
{
    PyObject *numbers = PyDict_New(); /* a copy: the map is no dict on 3.15 */
    PyObject *name, *number;
    Py_ssize_t at = 0;
    bool done = numbers != NULL && PyDict_Update(numbers, map) == 0;

    while (done && PyDict_Next(numbers, &at, &name, &number))
        done = visit(data, name, number);
    Py_XDECREF(numbers);
    return done;
}

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

struct reading {
    struct clp_opcodes *opcodes;
    PyObject *jumps;
};

static bool read_one(void *data, PyObject *name, PyObject *number)
{
    const struct reading *reading = data;

    return note_opcode(reading->opcodes, reading->jumps, name, number);
}

bool clp_opcodes_read(struct clp_opcodes *opcodes)
{
    PyObject *module = run_module("opcode");
    PyObject *map = module != NULL ? PyObject_GetAttrString(module, "opmap") : NULL;
    PyObject *jumps = map != NULL ? PyObject_GetAttrString(module, "hasjrel") : NULL;
    struct reading reading = {opcodes, jumps};

    *opcodes = (struct clp_opcodes){.extended_arg = -1, .yield_value = -1};
    bool done = jumps != NULL && walk(map, read_one, &reading);
    Py_XDECREF(jumps);
    Py_XDECREF(map);
    Py_XDECREF(module);
    return done;
}

/* ---- comparing ---- */

struct comparison {
    const struct clp_bytecode *bytecode;
    PyObject *caches; /* by name since 3.13, by number before */
    int known;        /* instructions that agreed */
};

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

static bool compare_one(void *data, PyObject *name, PyObject *number)
{
    struct comparison *comparison = data;
    const char *text = PyUnicode_AsUTF8(name);
    long value = PyLong_AsLong(number);

    if (text == NULL || (value == -1 && PyErr_Occurred()))
        return false;
    if (value < 0 || value > 255 || is_internal(text))
        return true;
    comparison->known++;
    return clp_bytecode_agrees(comparison->bytecode, text, (int)value,
                               (int)caches_of(comparison->caches, name, number));
}

bool clp_opcodes_agree(const struct clp_bytecode *bytecode)
{
    PyObject *module = run_module("opcode");
    PyObject *map = module != NULL ? PyObject_GetAttrString(module, "opmap") : NULL;
    PyObject *caches =
        map != NULL ? PyObject_GetAttrString(module, "_inline_cache_entries") : NULL;
    struct comparison comparison = {bytecode, caches, 0};
    bool agree = caches != NULL && walk(map, compare_one, &comparison) &&
                 comparison.known == clp_bytecode_count(bytecode);

    Py_XDECREF(caches);
    Py_XDECREF(map);
    Py_XDECREF(module);
    return agree;
}

#else

bool clp_opcodes_read(struct clp_opcodes *opcodes)
{
    *opcodes = (struct clp_opcodes){0};
    return true;
}

bool clp_opcodes_agree(const struct clp_bytecode *bytecode)
{
    (void)bytecode;
    return false;
}

#endif
