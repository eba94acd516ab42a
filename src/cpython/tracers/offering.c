/* SPDX-License-Identifier: MIT */
#include "offering.h"
#include "code_copies.h"
#include "cpython/compat/turn.h"

bool clp_tracer_begin(struct clp_recorder *recorder, const struct clp_tracer *tracer)
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
        clp_code_copies_watch(recorder);
    recorder->starting = false;
    clp_turn_end();
    return done;
}

void clp_tracer_end(struct clp_recorder *recorder, const struct clp_tracer *tracer)
{
    clp_turn_claim();
    recorder->starting = true;
    tracer->stop(recorder);
    recorder->starting = false;
    clp_turn_end();
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
    bool later = recorder->tracer->install != NULL; /* none that exchanges code, where that was refused */

    if (recorder->fallback != NULL)
        return true;
    PyErr_SetString(PyExc_RuntimeError, "no other tracer takes it");
    for (const struct clp_tracer *const *next = recorder->tracers; *next != NULL; next++) {
        if (later && (*next)->install == NULL) {
            PyErr_Clear();
            if (clp_tracer_begin(recorder, *next)) {
                recorder->fallback = *next;
                return true;
            }
        }
        later |= *next == recorder->tracer;
    }
    return false;
}

bool clp_tracer_offer_next(struct clp_recorder *recorder, PyCodeObject *code,
                           struct clp_selected *selected)
{
    const char *reason;

    selected->on = start_fallback(recorder) &&
                   recorder->fallback->select(recorder, code, selected, &reason) ==
                       CLP_SELECTION_DONE;
    return selected->on;
}

bool clp_tracer_offer(struct clp_recorder *recorder, PyCodeObject *code,
                      struct clp_selected *selected)
{
    const char *reason = NULL;

    if (selected->refused)
        return clp_tracer_offer_next(recorder, code, selected);
    enum clp_selection outcome = recorder->tracer->select(recorder, code, selected, &reason);
    selected->on = outcome == CLP_SELECTION_DONE && selected->copy == NULL;
    if (outcome != CLP_SELECTION_REFUSED)
        return outcome == CLP_SELECTION_DONE;
    if (!note_refusal(recorder, selected->function, reason) ||
        !clp_tracer_offer_next(recorder, code, selected))
        return false;
    recorder->refusals->taken_by = recorder->fallback->name;
    return true;
}

bool clp_tracer_leave_alone(struct clp_recorder *recorder, struct clp_selected *selected,
                            const char *reason)
{
    selected->refused = selected->left_alone = true;
    return note_refusal(recorder, selected->function, reason);
}

struct clp_selected *clp_tracer_recorded_within(const struct clp_recorder *recorder, PyObject *item)
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
    struct clp_selected *selected = clp_tracer_recorded_within(recorder, item);

    if (selected == NULL || selected->copy != NULL)
        return Py_NewRef(selected != NULL ? selected->copy : item);
    if (!clp_tracer_offer(recorder, (PyCodeObject *)item, selected))
        return NULL;
    return selected->copy != NULL ? selected->copy : Py_NewRef(item); /* the reference to a new copy is the caller's */
}

bool clp_tracer_wake(struct clp_recorder *recorder)
{
    if (!recorder->awake)
        recorder->awake = clp_tracer_begin(recorder, recorder->tracer);
    return recorder->awake;
}
