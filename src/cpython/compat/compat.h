/* SPDX-License-Identifier: MIT */
/* Hides every difference between the versions of CPython: each is a function or a macro named for its intent. Uses only
 * CPython's public headers and reads no private struct. */
#ifndef CLP_COMPAT_H
#define CLP_COMPAT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- what differs, since which version of CPython 3 ---- */

#define CLP_SINCE(minor) (PY_VERSION_HEX >= 0x03000000 + ((minor) << 16))

#if !CLP_SINCE(10)
#error "clineprof needs CPython 3.10 or newer"
#endif

/* src/rewrite can read and write the code of this version. Whether it knows the instructions of the running
 * interpreter is a different question, which clp_opcodes_read answers. */
#define CLP_HAS_PROBES CLP_SINCE(11)

#define CLP_HAS_MONITORING CLP_SINCE(12)

/* Code that runs no bytecode, such as Cython's, can send events to sys.monitoring. */
#define CLP_CYTHON_MONITORS CLP_SINCE(13)

/* A pending call that another thread asks for may have the main thread forget a signal: all threads write one note that
 * there is something to do, without a lock. */
#define CLP_FORGETS_SIGNALS (!CLP_SINCE(13))

/* PEP 523 hands the hook a frame object with public fields on 3.10 only. */
#define CLP_HAS_FRAME_HOOK (!CLP_SINCE(11))

/* The frames of Python code lie on a stack of their thread, for which the arena allocator gives memory. */
#define CLP_HAS_FRAME_STACKS CLP_SINCE(11)

/* Code objects have a qualified name. Before 3.11 only functions have one. */
#define CLP_CODE_HAS_QUALNAME CLP_SINCE(11)

/* The interpreter adapts instructions to what they meet (PEP 659), except those at which it sends an event. */
#define CLP_CODE_ADAPTS CLP_SINCE(11)

/* Where a jump arrives within a line, the interpreter looks whether a line begins. */
#define CLP_LINES_MERGE CLP_HAS_MONITORING

/* One call sets the trace functions of all threads. Before 3.12 only the running thread's can be set. */
#define CLP_SETS_TRACE_FOR_ALL CLP_SINCE(12)

/* The exception that is set is one object. Before 3.12 it may be a type and arguments (raised.h). */
#define CLP_RAISED_IS_ONE_OBJECT CLP_SINCE(12)

/* A hit is a LINE event of sys.monitoring. Trace functions get more events: also for jumps back within a line. */
#define CLP_COUNTS_AS_LINE CLP_HAS_MONITORING

/* A body waits for an awaitable or takes values from an iterator, and this ends by an exception that is thrown in.
 * On 3.11 the body then continues behind the instruction that tells of calls, so that this instruction is skipped. */
#define CLP_GOES_ON_UNTOLD (CLP_SINCE(11) && !CLP_SINCE(12))

/* Some LINE events only repeat the line that is running (CLP_UNIT_REPEATS). */
#define CLP_LINE_EVENTS_REPEAT (CLP_SINCE(12) && !CLP_SINCE(14))

/* LINE events also repeat the line behind a call of Python code, because the frame stands in the inline cache of the
 * call when the call returns. */
#define CLP_CALLS_HIDE_LINES (CLP_SINCE(12) && !CLP_SINCE(13))

/* LINE events scan the function's line table where the distance of a line from its expected place does not fit into a
 * byte. Since 3.14 the interpreter stores larger distances. */
#define CLP_LINE_EVENTS_SCAN (!CLP_SINCE(14))

/* A frame stands on the jump when the tracer is told of a jump. Before 3.13 it already stands on the jump's target. */
#define CLP_JUMP_TOLD_AT_SOURCE CLP_SINCE(13)

/* A body into which an exception is thrown stands at its RESUME instruction, and the exception begins a line, even the
 * line that is running. */
#define CLP_THROWN_STANDS_AT_RESUME CLP_SINCE(13)

