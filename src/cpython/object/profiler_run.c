/* SPDX-License-Identifier: MIT */
#include "profiler_run.h"
#include "engine/tallies.h"
#include "formats/live/live_leaks.h"
#include "heap/heap_results.h"
#include "profile/snapshot.h"
#include "cpython/recorder/gc_calls.h"
#include "cpython/recorder/heap_table.h"
#include "cpython/recorder/leak_looks.h"
#include "cpython/recorder/line_log.h"
#include "cpython/recorder/names.h"
#include "cpython/memory/holders.h"
#include "cpython/memory/native.h"
#include "cpython/recorder/cpu_time.h"
#include "cpython/recorder/device_time.h"
#include "engine/called.h"
#include "engine/devices.h"
#include "cpython/recorder/program_counters.h"
#include "cpython/recorder/tensor_reads.h"
#include "profile/named.h"
#include "cpython/recorder/own_work.h"
#include "cpython/recorder/recorder.h"
#include "setup.h"
#include "cpython/code/text_search.h"
#include "cpython/tracers/tracer.h"
#include "cpython/tracers/counting.h"
#include <unistd.h>

/* Writes the interpreter's version, such as "3.12.1". */
static void add_version(char *text, size_t room)
{
    (void)snprintf(text, room, "%.20s", Py_GetVersion());
    text[strcspn(text, " ")] = 0;
}

PyObject *clp_profiler_prepare(PyObject *profiler, PyObject *code,
                               const struct clp_chooser *chooser, PyObject *globals)
{
    struct clp_profiler *self = clp_profiler_of(profiler);
    struct clp_recorder *recorder = self->window.recorder;

    if (recorder == NULL || self->ended)
        return Py_NewRef(code);
    struct clp_own_work work = clp_own_work_begin(recorder);
    PyObject *prepared = clp_prepare_code(&self->window, code, chooser, globals);
    clp_own_work_end(recorder, work);
    return prepared;
}

bool clp_profiler_exchanges_code(PyObject *profiler)
{
    (void)profiler;
    return clp_process_recorder()->tracer->install != NULL;
}

bool clp_profiler_prepare_function(PyObject *profiler, PyObject *function,
                                   const struct clp_chooser *chooser)
{
    struct clp_profiler *self = clp_profiler_of(profiler);
    struct clp_recorder *recorder = self->window.recorder;

    if (recorder == NULL || self->ended)
        return true;
    struct clp_own_work work = clp_own_work_begin(recorder);
    bool done = clp_prepare_function(&self->window, function, chooser);
    clp_own_work_end(recorder, work);
    return done;
}

const char *clp_process_misses_cython(void)
{
    return clp_cython_missing(clp_process_recorder());
}

bool clp_profiler_select_cython(PyObject *profiler, const struct clp_cython_key *key, PyObject *path, PyObject *text,
                                int32_t last_line)
{
    struct clp_profiler *self = clp_profiler_of(profiler);
    struct clp_recorder *recorder = self->window.recorder;

    if (recorder == NULL || self->ended)
        return true;
    struct clp_own_work work = clp_own_work_begin(recorder);
    bool done = clp_cython_select_at(&self->window, key, path, text, last_line);
    clp_own_work_end(recorder, work);
    return done;
}

/* The reading of the recorder's clock at which the profiler began. */
static uint64_t began_ticks(const struct clp_profiler *self)
{
    const struct clp_clock *clock = &self->window.recorder->clock;
    double nanos = (double)(int64_t)(self->start_nanos - clock->start_nanos);

    return nanos > 0 ? clock->start_ticks + clp_clock_ticks(clock, nanos) : clock->start_ticks;
}

/* What is counted for the window besides times, a sum of enum clp_part. */
static uint32_t parts_of(const struct clp_code_window *window)
{
    return (window->memory ? CLP_PART_MEMORY : 0) |
           (window->recorder->engine.parts & (CLP_PART_TALLIES | CLP_PART_CALLED | CLP_PART_DEVICES | CLP_PART_LIGHT));
}

static bool counts_device_time(const struct clp_code_window *window)
{
    return (window->devices & CLP_DEVICE_TIME) != 0 && clp_device_time_began();
}

