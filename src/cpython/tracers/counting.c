/* SPDX-License-Identifier: MIT */
#include "counting.h"
#include "cpython/recorder/counted_code.h"
#include "engine/parts.h"
#include "engine/threads.h"
#include "counted_blocks.h"
#include "probe_copies.h"
#include "probe_events.h"

#if CLP_HAS_PROBES

/* ---- counters ---- */

/* A counter: a constant in a copy of code. It is half a cache line long, and what it counts stands beside other counts: where
 * many short functions run in turn, the processor's caches decide what counting costs. */
struct counter {
    PyObject_HEAD
    struct clp_selected *selected; /* counts as one of its holders */
    uint64_t *count;               /* borrowed from its ways */
};

static void counter_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    clp_recorder_drop_selected(((struct counter *)self)->selected);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *count(PyObject *self)
{
    ++*((struct counter *)self)->count;
    Py_RETURN_NONE;
}

/* Counts as an iterator that has ended. */
static PyObject *count_and_end(PyObject *self)
{
    ++*((struct counter *)self)->count;
    return NULL;
}

static PyObject *count_asked(PyObject *self, PyObject *raised)
{
    const struct counter *counter = (const struct counter *)self;
    const struct clp_counted *counted = counter->selected->counted;

    if (clp_probe_line_of_raised(counter->selected, raised) != counted->asked[counter->count - counted->ways->counters])
        ++*counter->count;
    Py_RETURN_NONE;
}

static PyType_Slot counter_slots[] = {
    {Py_nb_negative, (void *)count},
    {Py_tp_iternext, (void *)count_and_end},
    {Py_nb_add, (void *)count_asked},
    {Py_tp_dealloc, (void *)counter_free},
    {Py_tp_methods, clp_probe_copies_methods},
    {0, NULL},
};

static PyType_Spec counter_spec = {
    .name = "clineprof._core.Counter",
    .basicsize = sizeof(struct counter),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = counter_slots,
};

static PyObject *make_counter(const struct clp_probe_copying *copying, struct clp_selected *copy, size_t number)
{
    if (copy->counted == NULL)
        copy->counted = clp_counted_new(copy->recorder, copy->function, &copy->shape, copying->rewritten);
    if (copy->counted == NULL)
        return NULL;
    struct counter *counter = PyObject_New(struct counter, (PyTypeObject *)(uintptr_t)copying->context);
    if (counter == NULL)
        return NULL;
    copy->holders++;
    counter->selected = copy;
    counter->count = &copy->counted->ways->counters[number];
    return (PyObject *)counter;
}

/* ---- the tracer ---- */

static struct clp_selected *owner(PyCodeObject *code)
{
    PyObject *last = clp_probe_copies_last(code);

    return Py_TYPE(last)->tp_dealloc == counter_free ? ((struct counter *)last)->selected : NULL;
}

static enum clp_selection select_code(struct clp_recorder *recorder, PyCodeObject *code,
                                      struct clp_selected *selected, const char **reason)
{
    struct clp_probe_copying copying = {
        .insert = CLP_INSERT_COUNTS, .make = make_counter, .context = recorder->probe_state};

    if (clp_ways_pile_up(&recorder->engine))
        clp_counting_look(recorder);
    enum clp_selection outcome = clp_probe_copies_select(recorder, code, selected, &copying, reason);
    if (outcome == CLP_SELECTION_DONE && selected->function != CLP_UNSELECTED) {
        const struct clp_selected *copy = owner((PyCodeObject *)selected->copy);
        clp_counted_begin(recorder, copy->counted, selected->copy, copy->function, &copy->shape);
    }
    return outcome;
}

static bool start(struct clp_recorder *recorder)
{
    if (!clp_probe_copies_known(recorder))
        return false;
    recorder->probe_state = PyType_FromSpec(&counter_spec);
    if (recorder->probe_state == NULL)
        return false;
    if (recorder->stack_sampler.engine == NULL)
        clp_stack_sampler_init(&recorder->stack_sampler, &recorder->engine, &recorder->pages, &recorder->clock);
    (void)clp_engine_add_parts(&recorder->engine, CLP_PART_LIGHT);
    recorder->engine.views = &recorder->views;
    clp_counted_blocks_start(recorder);
    return true;
}

static void stop(struct clp_recorder *recorder)
{
    PyObject *type = recorder->probe_state;

    clp_stack_sampler_stop(&recorder->stack_sampler);
    recorder->probe_state = NULL;
    Py_XDECREF(type);
}

const struct clp_tracer clp_tracer_counting = {
    .name = CLP_TRACER_LIGHT,
    .start = start,
    .stop = stop,
    .select = select_code,
    .install = clp_probe_copies_install,
    .owner = owner,
};