/* An exception that was thrown into a body begins the line of every handler on its way. Before 3.14 it begins only the
 * line of the first handler. */
#define CLP_THROWN_BEGINS_AGAIN CLP_SINCE(14)

/* Trace functions get line events that sys.monitoring's LINE does not have: behind the end of a loop within a
 * comprehension, where the interpreter only goes step by step when jumps are watched. */
#define CLP_TRACE_EVENTS_STRAY CLP_SINCE(14)

/* python keeps the text of -c for tracebacks: under the file name in the first 3.13 releases, under the code object
 * since a later 3.13 release. */
#define CLP_KEEPS_COMMAND CLP_SINCE(13)

/* python removes the common indentation from the text of -c. */
#define CLP_DEDENTS_COMMAND CLP_SINCE(14)

/* The module __main__ of a program has the name __annotations__ or __cached__. */
#define CLP_MAIN_HAS_ANNOTATIONS (!CLP_SINCE(14))
#define CLP_MAIN_HAS_CACHED (!CLP_SINCE(15))

/* The slots by which a module says that it needs the main interpreter, and the interpreter's lock. */
#if CLP_SINCE(13)
#define CLP_MODULE_SLOTS \
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED}, {Py_mod_gil, Py_MOD_GIL_USED},
#elif CLP_SINCE(12)
#define CLP_MODULE_SLOTS {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#else
#define CLP_MODULE_SLOTS
#endif

/* ---- what gives up the interpreter's lock ---- */

/* Stop the garbage collector between the two calls. Before 3.12 every allocation may start a collection, which runs
 * finalizers and so any code of the program. Since 3.12 collections start only while Python code is evaluated, and the
 * two functions do nothing. The first returns whether the collector was on; pass this to the second. */
static inline bool clp_compat_stop_collecting(void)
{
#if !CLP_SINCE(12)
    return PyGC_Disable() != 0;
#else
    return false;
#endif
}

static inline void clp_compat_collect_again(bool collected)
{
#if !CLP_SINCE(12)
    if (collected)
        (void)PyGC_Enable();
#else
    (void)collected;
#endif
}

/* ---- data attached to a code object ---- */

static inline Py_ssize_t clp_compat_request_code_slot(freefunc free_data)
{
#if CLP_SINCE(12)
    return PyUnstable_Eval_RequestCodeExtraIndex(free_data);
#else
    return _PyEval_RequestCodeExtraIndex(free_data);
#endif
}

/* Returns the data attached to the code object; NULL when nothing is attached. */
static inline void *clp_compat_code_data(PyObject *code, Py_ssize_t slot)
{
    void *data = NULL;
#if CLP_SINCE(12)
    (void)PyUnstable_Code_GetExtra(code, slot, &data);
#else
    (void)_PyCode_GetExtra(code, slot, &data);
#endif
    return data;
}

static inline int clp_compat_set_code_data(PyObject *code, Py_ssize_t slot, void *data)
{
#if CLP_SINCE(12)
    return PyUnstable_Code_SetExtra(code, slot, data);
#else
    return _PyCode_SetExtra(code, slot, data);
#endif
}

#if CLP_HAS_PROBES

/* The parts in which a copy of a code object differs from the original. Borrowed. */
struct clp_code_parts {
    PyObject *code, *constants, *locations, *exceptions;
    int stack_size;
};

