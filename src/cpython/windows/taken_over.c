/* SPDX-License-Identifier: MIT */
#include "taken_over.h"
#include "cpython/recorder/selected.h"
#include "readers.h"

static struct clp_recorder *watcher; /* borrowed */

void clp_taken_watch(struct clp_recorder *recorder)
{
    watcher = recorder;
}

PyObject *clp_taken_code(PyObject *callable)
{
    if (callable != NULL && PyMethod_Check(callable))
        callable = PyMethod_GET_FUNCTION(callable);
    return callable != NULL && PyFunction_Check(callable) ? PyFunction_GET_CODE(callable) : NULL;
}

uint32_t clp_taken_function(PyObject *code)
{
    const struct clp_selected *selected =
        code != NULL && PyCode_Check(code) && clp_compat_is_main() ? clp_recorder_selected(watcher, code) : NULL;

    return selected != NULL ? selected->function : CLP_UNSELECTED;
}

struct clp_compiled *clp_taken_counters(uint32_t function)
{
    return clp_views_compiled(&watcher->views, function);
}

struct clp_compiled *clp_taken_counters_of(PyObject *code)
{
    return clp_taken_counters(clp_taken_function(code));
}

void clp_taken_note_unseen(uint32_t function)
{
    watcher->engine.functions.items[function].compiled.unseen = true;
}

void clp_taken_note(PyObject *code, const char *compiler)
{
    if (code != NULL && PyCode_Check(code) && clp_compat_is_main())
        clp_readers_note_compiler(watcher, code, compiler);
}