static void start_header(const struct clp_profiler *self, struct clp_live_header *header)
{
    const struct clp_recorder *recorder = self->window.recorder;

    *header = (struct clp_live_header){
        .start = self->started,
        .start_nanos = self->start_nanos,
        .counter = recorder->clock.counter,
        .parts = parts_of(&self->window),
        .rough_nanos = recorder->clock.rough_nanos,
        .start_ticks = recorder->clock.start_ticks,
        .began = began_ticks(self),
        .clock_nanos = recorder->clock.start_nanos,
        .costs = recorder->engine.costs,
        .cost_error = recorder->cost_error,
    };
    if (self->window.memory && !recorder->memory_check.exact)
        header->memory_step = recorder->memory_check.step;
    header->memory = recorder->proc.mode;
    header->source = self->source;
    header->cpu = !self->window.cpu ? 0 : recorder->with_queue ? 2 : 1;
    header->tallies = self->window.tallies;
    header->called = self->window.called;
    clp_program_counters_fill(header);
    clp_devices_names(header->devices);
    header->device_time = counts_device_time(&self->window);
    clp_identity_here(&header->who);
    header->user = clp_identity_user();
    add_version(header->python, sizeof header->python);
    (void)snprintf(header->tracer, sizeof header->tracer, "%s", recorder->tracer->name);
}

void clp_profiler_note_destination(PyObject *profiler, const char *path)
{
    Py_XSETREF(clp_profiler_of(profiler)->destination, PyUnicode_DecodeFSDefault(path));
    PyErr_Clear();
}

void clp_profiler_choose_within(PyObject *profiler, const struct clp_chooser *chooser)
{
    clp_profiler_of(profiler)->window.within = chooser;
}

bool clp_profiler_note_left_out(PyObject *profiler)
{
    struct clp_profiler *self = clp_profiler_of(profiler);

    if (self->left_out == NULL)
        self->left_out = PyList_New(0);
    return self->left_out != NULL;
}

PyObject *clp_profiler_left_out(PyObject *profiler)
{
    return clp_profiler_of(profiler)->left_out;
}

bool clp_profiler_logs_lines(PyObject *profiler)
{
    return clp_profiler_of(profiler)->window.line_log;
}

bool clp_profiler_seeks_leaks(PyObject *profiler)
{
    return clp_profiler_of(profiler)->has_heap && clp_process_recorder()->epochs.kind != CLP_EPOCHS_NONE;
}

clp_status clp_profiler_line_log(PyObject *profiler, struct clp_profile *profile)
{
    const struct clp_code_window *window = &clp_profiler_of(profiler)->window;

    return window->line_log ? clp_line_log_fill(window->recorder, &window->view, profile) : CLP_OK;
}

bool clp_profiler_may_go_live(PyObject *profiler)
{
    return clp_process_recorder()->live.pages == NULL && clp_profiler_of(profiler)->window.view.count == 0;
}

clp_status clp_profiler_go_live(PyObject *profiler, const struct clp_go_live *wish,
                                struct clp_fault *fault)
{
    struct clp_profiler *self = clp_profiler_of(profiler);
    struct clp_recorder *recorder = clp_process_recorder();
    struct clp_live_header header;

    start_header(self, &header);
    header.run = wish->run;
    header.inherited = self->window.view.base;
    recorder->pages.rights = wish->rights;
    clp_status status = clp_live_open(&recorder->live, &recorder->pages, &recorder->mem, wish->path,
                                      &header, fault);
    if (status != CLP_OK)
        return status;
    if ((status = clp_live_adopt(&recorder->live, &recorder->engine, fault)) != CLP_OK) {
        clp_pages_remove(&recorder->pages, wish->path);
        clp_live_close(&recorder->live);
        return status;
    }
    clp_live_note_command(&recorder->live, wish->command);
    recorder->engine.callee_names.added = clp_live_note_callee;
    recorder->engine.callee_names.listener = &recorder->live;
    recorder->engine.functions.added = clp_live_note_function;
    recorder->engine.functions.listener = &recorder->live;
    recorder->live_window = &self->window;
    self->window.view.pool = &recorder->engine.pool;
    clp_source_cache_tell_live(&recorder->texts, self->source);
    return CLP_OK;
}

