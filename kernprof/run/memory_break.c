/* SPDX-License-Identifier: MIT */
#include "memory_break.h"
#include "base/buf.h"
#include "base/number.h"
#include "cpython/compat/compat.h"
#include "cpython/compat/raised.h"
#include "cli/options.h"
#include "bridge/console.h"
#include <string.h>
#include <unistd.h>

static const char me[] = CLP_RUN_NAME;

static void add_place(const struct clp_watch *watch, struct clp_buf *text)
{
    const struct clp_function *function = watch->function;

    clp_number_add_bytes(text, (double)watch->found);
    clp_buf_add_text(text, " are resident, more than --pdb-mmem allows, ");
    if (function == NULL)
        clp_buf_add_text(text, "before a selected function began");
    else if (watch->line < 0)
        clp_buf_add_format(text, "where %s begins, %s:%d", function->name, function->file,
                           (int)function->first_line);
    else
        clp_buf_add_format(text, "since %s:%d, in %s", function->file, (int)watch->line,
                           function->name);
}

/* Runs pdb in the frame at hand. True when the user has quit, so the program is to end. */
static bool debug(void)
{
    PyObject *frame = (PyObject *)PyEval_GetFrame(); /* borrowed */
    PyObject *module = clp_compat_own_module("clineprof._boot.memory_break");
    PyObject *quit = module != NULL && frame != NULL
                         ? PyObject_CallMethod(module, "stop", "O", frame)
                         : NULL;
    bool ends = quit == Py_True;

    if (quit == NULL && PyErr_Occurred())
        PyErr_WriteUnraisable(module);
    Py_XDECREF(module);
    Py_XDECREF(quit);
    return ends;
}

/* Ends the program with BdbQuit. An event cannot raise an exception, so the interpreter raises this one at the
 * program's next step. */
static void end_program(void)
{
    PyObject *module = PyImport_ImportModule("bdb");
    PyObject *type = module != NULL ? PyObject_GetAttrString(module, "BdbQuit") : NULL;

    if (type != NULL)
        (void)PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), type);
    PyErr_Clear();
    Py_XDECREF(type);
    Py_XDECREF(module);
}

static void stop(void *data, const struct clp_watch *watch)
{
    bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;

    (void)data;
    struct clp_raised raised = clp_raised_take();
    clp_buf_init(&text, &mem);
    add_place(watch, &text);
    if (!terminal)
        clp_buf_add_text(&text, "; pdb needs a terminal, so the program goes on");
    clp_console_complain(me, clp_buf_text(&text));
    clp_buf_clear(&text);
    if (terminal && debug())
        end_program();
    clp_raised_give(raised);
}

void clp_memory_break_set(struct clp_watch *watch, double mib)
{
    double bytes = mib * 1024 * 1024;

    watch->limit = bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
    watch->stop = stop;
}
