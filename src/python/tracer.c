/* SPDX-License-Identifier: MIT */
#include "tracer.h"
#include "calibrate.h"
#include "decorators.h"
#include "shared.h"

const struct clp_tracer *const clp_tracers[] = {
#if CLP_HAS_PROBES
    &clp_tracer_probe,
#endif
#if CLP_HAS_MONITORING
    &clp_tracer_monitoring,
#endif
    &clp_tracer_settrace,
    NULL,
};

const struct clp_tracer *clp_tracer_named(const char *name)
{
    for (size_t i = 0; clp_tracers[i] != NULL; i++) {
        if (strcmp(clp_tracers[i]->name, name) == 0)
            return clp_tracers[i];
    }
    return NULL;
}

static bool start_one(struct clp_recorder *recorder, const struct clp_tracer *tracer)
{
    if (!tracer->start(recorder))
        return false;
    recorder->tracer = tracer;
    return true;
}

static bool start_first(struct clp_recorder *recorder)
{
    for (size_t i = 0; clp_tracers[i] != NULL; i++) {
        PyErr_Clear();
        if (start_one(recorder, clp_tracers[i]))
            return true;
    }
    return false;
}

static bool start_named(struct clp_recorder *recorder, const char *name)
{
    if (name == NULL || strcmp(name, "auto") == 0)
        return start_first(recorder);
    const struct clp_tracer *tracer = clp_tracer_named(name);
    if (tracer == NULL) {
        PyErr_Format(PyExc_ValueError, "CPython %d.%d has no tracer '%s'", PY_MAJOR_VERSION,
                     PY_MINOR_VERSION, name);
        return false;
    }
    return start_one(recorder, tracer);
}

static bool start_calibrated(struct clp_recorder *recorder, const char *name,
                             struct clp_calibration *calibration)
{
    struct clp_costs costs;

    if (!start_named(recorder, name))
        return false;
    if (!clp_calibration_measure(calibration, recorder, &costs, &recorder->cost_error)) {
        clp_tracer_stop(recorder);
        return false;
    }
    clp_recorder_forget(recorder);
    clp_engine_set_costs(&recorder->engine, &costs);
    return true;
}

bool clp_tracer_start(struct clp_recorder *recorder, const char *name)
{
    struct clp_calibration calibration;

    if (!clp_calibration_begin(&calibration, recorder))
        return false;
    bool done = start_calibrated(recorder, name, &calibration);
    clp_calibration_clear(&calibration);
    return done;
}

static void stop_one(struct clp_recorder *recorder, const struct clp_tracer **tracer)
{
    const struct clp_tracer *stopped = *tracer;

    *tracer = NULL;
    if (stopped != NULL)
        stopped->stop(recorder);
}

void clp_tracer_stop(struct clp_recorder *recorder)
{
    stop_one(recorder, &recorder->tracer);
    stop_one(recorder, &recorder->fallback);
}

/* ---- selecting ---- */