clp_status clp_profiler_fork_live(PyObject *profiler, const char *path, uint64_t parent,
                                  struct clp_fault *fault)
{
    struct clp_profiler *self = clp_profiler_of(profiler);
    struct clp_recorder *recorder = clp_process_recorder();
    struct clp_live_header header;

    clp_recorder_after_fork(recorder);
    clp_heap_table_after_fork(recorder);
    uint64_t now = clp_clock_read(&recorder->clock);
    clp_counting_look(recorder);
    clp_status status = clp_view_reset(&self->window.view, now);
    if (status != CLP_OK) {
        *fault = (struct clp_fault){.status = status};
        return status;
    }
    self->started = clp_clock_wall();
    self->start_nanos = clp_clock_monotonic();
    start_header(self, &header);
    header.began = now;
    header.parent = parent;
    header.run = recorder->live.header->run;
    header.inherited = self->window.view.base;
    status = clp_live_fork(&recorder->live, path, &header, fault);
    if (status == CLP_OK && clp_profiler_seeks_leaks(profiler)) { /* the parent's verdicts are not the child's */
        char seconds[CLP_EPOCH_SECONDS];
        clp_live_note_leaks(&recorder->live, NULL, 0, clp_heap_table_epoch(recorder, seconds), 0);
    }
    return status;
}

struct clp_live *clp_profiler_live(PyObject *profiler)
{
    (void)profiler;
    return &clp_process_recorder()->live;
}

const struct clp_clock *clp_profiler_clock(PyObject *profiler)
{
    (void)profiler;
    return &clp_process_recorder()->clock;
}

const struct clp_functions *clp_profiler_functions(PyObject *profiler)
{
    (void)profiler;
    return &clp_process_recorder()->engine.functions;
}

void clp_profiler_set_helper(PyObject *profiler, const struct clp_pages *pages)
{
    struct clp_recorder *recorder = clp_process_recorder();

    (void)profiler;
    recorder->helpers[recorder->helpers[0] != NULL] = pages;
}

const struct clp_pages *clp_profiler_pages(PyObject *profiler)
{
    (void)profiler;
    return &clp_process_recorder()->pages;
}

void clp_profiler_name_threads(PyObject *profiler)
{
    (void)profiler;
    clp_names_begin(clp_process_recorder());
}

void clp_profiler_set_watch(PyObject *profiler, struct clp_watch *watch)
{
    (void)profiler;
    clp_process_recorder()->watch = watch;
}

bool clp_profiler_know(PyObject *profiler, PyObject *file_name, const char *text, size_t bytes)
{
    (void)profiler;
    return clp_text_search_know(&clp_process_recorder()->texts, file_name, text, bytes);
}

bool clp_profiler_any_counts(void)
{
    return clp_process_recorder() != NULL && clp_process_recorder()->views.counting != 0;
}

void clp_profiler_stop(PyObject *profiler)
{
    struct clp_profiler *self = clp_profiler_of(profiler);

    self->ended = true;
    if (self->window.recorder != NULL)
        clp_code_window_end(&self->window);
    /* a program that ran out of descriptors can write its profile with this one */
    if (clp_process_recorder()->reading == 0)
        clp_proc_close(&clp_process_recorder()->proc);
}

void clp_profiler_mark_end(PyObject *profiler)
{
    if (clp_profiler_seeks_leaks(profiler))
        clp_leak_looks_end(clp_process_recorder());
}

size_t clp_profiler_function_count(PyObject *profiler)
{
    return clp_profiler_of(profiler)->window.view.count;
}

bool clp_profiler_lost(PyObject *profiler)
{
    (void)profiler;
    return clp_process_recorder()->engine.lost;
}

const struct clp_refusal *clp_profiler_refusals(PyObject *profiler)
{
    (void)profiler;
    return clp_process_recorder()->refusals;
}

enum clp_heap_state clp_profiler_heap_state(PyObject *profiler)
{
    const struct clp_recorder *recorder = clp_process_recorder();

    if (clp_profiler_of(profiler)->window.memory && !clp_hooks_alive())
        return CLP_HEAP_HOOKS_LOST;
    if (!clp_profiler_of(profiler)->has_heap)
        return CLP_HEAP_FINE;
    if (recorder->heap->lost)
        return CLP_HEAP_MEMORY_OUT;
    return CLP_HEAP_FINE;
}

bool clp_profiler_io_failed(void)
{
    return clp_process_recorder()->io_failed;
}

