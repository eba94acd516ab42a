/* SPDX-License-Identifier: MIT */
#include "selected.h"
#include "counted_code.h"

struct clp_selected *clp_recorder_new_selected(struct clp_recorder *recorder, PyObject *code,
                                               uint32_t function, struct clp_code_lines *lines)
{
    struct clp_selected *selected = clp_mem_alloc(&recorder->mem, 1, sizeof *selected);
    const struct clp_audience *audience = function == CLP_UNSELECTED
                                          ? &clp_nobody
                                          : clp_views_audience(&recorder->views, function);

    if (selected == NULL || audience == NULL) {
        clp_mem_free(&recorder->mem, selected, 1, sizeof *selected);
        clp_code_lines_clear(lines, &recorder->mem);
        PyErr_NoMemory();
        return NULL;
    }
    *selected = (struct clp_selected){.recorder = recorder,
                                      .code = code,
                                      .identity = (uintptr_t)code,
                                      .function = function,
                                      .audience = audience,
                                      .holders = 1,
                                      .shape = *lines};
    return selected;
}

bool clp_recorder_limit_lets(const struct clp_selected *selected)
{
    const struct clp_limit *limit = &selected->recorder->limit;
    struct clp_thread *thread = clp_thread_here;
    PyObject *value = NULL;

    if (PyContextVar_Get(limit->variable, NULL, &value) < 0)
        PyErr_Clear();
    Py_XDECREF(value); /* only compared */
    if (value == limit->value && clp_view_has(limit->view, selected->function))
        return true;
    if (thread != NULL && thread->top->code == selected->identity)
        thread->top->code = 0;
    return false;
}

bool clp_recorder_show(const struct clp_selected *selected, const struct clp_thread *thread, const void *frame)
{
    if (thread == NULL || thread->top == thread->stack || thread->top->code != 0 || thread->top->frame != frame ||
        thread->top->block->function != selected->function || selected->recorder->limit.variable == NULL ||
        !clp_recorder_counts(selected))
        return false;
    thread->top->code = selected->identity;
    return true;
}

static void unlist_code(struct clp_selected *selected)
{
    if (selected->link == NULL)
        return;
    *selected->link = selected->next;
    if (selected->next != NULL)
        selected->next->link = selected->link;
    selected->link = NULL;
}

void clp_recorder_drop_selected(void *data)
{
    struct clp_selected *selected = data;

    if (selected == NULL || --selected->holders > 0)
        return;
    Py_XDECREF(selected->original);
    clp_counted_free(selected->recorder, selected->counted);
    clp_code_lines_clear(&selected->shape, &selected->recorder->mem);
    clp_mem_free(&selected->recorder->mem, selected, 1, sizeof *selected);
}

void clp_recorder_code_gone(void *data)
{
    struct clp_selected *selected = data, *from = NULL;

    if (selected != NULL && selected->original != NULL)
        from = clp_recorder_selected(selected->recorder, selected->original);
    if (from != NULL && from->copy == selected->code)
        from->copy = NULL;
    if (selected != NULL && selected->counted != NULL)
        clp_counted_end(selected->recorder, selected->counted);
    if (selected != NULL)
        unlist_code(selected);
    clp_recorder_drop_selected(data);
}

struct clp_site *clp_recorder_site(struct clp_recorder *recorder, uint32_t function)
{
    size_t room = recorder->site_room * 2 > function ? recorder->site_room * 2 : function + 16u;
    bool done = function < recorder->site_room ||
                clp_mem_grow(&recorder->mem, (void **)&recorder->sites, &recorder->site_room, room,
                             sizeof *recorder->sites) == CLP_OK;

    if (done && recorder->sites[function] == NULL)
        recorder->sites[function] = clp_mem_alloc(&recorder->mem, 1, sizeof **recorder->sites);
    if (done && recorder->sites[function] != NULL)
        return recorder->sites[function];
    PyErr_NoMemory();
    return NULL;
}

bool clp_recorder_list_code(struct clp_selected *selected)
{
    struct clp_site *site = clp_recorder_site(selected->recorder, selected->function);

    if (site == NULL)
        return false;
    selected->next = site->codes;
    if (selected->next != NULL)
        selected->next->link = &selected->next;
    selected->link = &site->codes;
    site->codes = selected;
    return true;
}

/* Runs a body of this code in the frame or in one below? NULL: any code that is selected. */
static bool runs_above(const struct clp_recorder *recorder, PyFrameObject *frame, const PyCodeObject *wanted)
{
    bool found = false;

    while (frame != NULL && !found) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        PyCodeObject *code = PyFrame_GetCode(frame);
        found = wanted != NULL ? code == wanted : clp_recorder_selected(recorder, (PyObject *)code) != NULL;
        Py_DECREF(code);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    return found;
}

void clp_recorder_look_for_running(struct clp_recorder *recorder, const PyCodeObject *code)
{
    PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());

    recorder->opened_late |= recorder->greenlets.met; /* those that are switched off are on no stack */
    for (; state != NULL && !recorder->opened_late; state = PyThreadState_Next(state))
        recorder->opened_late = runs_above(recorder, PyThreadState_GetFrame(state), code);
}
