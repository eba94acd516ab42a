/* SPDX-License-Identifier: MIT */
#include "tracer.h"
#include "blocks.h"
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
    clp_blocks_stop(recorder);
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

/* Why no tracer may have the code, or NULL. Traced, damaged tables make the interpreter itself write
 * beyond its arrays. */
static const char *damage_of(struct clp_recorder *recorder, PyCodeObject *code)
{
    const char *reason = NULL;
#if CLP_HAS_PROBES
    if (!recorder->knows_bytecode ||
        clp_shape_decode(code, &recorder->mem, &recorder->bytecode, NULL, NULL, &reason) !=
            CLP_CORRUPT)
        reason = NULL;
    PyErr_Clear();
#else
    (void)recorder, (void)code;
#endif
    return reason;
}

/* The shape of code that must be left alone is its first line. */
static bool read_shape(struct clp_recorder *recorder, PyCodeObject *code, struct clp_shape *shape,
                       const char **damage)
{
    *damage = damage_of(recorder, code);
    if (*damage == NULL) {
        if (!clp_shape_init(shape, &recorder->mem, code, &recorder->opcodes))
            return false;
        if (shape->line_count <= CLP_FUNCTION_MOST_LINES)
            return true;
        *damage = "its lines are too far apart";
        clp_shape_clear(shape, &recorder->mem);
    }
    *shape = (struct clp_shape){.lowest_line = code->co_firstlineno, .line_count = 1};
    return true;
}

/* Owned, and on no code object yet; NULL with an exception set. */
static struct clp_selected *make_selected(struct clp_recorder *recorder, PyCodeObject *code,
                                          PyObject *name, const char **damage)
{
    struct clp_selected *selected = NULL;
    struct clp_shape shape;
    uint32_t number;

    if (!read_shape(recorder, code, &shape, damage))
        return NULL;
    if (add_function(recorder, code, name, &shape, &number))
        selected = clp_recorder_new_selected(recorder, code, number, &shape);
    if (selected == NULL)
        clp_shape_clear(&shape, &recorder->mem);
    return selected;
}

/* The code object takes it over, even when this fails: false with an exception set. */
static bool hang(struct clp_selected *selected, PyObject *code)
{
    selected->code = code;
    selected->identity = (uintptr_t)code;
    if (clp_compat_set_code_data(code, selected->recorder->code_slot, selected) == 0)
        return true;
    clp_recorder_drop_selected(selected);
    return false;
}

/* Attached to the code object; NULL with an exception set. */
static struct clp_selected *attach(struct clp_recorder *recorder, PyCodeObject *code,
                                   PyObject *name, const char **damage)
{
    struct clp_selected *selected = make_selected(recorder, code, name, damage);

    return selected != NULL && hang(selected, (PyObject *)code) ? selected : NULL;
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
    PyFrameObject *frame = clp_decorators_compiler_loaded() ? PyEval_GetFrame() : NULL; /* borrowed */
    PyCodeObject *definer = frame != NULL ? PyFrame_GetCode(frame) : NULL;
    struct clp_decorators decorators;

    if (definer == NULL)
        return false;
    clp_decorators_init(&decorators, recorder, definer);
    bool compiled = clp_decorators_have(&decorators, code, CLP_DECORATOR_COMPILES);
    clp_decorators_clear(&decorators);
    Py_DECREF(definer);
    return compiled;
}

static const char compiled[] = "a decorator of it hands it to a compiler";

static bool leave_alone(struct clp_recorder *recorder, struct clp_selected *selected,
                        const char *reason)
{
    selected->refused = selected->left_alone = true;
    return note_refusal(recorder, selected->function, reason);
}

static bool select_new(struct clp_recorder *recorder, PyObject *function, PyObject *name)
{
    PyObject *code = Py_NewRef(PyFunction_GetCode(function));
    const char *damage = NULL;
    struct clp_selected *selected = attach(recorder, (PyCodeObject *)code, name, &damage);
    bool installs = recorder->tracer->install != NULL;
    PyObject *copy = NULL; /* owned until the function holds it */
    bool done = false;

    if (selected == NULL)
        goto out;
    if (damage == NULL && installs && is_compiled(recorder, (PyCodeObject *)code))
        damage = compiled;
    if (damage != NULL) {
        done = leave_alone(recorder, selected, damage);
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

bool clp_tracer_leave_compiled(struct clp_recorder *recorder, PyObject *code, PyObject *name)
{
    const char *damage = NULL;

    if (clp_recorder_selected(recorder, code) != NULL)
        return true;
    struct clp_selected *selected = attach(recorder, (PyCodeObject *)code, name, &damage);
    return selected != NULL && leave_alone(recorder, selected, damage != NULL ? damage : compiled);
}

struct clp_selected *clp_tracer_announce_code(struct clp_recorder *recorder, PyObject *code,
                                              PyObject *name)
{
    const char *damage = NULL;
    struct clp_selected *selected = make_selected(recorder, (PyCodeObject *)code, name, &damage);

    if (selected == NULL || damage == NULL || leave_alone(recorder, selected, damage))
        return selected;
    clp_recorder_drop_selected(selected);
    return NULL;
}

PyObject *clp_tracer_select_code(struct clp_recorder *recorder, PyObject *code,
                                 struct clp_selected *selected)
{
    if (clp_recorder_selected(recorder, code) != NULL) {
        clp_recorder_drop_selected(selected);
        return Py_NewRef(code);
    }
    if (!hang(selected, code) ||
        (!selected->left_alone && !select_code(recorder, (PyCodeObject *)code, selected)))
        return NULL;
    return selected->copy != NULL ? selected->copy : Py_NewRef(code); /* the copy is the caller's */
}

/* Code that somebody made of code with probes has them, too. Borrowed, or NULL: with an exception
 * set, or because there are none. */
static struct clp_selected *adopt(struct clp_recorder *recorder, PyCodeObject *code)
{
    struct clp_selected *selected =
        recorder->tracer->owner != NULL ? recorder->tracer->owner(code) : NULL;

    if (selected == NULL ||
        clp_compat_set_code_data((PyObject *)code, recorder->code_slot, selected) != 0)
        return NULL;
    selected->holders++;
    return selected;
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
        selected = adopt(recorder, code);
    if (selected == NULL)
        return !PyErr_Occurred() && select_new(recorder, function, name);
    if (selected->probed)
        return select_prepared(recorder, code, name, selected);
    return recorder->tracer->install == NULL || recorder->tracer->install(function, selected);
}

bool clp_tracer_remove(struct clp_recorder *recorder, PyObject *function)
{
    PyObject *code = PyFunction_GetCode(function); /* borrowed */
    const struct clp_selected *selected = clp_recorder_selected(recorder, code);

    if (selected == NULL || (selected->probed && selected->code != code))
        return true; /* of somebody's copy there is no code without probes */
    PyObject *own = Py_NewRef(selected->original != NULL ? selected->original : code);
    bool done = (own == code || clp_tracer_carry(recorder, code, own)) &&
                PyObject_SetAttrString(function, "__code__", own) == 0 &&
                clp_compat_set_code_data(own, recorder->code_slot, NULL) == 0;
    Py_DECREF(own);
    return done;
}