/* Returns a new code object that equals `code` except for `parts`; NULL with an exception set. */
static inline PyObject *clp_compat_copy_code(PyCodeObject *code, const struct clp_code_parts *parts)
{
#if CLP_SINCE(12)
#define CLP_CODE_NEW PyUnstable_Code_NewWithPosOnlyArgs
#else
#define CLP_CODE_NEW PyCode_NewWithPosOnlyArgs
#endif
    PyObject *locals = PyCode_GetVarnames(code), *cells = PyCode_GetCellvars(code);
    PyObject *free = PyCode_GetFreevars(code), *copy = NULL;

    if (locals != NULL && cells != NULL && free != NULL)
        copy = (PyObject *)CLP_CODE_NEW(
            code->co_argcount, code->co_posonlyargcount, code->co_kwonlyargcount,
            (int)PyTuple_GET_SIZE(locals), parts->stack_size, code->co_flags, parts->code,
            parts->constants, code->co_names, locals, free, cells, code->co_filename, code->co_name,
            code->co_qualname, code->co_firstlineno, parts->locations, parts->exceptions);
    Py_XDECREF(locals);
    Py_XDECREF(cells);
    Py_XDECREF(free);
    return copy;
#undef CLP_CODE_NEW
}

/* Returns a copy of the code with these constants: a new reference, or NULL with an exception set. */
static inline PyObject *clp_compat_with_constants(PyCodeObject *code, PyObject *constants)
{
    struct clp_code_parts parts = {
        .code = PyCode_GetCode(code),
        .constants = constants,
        .locations = code->co_linetable,
        .exceptions = code->co_exceptiontable,
        .stack_size = code->co_stacksize,
    };
    PyObject *copy = parts.code != NULL ? clp_compat_copy_code(code, &parts) : NULL;

    Py_XDECREF(parts.code);
    return copy;
}

#else

static inline PyObject *clp_compat_with_constants(PyCodeObject *code, PyObject *constants)
{
    PyObject *replace = PyObject_GetAttrString((PyObject *)code, "replace");
    PyObject *none = PyTuple_New(0), *named = Py_BuildValue("{sO}", "co_consts", constants);
    PyObject *copy = replace != NULL && none != NULL && named != NULL
                         ? PyObject_Call(replace, none, named)
                         : NULL;

    Py_XDECREF(replace);
    Py_XDECREF(none);
    Py_XDECREF(named);
    return copy;
}

#endif

/* ---- who is running ---- */

/* Returns the state of the running thread. NULL in a thread that the interpreter does not know, or that does not hold
 * the interpreter's lock. */
static inline PyThreadState *clp_compat_state_if_any(void)
{
#if CLP_SINCE(13)
    return PyThreadState_GetUnchecked();
#else
    return _PyThreadState_UncheckedGet();
#endif
}

/* Returns the identity of the running body: an address that must never be dereferenced. */
static inline const void *clp_compat_running_frame(const PyThreadState *state)
{
#if CLP_SINCE(13)
    return state->current_frame;
#elif CLP_SINCE(11)
    return state->cframe->current_frame;
#else
    return state->frame;
#endif
}

#if CLP_SINCE(11)
/* Tells whether a Python function is entered. The interpreter puts the frame of a call right behind that of the caller,
 * and so over the mark that clp_compat_watch_frames leaves there. Nobody reads that place before it is written. A frame
 * that needs a new piece of memory is not seen. */
#define CLP_NO_FRAME ((PyObject *)(uintptr_t)8) /* no address of an object */

static inline void clp_compat_watch_frames(void)
{
    PyThreadState *state = PyThreadState_Get();

    if (state->datastack_top < state->datastack_limit)
        *state->datastack_top = CLP_NO_FRAME;
}

/* Was a Python function entered since then? Only the same body may ask. */
static inline bool clp_compat_saw_frame(void)
{
    PyThreadState *state = PyThreadState_Get();

    return state->datastack_top < state->datastack_limit && *state->datastack_top != CLP_NO_FRAME;
}
#endif

struct clp_hidden_frames {
    void *frame;
    int recursion; /* number of calls that the hidden frames had used up of the recursion limit */
};

/* 3.12 and 3.13 count calls in C separately, and their limit is not known to a module that was built for another patch
 * release. The start-up code has used up this many calls: its body and the call of the C main. */
#if CLP_SINCE(12) && !CLP_SINCE(14)
#define CLP_START_C_CALLS 3
#endif

