/* SPDX-License-Identifier: MIT */
#include "shared.h"
#include "function_refs.h"
#include "cpython/compat/inner_code.h"
#include "cpython/tracers/offering.h"

/* Is the code a constant of this code, or, `depth` levels deep, of code among its constants? */
static bool is_constant(PyObject *constants, PyCodeObject *code, int depth)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); i++) {
        if (PyTuple_GET_ITEM(constants, i) == (PyObject *)code)
            return true;
    }
    for (Py_ssize_t i = 0; depth > 0 && i < PyTuple_GET_SIZE(constants); i++) {
        PyObject *inner = PyTuple_GET_ITEM(constants, i);
        if (PyCode_Check(inner) &&
            is_constant(((PyCodeObject *)inner)->co_consts, code, depth - 1))
            return true;
    }
    return false;
}

/* How many frames are looked at: a decorator may run between the selecting and the code that defines the
 * function. */
#define FRAMES_BACK 4

/* Is the function being defined now? Then its definer holds its code, or the code of its class. */
static bool is_being_defined(PyCodeObject *code)
{
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef((PyObject *)PyEval_GetFrame());
    bool found = false;

    for (int i = 0; frame != NULL && !found && i < FRAMES_BACK; i++) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        PyCodeObject *definer = PyFrame_GetCode(frame);
        found = is_constant(definer->co_consts, code, 1);
        Py_DECREF(definer);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    return found;
}

#if CLP_HAS_MONITORING

static bool select_holders(struct clp_recorder *recorder, PyCodeObject *code,
                           struct clp_selected *selected)
{
    return selected->on || clp_tracer_offer_next(recorder, code, selected);
}

static bool select_elsewhere(struct clp_recorder *recorder, PyCodeObject *code,
                             struct clp_selected *selected, PyObject *names)
{
    (void)names;
    return select_holders(recorder, code, selected);
}

#elif CLP_HAS_PROBES

/* Notes the function in its site, if its own code is selected. */
static bool note_function(const struct clp_recorder *recorder, PyObject *function)
{
    const struct clp_selected *selected = clp_recorder_selected(recorder, PyFunction_GetCode(function));

    return selected == NULL || selected->probed || selected->function >= recorder->site_room ||
           recorder->sites[selected->function] == NULL ||
           clp_function_refs_note(recorder->sites[selected->function], function);
}

static bool note_all(const struct clp_recorder *recorder)
{
    PyObject *objects = clp_compat_collector("get_objects", NULL);
    bool done = objects != NULL;

    for (Py_ssize_t i = 0; done && i < PySequence_Fast_GET_SIZE(objects); i++) {
        PyObject *object = PySequence_Fast_GET_ITEM(objects, i);
        done = !PyFunction_Check(object) || note_function(recorder, object);
    }
    Py_XDECREF(objects);
    return done;
}

/* The functions that may hold the code, a new list. One look at all objects serves all functions of a window that is
 * being opened: there may be hundreds, and each look takes some ten milliseconds where there are a million objects. */
static PyObject *holders_of(struct clp_recorder *recorder, PyCodeObject *code, const struct clp_selected *selected)
{
    if (!recorder->opening)
        return clp_compat_collector("get_referrers", (PyObject *)code);
    if (!recorder->holders_noted && !note_all(recorder))
        return NULL;
    recorder->holders_noted = true;
    return clp_function_refs_list(recorder->sites[selected->function]);
}

static bool select_holders(struct clp_recorder *recorder, PyCodeObject *code,
                           struct clp_selected *selected)
{
    PyObject *holders = holders_of(recorder, code, selected);
    bool done = holders != NULL;

    for (Py_ssize_t i = 0; done && i < PySequence_Fast_GET_SIZE(holders); i++) {
        PyObject *holder = PySequence_Fast_GET_ITEM(holders, i);
        if (PyFunction_Check(holder) && PyFunction_GetCode(holder) == (PyObject *)code)
            done = clp_function_refs_note(recorder->sites[selected->function], holder) &&
                   recorder->tracer->install(holder, selected);
    }
    Py_XDECREF(holders);
    return done;
}

/* ---- functions to come ---- */

/* Attaches the data of a selected code object to its copy, too. */
static bool pass_on(struct clp_recorder *recorder, PyObject *code, PyObject *copy)
{
    struct clp_selected *selected = clp_recorder_selected(recorder, code);

    if (selected == NULL || copy == code)
        return true;
    if (clp_compat_set_code_data(copy, recorder->code_slot, selected) != 0)
        return false;
    selected->holders++;
    return true;
}

struct replacement {
    struct clp_recorder *recorder;
    PyObject *old, *new;
};

/* Returns `new` for `old`; for code that has `old` among its constants, however deep, a copy with `new`; other
 * code itself. */
