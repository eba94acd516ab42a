/* SPDX-License-Identifier: MIT */
#include "recorder.h"
#include "cpython/compat/opcodes.h"
#include "engine/parts.h"
#include "engine/reaping.h"
#include "cpu_time.h"
#include "line_log.h"
#include "moments.h"
#include "names.h"
#include "ranges.h"
#include "tally_reads.h"
#include "selected.h"
#include "cpython/memory/tensors.h"

/* Marks a thread that has ended. The system's thread holds no lock here, so another thread reaps its counters. */
static void thread_ended(void *data)
{
    clp_thread_here = NULL; /* what else the thread allocates or frees counts for no line */
    clp_tensors_forget(data);
    clp_ranges_end(data);
    clp_greenlet_place_note_end(&clp_recorder_of(data)->greenlets);
    clp_engine_end_thread(data);
}

bool clp_recorder_learn(struct clp_recorder *recorder)
{
    *recorder = (struct clp_recorder){.mem = clp_mem_system(), .proc.file = -1, .io.file = -1};
    return clp_opcodes_read(&recorder->bytecode);
}

bool clp_recorder_init(struct clp_recorder *recorder)
{
    clp_engine_init(&recorder->engine, &recorder->mem, &recorder->pages);
    clp_views_init(&recorder->views, &recorder->engine, &recorder->view_pages);
    clp_hashmap_init(&recorder->cython.functions, &recorder->mem);
    recorder->engine.rss_span = recorder->source_span = recorder->counter_span = recorder->tensor_span = UINT64_MAX;
    recorder->clock = clp_clock_start();
    recorder->started = clp_clock_wall();
    clp_source_cache_init(&recorder->texts, &recorder->mem, &recorder->live);
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

/* ---- threads ---- */

struct clp_thread *clp_recorder_new_thread(struct clp_recorder *recorder)
{
    clp_engine_reap(&recorder->engine);
    int64_t rss = recorder->engine.rss;
    uint64_t now = clp_clock_read(&recorder->clock);

    (void)clp_recorder_see_memory(recorder, &rss);
    clp_thread_here = clp_engine_new_thread(&recorder->engine, now, rss);
    if (clp_thread_here != NULL) {
        clp_thread_here->allocating.left = -1; /* negative: the first block asks whether there is a table */
        clp_thread_hook_set(&recorder->thread_hook, clp_thread_here);
        clp_greenlet_place_hook(&recorder->greenlets, clp_thread_here);
        clp_recorder_begin_use(clp_thread_here, now);
        if (recorder->names_threads)
            clp_names_give(recorder, clp_thread_here);
    }
    return clp_thread_here;
}

void clp_recorder_forget(struct clp_recorder *recorder)
{
    uint32_t parts = recorder->engine.parts;
    uint64_t cpu_span = recorder->engine.cpu_span, noise = recorder->engine.wait_noise;
    uint64_t tally_span = recorder->engine.tally_span;
    struct clp_around_costs around = recorder->engine.around;
    bool logs_lines = recorder->engine.logs_lines;

    if (clp_thread_here != NULL) {
        clp_tensors_forget(clp_thread_here);
        clp_ranges_end(clp_thread_here);
    }
    clp_devices_after_fork(NULL);
    clp_thread_here = NULL;
    clp_thread_hook_set(&recorder->thread_hook, NULL);
    clp_views_forget(&recorder->views);
    clp_engine_clear(&recorder->engine);
    clp_engine_init(&recorder->engine, &recorder->mem, &recorder->pages);
    (void)clp_engine_add_parts(&recorder->engine, parts);
    recorder->engine.parts = parts;
    recorder->engine.has_ranges = recorder->ranges != 0;
    recorder->engine.around = around;
    recorder->engine.logs_lines = logs_lines;
    recorder->engine.rss_span = clp_recorder_rss_span(recorder);
    clp_engine_set_cpu_span(&recorder->engine, cpu_span, noise);
    clp_engine_set_tally_span(&recorder->engine, tally_span);
    (void)clp_recorder_new_thread(recorder);
}

void clp_recorder_after_fork(struct clp_recorder *recorder)
{
    uint64_t now = clp_clock_read(&recorder->clock);

    clp_line_log_after_fork(recorder);
    clp_devices_after_fork(clp_thread_here);
    for (struct clp_thread *thread = recorder->engine.threads; thread != NULL;
         thread = thread->next) {
        if (thread == clp_thread_here || thread == recorder->engine.counted)
            continue;
        clp_engine_unwind(thread, now);
        clp_engine_end_thread(thread);
    }
    clp_engine_reap(&recorder->engine);
    if (clp_thread_here != NULL)
        clp_recorder_begin_use(clp_thread_here, now);
    clp_stack_sampler_after_fork(&recorder->stack_sampler);
    clp_recorder_reopen_memory(recorder);
}

/* ---- functions ---- */

void clp_recorder_watch_calls(struct clp_recorder *recorder, bool watch)
{
    const struct clp_functions *functions = &recorder->engine.functions;

    recorder->watches_calls = watch;
    for (size_t i = 0; i < functions->count && i < recorder->views.room; i++)
        if (recorder->views.audiences[i] != NULL)
            recorder->views.audiences[i]->slow = watch || functions->items[i].generator;
}
