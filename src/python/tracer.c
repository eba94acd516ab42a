/* SPDX-License-Identifier: MIT */
#include "tracer.h"
#include "blocks.h"
#include "calibrate.h"
#include "decorators.h"
#include "greenlets.h"
#include "known.h"
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

static bool start_calibrated(struct clp_window *window, const char *name,
                             struct clp_calibration *calibration, struct clp_costs *costs)
{
    struct clp_recorder *recorder = window->recorder;

    if (!start_named(recorder, name))
        return false;
    recorder->awake = true;
    return clp_window_open(window) &&
           clp_calibration_measure(calibration, window, costs, &recorder->cost_error);
}

/* The window is gone before the engine forgets what it has counted. */
static bool calibrate(struct clp_recorder *recorder, const char *name, struct clp_costs *costs)
{
    struct clp_calibration calibration;
    struct clp_window window;

    clp_window_init(&window, recorder, false);
    bool done = clp_calibration_begin(&calibration, &window);
    if (done) {
        done = start_calibrated(&window, name, &calibration, costs);
        clp_calibration_clear(&calibration);
    }
    clp_window_clear(&window);
    return done;
}

bool clp_tracer_start(struct clp_recorder *recorder, const char *name)
{
    struct clp_costs costs;

    if (!calibrate(recorder, name, &costs)) {
        recorder->tracer = NULL; /* it rests, its window being closed */
        return false;
    }
    clp_recorder_forget(recorder);
    clp_engine_set_costs(&recorder->engine, &costs);
    return true;
}

/* Probes that are still in code find their gate closed. */
void clp_tracer_rest(struct clp_recorder *recorder)
{
    const struct clp_tracer *fallback = recorder->fallback;

    clp_blocks_rest(recorder);
    recorder->fallback = NULL;
    if (fallback != NULL)
        fallback->stop(recorder);
    if (recorder->tracer->install == NULL && recorder->awake) {
        recorder->awake = false;
        recorder->tracer->stop(recorder);
    }
}

bool clp_tracer_wake(struct clp_recorder *recorder)
{
    clp_greenlets_watch(recorder);
    if (!recorder->awake)
        recorder->awake = recorder->tracer->start(recorder);
    return recorder->awake;
}

/* ---- selecting ---- */