/* Removes the frames of the start-up code from the thread's stack, so that the program runs at the bottom of the stack
 * as it would under python. clp_compat_show_frames puts the frames back. */
static inline struct clp_hidden_frames clp_compat_hide_frames(PyThreadState *state)
{
    struct clp_hidden_frames hidden = {0};
#if CLP_SINCE(12)
    hidden.recursion = state->py_recursion_limit - state->py_recursion_remaining;
    state->py_recursion_remaining = state->py_recursion_limit;
#ifdef CLP_START_C_CALLS
    state->c_recursion_remaining += CLP_START_C_CALLS;
#endif
#elif CLP_SINCE(11)
    hidden.recursion = state->recursion_limit - state->recursion_remaining;
    state->recursion_remaining = state->recursion_limit;
#else
    hidden.recursion = state->recursion_depth;
    state->recursion_depth = 0;
#endif
#if CLP_SINCE(13)
    hidden.frame = state->current_frame;
#if CLP_SINCE(15)
    state->current_frame = state->base_frame;
#else
    state->current_frame = NULL;
#endif
#elif CLP_SINCE(11)
    hidden.frame = state->cframe->current_frame;
    state->cframe->current_frame = NULL;
#else
    hidden.frame = state->frame;
    state->frame = NULL;
#endif
    return hidden;
}

static inline void clp_compat_show_frames(PyThreadState *state, struct clp_hidden_frames hidden)
{
#if CLP_SINCE(12)
    state->py_recursion_remaining -= hidden.recursion;
#ifdef CLP_START_C_CALLS
    state->c_recursion_remaining -= CLP_START_C_CALLS;
#endif
#elif CLP_SINCE(11)
    state->recursion_remaining -= hidden.recursion;
#else
    state->recursion_depth += hidden.recursion;
#endif
#if CLP_SINCE(13)
    state->current_frame = hidden.frame;
#elif CLP_SINCE(11)
    state->cframe->current_frame = hidden.frame;
#else
    state->frame = hidden.frame;
#endif
}

/* Returns the running frame, borrowed, or NULL. On 3.11 the call may create the frame object, so the garbage collector
 * is stopped during the call. */
static inline PyFrameObject *clp_compat_frame_here(void)
{
    bool collected = clp_compat_stop_collecting();
    PyFrameObject *frame = PyEval_GetFrame();

    clp_compat_collect_again(collected);
    return frame;
}

/* Returns the byte offset of the instruction at which the frame stands; negative before the first instruction. */
static inline int clp_compat_frame_offset(PyFrameObject *frame)
{
#if CLP_SINCE(11)
    return PyFrame_GetLasti(frame);
#else
    return frame->f_lasti * 2; /* on 3.10 f_lasti counts instructions of two bytes */
#endif
}

/* ---- small things ---- */

/* Casts any C function to the type that PyMethodDef has. */
#define CLP_C_FUNCTION(function) ((PyCFunction)(void (*)(void))(function))

/* The flags of code that can be suspended. */
#define CLP_SUSPENDS (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)

/* Returns a new reference to the class's own dict. Since 3.12 the dicts of built-in classes are not stored in the
 * class. */
static inline PyObject *clp_compat_class_dict(PyObject *class)
{
#if CLP_SINCE(12)
    return PyType_GetDict((PyTypeObject *)class);
#else
    return Py_XNewRef(((PyTypeObject *)class)->tp_dict);
#endif
}

/* Looks for a name in the class and its bases, without running any code. Borrowed; NULL without an exception: it is not
 * there. */
static inline PyObject *clp_compat_type_lookup(PyTypeObject *type, PyObject *name)
{
    return _PyType_Lookup(type, name);
}

/* Returns the function within a staticmethod, borrowed from it. NULL: it has none yet. */
static inline PyObject *clp_compat_static_function(PyObject *method)
{
    PyObject *function = PyObject_GetAttrString(method, "__func__");

    if (function == NULL)
        PyErr_Clear();
    Py_XDECREF(function);
    return function;
}

