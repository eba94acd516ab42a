/* SPDX-License-Identifier: MIT */
#include "selecting.h"
#include "cpython/recorder/counted_code.h"
#include "cpython/tracers/attach.h"
#include "cpython/tracers/counting.h"
#include "change.h"
#include "cpython/compat/inner_code.h"
#include "function_refs.h"
#include "cpython/tracers/offering.h"
#include "cpython/tracers/settrace.h"
#include "settling.h"
#include "cpython/code/statements.h"
#include "cpython/code/text_search.h"

/* ---- code ---- */

static bool add_function(struct clp_code_window *window, PyCodeObject *code, PyObject *name,
                         uint32_t text, const struct clp_code_lines *lines, uint32_t *number)
{
    const struct clp_function wanted = {
        .first_line = code->co_firstlineno,
        .lowest_line = lines->lowest_line,
        .line_count = lines->line_count,
        .lines = lines->lines,
        .text = text,
        .instructions = lines->instructions,
        .generator = (code->co_flags & CLP_SUSPENDS) != 0,
        .awaits = (code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0,
    };

    return clp_code_window_add_function(window, code->co_filename, name, &wanted, number);
}

/* Makes the data of the code, which is not attached to the code object yet. Owned; NULL with an exception set. */
static struct clp_selected *make_selected(struct clp_code_window *window, PyCodeObject *code,
                                          PyObject *name, uint32_t text)
{
    struct clp_recorder *recorder = window->recorder;
    struct clp_code_lines lines;
    uint32_t number;

    if (!clp_attach_read_shape(recorder, code, text, &lines))
        return NULL;
    if (!add_function(window, code, name, text, &lines, &number)) {
        clp_code_lines_clear(&lines, &recorder->mem);
        return NULL;
    }
    struct clp_selected *selected =
        clp_recorder_new_selected(recorder, (PyObject *)code, number, &lines);
    if (selected != NULL)
        selected->text = text;
    return selected;
}

/* Makes the data of the code and attaches it. NULL with an exception set. */
static struct clp_selected *attach(struct clp_code_window *window, PyCodeObject *code, PyObject *name,
                                   uint32_t text)
{
    struct clp_selected *selected = make_selected(window, code, name, text);

    return selected != NULL && clp_attach_hang(selected, (PyObject *)code) ? selected : NULL;
}

/* No tracer gets damaged code. False with an exception set. */
static bool spare_damaged(struct clp_selected *selected)
{
    const char *damage = selected->shape.damage;

    return damage == NULL || clp_tracer_leave_alone(selected->recorder, selected, damage);
}

struct clp_selected *clp_tracer_announce_code(struct clp_code_window *window, PyObject *code,
                                              PyObject *name, uint32_t text)
{
    struct clp_selected *selected = make_selected(window, (PyCodeObject *)code, name, text);

    if (selected == NULL || spare_damaged(selected))
        return selected;
    clp_recorder_drop_selected(selected);
    return NULL;
}

/* Lets selected code be recorded whose function some window has open, where that takes no function object. */
static bool open_in_place(struct clp_recorder *recorder, PyObject *code, uint32_t function)
{
    return recorder->tracer->install != NULL || recorder->sites[function]->open == 0 ||
           clp_tracer_open_code(recorder, code);
}

PyObject *clp_tracer_select_code(struct clp_recorder *recorder, PyObject *code,
                                 struct clp_selected *selected)
{
    const struct clp_selected *known = clp_recorder_selected(recorder, code);

    if (known != NULL) { /* from an earlier window */
        clp_recorder_drop_selected(selected);
        return open_in_place(recorder, code, known->function) ? Py_NewRef(code) : NULL;
    }
    if (!clp_attach_hang(selected, code) ||
        (!selected->left_alone && !clp_tracer_offer(recorder, (PyCodeObject *)code, selected)))
        return NULL;
    return selected->copy != NULL ? selected->copy : Py_NewRef(code); /* the reference to a new copy is the caller's */
}

/* ---- copies that the program makes of code ---- */

/* Notes that the code has the function's lines at another place. */
static void move(struct clp_selected *selected, int32_t lines)
{
    selected->moved = lines;
    selected->identity = ++selected->recorder->copies << 1 | 1;
    for (size_t i = 0; selected->shape.starts != NULL && i < selected->shape.unit_count; i++)
        if (selected->shape.starts[i] > 0)
            selected->shape.starts[i] -= lines;
}

/* Selects a copy for the function of the code that it was made of. */
static bool select_copy(const struct clp_selected *from, PyCodeObject *code, PyCodeObject *copy)
{
    struct clp_recorder *recorder = from->recorder;
    int32_t moved = from->moved + copy->co_firstlineno - code->co_firstlineno;

    struct clp_selected *selected = clp_attach_more(recorder, copy, from);
    if (selected == NULL)
        return false;
    if (copy->co_linetable == code->co_linetable && moved != 0)
        move(selected, moved);
    selected->left_alone = selected->shape.damage != NULL;
    selected->refused = recorder->tracer->install != NULL; /* the copy has no probes, and gets none */
    return selected->left_alone || clp_tracer_offer(recorder, copy, selected);
}

bool clp_tracer_use_copy(const struct clp_selected *from, PyCodeObject *code, PyCodeObject *copy)
{
    struct clp_recorder *recorder = from->recorder;
    uint32_t function = from->function;

    clp_change_begin(recorder);
    bool done = select_copy(from, code, copy) &&
                (recorder->sites[function]->open != 0 || clp_tracer_settle(recorder, function));
    clp_change_end(recorder);
    return done;
}

/* ---- functions ---- */

/* The data of the probes in this code, if somebody has made it of code with probes. Borrowed, or NULL. */
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

/* Adopts code that somebody has made of code with probes, because it has the probes, too. Borrowed; NULL with
 * an exception set, or without one where the code has none. */
static struct clp_selected *adopt(struct clp_recorder *recorder, PyCodeObject *code)
{
    struct clp_selected *selected = owner_of(recorder, code);

    if (selected == NULL ||
        clp_compat_set_code_data((PyObject *)code, recorder->code_slot, selected) != 0)
        return NULL;
    selected->holders++;
    return selected;
}

/* Gives code its number that got its probes before there were functions of it. */
static bool number_prepared(struct clp_code_window *window, PyCodeObject *code, PyObject *name,
                            uint32_t text, struct clp_selected *selected)
{
    if (selected->counted != NULL && clp_counted_has_run(selected->counted))
        clp_counting_look(window->recorder); /* what was counted so far is nobody's */
    if (!add_function(window, code, name, text, &selected->shape, &selected->function))
        return false;
    if (selected->text == CLP_TEXT_NONE) /* the probes needed no text */
        selected->text = text;
    if (selected->counted != NULL)
        clp_counted_begin(selected->recorder, selected->counted, selected->code, selected->function, &selected->shape);
    selected->audience = window->recorder->views.audiences[selected->function];
    if (selected->compiler != NULL)
        window->recorder->engine.functions.items[selected->function].compiler = selected->compiler;
    return true;
}

/* Selects code that was never seen before. NULL with an exception set. */
static struct clp_selected *meet(struct clp_code_window *window, PyCodeObject *code, PyObject *name,
                                 uint32_t text)
{
    struct clp_selected *selected = attach(window, code, name, text);

    return selected != NULL && spare_damaged(selected) ? selected : NULL;
}

/* The data of the code, which then belongs to the window. NULL with an exception set. */
static struct clp_selected *take(struct clp_code_window *window, PyCodeObject *code, PyObject *name,
                                 uint32_t text)
{
    struct clp_selected *selected = clp_recorder_selected(window->recorder, (PyObject *)code);
    bool done;

    if (window->recorder->tracer == &clp_tracer_settrace && window->view.counting != 0)
        clp_recorder_look_for_running(window->recorder, code);
    if (selected == NULL)
        selected = adopt(window->recorder, code);
    if (selected == NULL)
        return PyErr_Occurred() ? NULL : meet(window, code, name, text);
    if (selected->function == CLP_UNSELECTED)
        done = number_prepared(window, code, name, text, selected);
    else
        done = clp_code_window_add(window, selected->function, true);
    return done ? selected : NULL;
}

static bool take_inner(struct clp_code_window *window, PyCodeObject *code, PyObject *name, uint32_t text);

/* Selects an item of the constants of selected code, and all code within the item. */
static bool take_item(struct clp_code_window *window, PyObject *item, PyObject *name, uint32_t text)
{
    struct clp_recorder *recorder = window->recorder;

    if (!clp_code_window_wants_within(window, (PyCodeObject *)item, name))
        return true;
    const struct clp_selected *selected = take(window, (PyCodeObject *)item, name, text);
    if (selected == NULL || !take_inner(window, (PyCodeObject *)item, name, text))
        return false;
    return open_in_place(recorder, item, selected->function);
}

/* Selects all code within the code, in the order in which it stands there. */
static bool take_inner(struct clp_code_window *window, PyCodeObject *code, PyObject *name, uint32_t text)
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

bool clp_tracer_select_within(struct clp_code_window *window, PyObject *function, PyObject *name,
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
        done = !open || clp_tracer_open_code(recorder, code);
    else
        done = clp_function_refs_note(site, function) &&
               (open  ? clp_tracer_open_function(recorder, function) : clp_tracer_close_function(recorder, function));
    return done && (open == (site->open != 0) || clp_tracer_settle(recorder, number));
}

/* The text belongs to the code that the function has at first. If the function gets other code meanwhile, which
 * nobody has selected, that code's text is not known. The code is not held on to, because code that is held
 * would count as shared (shared.h). */
bool clp_tracer_select(struct clp_code_window *window, PyObject *function, PyObject *name, bool with_inner)
{
    PyObject *code = Py_NewRef(PyFunction_GetCode(function));
    uint32_t text;
    bool held = clp_code_window_is_there(window) &&
                clp_tracer_read_text(window->recorder, (PyCodeObject *)code,
                                     PyFunction_GetGlobals(function), false, &text) &&
                clp_code_window_hold(window);
    bool same = PyFunction_GetCode(function) == code;

    Py_DECREF(code);
    if (!held)
        return false;
    bool done = clp_tracer_select_within(window, function, name, same ? text : CLP_TEXT_NONE,
                                         with_inner);
    clp_code_window_release(window);
    return done;
}

/* Will the item of the definer's constants be a function of this code's name, behind the code? */
static bool comes_later(PyObject *item, const PyCodeObject *code)
{
    return PyCode_Check(item) && ((PyCodeObject *)item)->co_firstlineno > code->co_firstlineno &&
           PyUnicode_Compare(((PyCodeObject *)item)->co_name, code->co_name) == 0;
}

bool clp_tracer_select_later(struct clp_code_window *window, PyCodeObject *definer, PyObject *function,
                             PyObject *name)
{
    struct clp_recorder *recorder = window->recorder;
    PyCodeObject *code = (PyCodeObject *)Py_NewRef(PyFunction_GetCode(function));
    uint32_t text;
    bool held = clp_code_window_is_there(window) &&
                clp_tracer_read_text(recorder, code, PyFunction_GetGlobals(function), false, &text) &&
                clp_code_window_hold(window);
    bool done = held;

    for (Py_ssize_t i = 0; done && i < PyTuple_GET_SIZE(definer->co_consts); i++) {
        PyObject *item = PyTuple_GET_ITEM(definer->co_consts, i);
        if (comes_later(item, code) &&
            (recorder->tracer->install == NULL || clp_recorder_probes(recorder, item) != NULL))
            done = take_item(window, item, name, text);
    }
    if (held)
        clp_code_window_release(window);
    Py_DECREF(code);
    return done;
}