/* ---- bodies that run ---- */

struct running {
    struct clp_recorder *recorder;
    struct clp_ways_running *items; /* owned */
    size_t count, room;
    bool failed;
};

static void add_body(struct running *running, const struct clp_counted *counted, int offset)
{
    uint32_t node = offset >= 0 ? clp_counted_node(counted, offset) : CLP_FLOW_OUTSIDE;

    if (node == CLP_FLOW_OUTSIDE)
        return;
    if (running->count == running->room &&
        clp_mem_grow(&running->recorder->mem, (void **)&running->items, &running->room, running->room * 2 + 64,
                     sizeof *running->items) != CLP_OK) {
        running->failed = true;
        return;
    }
    running->items[running->count++] = (struct clp_ways_running){counted->ways, node};
}

/* Adds the bodies of a thread. Takes over the frame, which may be NULL. */
static void add_bodies(struct running *running, PyFrameObject *frame)
{
    while (frame != NULL) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        PyCodeObject *code = PyFrame_GetCode(frame);
        const struct clp_selected *selected = owner(code);
        if (selected != NULL && selected->counted != NULL)
            add_body(running, selected->counted, PyFrame_GetLasti(frame));
        Py_DECREF(code);
        Py_DECREF(frame);
        frame = back;
    }
}

/* Adds the bodies of greenlets that are switched off: they are on no thread's stack. */
static void add_greenlets(struct running *running)
{
    PyObject *objects = clp_compat_collector("get_objects", NULL);

    for (Py_ssize_t i = 0; objects != NULL && i < PySequence_Fast_GET_SIZE(objects); i++) {
        PyObject *object = PySequence_Fast_GET_ITEM(objects, i), *frame = NULL;
        if (strcmp(Py_TYPE(object)->tp_name, "greenlet.greenlet") == 0 || strcmp(Py_TYPE(object)->tp_name, "greenlet") == 0)
            frame = PyObject_GetAttrString(object, "gr_frame"); /* a C getter; None: it runs, or has ended */
        if (frame != NULL && PyFrame_Check(frame))
            add_bodies(running, (PyFrameObject *)Py_NewRef(frame));
        Py_XDECREF(frame);
    }
    PyErr_Clear();
    Py_XDECREF(objects);
}

static void find_running(struct running *running)
{
    PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Main());
    bool collected = clp_compat_stop_collecting(); /* frames become objects here */

    for (; state != NULL; state = PyThreadState_Next(state))
        add_bodies(running, PyThreadState_GetFrame(state));
    if (running->recorder->greenlets.met)
        add_greenlets(running);
    clp_compat_collect_again(collected);
}

/* Looks at the counters of this function, or of all functions (NULL). */
static void look(struct clp_recorder *recorder, const uint32_t *function)
{
    struct clp_engine *engine = &recorder->engine;
    struct running running = {.recorder = recorder};

    if (engine->counted == NULL)
        engine->counted = clp_engine_new_thread(engine, clp_clock_read(&recorder->clock), engine->rss);
    find_running(&running);
    if (engine->counted == NULL || running.failed ||
        clp_ways_settle(engine->counted, function, running.items, running.count) != CLP_OK)
        engine->lost = true;
    if (engine->counted != NULL)
        clp_stack_sampler_settle(&recorder->stack_sampler, engine->counted);
    clp_mem_free(&recorder->mem, running.items, running.room, sizeof *running.items);
}

void clp_counting_look(struct clp_recorder *recorder)
{
    if (recorder->engine.ways != NULL)
        look(recorder, NULL);
}

void clp_counting_look_at(struct clp_recorder *recorder, uint32_t function)
{
    if (clp_ways_has(&recorder->engine, function))
        look(recorder, &function);
}

void clp_counting_rest(struct clp_recorder *recorder)
{
    if (recorder->tracer == &clp_tracer_counting)
        clp_stack_sampler_stop(&recorder->stack_sampler);
}

void clp_counting_wake(struct clp_recorder *recorder)
{
    if (recorder->tracer == &clp_tracer_counting)
        (void)clp_stack_sampler_start(&recorder->stack_sampler);
}

#else

void clp_counting_rest(struct clp_recorder *recorder)
{
    (void)recorder;
}

void clp_counting_wake(struct clp_recorder *recorder)
{
    (void)recorder;
}

void clp_counting_look(struct clp_recorder *recorder)
{
    (void)recorder;
}

void clp_counting_look_at(struct clp_recorder *recorder, uint32_t function)
{
    (void)recorder, (void)function;
}

#endif
