/* SPDX-License-Identifier: MIT */
#include "compile_calls.h"
#include "cpython/code/compiled.h"
#include "cpython/compat/exchange.h"
#include "own_work.h"

/* The recorder that wants texts, borrowed; NULL: nobody does. It is one for the process, as the built-ins are. */
static struct clp_recorder *watcher; /* borrowed; NULL: nobody wants texts now */

/* Is this a call by the import system? The text of a module that it compiles is in the module's file. */
static bool is_import(void)
{
    PyFrameObject *frame = clp_compat_frame_here(); /* borrowed */
    PyCodeObject *code = frame != NULL ? PyFrame_GetCode(frame) : NULL;
    bool found = code != NULL && PyUnicode_CompareWithASCIIString(
                                     code->co_filename, "<frozen importlib._bootstrap>") == 0;

    Py_XDECREF(code);
    return found;
}

/* Is the code given as text? A syntax tree has none. */
static bool is_text(PyObject *source)
{
    return PyUnicode_Check(source) || PyBytes_Check(source) || PyByteArray_Check(source);
}

static void note(PyObject *file, PyObject *source)
{
    if (watcher == NULL || !clp_compat_is_main() || !is_text(source))
        return;
    struct clp_own_work work = clp_own_work_begin(watcher);
    if (file == NULL || !is_import())
        clp_compiled_keep(&watcher->view_pages, file, source);
    clp_own_work_end(watcher, work);
}

typedef PyObject *(*plain_call)(PyObject *, PyObject *const *, Py_ssize_t);
typedef PyObject *(*keyword_call)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);

enum { COMPILE, EXEC, EVAL, BUILTINS };

/* The interpreter's own functions. Each built-in may have one of two forms: without keywords, and with them. */
static struct clp_exchange builtins[2 * BUILTINS];

/* An argument, by its place or by its name. Borrowed, or NULL. */
static PyObject *argument_of(PyObject *const *arguments, Py_ssize_t count, PyObject *names,
                             Py_ssize_t place, const char *name)
{
    if (place < count)
        return arguments[place];
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), name) == 0)
            return arguments[count + i];
    return NULL;
}

static void note_call(int which, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    PyObject *source = argument_of(arguments, count, names, 0, "source");
    PyObject *file = which == COMPILE ? argument_of(arguments, count, names, 1, "filename") : NULL;

    if (source != NULL && (file != NULL || which != COMPILE))
        note(file, source);
}

#define BOTH_FORMS(name, which)                                                                  \
    static PyObject *name##_plain(PyObject *self, PyObject *const *arguments, Py_ssize_t count)  \
    {                                                                                            \
        note_call(which, arguments, count, NULL);                                                \
        return ((plain_call)(void (*)(void))builtins[2 * which].theirs)(self, arguments, count);    \
    }                                                                                            \
    static PyObject *name##_keywords(PyObject *self, PyObject *const *arguments,                 \
                                     Py_ssize_t count, PyObject *names)                          \
    {                                                                                            \
        note_call(which, arguments, count, names);                                               \
        return ((keyword_call)(void (*)(void))builtins[2 * which + 1].theirs)(                      \
            self, arguments, count, names);                                                      \
    }

BOTH_FORMS(compile, COMPILE)
BOTH_FORMS(exec, EXEC)
BOTH_FORMS(eval, EVAL)

#define FORMS(name)                                                                              \
    {#name, METH_FASTCALL, CLP_C_FUNCTION(name##_plain), NULL, NULL},                            \
    {#name, METH_FASTCALL | METH_KEYWORDS, CLP_C_FUNCTION(name##_keywords), NULL, NULL}

static struct clp_exchange builtins[2 * BUILTINS] = {FORMS(compile), FORMS(exec), FORMS(eval)};

void clp_compile_calls_watch(struct clp_recorder *recorder)
{
    PyObject *names = PyEval_GetBuiltins(); /* borrowed */

    watcher = recorder;
    for (int i = 0; i < 2 * BUILTINS; i++)
        clp_exchange_put(&builtins[i],
                         names != NULL ? PyDict_GetItemString(names, builtins[i].name) : NULL);
}

void clp_compile_calls_leave(void)
{
    for (int i = 0; i < 2 * BUILTINS; i++)
        clp_exchange_undo(&builtins[i]);
    watcher = NULL;
}
