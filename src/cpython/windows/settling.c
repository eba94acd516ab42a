/* SPDX-License-Identifier: MIT */
#include "settling.h"
#include "cpython/tracers/attach.h"
#include "function_refs.h"
#include "cpython/tracers/monitoring.h"
#include "cpython/tracers/offering.h"
#include "shared.h"

/* Was the copy with probes made before code within it was selected? Forgets such copies of all code within it,
 * too, so that new ones are made. */
static bool is_outdated(const struct clp_recorder *recorder, PyCodeObject *code, PyCodeObject *copy)
{
    bool outdated = false;

    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); i++) {
        PyObject *item = PyTuple_GET_ITEM(code->co_consts, i);
        PyObject *there = PyTuple_GET_ITEM(copy->co_consts, i);
        struct clp_selected *selected = clp_tracer_recorded_within(recorder, item);
        if (selected == NULL)
            continue;
        if (selected->copy != NULL &&
            is_outdated(recorder, (PyCodeObject *)item, (PyCodeObject *)selected->copy))
            selected->copy = NULL;
        outdated |= selected->copy == NULL || selected->copy != there;
    }
    return outdated;
}

/* Lets code keep its copy with probes, `code`, which was made before there were functions of it: the copy's
 * original gets data, if it has none, and the copy in it. */
static bool park(struct clp_recorder *recorder, const struct clp_selected *copy, PyObject *code)
{
    struct clp_selected *own = clp_recorder_selected(recorder, copy->original);

    if (own == NULL)
        own = clp_attach_more(recorder, (PyCodeObject *)copy->original, copy);
    if (own != NULL && own->copy == NULL)
        own->copy = code;
    return own != NULL;
}

/* Gives the function its own code again if its copy is outdated. */
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

/* Watches functions that were made of code within this code. Where this code has no probes, because another
 * tracer took it, that tracer gets all code within it, too. */
static bool spread_within(struct clp_recorder *recorder, PyCodeObject *code, bool has_probes)
{
    bool done = true;

    for (Py_ssize_t i = 0; done && i < PyTuple_GET_SIZE(code->co_consts); i++) {
        PyObject *item = PyTuple_GET_ITEM(code->co_consts, i);
        struct clp_selected *selected = clp_tracer_recorded_within(recorder, item);
        if (selected == NULL)
            continue;
        if (has_probes)
            done = clp_shared_select_inner(recorder, (PyCodeObject *)item, selected);
        else
            done = selected->on || clp_tracer_offer_next(recorder, (PyCodeObject *)item, selected);
        /* functions of watched code are makers, too: of the code within it, which has no probes */
        done = done && spread_within(recorder, (PyCodeObject *)item, has_probes && !selected->on);
        selected->refused |= !has_probes;
    }
    return done;
}

/* Gives the function the code with probes. Others that hold the function's own code are watched. */
static bool install(struct clp_recorder *recorder, PyObject *function, PyCodeObject *code,
                    struct clp_selected *selected)
{
    if (selected->copy != NULL && is_outdated(recorder, code, (PyCodeObject *)selected->copy))
        selected->copy = NULL; /* the old copy lives on where it runs */
    PyObject *copy = Py_XNewRef(selected->copy);

    if (selected->refused && selected->on)
        return spread_within(recorder, code, false);
    if (copy == NULL && !clp_tracer_offer(recorder, code, selected))
        return false;
    if (copy == NULL)
        copy = selected->copy; /* our reference; NULL: another tracer took the code */
    bool done = copy == NULL ||
                (recorder->tracer->install(function, selected) &&
                 clp_shared_select(recorder, code, selected, PyFunction_GetGlobals(function)));
    done = done && spread_within(recorder, code, copy != NULL && !selected->on);
    Py_XDECREF(copy);
    return done;
}

bool clp_tracer_open_function(struct clp_recorder *recorder, PyObject *function)
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

bool clp_tracer_close_function(struct clp_recorder *recorder, PyObject *function)
{
    PyObject *code = Py_NewRef(PyFunction_GetCode(function));
    const struct clp_selected *copy = clp_recorder_probes(recorder, code);
    bool done = true;

    if (copy != NULL) {
        PyObject *own = Py_NewRef(copy->original);
        done = park(recorder, copy, code) &&
               clp_function_refs_put_aside(recorder->sites[copy->function], function, code) &&
               clp_monitoring_carry(recorder, code, own) &&
               PyObject_SetAttrString(function, "__code__", own) == 0;
        Py_DECREF(own);
    }
    Py_DECREF(code);
    return done;
}

/* A new list of the site's code objects, which may go away while something is done to them. */
static PyObject *codes_of(const struct clp_site *site)
{
    PyObject *codes = PyList_New(0);

    for (struct clp_selected *at = site->codes; at != NULL && codes != NULL; at = at->next)
        if (PyList_Append(codes, at->code) != 0)
            Py_CLEAR(codes);
    return codes;
}

bool clp_tracer_open_code(struct clp_recorder *recorder, PyObject *code)
{
    struct clp_selected *selected = clp_recorder_selected(recorder, code);

    return selected == NULL || selected->on || selected->left_alone ||
           clp_tracer_offer(recorder, (PyCodeObject *)code, selected);
}

/* Lets code be recorded that has no probes, so that it is found through no function. */
static bool open_refused(struct clp_recorder *recorder, PyObject *code)
{
    const struct clp_selected *selected = clp_recorder_selected(recorder, code);

    return selected == NULL || !selected->refused || clp_tracer_open_code(recorder, code);
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
    return recorder->sites[copy->function]->open == 0 || clp_tracer_open_code(recorder, own);
}

/* Calls `use` for each object, and continues where it fails. Takes over `objects`. */
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
        return for_each(recorder, codes_of(site), clp_tracer_open_code);
    bool done = for_each(recorder, clp_function_refs_list(site), clp_tracer_open_function);
    return for_each(recorder, codes_of(site), open_refused) && done;
}

static bool close_all(struct clp_recorder *recorder, const struct clp_site *site)
{
    bool done = recorder->tracer->install == NULL ||
                for_each(recorder, clp_function_refs_list(site), clp_tracer_close_function);

    return for_each(recorder, codes_of(site), close_code) && done;
}

/* Repeats itself until the code is as `open` says: another thread may have changed `open` meanwhile. */
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
