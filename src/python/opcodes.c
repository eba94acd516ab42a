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
    if (strcmp(name, "END_ASYNC_FOR") == 0)
        opcodes->end_async_for = (int)number;
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

static bool note_all(struct clp_opcodes *opcodes, PyObject *map, PyObject *jumps)
{
    PyObject *numbers = PyDict_New(); /* a copy: the map is no dict on 3.15 */
    PyObject *name, *number;
    Py_ssize_t at = 0;
    bool done = numbers != NULL && PyDict_Update(numbers, map) == 0;

    while (done && PyDict_Next(numbers, &at, &name, &number))
        done = note_opcode(opcodes, jumps, name, number);
    Py_XDECREF(numbers);
    return done;
}

bool clp_opcodes_read(struct clp_opcodes *opcodes)
{
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
    bool loaded = PyDict_GetItemString(modules, "opcode") != NULL;
    PyObject *module = PyImport_ImportModule("opcode");
    PyObject *map = module != NULL ? PyObject_GetAttrString(module, "opmap") : NULL;
    PyObject *jumps = map != NULL ? PyObject_GetAttrString(module, "hasjrel") : NULL;

    *opcodes = (struct clp_opcodes){.extended_arg = -1, .yield_value = -1, .end_async_for = -1};
    bool done = jumps != NULL && note_all(opcodes, map, jumps);
    if (done && !loaded)
        done = PyDict_DelItemString(modules, "opcode") == 0;
    Py_XDECREF(jumps);
    Py_XDECREF(map);
    Py_XDECREF(module);
    return done;
}

#else

bool clp_opcodes_read(struct clp_opcodes *opcodes)
{
    *opcodes = (struct clp_opcodes){0};
    return true;
}

#endif
