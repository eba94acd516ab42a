/* SPDX-License-Identifier: MIT */
#include "compilers.h"
#include "cpython/recorder/selected.h"
#include "readers.h"
#include "taken_over.h"

#define HELPER "clineprof._boot.compiled"

/* ---- numba ---- */

/* told(function, nanoseconds): numba has compiled the function. */
static PyObject *numba_compiled(PyObject *nothing, PyObject *arguments)
{
    PyObject *function;
    unsigned long long spent;

    (void)nothing;
    if (!PyArg_ParseTuple(arguments, "OK", &function, &spent))
        return NULL;
    struct clp_compiled *compiled = clp_taken_counters_of(clp_taken_code(function));
    if (compiled != NULL) {
        compiled->times++;
        compiled->nanos += spent;
    }
    Py_RETURN_NONE;
}

void clp_compilers_meet_numba_events(struct clp_recorder *recorder, PyObject *module)
{
    static PyMethodDef told = {"compiled", numba_compiled, METH_VARARGS, NULL};
    static PyObject *listener; /* owned */
    PyObject *helper = listener == NULL ? clp_compat_own_module(HELPER) : NULL;

    clp_taken_watch(recorder);
    if (helper != NULL)
        listener = PyCFunction_New(&told, NULL);
    if (listener != NULL && helper != NULL)
        Py_XDECREF(PyObject_CallMethod(helper, "listen_to_numba", "OO", module, listener));
    Py_XDECREF(helper);
}

static ternaryfunc call_dispatcher;
static PyObject *py_func; /* owned: the name of the attribute */

static PyObject *count_and_call_dispatcher(PyObject *dispatcher, PyObject *arguments, PyObject *keywords)
{
    PyObject *function = PyObject_GenericGetAttr(dispatcher, py_func);
    struct clp_compiled *compiled = clp_taken_counters_of(clp_taken_code(function));

    if (compiled != NULL)
        compiled->calls++;
    if (function == NULL)
        PyErr_Clear();
    Py_XDECREF(function);
    return call_dispatcher(dispatcher, arguments, keywords);
}

void clp_compilers_meet_numba(struct clp_recorder *recorder, PyObject *module)
{
    PyObject *class = PyObject_GetAttrString(module, "CPUDispatcher");

    clp_taken_watch(recorder);
    if (py_func == NULL)
        py_func = PyUnicode_InternFromString("py_func");
    if (class != NULL && py_func != NULL && PyType_Check(class) && call_dispatcher == NULL) {
        call_dispatcher = ((PyTypeObject *)class)->tp_call;
        if (call_dispatcher != NULL)
            ((PyTypeObject *)class)->tp_call = count_and_call_dispatcher;
    }
    Py_XDECREF(class);
}

/* ---- torch.compile ---- */

/* Stands in compiled code: its negative is one call of it. */
struct counter {
    PyObject_HEAD
    uint32_t function;
};

static PyObject *count_call(PyObject *counter)
{
    struct clp_compiled *compiled = clp_taken_counters(((struct counter *)counter)->function);

    if (compiled != NULL)
        compiled->calls++;
    Py_RETURN_NONE;
}

/* Code that is kept for another process does not count there. */
static PyObject *counter_reduce(PyObject *self, PyObject *nothing)
{
    (void)self, (void)nothing;
    return Py_BuildValue("O()", &PyLong_Type);
}

static PyTypeObject *counter_type(void)
{
    static PyTypeObject *type; /* owned */
    static PyMethodDef methods[] = {
        {"__reduce__", counter_reduce, METH_NOARGS, "A plain 0 to whoever unpickles it."},
        {NULL, NULL, 0, NULL},
    };
    PyType_Slot slots[] = {
        {Py_nb_negative, (void *)count_call},
        {Py_tp_methods, methods},
        {0, NULL},
    };
    PyType_Spec spec = {
        .name = "clineprof._core.compiled_calls",
        .basicsize = sizeof(struct counter),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
        .slots = slots,
    };

    if (type == NULL)
        type = (PyTypeObject *)PyType_FromSpec(&spec);
    return type;
}

static PyObject *new_counter(uint32_t function)
{
    PyTypeObject *type = counter_type();
    struct counter *made = type != NULL ? PyObject_New(struct counter, type) : NULL;

    if (made != NULL)
        made->function = function;
    return (PyObject *)made;
}

/* A copy of the code that `made` of this code, with a counter of calls. A new reference; NULL: it cannot have one, or
 * there is other code already that has none. */
static PyObject *counting_copy(PyObject *code, PyObject *made, uint32_t function)
{
    PyObject *helper = clp_compat_own_module(HELPER);
    PyObject *counter = helper != NULL ? new_counter(function) : NULL;
    PyObject *copy = counter != NULL ? PyObject_CallMethod(helper, "counting", "OOO", code, made, counter) : NULL;

    PyErr_Clear();
    Py_XDECREF(counter);
    Py_XDECREF(helper);
    return copy;
}

/* The hook that torch calls, as hook(code, made), with the code that it has made of a function's code: returns the code
 * that runs in its place, or None. */
