/* SPDX-License-Identifier: MIT */
/* Every difference between the versions of CPython, each as a function named for its intent.
 * Public headers only; no private struct is looked into. */
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

/* src/rewrite reads and writes code since. Whether it has the instructions of this very version is another
 * question: clp_opcodes_read. */
#define CLP_HAS_PROBES CLP_SINCE(11)

#define CLP_HAS_MONITORING CLP_SINCE(12)

/* PEP 523 hands the hook a frame object with public fields on 3.10 only. */
#define CLP_HAS_FRAME_HOOK (!CLP_SINCE(11))

/* Frames of Python code lie on a stack of their thread's, which the arena allocator gives. */
#define CLP_HAS_FRAME_STACKS CLP_SINCE(11)

/* Code has its qualified name; before, only functions have. */
#define CLP_CODE_HAS_QUALNAME CLP_SINCE(11)

/* Instructions are adapted to what they meet (PEP 659), but for those at which an event is told. */
#define CLP_CODE_ADAPTS CLP_SINCE(11)

/* Only the running thread's trace function can be set, or those of all threads in one call. */
#define CLP_SETS_TRACE_FOR_ALL CLP_SINCE(12)

/* A hit is what sys.monitoring's LINE tells. Trace functions are told more: of jumps back within a line. */
#define CLP_COUNTS_AS_LINE CLP_HAS_MONITORING

/* A body goes on behind the instruction that tells of calls when what it awaits, or takes values from, ends by an
 * exception that is thrown in. */
#define CLP_GOES_ON_UNTOLD (CLP_SINCE(11) && !CLP_SINCE(12))

/* LINE events that only repeat the line which is running (CLP_UNIT_REPEATS). */
#define CLP_LINE_EVENTS_REPEAT (CLP_SINCE(12) && !CLP_SINCE(14))

/* LINE events repeat the line behind a call of Python code, too: the frame stands in the call's inline cache
 * when it returns. */
#define CLP_CALLS_HIDE_LINES (CLP_SINCE(12) && !CLP_SINCE(13))

/* LINE events find a line by scanning the function's table once lines drift past what a byte
 * holds; since 3.14 a wider drift is stored. */
#define CLP_LINE_EVENTS_SCAN (!CLP_SINCE(14))

/* Where a frame stands when it is told of a jump: on the jump, or already where it leads. */
#define CLP_JUMP_TOLD_AT_SOURCE CLP_SINCE(13)

/* A body into which an exception is thrown stands at its RESUME, and the exception begins a line, also the same. */
#define CLP_THROWN_STANDS_AT_RESUME CLP_SINCE(13)

/* Does an exception that was thrown into a body begin the line of every handler on its way, or of the first? */
#define CLP_THROWN_BEGINS_AGAIN CLP_SINCE(14)

/* Trace functions are told of lines that sys.monitoring's LINE does not have: behind the end of a loop
 * within a comprehension, which is stepped through only when jumps are watched. */
#define CLP_TRACE_EVENTS_STRAY CLP_SINCE(14)

/* python keeps the text of -c for tracebacks: by the file's name at first, by the code since some 3.13.x. */
#define CLP_KEEPS_COMMAND CLP_SINCE(13)

/* python takes common indentation off the text of -c. */
#define CLP_DEDENTS_COMMAND CLP_SINCE(14)

/* What is among the names of a program's __main__. */
#define CLP_MAIN_HAS_ANNOTATIONS (!CLP_SINCE(14))
#define CLP_MAIN_HAS_CACHED (!CLP_SINCE(15))

/* What a module says of itself: it is for one interpreter, which has its lock. */
#if CLP_SINCE(13)
#define CLP_MODULE_SLOTS \
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED}, {Py_mod_gil, Py_MOD_GIL_USED},
#elif CLP_SINCE(12)
#define CLP_MODULE_SLOTS {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#else
#define CLP_MODULE_SLOTS
#endif

/* ---- what gives up the interpreter's lock ---- */

