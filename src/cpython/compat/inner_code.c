/* SPDX-License-Identifier: MIT */
#include "inner_code.h"
#if !CLP_CODE_HAS_QUALNAME
#include <opcode.h>
#endif

/* Returns the constants with all code objects replaced, an owned tuple. Sets *changed when any constant differs. NULL
 * with an exception set. */
static PyObject *replaced_constants(PyObject *constants, clp_inner_code_use *replace, void *data,
                                    bool *changed)
{
    PyObject *copy = PyTuple_New(PyTuple_GET_SIZE(constants));

    for (Py_ssize_t i = 0; copy != NULL && i < PyTuple_GET_SIZE(constants); i++) {
        PyObject *item = PyTuple_GET_ITEM(constants, i);
        PyObject *new = PyCode_Check(item) ? replace(data, item) : Py_NewRef(item);
        *changed |= new != item;
        if (new == NULL)
            Py_CLEAR(copy);
        else
            PyTuple_SET_ITEM(copy, i, new);
    }
    return copy;
}

PyObject *clp_inner_code_replaced(PyObject *code, clp_inner_code_use *replace, void *data)
{
    bool changed = false;
    PyObject *constants =
        replaced_constants(((PyCodeObject *)code)->co_consts, replace, data, &changed);
    PyObject *copy = constants == NULL ? NULL
                     : changed         ? clp_compat_with_constants((PyCodeObject *)code, constants)
                                       : Py_NewRef(code);

    Py_XDECREF(constants);
    return copy;
}

#if !CLP_CODE_HAS_QUALNAME

/* Does the code declare the name global? Then a function that it defines with this name is a function of the module. */
static bool declares_global(PyCodeObject *code, PyObject *name)
{
    const unsigned char *bytes = (const unsigned char *)PyBytes_AS_STRING(code->co_code);
    Py_ssize_t count = PyTuple_GET_SIZE(code->co_names), argument = 0;

    for (Py_ssize_t i = 0; i + 1 < PyBytes_GET_SIZE(code->co_code); i += 2) {
        argument = argument << 8 | bytes[i + 1];
        if (bytes[i] == EXTENDED_ARG)
            continue;
        if (bytes[i] == STORE_GLOBAL && argument < count &&
            PyUnicode_Compare(PyTuple_GET_ITEM(code->co_names, argument), name) == 0)
            return true;
        argument = 0;
    }
    return false;
}

/* Builds the qualified name as the compiler does: on 3.10 only functions have a qualified name, code objects do not. */
PyObject *clp_inner_code_name(PyCodeObject *code, PyCodeObject *within, PyObject *name_within)
{
    if (within == NULL || declares_global(within, code->co_name))
        return Py_NewRef(code->co_name);
    if ((within->co_flags & CO_OPTIMIZED) != 0)
        return PyUnicode_FromFormat("%U.<locals>.%U", name_within, code->co_name);
    if (PyUnicode_CompareWithASCIIString(name_within, "<module>") == 0)
        return Py_NewRef(code->co_name);
    return PyUnicode_FromFormat("%U.%U", name_within, code->co_name);
}

#else

PyObject *clp_inner_code_name(PyCodeObject *code, PyCodeObject *within, PyObject *name_within)
{
    (void)within, (void)name_within;
    return Py_NewRef(code->co_qualname);
}

#endif

bool clp_inner_code_is_part_of_line(PyCodeObject *code)
{
    static const char *const names[] = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"};
    size_t units = clp_compat_code_units(code);
    bool is = false;

    if (PyUnicode_CompareWithASCIIString(code->co_name, "__annotate__") == 0)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names && !is; i++)
        is = PyUnicode_CompareWithASCIIString(code->co_name, names[i]) == 0;
    for (size_t at = 0; at < units && is; at++) {
        int line = PyCode_Addr2Line(code, (int)at * 2);
        is = line < 0 || line == code->co_firstlineno;
    }
    return is;
}
