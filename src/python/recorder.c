/* SPDX-License-Identifier: MIT */
#include "recorder.h"
#include "blocks.h"
#include "hooks.h"

/* A line is not looked at for memory when it took less than this part of the quickest change of a
 * single page that the self-check saw: none can have happened in it. */
#define CHANGE_MARGIN 0.6

/* How old a thread's page faults and processor time may be at the start of a line; the second while
 * there is no other thread. */
#define FRESH_NANOS 8000
#define FRESH_NANOS_ALONE 512000

__thread struct clp_thread *clp_thread_here;

struct clp_selected *clp_recorder_new_selected(struct clp_recorder *recorder, const void *code,
                                               uint32_t function, const struct clp_shape *shape)
{
    struct clp_selected *selected = clp_mem_alloc(&recorder->mem, 1, sizeof *selected);

    if (selected == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    *selected = (struct clp_selected){.recorder = recorder,
                                      .code = code,
                                      .identity = (uintptr_t)code,
                                      .function = function,
                                      .holders = 1,
                                      .shape = *shape};
    return selected;
}

void clp_recorder_code_gone(void *data)
{
    const struct clp_selected *selected = data;
    struct clp_selected *from = NULL;

    if (selected != NULL && selected->original != NULL)
        from = clp_recorder_selected(selected->recorder, selected->original);
    if (from != NULL && from->copy == selected->code)
        from->copy = NULL;
    clp_recorder_drop_selected(data);
}

void clp_recorder_drop_selected(void *data)
{
    struct clp_selected *selected = data;

    if (selected == NULL || --selected->holders > 0)
        return;
    Py_XDECREF(selected->original);
    clp_shape_clear(&selected->shape, &selected->recorder->mem);
    clp_mem_free(&selected->recorder->mem, selected, 1, sizeof *selected);
}

/* The system's thread is gone and holds no lock here: only say so, somebody else reaps. */
static void thread_ended(void *data)
{
    clp_thread_here = NULL; /* what else the thread allocates or frees is nobody's */
    ((struct clp_thread *)data)->ended = true;
}

static void set_rss_span(struct clp_recorder *recorder)
{
    double quickest = (double)recorder->memory_check.change_ticks;

    recorder->engine.rss_span =
        recorder->engine.with_rss ? (uint64_t)(quickest * CHANGE_MARGIN) : UINT64_MAX;
}

static void set_reach(struct clp_recorder *recorder)
{
    double nanos_per_tick = recorder->clock.rough_nanos;

    recorder->reach = (struct clp_reach_facts){
        .page = recorder->proc.page_bytes,
        .fault = clp_proc_fault_bytes(),
        .huge = clp_proc_huge_page(),
        .release_nanos = (double)recorder->memory_check.release_ticks * nanos_per_tick,
    };
    recorder->use_span = (uint64_t)(FRESH_NANOS / nanos_per_tick);
    recorder->use_span_alone = (uint64_t)(FRESH_NANOS_ALONE / nanos_per_tick);
}

bool clp_recorder_init(struct clp_recorder *recorder, enum clp_memory memory)
{
    *recorder = (struct clp_recorder){.mem = clp_mem_system(), .proc.file = -1};
    clp_engine_init(&recorder->engine, &recorder->mem, &recorder->pages);
    clp_thread_here = NULL; /* an earlier recorder's */
    recorder->clock = clp_clock_start();
    recorder->started = clp_clock_wall();
    recorder->start_nanos = clp_clock_monotonic();
    if (clp_thread_hook_init(&recorder->thread_hook, thread_ended) != CLP_OK) {
        PyErr_SetString(PyExc_RuntimeError, "clineprof: the system has no thread key left");
        return false;
    }
    if (!clp_opcodes_read(&recorder->opcodes))
        return false;
    recorder->knows_bytecode = clp_bytecode_init(&recorder->bytecode, PY_MINOR_VERSION) &&
                               clp_opcodes_agree(&recorder->bytecode);
    PyErr_Clear();
    recorder->code_slot = clp_compat_request_code_slot(clp_recorder_code_gone);
    if (recorder->code_slot < 0) {
        PyErr_SetString(PyExc_RuntimeError,
                        "clineprof: the interpreter has no room for data of code objects left");
        return false;
    }
    if (memory != CLP_MEMORY_OFF && clp_proc_open_for(&recorder->proc, memory) == CLP_OK) {
        recorder->memory_check = clp_proc_check(&recorder->proc, &recorder->clock);
        recorder->engine.with_rss = true;
        set_reach(recorder);
    }
    set_rss_span(recorder);
    if (recorder->engine.with_rss)
        (void)clp_hooks_install();
    return true;
}

/* The profiler's own part of what is counted. The live file's pages are of a file: no anonymous
 * memory, but this process alone has them. */
static uint64_t own_bytes(const struct clp_recorder *recorder)
{
    uint64_t bytes = recorder->pages.bytes;

    if (recorder->proc.mode == CLP_MEMORY_ANON)
        bytes -= recorder->pages.filed;
    if (recorder->heap != NULL)
        bytes += __atomic_load_n(&recorder->heap->pages.bytes, __ATOMIC_RELAXED);
    for (size_t i = 0; i < sizeof recorder->helpers / sizeof *recorder->helpers; i++)
        if (recorder->helpers[i] != NULL)
            bytes += __atomic_load_n(&recorder->helpers[i]->bytes, __ATOMIC_RELAXED);
    return bytes;
}

/* The program's memory as it is counted, and how much of it is of files. */
static bool read_memory(const struct clp_recorder *recorder, int64_t *rss, uint64_t *shared)
{
    struct clp_resident now;

    if (!recorder->engine.with_rss || clp_proc_read(&recorder->proc, &now) != CLP_OK)
        return false;
    *rss = (int64_t)now.counted - (int64_t)own_bytes(recorder);
    *shared = now.shared;
    return true;
}

/* What the thread has used since the last time. */
static struct clp_thread_use take_use(struct clp_thread *thread, uint64_t now)
{
    struct clp_thread_use before = thread->use, *use = &thread->use;

    clp_thread_get_use(use);
    thread->use_at = now;
    return (struct clp_thread_use){use->faults - before.faults, use->waits - before.waits,
                                   use->preemptions - before.preemptions,
                                   use->nanos - before.nanos};
}

/* Where nothing has changed there is nothing to share, and short lines need not be asked for their
 * use one by one: a thread's next change may then be taken for a little more its own. */
static void share_rss(const struct clp_recorder *recorder, struct clp_thread *thread, int64_t rss,
                      uint64_t of_files, uint64_t now)
{
    if (clp_engine_is_settled(thread, rss) && now - thread->use_at < recorder->use_span)
        return;
    struct clp_thread_use use = take_use(thread, now);
    clp_engine_share_rss(thread, rss, clp_reach_of(&recorder->reach, &use, of_files));
}

/* Its use is wanted, not too old, as soon as a line makes the second thread. */
static void note_rss_alone(const struct clp_recorder *recorder, struct clp_thread *thread,
                           int64_t rss, uint64_t now)
{
    clp_engine_note_rss(thread, rss);
    if (now - thread->use_at >= recorder->use_span_alone)
        (void)take_use(thread, now);
}

uint64_t clp_recorder_read_rss(struct clp_recorder *recorder, struct clp_thread *thread,
                               uint64_t now)
{
    uint64_t files = recorder->file_bytes;
    int64_t rss;

    if (!read_memory(recorder, &rss, &recorder->file_bytes))
        rss = recorder->engine.rss;
    if (clp_thread_alone())
        note_rss_alone(recorder, thread, rss, now);
    else
        share_rss(recorder, thread, rss,
                  recorder->file_bytes > files ? recorder->file_bytes - files : 0, now);
    thread->reads++;
    if (CLP_UNLIKELY(recorder->watch != NULL))
        clp_watch_read(recorder->watch, thread, now);
    return clp_clock_read(&recorder->clock) - now;
}

/* What the watch takes is nobody's time; events that it had itself are. */
void clp_recorder_end_slow(struct clp_thread *thread, uint64_t still)
{
    const struct clp_recorder *recorder = clp_recorder_of(thread);

    clp_engine_stand_still(thread, still);
    if (CLP_UNLIKELY(recorder->watch != NULL) && clp_watch_recorded(recorder->watch))
        clp_engine_stand_still(thread, clp_clock_read(&recorder->clock) - thread->stopped -
                                           thread->last);
}

struct clp_thread *clp_recorder_new_thread(struct clp_recorder *recorder)
{
    clp_engine_reap(&recorder->engine);
    int64_t rss = recorder->engine.rss;
    uint64_t now = clp_clock_read(&recorder->clock);

    (void)read_memory(recorder, &rss, &recorder->file_bytes);
    clp_thread_here = clp_engine_new_thread(&recorder->engine, now, rss);
    if (clp_thread_here != NULL) {
        clp_thread_here->allocating.left = -1; /* the first block asks whether there is a table */
        clp_thread_hook_set(&recorder->thread_hook, clp_thread_here);
        (void)take_use(clp_thread_here, now);
    }
    return clp_thread_here;
}

void clp_recorder_forget(struct clp_recorder *recorder)
{
    bool with_rss = recorder->engine.with_rss;

    clp_thread_here = NULL;
    clp_thread_hook_set(&recorder->thread_hook, NULL);
    clp_engine_clear(&recorder->engine);
    clp_engine_init(&recorder->engine, &recorder->mem, &recorder->pages);
    recorder->engine.with_rss = with_rss;
    set_rss_span(recorder);
    (void)clp_recorder_new_thread(recorder);
}

static void note_code(struct clp_activation *activation, const struct clp_selected *selected)
{
    if (activation != NULL)
        activation->code = selected->identity;
}

/* Makes the thread's counters for the function: page faults that are not the program's. */
static struct clp_activation *enter_first(const struct clp_selected *selected,
                                          struct clp_thread *thread, const void *frame,
                                          uint64_t now)
{
    struct clp_thread_use before, after;

    clp_thread_get_use(&before);
    struct clp_activation *activation =
        clp_engine_enter(thread, selected->function, frame, now);
    clp_thread_get_use(&after);
    thread->use.faults += after.faults - before.faults;
    thread->use.nanos += after.nanos - before.nanos;
    return activation;
}

/* The activation, or NULL; the clock is still to be told when it may go on. */
static struct clp_activation *enter(const struct clp_selected *selected,
                                    struct clp_thread *thread, const void *frame,
                                    struct clp_moment *moment)
{
    bool first = !clp_engine_has_block(thread, selected->function);

    if (CLP_UNLIKELY(selected->recorder->watches_calls))
        clp_recorder_note_call(selected->recorder, selected->function);
    struct clp_activation *activation =
        first ? enter_first(selected, thread, frame, moment->now)
              : clp_engine_enter(thread, selected->function, frame, moment->now);

    note_code(activation, selected);
    if (CLP_UNLIKELY(first))
        moment->still = clp_clock_read(&selected->recorder->clock) - moment->now;
    return activation;
}

void clp_recorder_enter(const struct clp_selected *selected, struct clp_thread *thread,
                        const void *frame)
{
    struct clp_moment moment = clp_recorder_begin(selected->recorder, thread);

    (void)enter(selected, thread, frame, &moment);
    clp_recorder_end(thread, moment);
}

void clp_recorder_enter_line(const struct clp_selected *selected, struct clp_thread *thread,
                             const void *frame, int32_t line)
{
    struct clp_moment moment = clp_recorder_begin(selected->recorder, thread);

    if (enter(selected, thread, frame, &moment) != NULL)
        clp_engine_line(thread, line, moment.now);
    clp_recorder_end(thread, moment);
}

void clp_recorder_resume(const struct clp_selected *selected, struct clp_thread *thread,
                         const void *frame)
{
    struct clp_recorder *recorder = selected->recorder;

    clp_blocks_lift(recorder, thread); /* they may have been told of it already */
    struct clp_moment moment = clp_recorder_begin(recorder, thread);
    note_code(clp_engine_resume(thread, selected->function, frame, moment.now), selected);
    clp_recorder_end(thread, moment);
    clp_blocks_lower(recorder, thread);
}

void clp_recorder_leave(struct clp_thread *thread)
{
    struct clp_moment moment = clp_recorder_begin(clp_recorder_of(thread), thread);

    clp_engine_leave(thread, moment.now);
    clp_recorder_end(thread, moment);
    clp_recorder_of(thread)->blocks.lifted = false; /* of a body that is gone */
}

void clp_recorder_last_line(struct clp_thread *thread, int32_t line)
{
    struct clp_moment moment = clp_recorder_begin(clp_recorder_of(thread), thread);

    clp_engine_last_line(thread, line, moment.now);
    clp_recorder_end(thread, moment);
    clp_recorder_of(thread)->blocks.lifted = false;
}

void clp_recorder_suspend(struct clp_thread *thread)
{
    struct clp_moment moment = clp_recorder_begin(clp_recorder_of(thread), thread);

    clp_engine_suspend(thread, moment.now);
    clp_recorder_end(thread, moment);
    clp_recorder_of(thread)->blocks.lifted = false; /* they are suspended with it */
}

bool clp_recorder_align(const struct clp_selected *selected, struct clp_thread *thread,
                        const void *frame)
{
    clp_blocks_lift(selected->recorder, thread);
    struct clp_activation *activation = clp_engine_align(
        thread, selected->function, frame, clp_clock_read(&selected->recorder->clock));

    note_code(activation, selected);
    return activation != NULL;
}
