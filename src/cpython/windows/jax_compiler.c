/* SPDX-License-Identifier: MIT */
#include "jax_compiler.h"
#include "cpython/recorder/selected.h"
#include "readers.h"
#include "taken_over.h"

#define HELPER "clineprof._boot.compiled"

/* What jax calls with (event, seconds, fun_name=..) is in Python (compiled.py). jax tells only the name of a function.
 * Usually it traces a function just before it compiles it; not so for derivatives of what was traced before. Then
 * nothing is counted if several functions have the name. All are owned, and NULL until they are needed. */
static PyObject *traced; /* {name: the code that was traced under it last, or as the only one} */
static PyObject *shared; /* the names of several functions */
static PyObject *fresh;  /* the names whose code in `traced` is the one that is compiled next */
#define TRACED_MOST 10000

static PyObject *eval_trace;   /* owned: the trace in which jax runs what it is called for; NULL: not known */
static PyObject *trace_now;    /* owned: its attribute `value` is the trace of the thread */
static PyObject *jit_disabled; /* owned: its attribute `value` says whether functions run as they are */
static PyObject *value_name, *fun_name; /* owned: names of attributes */

static bool has_value(PyObject *config, const PyObject *wanted)
{
    PyObject *value = config != NULL ? PyObject_GetAttr(config, value_name) : NULL;

    PyErr_Clear();
    Py_XDECREF(value);
    return value != NULL && value == wanted;
}

/* Does jax run what it is called for, and does not trace it? Always true where that is not known. */
static bool is_top_level(void)
{
    return eval_trace == NULL || has_value(trace_now, eval_trace);
}

/* The function in partial objects, borrowed. */
static PyObject *without_partial(PyObject *callable)
{
    while (strcmp(Py_TYPE(callable)->tp_name, "functools.partial") == 0) {
        PyObject *inner = PyObject_GetAttrString(callable, "func");
        PyErr_Clear();
        if (inner == NULL)
            break;
        Py_DECREF(inner); /* the partial object holds it */
        callable = inner;
    }
    return PyMethod_Check(callable) ? PyMethod_GET_FUNCTION(callable) : callable;
}

/* ---- calls ---- */

static vectorcallfunc call_of_jax;
static _Thread_local PyObject *running; /* borrowed: the innermost jitted function that is being called; or NULL */

/* The function of which this is the jitted one, a new reference; NULL: not known. */
static PyObject *function_of_jitted(PyObject *jitted)
{
    PyObject *function = PyObject_GenericGetAttr(jitted, fun_name);

    PyErr_Clear();
    return function;
}

/* `within`: another jitted function is being called. */
static void count_jitted(uint32_t function, bool top_level, bool within)
{
    struct clp_compiled *compiled = clp_taken_counters(function);

    if (compiled != NULL && top_level && !has_value(jit_disabled, Py_True))
        compiled->calls++;
    else if (!top_level && !within) /* of jax.grad or vmap, or of what jax traces otherwise */
        clp_taken_note_unseen(function);
}

static PyObject *count_and_call_jitted(PyObject *jitted, PyObject *const *arguments, size_t count, PyObject *names)
{
    PyObject *function = function_of_jitted(jitted);
    uint32_t number = clp_taken_function(function != NULL ? clp_taken_code(without_partial(function)) : NULL);
    bool top_level = number != CLP_UNSELECTED && is_top_level();
    PyObject *outer = running;

    Py_XDECREF(function);
    running = jitted;
    PyObject *result = call_of_jax(jitted, arguments, count, names);
    running = outer;
    if (result != NULL && number != CLP_UNSELECTED)
        count_jitted(number, top_level, outer != NULL);
    return result;
}

/* Lets calls of the jitted function count, by the function in the object that the interpreter calls. */
static void count_calls_of_jitted(PyObject *jitted)
{
    const PyTypeObject *type = Py_TYPE(jitted);

    if (eval_trace == NULL || !(type->tp_flags & Py_TPFLAGS_HAVE_VECTORCALL) || type->tp_vectorcall_offset <= 0 ||
        strcmp(type->tp_name, "jaxlib._jax.PjitFunction") != 0)
        return;
    vectorcallfunc *call = (vectorcallfunc *)(void *)((char *)jitted + type->tp_vectorcall_offset);
    if (call_of_jax == NULL)
        call_of_jax = *call;
    if (*call == call_of_jax)
        *call = count_and_call_jitted;
}

/* What makes a jitted function. */
static PyObject *make_jitted(PyObject *inner, PyObject *arguments, PyObject *keywords)
{
    PyObject *jitted = PyObject_Call(inner, arguments, keywords);

    if (jitted != NULL && clp_compat_is_main())
        count_calls_of_jitted(jitted);
    return jitted;
}

/* Is this another function than the jitted one that is being called? Then what calls it is not seen. */
static bool is_called_unseen(const PyObject *function)
{
    PyObject *called = running != NULL ? function_of_jitted(running) : NULL;

    Py_XDECREF(called);
    return called == NULL || called != function;
}

/* ---- tracing and compiling ---- */

