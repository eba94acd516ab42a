/* SPDX-License-Identifier: MIT */
#include "torch_names.h"
#include "bridge/console.h"
#include "cpython/recorder/own_work.h"
#include "cpython/tracers/block_events.h"
#include "cpython/windows/blocks.h"
#include "cpython/windows/record_calls.h"
#include "engine/engine.h"
#include "frame_of_with.h"

static struct clp_recorder *recorder; /* borrowed: of the process */
static struct clp_profiler *profilers; /* borrowed: the list of those that want blocks */
static _Thread_local bool ignored;

/* ---- who wants blocks ---- */

/* The first profiler that takes blocks now and does not have this function. NULL: there is none. */
static struct clp_profiler *without(uint32_t function)
{
    struct clp_profiler *self = profilers;

    while (self != NULL && !(clp_profiler_takes_blocks(self) && !clp_view_has(&self->window.view, function)))
        self = self->next_named;
    return self;
}

/* Adds the function of a block to all of them. The list is read again each time, because others may change it. */
static void add_to_all(uint32_t function)
{
    struct clp_profiler *self;
    bool done = true;

    while (done && (self = without(function)) != NULL) {
        done = clp_code_window_hold(&self->window);
        if (done) {
            done = clp_code_window_add(&self->window, function, true);
            clp_code_window_release(&self->window);
        }
    }
}

/* ---- a bound ---- */

/* Is there a block of this name in the frame's line already? */
static bool is_known(PyFrameObject *frame, PyObject *name)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    const char *file = PyUnicode_AsUTF8(code->co_filename), *text = PyUnicode_AsUTF8(name);
    const struct clp_function wanted = {.file = (char *)(uintptr_t)file,
                                        .name = (char *)(uintptr_t)text,
                                        .first_line = PyFrame_GetLineNumber(frame)};
    uint64_t at = 0;
    bool known = file != NULL && text != NULL && clp_functions_next_version(&recorder->engine.functions, &wanted, &at) != NULL;

    Py_DECREF(code);
    return known;
}

/* May the block come? False: there are too many, of which one line tells. */
static bool has_room(size_t made, PyFrameObject *frame, PyObject *name)
{
    static bool complained;

    if (made < CLP_TORCH_NAMES_MOST || is_known(frame, name))
        return true;
    if (!complained)
        clp_console_complain("clineprof", "the program has more than 1000 different names of record_function; further "
                                          "ones are no blocks");
    complained = true;
    return false;
}

/* ---- blocks ---- */

static bool runs_in_any_thread(const struct clp_stay *stay)
{
    const struct clp_thread *thread = recorder->engine.threads;

    while (thread != NULL &&
           (__atomic_load_n(&thread->ended, __ATOMIC_ACQUIRE) || !clp_engine_is_running(thread, stay)))
        thread = thread->next;
    return thread != NULL;
}

/* The newest block whose record_function is gone without having ended, and whose body is over. */
static struct clp_stay *abandoned(void)
{
    struct clp_stay *stay = recorder->blocks.stays;

    for (; stay != NULL; stay = stay->next) {
        PyObject *record = stay->record != NULL ? clp_compat_referent(stay->record) : NULL;
        bool gone = stay->record != NULL && record == NULL;
        Py_XDECREF(record);
        if (gone && !runs_in_any_thread(stay))
            break;
    }
    return stay;
}

static void forget_abandoned(void)
{
    struct clp_stay *stay;

    while ((stay = abandoned()) != NULL)
        clp_blocks_forget(stay);
}

static struct clp_stay *open_block(struct clp_profiler *self, PyFrameObject *frame, PyObject *name, PyObject *record)
{
    static size_t made;
    size_t before = recorder->engine.functions.count;

    forget_abandoned();
    if (!clp_profiler_takes_blocks(self) || !has_room(made, frame, name))
        return NULL;
    struct clp_stay *stay = clp_blocks_open(&self->window, frame, name);
    made += recorder->engine.functions.count > before;
    if (stay != NULL) {
        add_to_all(stay->selected->function);
        stay->record = PyWeakref_NewRef(record, NULL);
    }
    return stay;
}

static void begin_block(struct clp_profiler *self, PyFrameObject *frame, PyObject *name, PyObject *record)
{
    struct clp_own_work work = clp_own_work_begin(recorder);
    struct clp_stay *stay = open_block(self, frame, name, record);

    clp_own_work_end(recorder, work);
    if (stay != NULL)
        clp_blocks_begin(stay);
}

static void record_begun(PyObject *name, PyObject *record)
{
    struct clp_profiler *self = ignored ? NULL : without(CLP_UNSELECTED);

    if (self == NULL || !PyUnicode_Check(name))
        return;
    PyFrameObject *frame = clp_frame_of_with();
    if (frame != NULL && !clp_frame_is_within(frame, "torch") && clp_profiler_takes_blocks(self))
        begin_block(self, frame, name, record);
    PyErr_Clear();
    Py_XDECREF(frame);
}

static struct clp_stay *block_of(const PyObject *record)
{
    struct clp_stay *stay = recorder->blocks.stays;

    for (; stay != NULL; stay = stay->next) {
        PyObject *its = stay->record != NULL ? clp_compat_referent(stay->record) : NULL;
        Py_XDECREF(its);
        if (its != NULL && its == record)
            break;
    }
    return stay;
}

static void record_ends(PyObject *record)
{
    struct clp_stay *stay = block_of(record);

    if (stay != NULL)
        clp_blocks_close(stay);
}

static const struct clp_record_listener listener = {record_begun, record_ends};

void clp_torch_names_start(struct clp_profiler *self)
{
    recorder = self->window.recorder;
    self->next_named = profilers;
    profilers = self;
    clp_record_calls_tell(&listener);
}

void clp_torch_names_stop(struct clp_profiler *self)
{
    struct clp_profiler **link = &profilers;

    while (*link != NULL && *link != self)
        link = &(*link)->next_named;
    if (*link != NULL)
        *link = self->next_named;
}

bool clp_torch_names_ignore(bool now)
{
    bool before = ignored;

    ignored = now;
    return before;
}
