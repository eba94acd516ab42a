/* SPDX-License-Identifier: MIT */
#include "record_calls.h"
#include "cpython/compat/exchange.h"
#include "cpython/compat/raised.h"

static const struct clp_record_listener *told; /* NULL: nobody listens */

/* ---- the operators ---- */

enum { ENTER, EXIT, EXIT_OVERLOAD, OPERATORS };

/* Each may have one of two forms: pybind11 3.1 takes arguments as an array, older versions as a tuple. */
static struct clp_exchange exchanges[2 * OPERATORS];

typedef PyObject *(*array_call)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);

static bool listens(PyObject *first)
{
    return told != NULL && first != NULL && clp_compat_is_main();
}

/* Call this before the operator runs. `first` is its first argument, or NULL. */
static void before(int which, PyObject *first)
{
    if (which != ENTER && listens(first))
        told->ends(first);
}

/* Call this with the operator's result, which it returns. */
static PyObject *after(int which, PyObject *first, PyObject *result)
{
    if (which == ENTER && result != NULL && listens(first))
        told->begun(first, result);
    return result;
}

#define BOTH_FORMS(name, which)                                                                                       \
    static PyObject *name##_array(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)      \
    {                                                                                                                 \
        PyObject *first = count > 0 ? arguments[0] : NULL;                                                            \
        before(which, first);                                                                                         \
        return after(which, first, ((array_call)(void (*)(void))exchanges[2 * which].theirs)(                         \
            self, arguments, count, names));                                                                          \
    }                                                                                                                 \
    static PyObject *name##_tuple(PyObject *self, PyObject *arguments, PyObject *keywords)                            \
    {                                                                                                                 \
        PyObject *first = PyTuple_GET_SIZE(arguments) > 0 ? PyTuple_GET_ITEM(arguments, 0) : NULL;                    \
        before(which, first);                                                                                         \
        return after(which, first, ((PyCFunctionWithKeywords)(void (*)(void))exchanges[2 * which + 1].theirs)(        \
            self, arguments, keywords));                                                                              \
    }

BOTH_FORMS(enter, ENTER)
BOTH_FORMS(exit, EXIT)
BOTH_FORMS(exit_overload, EXIT_OVERLOAD)

#define FORMS(name, function)                                                                                         \
    {name, METH_FASTCALL | METH_KEYWORDS, CLP_C_FUNCTION(function##_array), NULL, NULL},                              \
    {name, METH_VARARGS | METH_KEYWORDS, CLP_C_FUNCTION(function##_tuple), NULL, NULL}

static struct clp_exchange exchanges[2 * OPERATORS] = {
    FORMS("_record_function_enter_new", enter),
    FORMS("_record_function_exit", exit),
    FORMS("", exit_overload), /* an overload has no name */
};

/* ---- finding them ---- */

/* The attribute at the end of a path such as "ops.profiler", a new reference; NULL with an exception set. */
static PyObject *find(PyObject *module, const char *const *path)
{
    PyObject *found = Py_NewRef(module);

    for (; found != NULL && *path != NULL; path++)
        Py_SETREF(found, PyObject_GetAttrString(found, *path));
    return found;
}

static const char *const paths[OPERATORS][6] = {
    {"ops", "profiler", "_record_function_enter_new", "_op"},
    {"ops", "profiler", "_record_function_exit", "_op"},
    {"ops", "profiler", "_record_function_exit", "_RecordFunction", "_op"},
};

/* The operator is kept for ever, because the exchange points into it. */
static void exchange(int which, PyObject *operator)
{
    for (int form = 0; form < 2; form++) {
        struct clp_exchange *place = &exchanges[2 * which + form];
        bool was_there = place->method != NULL;
        clp_exchange_put(place, operator);
        if (!was_there && place->method != NULL)
            Py_INCREF(operator);
    }
}

static void exchange_all(PyObject *torch)
{
    struct clp_raised raised = clp_raised_take();

    for (int which = 0; which < OPERATORS; which++) {
        PyObject *operator = find(torch, paths[which]);
        exchange(which, operator);
        PyErr_Clear();
        Py_XDECREF(operator);
    }
    clp_raised_give(raised);
}

/* torch, a new reference; NULL: it is not there, or is loaded lazily later. */
static PyObject *torch_here(void)
{
    PyObject *torch = PyDict_GetItemString(PyImport_GetModuleDict(), CLP_RECORD_CALLS_MODULE); /* borrowed */

    return torch != NULL && PyModule_CheckExact(torch) ? Py_NewRef(torch) : NULL;
}

void clp_record_calls_tell(const struct clp_record_listener *listener)
{
    PyObject *torch = listener != NULL ? torch_here() : NULL;

    told = listener;
    if (torch != NULL)
        exchange_all(torch);
    Py_XDECREF(torch);
}

void clp_record_calls_meet(struct clp_recorder *recorder, PyObject *module)
{
    (void)recorder;
    if (told != NULL)
        exchange_all(module);
}