static bool make_room(void)
{
    if (traced != NULL && PyDict_GET_SIZE(traced) <= TRACED_MOST)
        return true;
    Py_XSETREF(traced, PyDict_New());
    Py_XSETREF(shared, PySet_New(NULL));
    Py_XSETREF(fresh, PySet_New(NULL));
    return traced != NULL && shared != NULL && fresh != NULL;
}

/* jax is going to trace the function of this name. The outermost one of a trace is compiled next. */
static void note_traced(PyObject *name, PyObject *code, bool outermost)
{
    const PyObject *before = make_room() ? PyDict_GetItem(traced, name) : code; /* borrowed */

    if (before != NULL && before != code)
        (void)PySet_Add(shared, name);
    if (before == NULL || (outermost && before != code))
        (void)PyDict_SetItem(traced, name, code);
    if (outermost && fresh != NULL)
        (void)PySet_Add(fresh, name);
    PyErr_Clear();
}

/* The code that jax tells of by this name, borrowed; NULL: it is not known. */
static PyObject *code_named(PyObject *name, bool compiled)
{
    if (traced == NULL || shared == NULL || fresh == NULL)
        return NULL;
    bool known = PySet_Contains(shared, name) == 0 || PySet_Contains(fresh, name) == 1;
    if (compiled)
        (void)PySet_Discard(fresh, name);
    return known ? PyDict_GetItem(traced, name) : NULL;
}

static void note_unseen(PyObject *callable, PyObject *code)
{
    uint32_t number = clp_taken_function(code);

    if (number != CLP_UNSELECTED && is_called_unseen(callable))
        clp_taken_note_unseen(number);
}

/* What jax asks, as debug_info("jit", function, ..), when it is going to trace a function. */
static PyObject *trace_told(PyObject *inner, PyObject *arguments, PyObject *keywords)
{
    PyObject *callable = PyTuple_GET_SIZE(arguments) > 1 ? PyTuple_GET_ITEM(arguments, 1) : NULL;
    PyObject *function = callable != NULL ? without_partial(callable) : NULL, *code = clp_taken_code(function);

    if (code != NULL && clp_compat_is_main()) {
        bool outermost = is_top_level();
        clp_taken_note(code, "jax.jit");
        note_traced(((PyFunctionObject *)function)->func_name, code, outermost);
        if (outermost)
            note_unseen(callable, code);
    }
    return PyObject_Call(inner, arguments, keywords);
}

/* told(name, nanoseconds, times): jax has worked on what was traced under this name, and has compiled it so often. */
static PyObject *jax_compiled(PyObject *nothing, PyObject *arguments)
{
    PyObject *name;
    unsigned long long spent, times;

    (void)nothing;
    if (!PyArg_ParseTuple(arguments, "UKK", &name, &spent, &times))
        return NULL;
    struct clp_compiled *compiled = clp_taken_counters_of(code_named(name, times != 0));
    if (compiled != NULL) {
        compiled->times += times;
        compiled->nanos += spent;
    }
    Py_RETURN_NONE;
}

static void listen_to_jax(void)
{
    static PyMethodDef told = {"compiled", jax_compiled, METH_VARARGS, NULL};
    static PyObject *listener; /* owned */
    PyObject *helper = listener == NULL ? clp_compat_own_module(HELPER) : NULL;

    if (helper != NULL)
        listener = PyCFunction_New(&told, NULL);
    if (listener != NULL && helper != NULL)
        Py_XDECREF(PyObject_CallMethod(helper, "listen_to_jax", "O", listener));
    PyErr_Clear();
    Py_XDECREF(helper);
}

/* An attribute of a module that is loaded, a new reference; NULL: there is none. */
static PyObject *loaded(const char *module, const char *name)
{
    PyObject *found = PyDict_GetItemString(PyImport_GetModuleDict(), module); /* borrowed */
    PyObject *attribute = found != NULL ? PyObject_GetAttrString(found, name) : NULL;

    PyErr_Clear();
    return attribute;
}

/* Finds what tells whether jax traces. All of it or nothing. */
static void find_traces(void)
{
    PyObject *trace = loaded("jax._src.core", "eval_trace");

    trace_now = loaded("jax._src.core", "trace_state_strong_ref");
    jit_disabled = loaded("jax._src.config", "disable_jit");
    value_name = PyUnicode_InternFromString("value");
    fun_name = PyUnicode_InternFromString("_fun");
    if (value_name != NULL && fun_name != NULL && has_value(trace_now, trace) && has_value(jit_disabled, Py_False))
        eval_trace = Py_XNewRef(trace);
    PyErr_Clear();
    Py_XDECREF(trace);
}

void clp_jax_compiler_meet(struct clp_recorder *recorder, PyObject *module)
{
    static PyMethodDef told = {"debug_info", CLP_C_FUNCTION(trace_told), METH_VARARGS | METH_KEYWORDS, NULL};
    static PyMethodDef made = {"_cpp_pjit", CLP_C_FUNCTION(make_jitted), METH_VARARGS | METH_KEYWORDS, NULL};

    clp_taken_watch(recorder);
    if (value_name == NULL)
        find_traces();
    (void)clp_readers_wrap(module, "debug_info", &told);
    (void)clp_readers_wrap(module, "_cpp_pjit", &made);
    listen_to_jax();
}