static PyObject *replaced(void *data, PyObject *code)
{
    const struct replacement *replacement = data;

    if (code == replacement->old)
        return Py_NewRef(replacement->new);
    PyObject *copy = clp_inner_code_replaced(code, replaced, data);
    if (copy != NULL && !pass_on(replacement->recorder, code, copy))
        Py_CLEAR(copy);
    return copy;
}

/* The function behind a member of a class, a new reference, or NULL. */
static PyObject *function_of(PyObject *member)
{
    PyObject *function =
        PyObject_TypeCheck(member, &PyClassMethod_Type) ||
                PyObject_TypeCheck(member, &PyStaticMethod_Type)
            ? PyObject_GetAttrString(member, "__func__")
            : Py_NewRef(member);

    if (function != NULL && !PyFunction_Check(function))
        Py_CLEAR(function);
    return function;
}

/* What a dotted name means in the module, looked up in the dicts of its classes. A new reference, or NULL. */
static PyObject *find_path(PyObject *names, PyObject *path)
{
    PyObject *words = PyObject_CallMethod(path, "split", "s", "."), *found = NULL;
    PyObject *space = Py_NewRef(names);

    for (Py_ssize_t i = 0; words != NULL && space != NULL && i < PyList_GET_SIZE(words); i++) {
        Py_XDECREF(found);
        found = Py_XNewRef(PyDict_GetItemWithError(space, PyList_GET_ITEM(words, i)));
        Py_CLEAR(space);
        if (found != NULL && PyType_Check(found))
            space = clp_compat_class_dict(found);
    }
    Py_XDECREF(space);
    Py_XDECREF(words);
    return found;
}

/* The function at the top of the code's qualified name ("Class.maker" of "Class.maker.<locals>.made"), if the
 * module still has it under that name. A new reference, or NULL. */
static PyObject *maker_of(PyCodeObject *code, PyObject *names)
{
    PyObject *words = PyObject_CallMethod(code->co_qualname, "split", "s", ".<locals>.");
    PyObject *path = words != NULL && PyList_GET_SIZE(words) > 1 ? PyList_GET_ITEM(words, 0) : NULL;
    PyObject *found = path != NULL ? find_path(names, path) : NULL;
    PyObject *maker = found != NULL ? function_of(found) : NULL;

    Py_XDECREF(words);
    Py_XDECREF(found);
    PyErr_Clear();
    return maker;
}

/* Lets the functions that the maker makes from now on have the copy. */
static bool select_future(struct clp_recorder *recorder, PyObject *maker, PyCodeObject *code,
                          const struct clp_selected *selected)
{
    PyObject *old = PyFunction_GetCode(maker); /* borrowed */
    struct replacement replacement = {recorder, (PyObject *)code, selected->copy};
    PyObject *new = replaced(&replacement, old);
    bool done = new != NULL &&
                (new == old || PyObject_SetAttrString(maker, "__code__", new) == 0);

    Py_XDECREF(new);
    return done;
}

static bool select_elsewhere(struct clp_recorder *recorder, PyCodeObject *code,
                             struct clp_selected *selected, PyObject *names)
{
    if (selected->spread) /* looking for holders takes long, so it is done once */
        return true;
    selected->spread = true;
    PyObject *maker = maker_of(code, names);
    bool done = select_holders(recorder, code, selected) &&
                (maker == NULL || select_future(recorder, maker, code, selected));

    Py_XDECREF(maker);
    return done;
}

#else

static bool select_holders(struct clp_recorder *recorder, PyCodeObject *code,
                           struct clp_selected *selected)
{
    (void)recorder, (void)code, (void)selected;
    return true;
}

static bool select_elsewhere(struct clp_recorder *recorder, PyCodeObject *code,
                             struct clp_selected *selected, PyObject *names)
{
    (void)names;
    return select_holders(recorder, code, selected);
}

#endif

/* How many references a code object with a copy always has: one from the function or the code that it belongs
 * to, and one from the copy, which keeps it for later. */
#define KNOWN_HOLDERS 2

bool clp_shared_select(struct clp_recorder *recorder, PyCodeObject *code,
                       struct clp_selected *selected, PyObject *names)
{
    Py_ssize_t known = KNOWN_HOLDERS;

    if (selected->copy == NULL)
        return true;
    if (Py_REFCNT(code) > known && is_being_defined(code))
        known++;
    return Py_REFCNT(code) <= known || select_elsewhere(recorder, code, selected, names);
}

bool clp_shared_select_inner(struct clp_recorder *recorder, PyCodeObject *code,
                             struct clp_selected *selected)
{
    return selected->copy == NULL || Py_REFCNT(code) <= KNOWN_HOLDERS ||
           select_holders(recorder, code, selected);
}