static bool add_function(struct clp_recorder *recorder, PyCodeObject *code, PyObject *name,
                         const struct clp_shape *shape, uint32_t *number)
{
    PyObject *file_bytes = PyUnicode_AsEncodedString(code->co_filename, "utf-8", "backslashreplace");
    PyObject *name_bytes = PyUnicode_AsEncodedString(name, "utf-8", "backslashreplace");
    bool done = false;

    if (file_bytes != NULL && name_bytes != NULL) {
        struct clp_function wanted = {
            .file = PyBytes_AS_STRING(file_bytes),
            .name = PyBytes_AS_STRING(name_bytes),
            .first_line = code->co_firstlineno,
            .lowest_line = shape->lowest_line,
            .line_count = shape->line_count,
            .generator = (code->co_flags & CLP_SUSPENDS) != 0,
            .awaits = (code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0,
        };
        done = clp_functions_add(&recorder->engine.functions, &wanted, number) == CLP_OK;
        if (!done)
            PyErr_NoMemory();
    }
    Py_XDECREF(file_bytes);
    Py_XDECREF(name_bytes);
    return done;
}

/* Attached to the code object; NULL with an exception set. */
static struct clp_selected *attach(struct clp_recorder *recorder, PyCodeObject *code,
                                   PyObject *name)
{
    struct clp_selected *selected = NULL;
    struct clp_shape shape;
    uint32_t number;

    if (!clp_shape_init(&shape, &recorder->mem, code, &recorder->opcodes))
        return NULL;
    if (add_function(recorder, code, name, &shape, &number))
        selected = clp_recorder_new_selected(recorder, code, number, &shape);
    if (selected == NULL) {
        clp_shape_clear(&shape, &recorder->mem);
        return NULL;
    }
    if (clp_compat_set_code_data((PyObject *)code, recorder->code_slot, selected) == 0)
        return selected;
    clp_recorder_drop_selected(selected);
    return NULL;
}

static bool note_refusal(struct clp_recorder *recorder, uint32_t function, const char *reason)
{
    struct clp_refusal *refusal = clp_mem_alloc(&recorder->mem, 1, sizeof *refusal);

    if (refusal == NULL) {
        PyErr_NoMemory();
        return false;
    }
    *refusal = (struct clp_refusal){recorder->refusals, function, reason, NULL};
    recorder->refusals = refusal;
    return true;
}

bool clp_tracer_start_fallback(struct clp_recorder *recorder)
{
    const struct clp_tracer *const *next = clp_tracers;

    if (recorder->fallback != NULL)
        return true;
    while (*next != recorder->tracer)
        next++;
    PyErr_SetString(PyExc_RuntimeError, "no other tracer takes it");
    while (*++next != NULL) {
        PyErr_Clear();
        if ((*next)->start(recorder)) {
            recorder->fallback = *next;
            return true;
        }
    }
    return false;
}

static bool select_code(struct clp_recorder *recorder, PyCodeObject *code,
                        struct clp_selected *selected)
{
    const char *reason = NULL, *further;
    enum clp_selection outcome = recorder->tracer->select(recorder, code, selected, &reason);

    if (outcome != CLP_SELECTION_REFUSED)
        return outcome == CLP_SELECTION_DONE;
    if (!note_refusal(recorder, selected->function, reason) ||
        !clp_tracer_start_fallback(recorder))
        return false;
    recorder->refusals->taken_by = recorder->fallback->name;
    return recorder->fallback->select(recorder, code, selected, &further) == CLP_SELECTION_DONE;
}

/* Does a compiler take the function that is being defined, so that its code never runs? */
static bool is_compiled(struct clp_recorder *recorder, PyCodeObject *code)
{
#if CLP_HAS_PROBES
    PyFrameObject *frame = PyEval_GetFrame(); /* borrowed */
    PyCodeObject *definer = frame != NULL ? PyFrame_GetCode(frame) : NULL;
    struct clp_decorators decorators;

    if (definer == NULL)
        return false;
    clp_decorators_init(&decorators, recorder, definer);
    bool compiled = clp_decorators_compiler_loaded() &&
                    clp_decorators_have(&decorators, code, CLP_DECORATOR_COMPILES);
    clp_decorators_clear(&decorators);
    Py_DECREF(definer);
    return compiled;
#else
    (void)recorder, (void)code;
    return false;
#endif
}

static bool select_new(struct clp_recorder *recorder, PyObject *function, PyObject *name)
{
    PyObject *code = Py_NewRef(PyFunction_GetCode(function));
    struct clp_selected *selected = attach(recorder, (PyCodeObject *)code, name);
    bool installs = recorder->tracer->install != NULL;
    PyObject *copy = NULL; /* owned until the function holds it */
    bool done = false;

    if (selected == NULL)
        goto out;
    if (installs && is_compiled(recorder, (PyCodeObject *)code)) {
        done = note_refusal(recorder, selected->function,
                            "a decorator of it hands it to a compiler; left alone");
        goto out;
    }
    done = select_code(recorder, (PyCodeObject *)code, selected);
    copy = selected->copy;
    if (done && installs)
        done = recorder->tracer->install(function, selected) &&
               clp_shared_select(recorder, (PyCodeObject *)code, selected,
                                 PyFunction_GetGlobals(function));
out:
    Py_XDECREF(copy);
    Py_DECREF(code);
    return done;
}

/* Code that got its probes before there were functions of it. */
static bool select_prepared(struct clp_recorder *recorder, PyCodeObject *code, PyObject *name,
                            struct clp_selected *selected)
{
    return selected->function != CLP_UNSELECTED ||
           add_function(recorder, code, name, &selected->shape, &selected->function);
}

bool clp_tracer_select(struct clp_recorder *recorder, PyObject *function, PyObject *name)
{
    PyCodeObject *code = (PyCodeObject *)PyFunction_GetCode(function); /* borrowed */
    struct clp_selected *selected;

    if (recorder->tracer == NULL) /* the run is over; finalisers and daemon threads go on */
        return true;
    selected = clp_recorder_selected(recorder, (PyObject *)code);
    if (selected == NULL)
        return select_new(recorder, function, name);
    if (selected->probed)
        return select_prepared(recorder, code, name, selected);
    return recorder->tracer->install == NULL || recorder->tracer->install(function, selected);
}

bool clp_tracer_remove(struct clp_recorder *recorder, PyObject *function)
{
    PyObject *code = PyFunction_GetCode(function); /* borrowed */
    const struct clp_selected *selected = clp_recorder_selected(recorder, code);

    if (selected == NULL)
        return true;
    code = Py_NewRef(selected->original != NULL ? selected->original : code);
    bool done = PyObject_SetAttrString(function, "__code__", code) == 0 &&
                clp_compat_set_code_data(code, recorder->code_slot, NULL) == 0;
    Py_DECREF(code);
    return done;
}