static bool add_function(struct clp_window *window, PyCodeObject *code, PyObject *name,
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
        done = clp_window_add_function(window, &wanted, number);
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
static struct clp_selected *make_selected(struct clp_window *window, PyCodeObject *code,
                                          PyObject *name, const char **damage)
{
    struct clp_recorder *recorder = window->recorder;
    struct clp_selected *selected = NULL;
    struct clp_shape shape;
    uint32_t number;

    if (!read_shape(recorder, code, &shape, damage))
        return NULL;
    if (add_function(window, code, name, &shape, &number))
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
    if (clp_recorder_list_code(selected) &&
        clp_compat_set_code_data(code, selected->recorder->code_slot, selected) == 0)
        return true;
    clp_recorder_code_gone(selected);
    return false;
}

/* Attached to the code object; NULL with an exception set. */
static struct clp_selected *attach(struct clp_window *window, PyCodeObject *code, PyObject *name,
                                   const char **damage)
{
    struct clp_selected *selected = make_selected(window, code, name, damage);

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

static bool select_refused(struct clp_recorder *recorder, PyCodeObject *code,
                           struct clp_selected *selected)
{
    const char *further;

    selected->on = clp_tracer_start_fallback(recorder) &&
                   recorder->fallback->select(recorder, code, selected, &further) ==
                       CLP_SELECTION_DONE;
    return selected->on;
}

/* Afterwards the code is `on`, or there is a copy of it. */
static bool select_code(struct clp_recorder *recorder, PyCodeObject *code,
                        struct clp_selected *selected)
{
    const char *reason = NULL;

    if (selected->refused)
        return select_refused(recorder, code, selected);
    enum clp_selection outcome = recorder->tracer->select(recorder, code, selected, &reason);
    selected->on = outcome == CLP_SELECTION_DONE && selected->copy == NULL;
    if (outcome != CLP_SELECTION_REFUSED)
        return outcome == CLP_SELECTION_DONE;
    if (!note_refusal(recorder, selected->function, reason) ||
        !select_refused(recorder, code, selected))
        return false;
    recorder->refusals->taken_by = recorder->fallback->name;
    return true;
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

bool clp_tracer_leave_compiled(struct clp_window *window, PyObject *code, PyObject *name)
{
    struct clp_recorder *recorder = window->recorder;
    const char *damage = NULL;

    if (clp_recorder_selected(recorder, code) != NULL)
        return true;
    struct clp_selected *selected = attach(window, (PyCodeObject *)code, name, &damage);
    return selected != NULL && leave_alone(recorder, selected, damage != NULL ? damage : compiled);
}

struct clp_selected *clp_tracer_announce_code(struct clp_window *window, PyObject *code,
                                              PyObject *name)
{
    const char *damage = NULL;
    struct clp_selected *selected = make_selected(window, (PyCodeObject *)code, name, &damage);

    if (selected == NULL || damage == NULL || leave_alone(window->recorder, selected, damage))
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

/* ---- code that is exchanged ---- */

/* The code with probes takes the place of the function's own; whoever else holds that is watched. */
static bool install(struct clp_recorder *recorder, PyObject *function, PyCodeObject *code,
                    struct clp_selected *selected)
{
    PyObject *copy = Py_XNewRef(selected->copy);

    if (selected->refused && selected->on)
        return true;
    if (copy == NULL && !select_code(recorder, code, selected))
        return false;
    if (copy == NULL)
        copy = selected->copy; /* ours; NULL: another tracer took the code */
    bool done = copy == NULL ||
                (recorder->tracer->install(function, selected) &&
                 clp_shared_select(recorder, code, selected, PyFunction_GetGlobals(function)));
    Py_XDECREF(copy);
    return done;
}

static bool open_function(struct clp_recorder *recorder, PyObject *function)
{
    PyObject *code = Py_NewRef(PyFunction_GetCode(function));
    struct clp_selected *selected = clp_recorder_selected(recorder, code);
    bool done = selected == NULL || selected->probed || selected->left_alone ||
                install(recorder, function, (PyCodeObject *)code, selected);

    Py_DECREF(code);
    return done;
}

/* Code that had probes before there were functions of it: it gets a place to put them aside. */
static bool park(struct clp_recorder *recorder, const struct clp_selected *copy, PyObject *code)
{
    struct clp_selected *own = clp_recorder_selected(recorder, copy->original);
    struct clp_shape shape;

    if (own == NULL) {
        if (!clp_shape_init(&shape, &recorder->mem, (PyCodeObject *)copy->original,
                            &recorder->opcodes))
            return false;
        own = clp_recorder_new_selected(recorder, copy->original, copy->function, &shape);
        if (own == NULL)
            clp_shape_clear(&shape, &recorder->mem);
        if (own == NULL || !hang(own, copy->original))
            return false;
    }
    if (own->copy == NULL)
        own->copy = code;
    return true;
}

/* The function's own code takes its place again. Of somebody's copy there is none without probes. */
static bool close_function(struct clp_recorder *recorder, PyObject *function)
{
    PyObject *code = Py_NewRef(PyFunction_GetCode(function));
    const struct clp_selected *selected = clp_recorder_selected(recorder, code);
    bool done = true;

    if (selected != NULL && selected->probed && selected->code == code &&
        selected->original != NULL) {
        PyObject *own = Py_NewRef(selected->original);
        done = park(recorder, selected, code) &&
               clp_known_put_aside(&recorder->sites[selected->function], function, code) &&
               clp_tracer_carry(recorder, code, own) &&
               PyObject_SetAttrString(function, "__code__", own) == 0;
        Py_DECREF(own);
    }
    Py_DECREF(code);
    return done;
}

/* Owned list of the site's codes, which may go while something is done to them. */
static PyObject *codes_of(const struct clp_site *site)
{
    PyObject *codes = PyList_New(0);

    for (struct clp_selected *at = site->codes; at != NULL && codes != NULL; at = at->next)
        if (PyList_Append(codes, (PyObject *)(uintptr_t)at->code) != 0)
            Py_CLEAR(codes);
    return codes;
}

static bool open_code(struct clp_recorder *recorder, PyObject *code)
{
    struct clp_selected *selected = clp_recorder_selected(recorder, code);

    return selected == NULL || selected->on || selected->left_alone ||
           select_code(recorder, (PyCodeObject *)code, selected);
}

static bool close_code(struct clp_recorder *recorder, PyObject *code)
{
    struct clp_selected *selected = clp_recorder_selected(recorder, code);
    const struct clp_tracer *taker =
        recorder->tracer->install != NULL ? recorder->fallback : recorder->tracer;

    if (selected == NULL || !selected->on)
        return true;
    selected->on = false;
    return taker == NULL || taker->deselect == NULL ||
           taker->deselect(recorder, code, clp_engine_runs(&recorder->engine, selected->function));
}

/* Does this to each; goes on where it fails. */
static bool for_each(struct clp_recorder *recorder, PyObject *objects,
                     bool (*use)(struct clp_recorder *, PyObject *))
{
    bool done = objects != NULL;

    for (Py_ssize_t i = 0; objects != NULL && i < PyList_GET_SIZE(objects); i++)
        done = use(recorder, PyList_GET_ITEM(objects, i)) && done;
    Py_XDECREF(objects);
    return done;
}

bool clp_tracer_open(struct clp_recorder *recorder, uint32_t function)
{
    const struct clp_site *site = &recorder->sites[function];

    if (recorder->tracer->install == NULL)
        return for_each(recorder, codes_of(site), open_code);
    return for_each(recorder, clp_known_list(site), open_function);
}

bool clp_tracer_close(struct clp_recorder *recorder, uint32_t function)
{
    bool done = recorder->tracer->install == NULL ||
                for_each(recorder, clp_known_list(&recorder->sites[function]), close_function);

    return for_each(recorder, codes_of(&recorder->sites[function]), close_code) && done;
}

/* ---- functions that are selected ---- */

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
static bool number_prepared(struct clp_window *window, PyCodeObject *code, PyObject *name,
                            struct clp_selected *selected)
{
    if (!add_function(window, code, name, &selected->shape, &selected->function))
        return false;
    selected->audience = window->recorder->views.audiences[selected->function];
    return true;
}

/* Code that was never seen. NULL with an exception set. */
static struct clp_selected *meet(struct clp_window *window, PyCodeObject *code, PyObject *name)
{
    struct clp_recorder *recorder = window->recorder;
    const char *damage = NULL;
    struct clp_selected *selected = attach(window, code, name, &damage);

    if (selected == NULL)
        return NULL;
    if (damage == NULL && recorder->tracer->install != NULL && is_compiled(recorder, code))
        damage = compiled;
    return damage == NULL || leave_alone(recorder, selected, damage) ? selected : NULL;
}

/* What is known of the code, which the window has now. NULL with an exception set. */
static struct clp_selected *take(struct clp_window *window, PyCodeObject *code, PyObject *name)
{
    struct clp_selected *selected = clp_recorder_selected(window->recorder, (PyObject *)code);
    bool done;

    if (selected == NULL)
        selected = adopt(window->recorder, code);
    if (selected == NULL)
        return PyErr_Occurred() ? NULL : meet(window, code, name);
    if (selected->function == CLP_UNSELECTED)
        done = number_prepared(window, code, name, selected);
    else
        done = clp_window_add(window, selected->function, true);
    return done ? selected : NULL;
}

bool clp_tracer_select(struct clp_window *window, PyObject *function, PyObject *name)
{
    struct clp_recorder *recorder = window->recorder;
    PyObject *code = PyFunction_GetCode(function); /* borrowed */
    const struct clp_selected *selected = take(window, (PyCodeObject *)code, name);

    if (selected == NULL)
        return false;
    bool open = recorder->sites[selected->function].open != 0;
    if (recorder->tracer->install == NULL)
        return !open || open_code(recorder, code);
    return clp_known_note(&recorder->sites[selected->function], function) &&
           (open ? open_function(recorder, function) : close_function(recorder, function));
}
