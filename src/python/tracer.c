/* SPDX-License-Identifier: MIT */
#include "tracer.h"
#include "blocks.h"
#include "calibrate.h"
#include "code_copies.h"
#include "inner_code.h"
#include "known.h"
#include "readers.h"
#include "shared.h"
#include "statements.h"
#include "text_search.h"
#include "turn.h"

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
    PyErr_Format(PyExc_ValueError, "CPython %d.%d has no tracer '%s'", PY_MAJOR_VERSION,
                 PY_MINOR_VERSION, name);
    return NULL;
}

static bool use_copy(const struct clp_selected *from, PyCodeObject *code, PyCodeObject *copy);

/* Events begin. Probes get into copies of code by themselves. The program's audit hooks are told of some of it. */
static bool start(struct clp_recorder *recorder, const struct clp_tracer *tracer)
{
    if (recorder->starting) {
        PyErr_SetString(PyExc_RuntimeError,
                        "clineprof: a Profiler cannot be started while its tracer starts or stops");
        return false;
    }
    clp_turn_claim();
    recorder->starting = true;
    bool done = tracer->start(recorder);
    if (done && tracer->install == NULL)
        clp_code_copies_watch(recorder, use_copy);
    recorder->starting = false;
    clp_turn_end();
    return done;
}

static void stop(struct clp_recorder *recorder, const struct clp_tracer *tracer)
{
    clp_turn_claim();
    recorder->starting = true;
    tracer->stop(recorder);
    recorder->starting = false;
    clp_turn_end();
}

static bool start_one(struct clp_recorder *recorder, const struct clp_tracer *tracer)
{
    if (!start(recorder, tracer))
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
    return tracer != NULL && start_one(recorder, tracer);
}

/* In memory of its own: the child of a fork in another thread has the window, but not that thread's stack. */
struct trial {
    struct clp_window window;
    struct clp_calibration calibration;
    struct clp_costs costs;
};

/* Unless a signal handler, say, has done so meanwhile. */
static bool start_chosen(struct clp_recorder *recorder, const char *name)
{
    if (recorder->tracer == NULL)
        recorder->awake = start_named(recorder, name);
    return recorder->tracer != NULL;
}

static bool measure(struct trial *trial, const char *name)
{
    struct clp_recorder *recorder = trial->window.recorder;
    bool done = clp_calibration_begin(&trial->calibration, &trial->window) &&
                start_chosen(recorder, name) && clp_window_open(&trial->window) &&
                clp_calibration_measure(&trial->calibration, &trial->window, &trial->costs,
                                        &recorder->cost_error);

    clp_calibration_clear(&trial->calibration);
    return done;
}

/* Has nobody else selected anything, or recorded in another thread, meanwhile? */
static bool is_alone(const struct clp_recorder *recorder, const struct clp_view *view)
{
    const struct clp_thread *threads = recorder->engine.threads;

    return recorder->windows == 1 && recorder->engine.functions.count == view->count &&
           threads == clp_thread_here && (threads == NULL || threads->next == NULL);
}

/* The window is gone before the engine forgets what it has counted. Where that cannot be forgotten, the
 * functions of the trial stay in the engine, as nobody's. */
static bool try_out(struct clp_recorder *recorder, struct trial *trial, const char *name)
{
    clp_window_init(&trial->window, recorder, false);
    bool done = measure(trial, name), alone = is_alone(recorder, &trial->window.view);
    clp_window_clear(&trial->window);
    if (!done && recorder->windows == 0)
        recorder->tracer = NULL; /* it rests, its window being closed */
    if (done && alone)
        clp_recorder_forget(recorder);
    if (done)
        clp_engine_set_costs(&recorder->engine, &trial->costs);
    return done;
}

bool clp_tracer_start(struct clp_recorder *recorder, const char *name)
{
    if (clp_turn_is_nested()) /* whoever was interrupted will measure */
        return start_chosen(recorder, name);
    struct trial *trial = clp_mem_alloc(&recorder->mem, 1, sizeof *trial);
    if (trial == NULL) {
        PyErr_NoMemory();
        return false;
    }
    bool done = try_out(recorder, trial, name);
    clp_mem_free(&recorder->mem, trial, 1, sizeof *trial);
    return done;
}

