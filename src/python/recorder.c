/* SPDX-License-Identifier: MIT */
#include "recorder.h"
#include "../core/processes.h"
#include "../core/reaping.h"
#include "../core/stacks.h"
#include "blocks.h"
#include "greenlets.h"
#include "hooks.h"
#include "names.h"

/* A line is not looked at for memory when it took less than this part of the quickest change of a
 * single page that was ever seen: none can have happened in it. At the start the processor may still
 * be at rest, or busy with others, and soon be quicker; so that is tried again, after 20 ms of the
 * program and each time twice as late, and only then is the part a large one. */
#define CHANGE_MARGIN_AT_START 0.6
#define CHANGE_MARGIN 0.85
#define FIRST_CHECK_NANOS 20e6

/* How old a thread's page faults and processor time may be at the start of a line; the second while
 * there is no other thread. */
#define FRESH_NANOS 8000
#define FRESH_NANOS_ALONE 512000

__thread struct clp_thread *clp_thread_here;

struct clp_selected *clp_recorder_new_selected(struct clp_recorder *recorder, PyObject *code,
                                               uint32_t function, struct clp_shape *shape)
{
    struct clp_selected *selected = clp_mem_alloc(&recorder->mem, 1, sizeof *selected);
    const struct clp_audience *audience = function == CLP_UNSELECTED
                                          ? &clp_nobody
                                          : clp_views_audience(&recorder->views, function);

    if (selected == NULL || audience == NULL) {
        clp_mem_free(&recorder->mem, selected, 1, sizeof *selected);
        clp_shape_clear(shape, &recorder->mem);
        PyErr_NoMemory();
        return NULL;
    }
    *selected = (struct clp_selected){.recorder = recorder,
                                      .code = code,
                                      .identity = (uintptr_t)code,
                                      .function = function,
                                      .audience = audience,
                                      .holders = 1,
                                      .shape = *shape};
    return selected;
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

void clp_recorder_code_gone(void *data)
{
    struct clp_selected *selected = data, *from = NULL;

    if (selected != NULL && selected->original != NULL)
        from = clp_recorder_selected(selected->recorder, selected->original);
    if (from != NULL && from->copy == selected->code)
        from->copy = NULL;
    if (selected != NULL)
        unlist_code(selected);
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
    clp_engine_end_thread(data);
}

static uint64_t rss_span(const struct clp_recorder *recorder)
{
    double quickest = (double)recorder->memory_check.change_ticks;

    return recorder->engine.with_rss ? (uint64_t)(quickest * recorder->change_margin)
                                     : UINT64_MAX;
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

bool clp_recorder_learn(struct clp_recorder *recorder)
{
    *recorder = (struct clp_recorder){.mem = clp_mem_system(), .proc.file = -1};
    if (!clp_opcodes_read(&recorder->opcodes))
        return false;
    recorder->knows_bytecode = clp_bytecode_init(&recorder->bytecode, PY_MINOR_VERSION) &&
                               clp_opcodes_agree(&recorder->bytecode);
    PyErr_Clear();
    return true;
}

bool clp_recorder_init(struct clp_recorder *recorder)
{
    clp_engine_init(&recorder->engine, &recorder->mem, &recorder->pages);
    clp_views_init(&recorder->views, &recorder->engine, &recorder->view_pages);
    recorder->engine.rss_span = UINT64_MAX;
    recorder->clock = clp_clock_start();
    recorder->started = clp_clock_wall();
    recorder->texts.began = clp_proc_began();
    recorder->start_nanos = clp_clock_monotonic();
    if (clp_thread_hook_init(&recorder->thread_hook, thread_ended) != CLP_OK) {
        PyErr_SetString(PyExc_RuntimeError, "clineprof: the system has no thread key left");
        return false;
    }
    recorder->code_slot = clp_compat_request_code_slot(clp_recorder_code_gone);
    if (recorder->code_slot < 0) {
        PyErr_SetString(PyExc_RuntimeError,
                        "clineprof: the interpreter has no room for data of code objects left");
        return false;
    }
    return true;
}

/* ---- memory ---- */

bool clp_recorder_open_memory(struct clp_recorder *recorder, enum clp_memory memory)
{
    if (recorder->proc.file >= 0 && recorder->proc.mode == memory)
        return true;
    clp_proc_close(&recorder->proc);
    if (clp_proc_open(&recorder->proc, memory) != CLP_OK)
        return true; /* there is no memory to be seen */
    recorder->memory_check = clp_proc_check(&recorder->proc, &recorder->clock);
    recorder->change_margin = CHANGE_MARGIN_AT_START;
    recorder->check_gap = (uint64_t)(FIRST_CHECK_NANOS / recorder->clock.rough_nanos);
    recorder->check_at = clp_clock_read(&recorder->clock) + recorder->check_gap;
    set_reach(recorder);
    if (!clp_engine_add_rss(&recorder->engine)) {
        PyErr_NoMemory();
        return false;
    }
    recorder->engine.rss_span = rss_span(recorder);
    (void)clp_hooks_install();
    return true;
}

/* The profiler's own part of what is counted. The live file's pages are of a file: no anonymous
 * memory, but this process alone has them. */
static uint64_t own_bytes(const struct clp_recorder *recorder)
{
    uint64_t bytes = recorder->pages.bytes + recorder->view_pages.bytes;

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
    if (recorder->proc.mode == CLP_MEMORY_TREE)
        *rss += (int64_t)clp_processes_resident_below();
    *shared = now.shared;
    return true;
}

/* What changed while nobody looked is nobody's. */
static void set_reading(struct clp_recorder *recorder, uint64_t span)
{
    int64_t rss = recorder->engine.rss;

    if (span != UINT64_MAX)
        (void)read_memory(recorder, &rss, &recorder->file_bytes);
    clp_engine_take_up_rss(&recorder->engine, rss, span);
}

void clp_recorder_begin_reading(struct clp_recorder *recorder)
{
    if (recorder->reading++ == 0)
        set_reading(recorder, rss_span(recorder));
}

void clp_recorder_end_reading(struct clp_recorder *recorder)
{
    if (--recorder->reading == 0)
        set_reading(recorder, UINT64_MAX);
}

/* What the thread has used since the last time: of processor time no more than has passed. */
static struct clp_thread_use take_use(struct clp_thread *thread, uint64_t now)
{
    struct clp_thread_use before = thread->use, *use = &thread->use;
    uint64_t passed = (uint64_t)((double)(now - thread->use_at) *
                                 clp_recorder_of(thread)->clock.rough_nanos);

    clp_thread_get_use(use);
    thread->use_at = now;
    uint64_t nanos = use->nanos - before.nanos;
    return (struct clp_thread_use){use->faults - before.faults, use->waits - before.waits,
                                   use->preemptions - before.preemptions,
                                   nanos < passed ? nanos : passed};
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

/* The thread's use behind it is without what this took. */
static void check_again(struct clp_recorder *recorder, struct clp_thread *thread, uint64_t now)
{
    uint64_t quickest = clp_proc_quickest_change(&recorder->proc, &recorder->clock);

    recorder->check_gap *= 2;
    recorder->check_at = now + recorder->check_gap;
    recorder->change_margin = CHANGE_MARGIN;
    if (quickest < recorder->memory_check.change_ticks)
        recorder->memory_check.change_ticks = quickest;
    clp_engine_set_rss_span(&recorder->engine, rss_span(recorder));
    (void)take_use(thread, now);
}

/* Memory of a process with one thread. Its use is wanted, not too old, as soon as a line makes a
 * second one. Its processor time is not asked for: on a busy machine the thread would lose the processor
 * behind the lines after which that is due, again and again, and they would seem long. */
static void note_rss_alone(struct clp_recorder *recorder, struct clp_thread *thread, int64_t rss,
                           uint64_t now)
{
    clp_engine_note_rss(thread, rss);
    if (now - thread->use_at < recorder->use_span_alone)
        return;
    clp_thread_get_counts(&thread->use);
    thread->use_at = now;
}

/* A second thread would change memory meanwhile. */
static bool is_check_due(const struct clp_recorder *recorder, uint64_t now)
{
    return now >= recorder->check_at && clp_thread_alone();
}

/* What is done beside a read, now and then; returns the ticks that it took. */
static uint64_t work_beside(struct clp_recorder *recorder, struct clp_thread *thread, uint64_t now)
{
    uint64_t start = clp_clock_read(&recorder->clock);

    if (is_check_due(recorder, now))
        check_again(recorder, thread, now);
    if (recorder->watch != NULL)
        clp_watch_read(recorder->watch, thread, now);
    return clp_clock_read(&recorder->clock) - start;
}

struct clp_moment clp_recorder_read_rss(struct clp_recorder *recorder, struct clp_thread *thread,
                                        uint64_t now)
{
    uint64_t files = recorder->file_bytes;
    int64_t rss;

    if (CLP_UNLIKELY(thread->unhooked)) {
        clp_greenlets_hook(recorder, thread);
        if (!clp_engine_wants_rss(thread, now))
            return (struct clp_moment){now, clp_clock_read(&recorder->clock) - now};
    }
    if (!read_memory(recorder, &rss, &recorder->file_bytes))
        rss = recorder->engine.rss;
    /* which thread a child process belongs to is not known: what it does is whose line sees it first */
    if (clp_thread_alone() || recorder->proc.mode == CLP_MEMORY_TREE)
        note_rss_alone(recorder, thread, rss, now);
    else
        share_rss(recorder, thread, rss,
                  recorder->file_bytes > files ? recorder->file_bytes - files : 0, now);
    thread->reads++;
    uint64_t end = clp_clock_read(&recorder->clock);
    uint64_t cost = clp_engine_read_cost(&recorder->engine, end - now);
    struct clp_moment moment = {end - cost, cost};
    if (CLP_UNLIKELY(recorder->watch != NULL || is_check_due(recorder, now)))
        moment.still += work_beside(recorder, thread, now);
    return moment;
}

/* What the watch takes is nobody's time; events that it had itself are. */
void clp_recorder_end_slow(struct clp_thread *thread, uint64_t still)
{
    const struct clp_recorder *recorder = clp_recorder_of(thread);

    clp_engine_stand_still(thread, still);
    if (CLP_UNLIKELY(recorder->watch != NULL) && recorder->blocks.walks == 0 &&
        clp_watch_recorded(recorder->watch))
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
        clp_greenlets_hook(recorder, clp_thread_here);
        (void)take_use(clp_thread_here, now);
        if (recorder->names_threads)
            clp_names_give(recorder, clp_thread_here);
    }
    return clp_thread_here;
}

void clp_recorder_forget(struct clp_recorder *recorder)
{
    bool with_rss = recorder->engine.with_rss;

    clp_thread_here = NULL;
    clp_thread_hook_set(&recorder->thread_hook, NULL);
    clp_views_forget(&recorder->views);
    clp_engine_clear(&recorder->engine);
    clp_engine_init(&recorder->engine, &recorder->mem, &recorder->pages);
    recorder->engine.with_rss = with_rss;
    recorder->engine.rss_span = recorder->reading != 0 ? rss_span(recorder) : UINT64_MAX;
    (void)clp_recorder_new_thread(recorder);
}

/* The file under /proc is still the parent's, and so is what the thread has used. */
static void take_up_memory(struct clp_recorder *recorder)
{
    enum clp_memory mode = recorder->proc.mode;

    if (recorder->proc.file < 0)
        return;
    clp_proc_close(&recorder->proc);
    (void)clp_proc_open(&recorder->proc, mode);
    recorder->check_at = clp_clock_read(&recorder->clock) + recorder->check_gap; /* it takes a while */
    if (recorder->reading != 0)
        set_reading(recorder, rss_span(recorder));
}

void clp_recorder_after_fork(struct clp_recorder *recorder)
{
    uint64_t now = clp_clock_read(&recorder->clock);

    for (struct clp_thread *thread = recorder->engine.threads; thread != NULL;
         thread = thread->next) {
        if (thread == clp_thread_here)
            continue;
        clp_engine_unwind(thread, now);
        clp_engine_end_thread(thread);
    }
    clp_engine_reap(&recorder->engine);
    if (clp_thread_here != NULL)
        (void)take_use(clp_thread_here, now);
    take_up_memory(recorder);
}

/* ---- functions ---- */

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

void clp_recorder_watch_calls(struct clp_recorder *recorder, bool watch)
{
    const struct clp_functions *functions = &recorder->engine.functions;

    recorder->watches_calls = watch;
    for (size_t i = 0; i < functions->count && i < recorder->views.room; i++)
        if (recorder->views.audiences[i] != NULL)
            recorder->views.audiences[i]->slow = watch || functions->items[i].generator;
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
    if (selected->recorder->names_threads && thread->group == 0)
        clp_names_give(selected->recorder, thread);
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

void clp_recorder_switch_stack(struct clp_recorder *recorder, struct clp_thread *thread,
                               const void *from, const void *to)
{
    struct clp_moment moment = clp_recorder_begin(recorder, thread);

    clp_engine_switch_stack(thread, from, to, moment.now);
    clp_recorder_end(thread, moment);
    recorder->blocks.lifted = false;
    /* it took time in proportion to the stacks */
    clp_engine_stand_still(thread, clp_clock_read(&recorder->clock) - thread->stopped - thread->last);
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