static PyObject *count_calls(PyObject *nothing, PyObject *arguments)
{
    PyObject *code, *made;

    (void)nothing;
    if (!PyArg_ParseTuple(arguments, "OO", &code, &made))
        return NULL;
    uint32_t function = clp_taken_function(code);
    if (function == CLP_UNSELECTED)
        Py_RETURN_NONE;
    PyObject *copy = counting_copy(code, made, function);
    if (copy != NULL)
        return copy;
    clp_taken_note_unseen(function);
    Py_RETURN_NONE;
}

/* The code of the function of which torch has made this code, for what follows after a break of the graph. A new
 * reference; NULL: there is none, and no exception is set. */
static PyObject *origin_of(PyObject *code)
{
    PyObject *helper = clp_compat_own_module(HELPER);
    PyObject *origin = helper != NULL ? PyObject_CallMethod(helper, "origin", "O", code) : NULL;

    PyErr_Clear();
    Py_XDECREF(helper);
    return origin;
}

static void note_torch(PyObject *code, uint64_t nanos)
{
    struct clp_compiled *compiled = clp_taken_counters_of(code);
    PyObject *origin = NULL; /* owned */

    if (compiled != NULL)
        compiled->times++;
    else
        compiled = clp_taken_counters_of(origin = origin_of(code));
    if (compiled != NULL)
        compiled->nanos += nanos;
    Py_XDECREF(origin);
}

/* Does the result of torch's function say that code was made? Before torch 2.6 the result was the code. */
static bool has_made_code(PyObject *result)
{
    PyObject *guarded = PyObject_GetAttrString(result, "guarded_code");
    bool made = (guarded != NULL ? guarded : result) != Py_None;

    PyErr_Clear();
    Py_XDECREF(guarded);
    return made;
}

/* torch's function that compiles a frame, which is `inner`. */
static PyObject *compile_timed(PyObject *inner, PyObject *arguments, PyObject *keywords)
{
    uint64_t begun = clp_clock_monotonic();
    PyObject *result = PyObject_Call(inner, arguments, keywords);

    uint64_t spent = clp_clock_monotonic() - begun;
    if (result != NULL && PyTuple_GET_SIZE(arguments) > 0 && PyCode_Check(PyTuple_GET_ITEM(arguments, 0)) &&
        has_made_code(result))
        note_torch(PyTuple_GET_ITEM(arguments, 0), spent);
    return result;
}

void clp_compilers_meet_torch(struct clp_recorder *recorder, PyObject *module)
{
    static PyMethodDef timed = {"_compile", CLP_C_FUNCTION(compile_timed), METH_VARARGS | METH_KEYWORDS, NULL};
    static PyMethodDef counting = {"count_calls", count_calls, METH_VARARGS, NULL};
    static PyObject *handle; /* owned: removes the hook */
    PyObject *hook = handle == NULL ? PyCFunction_New(&counting, NULL) : NULL;

    clp_taken_watch(recorder);
    (void)clp_readers_wrap(module, "_compile", &timed);
    if (hook != NULL)
        handle = PyObject_CallMethod(module, "register_bytecode_hook", "O", hook);
    Py_XDECREF(hook);
}

/* ---- torch.jit ---- */

/* What torch.jit.script calls, with a function, for its source. */
static PyObject *source_asked(PyObject *inner, PyObject *arguments, PyObject *keywords)
{
    if (PyTuple_GET_SIZE(arguments) > 0)
        clp_taken_note(clp_taken_code(PyTuple_GET_ITEM(arguments, 0)), "torch.jit.script");
    return PyObject_Call(inner, arguments, keywords);
}

void clp_compilers_meet_script(struct clp_recorder *recorder, PyObject *module)
{
    static PyMethodDef asked = {"parse_def", CLP_C_FUNCTION(source_asked), METH_VARARGS | METH_KEYWORDS, NULL};

    clp_taken_watch(recorder);
    (void)clp_readers_wrap(module, "parse_def", &asked);
}

/* Notes the function, and all parts of the model whose method it is. */
static void note_traced_by_torch(PyObject *function)
{
    PyObject *helper = clp_compat_own_module(HELPER);
    PyObject *codes = helper != NULL ? PyObject_CallMethod(helper, "traced_by_torch", "O", function) : NULL;

    for (Py_ssize_t i = 0; codes != NULL && i < PyList_GET_SIZE(codes); i++)
        clp_taken_note(PyList_GET_ITEM(codes, i), "torch.jit.trace");
    PyErr_Clear();
    Py_XDECREF(codes);
    Py_XDECREF(helper);
}

/* What torch.jit.trace calls, with a function, for the names of its arguments, when it is going to trace it. */
static PyObject *names_asked(PyObject *inner, PyObject *arguments, PyObject *keywords)
{
    if (PyTuple_GET_SIZE(arguments) > 0 && clp_compat_is_main())
        note_traced_by_torch(PyTuple_GET_ITEM(arguments, 0));
    return PyObject_Call(inner, arguments, keywords);
}

void clp_compilers_meet_trace(struct clp_recorder *recorder, PyObject *module)
{
    static PyMethodDef asked = {"get_callable_argument_names", CLP_C_FUNCTION(names_asked),
                                METH_VARARGS | METH_KEYWORDS, NULL};

    clp_taken_watch(recorder);
    (void)clp_readers_wrap(module, "get_callable_argument_names", &asked);
}