/* Before 3.12 anything that allocates may collect, which runs finalizers, and with them whatever the program
 * likes; since then only code that is evaluated does. Between the two nothing is collected. */
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

/* NULL when nothing is attached. */
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

/* What a copy of a code object has of its own. Borrowed. */
struct clp_code_parts {
    PyObject *code, *constants, *locations, *exceptions;
    int stack_size;
};

/* A new code object, otherwise like `code`; NULL with an exception set. */
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

/* A copy of the code with these constants: a new reference, or NULL with an exception set. */
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

/* NULL in a thread that the interpreter does not know, or that does not hold its lock. */
static inline PyThreadState *clp_compat_state_if_any(void)
{
#if CLP_SINCE(13)
    return PyThreadState_GetUnchecked();
#else
    return _PyThreadState_UncheckedGet();
#endif
}

/* The identity of the running body: an address, never dereferenced. */
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

struct clp_hidden_frames {
    void *frame;
    int recursion; /* calls they had used up of the limit */
};

/* 3.12 and 3.13 count calls in C apart, and do not tell their limit to modules of another patch release.
 * The start-up code has used up these: its body and the call of the C main. */
#if CLP_SINCE(12) && !CLP_SINCE(14)
#define CLP_START_C_CALLS 3
#endif

/* Takes the frames of the start-up code off the thread's stack, so that the program runs at the
 * bottom of it as it would under python. clp_compat_show_frames puts them back. */
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

/* The frame that runs, borrowed, or NULL. On 3.11 its object may be made by this: nothing is collected. */
static inline PyFrameObject *clp_compat_frame_here(void)
{
    bool collected = clp_compat_stop_collecting();
    PyFrameObject *frame = PyEval_GetFrame();

    clp_compat_collect_again(collected);
    return frame;
}

/* Byte offset of the instruction the frame stands at; negative before its first. */
static inline int clp_compat_frame_offset(PyFrameObject *frame)
{
#if CLP_SINCE(11)
    return PyFrame_GetLasti(frame);
#else
    return frame->f_lasti * 2; /* counted in instructions there */
#endif
}

/* ---- small things ---- */

/* Any C function, as PyMethodDef has it. */
#define CLP_C_FUNCTION(function) ((PyCFunction)(void (*)(void))(function))

/* Code whose bodies may be suspended. */
#define CLP_SUSPENDS (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)

/* New reference to a class's own dict. Since 3.12 those of built-in classes are not in the class. */
static inline PyObject *clp_compat_class_dict(PyObject *class)
{
#if CLP_SINCE(12)
    return PyType_GetDict((PyTypeObject *)class);
#else
    return Py_XNewRef(((PyTypeObject *)class)->tp_dict);
#endif
}

/* What the weak reference refers to, a new reference; NULL when it is gone. */
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

/* A line number or offset that the interpreter itself passed to a callback. */
static inline int clp_compat_small_int(PyObject *number)
{
#if CLP_SINCE(12)
    if (PyUnstable_Long_IsCompact((PyLongObject *)number))
        return (int)PyUnstable_Long_CompactValue((PyLongObject *)number);
#endif
    return (int)PyLong_AsLong(number);
}

/* Types and built-in functions that were exchanged are called by all interpreters. What is recorded is the main
 * one's, and under its lock alone. */
static inline bool clp_compat_is_main(void)
{
    return PyInterpreterState_Get() == PyInterpreterState_Main();
}

/* The length of the code's instructions, in units of two bytes. */
static inline size_t clp_compat_code_units(PyCodeObject *code)
{
#if CLP_SINCE(11)
    return (size_t)Py_SIZE(code);
#else
    return (size_t)PyBytes_GET_SIZE(code->co_code) / 2;
#endif
}

/* Is this interpreter one that clineprof measures rightly? NULL or why not. */
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

/* What a function of the module gc finds; `argument` may be NULL. Owned, a list or tuple: a program may have put
 * another function there. NULL with an exception set. */
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
