/* SPDX-License-Identifier: MIT */
#include "code_copies.h"
#include "cpython/compat/exchange.h"

typedef PyObject *replacing(PyObject *code, PyObject *const *values, Py_ssize_t count, PyObject *names);

/* What is watched. It is one for the process, as the type of code objects is. */
static struct {
    struct clp_recorder *recorder; /* borrowed; NULL: nobody watches */
    clp_code_copies_use *use;
    newfunc construct; /* tp_new of the type itself */
} watched;

/* Tells of a copy. If there is no memory to record it, the program still gets its copy. */
static void tell(const struct clp_selected *from, PyObject *code, PyObject *copy)
{
    if (copy != code && clp_recorder_selected(watched.recorder, copy) == NULL &&
        !watched.use(from, (PyCodeObject *)code, (PyCodeObject *)copy))
        PyErr_Clear();
}

/* ---- code.replace(), and copy.replace() ---- */

static PyObject *replace(PyObject *code, PyObject *const *values, Py_ssize_t count, PyObject *names);

/* One C function has both names. */
static struct clp_exchange entries[] = {
    {"replace", METH_FASTCALL | METH_KEYWORDS, CLP_C_FUNCTION(replace), NULL, NULL},
    {"__replace__", METH_FASTCALL | METH_KEYWORDS, CLP_C_FUNCTION(replace), NULL, NULL},
};

#define ENTRY_COUNT (sizeof entries / sizeof *entries)

static PyObject *replace(PyObject *code, PyObject *const *values, Py_ssize_t count, PyObject *names)
{
    PyObject *copy = ((replacing *)(void (*)(void))entries[0].theirs)(code, values, count, names);

    if (copy == NULL || watched.recorder == NULL || !clp_compat_is_main())
        return copy;
    const struct clp_selected *selected = clp_recorder_traced(watched.recorder, code);
    if (selected != NULL && selected->on)
        tell(selected, code, copy);
    return copy;
}

/* ---- types.CodeType(..) ---- */

/* Is it a copy of the code? Two functions that look alike may share a table of lines, which starts at the first
 * line of each. The same table at the same first line belongs to one function. */
static bool is_copy(const PyCodeObject *code, const PyCodeObject *copy)
{
    return code->co_linetable == copy->co_linetable &&
           code->co_firstlineno == copy->co_firstlineno &&
           PyUnicode_Compare(code->co_filename, copy->co_filename) == 0;
}

static const struct clp_selected *origin_among(const struct clp_selected *codes,
                                               const PyCodeObject *copy)
{
    while (codes != NULL && !(codes->on && is_copy((PyCodeObject *)codes->code, copy)))
        codes = codes->next;
    return codes;
}

/* The recorded code that has the table of lines of this code, or NULL. */
static const struct clp_selected *origin_of(const PyCodeObject *copy)
{
    const struct clp_recorder *recorder = watched.recorder;
    const struct clp_selected *found = NULL;

    for (size_t i = 0; i < recorder->site_room && found == NULL; i++)
        if (recorder->sites[i] != NULL)
            found = origin_among(recorder->sites[i]->codes, copy);
    return found;
}

static PyObject *construct(PyTypeObject *type, PyObject *values, PyObject *names)
{
    PyObject *copy = watched.construct(type, values, names);
    const struct clp_selected *from =
        copy != NULL && watched.recorder != NULL && clp_compat_is_main()
            ? origin_of((PyCodeObject *)copy)
            : NULL;

    if (from == NULL)
        return copy;
    PyObject *code = Py_NewRef(from->code);
    tell(from, code, copy);
    Py_DECREF(code);
    return copy;
}

/* ---- watching ---- */

void clp_code_copies_give(clp_code_copies_use *use)
{
    watched.use = use;
}

void clp_code_copies_watch(struct clp_recorder *recorder)
{
    PyObject *methods = clp_compat_class_dict((PyObject *)&PyCode_Type);

    watched.recorder = recorder;
    for (size_t i = 0; methods != NULL && i < ENTRY_COUNT; i++)
        clp_exchange_put(&entries[i], PyDict_GetItemString(methods, entries[i].name));
    Py_XDECREF(methods);
    if (PyCode_Type.tp_new != construct) {
        watched.construct = PyCode_Type.tp_new;
        PyCode_Type.tp_new = construct;
    }
}

void clp_code_copies_leave(void)
{
    watched.recorder = NULL;
    for (size_t i = 0; i < ENTRY_COUNT; i++)
        clp_exchange_undo(&entries[i]);
    if (PyCode_Type.tp_new == construct)
        PyCode_Type.tp_new = watched.construct;
}