const char *clp_profiler_no_samples(void)
{
    return clp_process_recorder()->stack_sampler.reason;
}

bool clp_profiler_displaced(PyObject *profiler)
{
    (void)profiler;
    return clp_process_recorder()->displaced;
}

bool clp_profiler_counts_called(PyObject *profiler)
{
    return clp_profiler_of(profiler)->window.called;
}

/* ---- snapshots ---- */

static clp_status fill_counters(const struct clp_clock *clock, struct clp_profile *profile)
{
    double nanos_per_tick = clp_clock_nanos_per_tick(clock);
    uint64_t now = clp_clock_read(clock);
    char titles[CLP_TALLY_COUNTERS][CLP_TALLY_NAME];
    clp_status status = CLP_OK;

    clp_program_counters_titles(titles);
    for (size_t i = 0; i < CLP_TALLY_COUNTERS; i++) {
        const struct clp_counter_unread unread = clp_program_counters_unread(i);
        *clp_named_unread(&profile->meta, i) = (uint64_t)((double)clp_counter_unread_until(&unread, now) * nanos_per_tick);
    }
    for (size_t i = 0; i < CLP_TALLY_COUNTERS && status == CLP_OK; i++)
        status = clp_profile_set_text(profile, clp_named_name(&profile->meta, CLP_NAMED_COUNTER + i),
                                      titles[i][0] != 0 ? titles[i] : NULL);
    return status;
}

static clp_status fill_devices(const struct clp_code_window *window, struct clp_profile *profile)
{
    char names[CLP_DEVICES][CLP_DEVICE_NAME];
    clp_status status = CLP_OK;

    clp_devices_names(names);
    for (size_t i = 0; i < CLP_DEVICES && status == CLP_OK; i++) {
        const struct clp_named_outside outside = clp_named_outside(&profile->meta, i);
        if ((window->devices & CLP_DEVICE_TENSORS) == 0)
            *outside.allocated = *outside.freed = 0; /* another window has asked for them */
        else if (names[i][0] != 0)
            status = clp_profile_set_text(profile, clp_named_name(&profile->meta, CLP_NAMED_DEVICE + i), names[i]);
    }
    return status;
}

/* Says what devices did for no line since the window's numbers began. */
static void fill_outside(const struct clp_code_window *window, struct clp_profile_meta *meta)
{
    const struct clp_device_outside now = clp_device_time_outside(), *before = &window->outside;

    if (!counts_device_time(window))
        return;
    meta->outside_device_time = now.time - before->time;
    meta->outside_launches = now.launches - before->launches;
    meta->lost_launches = now.lost - before->lost;
}

static clp_status fill_meta(const struct clp_profiler *self, struct clp_profile *profile)
{
    const struct clp_recorder *recorder = clp_process_recorder();
    struct clp_profile_meta *meta = &profile->meta;
    struct clp_identity me;
    char version[32];

    add_version(version, sizeof version);
    meta->start = self->started;
    meta->wall = clp_clock_monotonic() - self->start_nanos;
    meta->overhead_error = (uint64_t)((double)meta->overhead * recorder->cost_error);
    meta->own_bytes = recorder->pages.bytes + recorder->view_pages.bytes;
    if (self->has_heap)
        meta->own_bytes += recorder->heap->pages.bytes;
    meta->inexact_memory = self->window.memory && !recorder->memory_check.exact;
    meta->memory_step = self->window.memory ? recorder->memory_check.step : 0;
    meta->no_source = self->source == CLP_SOURCE_NONE;
    meta->gc_cleared = clp_gc_calls_cleared(recorder);
    meta->has_queue = self->window.cpu && recorder->with_queue && recorder->engine.counted == NULL;
    fill_outside(&self->window, meta);
    meta->tensors_read = self->window.devices & CLP_DEVICE_READS ? clp_tensor_reads_state() : CLP_TENSORS_NOT_READ;
    meta->heap_before = self->has_heap ? recorder->heap_before : 0;
    meta->heap_native = self->has_heap && clp_native_is_used();
    clp_identity_here(&me);
    clp_status status = clp_profile_set_identity(profile, &me);
    if (status == CLP_OK)
        status = clp_profile_set_text(profile, &meta->python, version);
    if (status == CLP_OK)
        status = fill_counters(&recorder->clock, profile);
    if (status == CLP_OK)
        status = fill_devices(&self->window, profile);
    if (status == CLP_OK)
        status = clp_profile_set_text(profile, &meta->tracer, recorder->tracer->name);
    if (status == CLP_OK && meta->has_memory)
        status = clp_profile_set_text(profile, &meta->memory,
                                      clp_memory_name(recorder->proc.mode));
    return status;
}