/* Probes that are still in code find their gate closed. */
void clp_tracer_rest(struct clp_recorder *recorder)
{
    const struct clp_tracer *fallback = recorder->fallback;

    clp_blocks_rest(recorder);
    clp_code_copies_leave();
    recorder->fallback = NULL;
    if (fallback != NULL)
        stop(recorder, fallback);
    if (recorder->tracer->install == NULL && recorder->awake) {
        recorder->awake = false;
        stop(recorder, recorder->tracer);
    }
}

bool clp_tracer_wake(struct clp_recorder *recorder)
{
    clp_readers_watch(recorder);
    if (!recorder->awake)
        recorder->awake = start(recorder, recorder->tracer);
    return recorder->awake;
}

/* ---- selecting ---- */

static bool add_function(struct clp_window *window, PyCodeObject *code, PyObject *name,
                         uint32_t text, const struct clp_shape *shape, uint32_t *number)
{
    const struct clp_function wanted = {
        .first_line = code->co_firstlineno,
        .lowest_line = shape->lowest_line,
        .line_count = shape->line_count,
        .text = text,
        .instructions = shape->instructions,
        .generator = (code->co_flags & CLP_SUSPENDS) != 0,
        .awaits = (code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0,
    };

    return clp_window_add_function(window, code->co_filename, name, &wanted, number);
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
                                          PyObject *name, uint32_t text,
                                          const char **damage)
{
    struct clp_recorder *recorder = window->recorder;
    struct clp_shape shape;
    uint32_t number;

    if (!read_shape(recorder, code, &shape, damage))
        return NULL;
    if (!add_function(window, code, name, text, &shape, &number)) {
        clp_shape_clear(&shape, &recorder->mem);
        return NULL;
    }
    struct clp_selected *selected =
        clp_recorder_new_selected(recorder, (PyObject *)code, number, &shape);
    if (selected != NULL)
        selected->text = text;
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
                                   uint32_t text, const char **damage)
{
    struct clp_selected *selected = make_selected(window, code, name, text, damage);

    return selected != NULL && hang(selected, (PyObject *)code) ? selected : NULL;
}

/* Attached to one more code object of the function of `known`; NULL with an exception set. */
static struct clp_selected *attach_more(struct clp_recorder *recorder, PyCodeObject *code,
                                        const struct clp_selected *known)
{
    struct clp_shape shape;

    if (!clp_shape_init(&shape, &recorder->mem, code, &recorder->opcodes))
        return NULL;
    struct clp_selected *selected =
        clp_recorder_new_selected(recorder, (PyObject *)code, known->function, &shape);
    if (selected == NULL || !hang(selected, (PyObject *)code))
        return NULL;
    selected->text = known->text;
    return selected;
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

static bool start_fallback(struct clp_recorder *recorder)
{
    const struct clp_tracer *const *next = clp_tracers;

    if (recorder->fallback != NULL)
        return true;
    while (*next != recorder->tracer)
        next++;
    PyErr_SetString(PyExc_RuntimeError, "no other tracer takes it");
    while (*++next != NULL) {
        PyErr_Clear();
        if (start(recorder, *next)) {
            recorder->fallback = *next;
            return true;
        }
    }
    return false;
}

bool clp_tracer_select_fallback(struct clp_recorder *recorder, PyCodeObject *code,
                                struct clp_selected *selected)
{
    const char *reason;

    selected->on = start_fallback(recorder) &&
                   recorder->fallback->select(recorder, code, selected, &reason) ==
                       CLP_SELECTION_DONE;
    return selected->on;
}

/* Afterwards the code is `on`, or there is a copy of it. */
static bool select_code(struct clp_recorder *recorder, PyCodeObject *code,
                        struct clp_selected *selected)
{
    const char *reason = NULL;

    if (selected->refused)
        return clp_tracer_select_fallback(recorder, code, selected);
    enum clp_selection outcome = recorder->tracer->select(recorder, code, selected, &reason);
    selected->on = outcome == CLP_SELECTION_DONE && selected->copy == NULL;
    if (outcome != CLP_SELECTION_REFUSED)
        return outcome == CLP_SELECTION_DONE;
    if (!note_refusal(recorder, selected->function, reason) ||
        !clp_tracer_select_fallback(recorder, code, selected))
        return false;
    recorder->refusals->taken_by = recorder->fallback->name;
    return true;
}

/* ---- copies that the program makes of code ---- */

/* The code has the lines of the function at another place. */
static void move(struct clp_selected *selected, int32_t lines)
{
    selected->moved = lines;
    selected->identity = ++selected->recorder->copies << 1 | 1;
    for (size_t i = 0; selected->shape.starts != NULL && i < selected->shape.unit_count; i++)
        if (selected->shape.starts[i] > 0)
            selected->shape.starts[i] -= lines;
}

/* A copy counts for the function of the code that it was made of. */
static bool select_copy(const struct clp_selected *from, PyCodeObject *code, PyCodeObject *copy)
{
    struct clp_recorder *recorder = from->recorder;
    int32_t moved = from->moved + copy->co_firstlineno - code->co_firstlineno;

    if (damage_of(recorder, copy) != NULL)
        return true;
    struct clp_selected *selected = attach_more(recorder, copy, from);
    if (selected == NULL)
        return false;
    if (copy->co_linetable == code->co_linetable && moved != 0)
        move(selected, moved);
    selected->refused = recorder->tracer->install != NULL; /* it has no probes, and gets none */
    return select_code(recorder, copy, selected);
}

/* The program makes copies at any time, so this is a change of its own. */
static bool use_copy(const struct clp_selected *from, PyCodeObject *code, PyCodeObject *copy)
{
    struct clp_recorder *recorder = from->recorder;
    uint32_t function = from->function;

    clp_change_begin(recorder);
    bool done = select_copy(from, code, copy) &&
                (recorder->sites[function]->open != 0 || clp_tracer_settle(recorder, function));
    clp_change_end(recorder);
    return done;
}

static bool leave_alone(struct clp_recorder *recorder, struct clp_selected *selected,
                        const char *reason)
{
    selected->refused = selected->left_alone = true;
    return note_refusal(recorder, selected->function, reason);
}

struct clp_selected *clp_tracer_announce_code(struct clp_window *window, PyObject *code,
                                              PyObject *name, uint32_t text)
{
    const char *damage = NULL;
    struct clp_selected *selected =
        make_selected(window, (PyCodeObject *)code, name, text, &damage);

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

/* What hangs on the item of code's constants if it is code that is recorded now, and may have probes but has
 * none itself; else NULL. */
static struct clp_selected *recorded_within(const struct clp_recorder *recorder, PyObject *item)
{
    struct clp_selected *selected =
        PyCode_Check(item) ? clp_recorder_selected(recorder, item) : NULL;

    return selected != NULL && !selected->probed && !selected->refused && !selected->left_alone &&
                   recorder->sites[selected->function]->open != 0
               ? selected
               : NULL;
}

PyObject *clp_tracer_inner_code(struct clp_recorder *recorder, PyObject *item)
{
    struct clp_selected *selected = recorded_within(recorder, item);

    if (selected == NULL || selected->copy != NULL)
        return Py_NewRef(selected != NULL ? selected->copy : item);
    if (!select_code(recorder, (PyCodeObject *)item, selected))
        return NULL;
    return selected->copy != NULL ? selected->copy : Py_NewRef(item); /* the copy is the caller's */
}

/* Was the copy with probes made before code within it was selected? All such copies of code within it are given
 * up for others to come. */
static bool is_outdated(const struct clp_recorder *recorder, PyCodeObject *code, PyCodeObject *copy)
{
    bool outdated = false;

    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); i++) {
        PyObject *item = PyTuple_GET_ITEM(code->co_consts, i);
        PyObject *there = PyTuple_GET_ITEM(copy->co_consts, i);
        struct clp_selected *selected = recorded_within(recorder, item);
        if (selected == NULL)
            continue;
        if (selected->copy != NULL &&
            is_outdated(recorder, (PyCodeObject *)item, (PyCodeObject *)selected->copy))
            selected->copy = NULL;
        outdated |= selected->copy == NULL || selected->copy != there;
    }
    return outdated;
}

/* Code that had probes before there were functions of it: it gets a place to put them aside. */
static bool park(struct clp_recorder *recorder, const struct clp_selected *copy, PyObject *code)
{
    struct clp_selected *own = clp_recorder_selected(recorder, copy->original);

    if (own == NULL)
        own = attach_more(recorder, (PyCodeObject *)copy->original, copy);
    if (own != NULL && own->copy == NULL)
        own->copy = code;
    return own != NULL;
}

/* The function runs its own code again if its copy is outdated. */
static bool give_up_outdated(struct clp_recorder *recorder, PyObject *function)
{
    PyObject *code = PyFunction_GetCode(function); /* borrowed */
    const struct clp_selected *copy = clp_recorder_probes(recorder, code);

    if (copy == NULL ||
        !is_outdated(recorder, (PyCodeObject *)copy->original, (PyCodeObject *)code))
        return true;
    PyObject *own = Py_NewRef(copy->original);
    bool done = park(recorder, copy, code) && PyObject_SetAttrString(function, "__code__", own) == 0;
    Py_DECREF(own);
    return done;
}

/* Functions that were made of code within this one are watched, too; and where it has no probes, because another
 * tracer took it, so is all code within it. */
static bool spread_within(struct clp_recorder *recorder, PyCodeObject *code, bool has_probes)
{
    bool done = true;

    for (Py_ssize_t i = 0; done && i < PyTuple_GET_SIZE(code->co_consts); i++) {
        PyObject *item = PyTuple_GET_ITEM(code->co_consts, i);
        struct clp_selected *selected = recorded_within(recorder, item);
        if (selected == NULL)
            continue;
        if (has_probes)
            done = clp_shared_select_inner(recorder, (PyCodeObject *)item, selected);
        else
            done = selected->on || clp_tracer_select_fallback(recorder, (PyCodeObject *)item, selected);
        done = done && spread_within(recorder, (PyCodeObject *)item, has_probes);
        selected->refused |= !has_probes;
    }
    return done;
}

/* The code with probes takes the place of the function's own; whoever else holds that is watched. */
static bool install(struct clp_recorder *recorder, PyObject *function, PyCodeObject *code,
                    struct clp_selected *selected)
{
    if (selected->copy != NULL && is_outdated(recorder, code, (PyCodeObject *)selected->copy))
        selected->copy = NULL; /* it lives on where it runs */
    PyObject *copy = Py_XNewRef(selected->copy);

    if (selected->refused && selected->on)
        return spread_within(recorder, code, false);
    if (copy == NULL && !select_code(recorder, code, selected))
        return false;
    if (copy == NULL)
        copy = selected->copy; /* ours; NULL: another tracer took the code */
    bool done = copy == NULL ||
                (recorder->tracer->install(function, selected) &&
                 clp_shared_select(recorder, code, selected, PyFunction_GetGlobals(function)));
    done = done && spread_within(recorder, code, copy != NULL);
    Py_XDECREF(copy);
    return done;
}

static bool open_function(struct clp_recorder *recorder, PyObject *function)
{
    if (!give_up_outdated(recorder, function))
        return false;
    PyObject *code = Py_NewRef(PyFunction_GetCode(function));
    struct clp_selected *selected = clp_recorder_selected(recorder, code);
    bool done = selected == NULL || selected->probed || selected->left_alone ||
                install(recorder, function, (PyCodeObject *)code, selected);

    Py_DECREF(code);
    return done;
}

/* The function's own code takes its place again. Of somebody's copy there is none without probes. */
static bool close_function(struct clp_recorder *recorder, PyObject *function)
{
    PyObject *code = Py_NewRef(PyFunction_GetCode(function));
    const struct clp_selected *copy = clp_recorder_probes(recorder, code);
    bool done = true;

    if (copy != NULL) {
        PyObject *own = Py_NewRef(copy->original);
        done = park(recorder, copy, code) &&
               clp_known_put_aside(recorder->sites[copy->function], function, code) &&
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
        if (PyList_Append(codes, at->code) != 0)
            Py_CLEAR(codes);
    return codes;
}

static bool open_code(struct clp_recorder *recorder, PyObject *code)
{
    struct clp_selected *selected = clp_recorder_selected(recorder, code);

    return selected == NULL || selected->on || selected->left_alone ||
           select_code(recorder, (PyCodeObject *)code, selected);
}

/* Code that has no probes, so that no function tells of it. */
static bool open_refused(struct clp_recorder *recorder, PyObject *code)
{
    const struct clp_selected *selected = clp_recorder_selected(recorder, code);

    return selected == NULL || !selected->refused || open_code(recorder, code);
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

bool clp_tracer_give_up(struct clp_recorder *recorder, const struct clp_selected *copy,
                        PyObject *own)
{
    if (!park(recorder, copy, copy->code))
        return false;
    clp_recorder_selected(recorder, own)->copy = NULL;
    return recorder->sites[copy->function]->open == 0 || open_code(recorder, own);
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

static bool open_all(struct clp_recorder *recorder, const struct clp_site *site)
{
    if (recorder->tracer->install == NULL)
        return for_each(recorder, codes_of(site), open_code);
    bool done = for_each(recorder, clp_known_list(site), open_function);
    return for_each(recorder, codes_of(site), open_refused) && done;
}

static bool close_all(struct clp_recorder *recorder, const struct clp_site *site)
{
    bool done = recorder->tracer->install == NULL ||
                for_each(recorder, clp_known_list(site), close_function);

    return for_each(recorder, codes_of(site), close_code) && done;
}

/* Whoever came meanwhile, and changed `open`, may have been overtaken. */
bool clp_tracer_settle(struct clp_recorder *recorder, uint32_t function)
{
    const struct clp_site *site = recorder->sites[function];
    bool open, done;

    do {
        open = site->open != 0;
        done = open ? open_all(recorder, site) : close_all(recorder, site);
    } while (done && open != (site->open != 0));
    return done;
}

/* ---- functions that are selected ---- */

/* Whose probes are in this code, which somebody made of code with probes? Borrowed, or NULL. */
static struct clp_selected *owner_of(const struct clp_recorder *recorder, PyCodeObject *code)
{
    return recorder->tracer->owner != NULL ? recorder->tracer->owner(code) : NULL;
}

bool clp_tracer_read_text(struct clp_recorder *recorder, PyCodeObject *code, PyObject *globals,
                          bool fresh, uint32_t *text)
{
    const struct clp_selected *known = clp_recorder_selected(recorder, (PyObject *)code);

    if (known == NULL)
        known = owner_of(recorder, code);
    *text = known != NULL && known->function != CLP_UNSELECTED
                ? known->text
                : clp_text_search(&recorder->texts, clp_recorder_plain_code(recorder, code), globals,
                                  fresh);
    return clp_statements_read(recorder->statements, &recorder->texts, *text);
}

/* Code that somebody made of code with probes has them, too. Borrowed, or NULL: with an exception
 * set, or because there are none. */
static struct clp_selected *adopt(struct clp_recorder *recorder, PyCodeObject *code)
{
    struct clp_selected *selected = owner_of(recorder, code);

    if (selected == NULL ||
        clp_compat_set_code_data((PyObject *)code, recorder->code_slot, selected) != 0)
        return NULL;
    selected->holders++;
    return selected;
}

/* Code that got its probes before there were functions of it. */
static bool number_prepared(struct clp_window *window, PyCodeObject *code, PyObject *name,
                            uint32_t text, struct clp_selected *selected)
{
    if (!add_function(window, code, name, text, &selected->shape, &selected->function))
        return false;
    selected->audience = window->recorder->views.audiences[selected->function];
    if (selected->compiler != NULL)
        window->recorder->engine.functions.items[selected->function].compiler = selected->compiler;
    return true;
}

/* Code that was never seen. NULL with an exception set. */
static struct clp_selected *meet(struct clp_window *window, PyCodeObject *code, PyObject *name,
                                 uint32_t text)
{
    struct clp_recorder *recorder = window->recorder;
    const char *damage = NULL;
    struct clp_selected *selected = attach(window, code, name, text, &damage);

    if (selected == NULL)
        return NULL;
    return damage == NULL || leave_alone(recorder, selected, damage) ? selected : NULL;
}

/* What is known of the code, which the window has now. NULL with an exception set. */
static struct clp_selected *take(struct clp_window *window, PyCodeObject *code, PyObject *name,
                                 uint32_t text)
{
    struct clp_selected *selected = clp_recorder_selected(window->recorder, (PyObject *)code);
    bool done;

    if (selected == NULL)
        selected = adopt(window->recorder, code);
    if (selected == NULL)
        return PyErr_Occurred() ? NULL : meet(window, code, name, text);
    if (selected->function == CLP_UNSELECTED)
        done = number_prepared(window, code, name, text, selected);
    else
        done = clp_window_add(window, selected->function, true);
    return done ? selected : NULL;
}

static bool take_inner(struct clp_window *window, PyCodeObject *code, PyObject *name, uint32_t text);

/* One item of the constants of code that the window has, and all within it. */
static bool take_item(struct clp_window *window, PyObject *item, PyObject *name, uint32_t text)
{
    struct clp_recorder *recorder = window->recorder;

    if (!clp_window_wants_within(window, (PyCodeObject *)item, name))
        return true;
    const struct clp_selected *selected = take(window, (PyCodeObject *)item, name, text);
    if (selected == NULL || !take_inner(window, (PyCodeObject *)item, name, text))
        return false;
    return recorder->tracer->install != NULL || recorder->sites[selected->function]->open == 0 ||
           open_code(recorder, item);
}

/* All code within the code becomes the window's, in the order in which it stands there. */
static bool take_inner(struct clp_window *window, PyCodeObject *code, PyObject *name, uint32_t text)
{
    const struct clp_selected *copy = clp_recorder_probes(window->recorder, (PyObject *)code);
    PyCodeObject *own = copy != NULL ? (PyCodeObject *)copy->original : code;
    bool done = true;

    for (Py_ssize_t i = 0; done && i < PyTuple_GET_SIZE(own->co_consts); i++) {
        PyObject *item = PyTuple_GET_ITEM(own->co_consts, i);
        if (!PyCode_Check(item))
            continue;
        PyObject *inner_name = clp_inner_code_name((PyCodeObject *)item, own, name);
        done = inner_name != NULL && take_item(window, item, inner_name, text);
        Py_XDECREF(inner_name);
    }
    return done;
}

bool clp_tracer_select_within(struct clp_window *window, PyObject *function, PyObject *name,
                              uint32_t text, bool with_inner)
{
    struct clp_recorder *recorder = window->recorder;
    PyObject *code = PyFunction_GetCode(function); /* borrowed */
    const struct clp_selected *selected = take(window, (PyCodeObject *)code, name, text);

    if (selected == NULL)
        return false;
    uint32_t number = selected->function;
    if (with_inner && !take_inner(window, (PyCodeObject *)code, name, text))
        return false;
    struct clp_site *site = recorder->sites[number];
    bool open = site->open != 0, done;
    if (recorder->tracer->install == NULL)
        done = !open || open_code(recorder, code);
    else
        done = clp_known_note(site, function) &&
               (open ? open_function(recorder, function) : close_function(recorder, function));
    return done && (open == (site->open != 0) || clp_tracer_settle(recorder, number));
}

/* The text is that of the code which the function has at first: of code that it gets meanwhile, and that nobody
 * has selected, none is known. The code is not kept: whoever holds it makes it shared (shared.h). */
bool clp_tracer_select(struct clp_window *window, PyObject *function, PyObject *name, bool with_inner)
{
    PyObject *code = Py_NewRef(PyFunction_GetCode(function));
    uint32_t text;
    bool held = clp_window_is_there(window) &&
                clp_tracer_read_text(window->recorder, (PyCodeObject *)code,
                                     PyFunction_GetGlobals(function), false, &text) &&
                clp_window_hold(window);
    bool same = PyFunction_GetCode(function) == code;

    Py_DECREF(code);
    if (!held)
        return false;
    bool done = clp_tracer_select_within(window, function, name, same ? text : CLP_TEXT_NONE,
                                         with_inner);
    clp_window_release(window);
    return done;
}
