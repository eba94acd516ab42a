/* SPDX-License-Identifier: MIT */
#include "tracer.h"
#include "calibrate.h"

const struct clp_tracer *const clp_tracers[] = {
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
                             const struct clp_calibration *calibration)
{
    struct clp_costs costs;

    if (!start_named(recorder, name))
        return false;
    if (!clp_calibration_measure(calibration, recorder, &costs)) {
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

void clp_tracer_stop(struct clp_recorder *recorder)
{
    if (recorder->tracer == NULL)
        return;
    recorder->tracer->stop(recorder);
    recorder->tracer = NULL;
}

static bool add_function(struct clp_recorder *recorder, PyCodeObject *code, PyObject *name,
                         struct clp_selected *selected)
{
    PyObject *file_bytes = PyUnicode_AsEncodedString(code->co_filename, "utf-8",
                                                     "backslashreplace");
    PyObject *name_bytes = PyUnicode_AsEncodedString(name, "utf-8", "backslashreplace");
    bool done = false;

    if (file_bytes != NULL && name_bytes != NULL) {
        struct clp_function wanted = {
            .file = PyBytes_AS_STRING(file_bytes),
            .name = PyBytes_AS_STRING(name_bytes),
            .first_line = code->co_firstlineno,
            .lowest_line = selected->shape.lowest_line,
            .line_count = selected->shape.line_count,
            .generator = (code->co_flags & CLP_SUSPENDS) != 0,
            .awaits = (code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0,
        };
        done = clp_functions_add(&recorder->engine.functions, &wanted, &selected->function) ==
               CLP_OK;
        if (!done)
            PyErr_NoMemory();
    }
    Py_XDECREF(file_bytes);
    Py_XDECREF(name_bytes);
    return done;
}

static struct clp_selected *new_selected(struct clp_recorder *recorder, PyCodeObject *code,
                                         PyObject *name)
{
    struct clp_selected *selected = clp_mem_alloc(&recorder->mem, 1, sizeof *selected);

    if (selected == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    selected->recorder = recorder;
    selected->code = code;
    if (clp_shape_init(&selected->shape, &recorder->mem, code, &recorder->opcodes) &&
        add_function(recorder, code, name, selected))
        return selected;
    clp_recorder_free_selected(selected);
    return NULL;
}

bool clp_tracer_select(struct clp_recorder *recorder, PyCodeObject *code, PyObject *name)
{
    struct clp_selected *selected;

    if (recorder->tracer == NULL) /* the run is over; finalisers and daemon threads go on */
        return true;
    if (clp_recorder_selected(recorder, (PyObject *)code) != NULL)
        return true;
    selected = new_selected(recorder, code, name);
    if (selected == NULL)
        return false;
    if (clp_compat_set_code_data((PyObject *)code, recorder->code_slot, selected) != 0) {
        clp_recorder_free_selected(selected);
        return false;
    }
    return recorder->tracer->select(recorder, code, selected);
}