/* Sets what the epochs are, in the words of --leaks. */
static clp_status fill_epoch(const struct clp_recorder *recorder, struct clp_profile *profile)
{
    char seconds[CLP_EPOCH_SECONDS];

    return clp_profile_set_text(profile, &profile->meta.leak_epoch, clp_heap_table_epoch(recorder, seconds));
}

/* Adds the numbers of live blocks. Where the hooks were lost, the table holds blocks that are long gone, so
 * nothing is said of it. */
static clp_status fill_heap(const struct clp_profiler *self, struct clp_profile *profile)
{
    struct clp_recorder *recorder = clp_process_recorder();
    const struct clp_heap_scope scope = {.functions = &recorder->engine.functions,
                                         .view = &self->window.view,
                                         .allocated = (recorder->engine.parts & CLP_PART_LIGHT) != 0};
    const struct clp_heap_judging judging = {.warmups = recorder->epochs.warmups,
                                             .limit = recorder->epochs.limit,
                                             .seconds = (double)profile->meta.wall * 1e-9};

    if (!clp_hooks_alive())
        return CLP_OK;
    uint32_t busy = clp_hooks_pause(); /* with the table held, an allocation that is counted would wait for it */
    clp_status status = clp_heap_fill(recorder->heap, &scope, profile);
    if (status == CLP_OK)
        status = fill_epoch(recorder, profile);
    if (status == CLP_OK)
        status = clp_heap_judge(recorder->heap, &scope, &judging, profile);
    clp_hooks_resume(busy);
    return status == CLP_OK ? clp_holders_find(recorder->heap, CLP_HOLDERS_STEPS, profile) : status;
}

static clp_status take_view(const struct clp_code_window *window, struct clp_profile *profile)
{
    struct clp_recorder *recorder = window->recorder;
    struct clp_engine_copy copy;

    clp_counting_look(recorder);
    if (window->cpu)
        clp_cpu_time_look(recorder);
    if (window->called)
        clp_called_look(&recorder->engine, clp_clock_read(&recorder->clock));
    if (window->devices & CLP_DEVICE_TIME)
        clp_device_time_look();
    if (window->devices & CLP_DEVICE_READS)
        clp_tensor_reads_look();
    clp_status status = clp_engine_copy_init(&copy, &recorder->engine, &recorder->views.scratch,
                                             clp_clock_read(&recorder->clock));
    if (status != CLP_OK)
        return status;
    const struct clp_snapshot_wish wish = {
        .parts = parts_of(window),
        .cpu = window->cpu,
        .tallies = window->tallies,
        .called = window->called,
        .device_time = counts_device_time(window),
        .nanos_per_tick = clp_clock_nanos_per_tick(&recorder->clock),
    };
    status = clp_snapshot_take_view(&window->view, &copy, &wish, profile);
    clp_engine_copy_clear(&copy);
    if (status == CLP_OK && window->line_log)
        status = clp_line_log_fill(recorder, &window->view, profile);
    return status;
}

clp_status clp_profiler_snapshot(PyObject *profiler, struct clp_profile *profile)
{
    struct clp_profiler *self = clp_profiler_of(profiler);
    clp_status status = CLP_OK;

    /* the last epoch ends first, because that runs Python code; while the window is open the epoch goes on */
    if (self->has_heap && !self->window.open && clp_hooks_alive())
        clp_heap_table_finish(clp_process_recorder());
    if (self->window.recorder != NULL) /* the program may have closed the launcher's profiler */
        status = take_view(&self->window, profile);
    if (status == CLP_OK)
        status = fill_meta(self, profile);
    if (status == CLP_OK && self->has_heap)
        status = fill_heap(self, profile); /* may have functions that threads have by other names */
    if (status == CLP_OK)
        status = clp_source_cache_fill(&clp_process_recorder()->texts, self->source, profile);
    return status;
}