/* Returns the code of a generator, borrowed from it. */
static inline PyObject *clp_compat_generator_code(PyObject *generator)
{
    PyObject *code;

#if CLP_SINCE(12)
    code = (PyObject *)PyGen_GetCode((PyGenObject *)generator);
    Py_DECREF(code);
#else
    code = (PyObject *)((PyGenObject *)generator)->gi_code;
#endif
    return code;
}

/* Returns the object to which the weak reference refers, a new reference; NULL when the object is gone. */
static inline PyObject *clp_compat_referent(PyObject *reference)
{
#if CLP_SINCE(13)
    PyObject *referent = NULL;

    (void)PyWeakref_GetRef(reference, &referent);
    return referent;
#else
    PyObject *referent = PyWeakref_GetObject(reference);

    return referent != Py_None ? Py_NewRef(referent) : NULL;
#endif
}

/* Converts a line number or offset that the interpreter itself passed to a callback, which always fits into an int. */
static inline int clp_compat_small_int(PyObject *number)
{
#if CLP_SINCE(12)
    if (PyUnstable_Long_IsCompact((PyLongObject *)number))
        return (int)PyUnstable_Long_CompactValue((PyLongObject *)number);
#endif
    return (int)PyLong_AsLong(number);
}

/* Is the running interpreter the main one? All interpreters of the process call the types and built-in functions that
 * clineprof exchanged, but only the main interpreter is recorded, under its own lock. */
static inline bool clp_compat_is_main(void)
{
    return PyInterpreterState_Get() == PyInterpreterState_Main();
}

/* May the calling thread ask for a pending call in the middle of any code? 3.11 never leaves the first instruction of a
 * body that is traced and begins in a pending call while another one waits. */
static inline bool clp_compat_may_ask_for_call(void)
{
#if CLP_SINCE(11) && !CLP_SINCE(12)
    return PyThreadState_Get()->c_tracefunc == NULL;
#else
    return true;
#endif
}

/* Returns the length of the code's instructions in code units of two bytes. */
static inline size_t clp_compat_code_units(PyCodeObject *code)
{
#if CLP_SINCE(11)
    return (size_t)Py_SIZE(code);
#else
    return (size_t)PyBytes_GET_SIZE(code->co_code) / 2;
#endif
}

/* Returns why clineprof cannot measure this interpreter, as text for a message; NULL where it can. */
static inline const char *clp_compat_refusal(void)
{
#ifdef Py_GIL_DISABLED
    return "free-threaded CPython is not supported yet; use the ordinary build";
#else
    if (!clp_compat_is_main())
        return "subinterpreters are not supported; profile in the main interpreter";
    return NULL;
#endif
}

/* Imports a module of ours by its full name, a new reference. PyImport_ImportModule would import the name `clineprof`,
 * too, which may be the program's own module. */
static inline PyObject *clp_compat_own_module(const char *name)
{
    PyObject *any = Py_BuildValue("(s)", "__name__");
    PyObject *module = any != NULL ? PyImport_ImportModuleLevel(name, NULL, NULL, any, 0) : NULL;

    Py_XDECREF(any);
    return module;
}

/* Calls a function of the module gc and returns its result as an owned list or tuple. `argument` may be NULL. The
 * result is checked because a program may have put another function there. NULL with an exception set. */
static inline PyObject *clp_compat_collector(const char *function, PyObject *argument)
{
    PyObject *module = PyImport_ImportModule("gc"), *list = NULL;
    PyObject *found = module != NULL ? PyObject_CallMethod(module, function, argument != NULL ? "O" : NULL,
                                                           argument)
                                     : NULL;

    if (found != NULL)
        list = PySequence_Fast(found, "clineprof: the module gc finds no list");
    Py_XDECREF(found);
    Py_XDECREF(module);
    return list;
}

#endif
