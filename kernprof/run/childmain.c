/* SPDX-License-Identifier: MIT */
/* An audit hook sees the code before it runs. Unlike an entry in sys or a patched function, the program cannot find
 * it. */
#include "childmain.h"
#include "imports.h"
#include <string.h>

/* Is the code that is about to run the body of a main script? Such code is run by the interpreter itself or by runpy,
 * which multiprocessing uses. */
static bool runs_script(PyObject *code)
{
    PyObject *globals = PyEval_GetGlobals(); /* borrowed; NULL: nothing runs yet */
    PyObject *name =
        globals != NULL ? PyDict_GetItemString(globals, "__name__") : NULL; /* borrowed */

    if (PyUnicode_CompareWithASCIIString(((PyCodeObject *)code)->co_name, "<module>") != 0)
        return false;
    return globals == NULL || (name != NULL && PyUnicode_Check(name) &&
                               PyUnicode_CompareWithASCIIString(name, "runpy") == 0);
}

/* Exchanges the code objects among the constants of `code` with those of `copy`, so that the script makes its functions
 * of the copies. */
static void take_constants(PyCodeObject *code, PyCodeObject *copy)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); i++) {
        PyObject *mine = PyTuple_GET_ITEM(code->co_consts, i);
        PyObject *new = PyTuple_GET_ITEM(copy->co_consts, i);
        if (mine == new || !PyCode_Check(mine))
            continue;
        PyTuple_SET_ITEM(code->co_consts, i, Py_NewRef(new));
        Py_DECREF(mine);
    }
}

static void select_in(struct clp_target_selection *chosen, PyObject *code)
{
    char name[256];

    if (!clp_imports_script_name(code, name, sizeof name))
        return;
    PyObject *copy = clp_imports_code_within(&chosen->imports, code, name);
    if (copy != NULL && copy != code)
        take_constants((PyCodeObject *)code, (PyCodeObject *)copy);
    Py_XDECREF(copy);
}

static int look(const char *event, PyObject *arguments, void *chosen)
{
    if (strcmp(event, "exec") != 0 || !PyTuple_Check(arguments) ||
        PyTuple_GET_SIZE(arguments) != 1 || !PyCode_Check(PyTuple_GET_ITEM(arguments, 0)) ||
        ((struct clp_target_selection *)chosen)->imports.profiler == NULL)
        return 0;
    if (runs_script(PyTuple_GET_ITEM(arguments, 0)))
        select_in(chosen, PyTuple_GET_ITEM(arguments, 0));
    PyErr_Clear();
    return 0;
}

bool clp_childmain_watch(struct clp_target_selection *chosen)
{
    return chosen->imports.targets.count == 0 || PySys_AddAuditHook(look, chosen) == 0;
}
