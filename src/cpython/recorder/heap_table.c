/* SPDX-License-Identifier: MIT */
#include "heap_table.h"
#include "cpython/memory/hooks.h"
#include "recorder.h"
#include <stdio.h>
#include <string.h>

static const char hooks_taken[] = "clineprof: another tool (tracemalloc?) stands before Python's "
                                  "allocators; it must start after clineprof";

/* Reads what `text` says of epochs. False with an exception set. */
static bool read_epochs(struct clp_recorder *recorder, const char *text, struct clp_epochs *epochs)
{
    double seconds;

    if (text == NULL)
        return true;
    epochs->kind = clp_epochs_kind_of(text, &seconds);
    if (epochs->kind == CLP_EPOCHS_NAMED) {
        epochs->name = clp_mem_copy_text(&recorder->mem, text, strlen(text));
        if (epochs->name == NULL)
            PyErr_NoMemory();
        return epochs->name != NULL;
    }
    if (epochs->kind == CLP_EPOCHS_SECONDS && !(seconds > 0 && seconds < 1e9)) {
        PyErr_Format(PyExc_ValueError, "leaks: epochs of '%s' seconds cannot be", text);
        return false;
    }
    if (epochs->kind == CLP_EPOCHS_SECONDS) {
        epochs->period = clp_clock_ticks(&recorder->clock, seconds * 1e9);
        epochs->next = clp_clock_read(&recorder->clock) + epochs->period;
    }
    return true;
}

static long long blocks_before(void)
{
    PyObject *function = PySys_GetObject("getallocatedblocks"); /* borrowed */
    PyObject *number = function != NULL && PyCFunction_Check(function) /* runs no Python code */
                           ? PyObject_CallNoArgs(function)
                           : NULL;
    long long count = number != NULL ? PyLong_AsLongLong(number) : 0;

    PyErr_Clear();
    Py_XDECREF(number);
    return count > 0 ? count : 0;
}

static const char other_table[] =
    "clineprof: another Profiler of this process has a table of live blocks, of another kind (heap=, "
    "leaks=); there is one at a time";

static const struct clp_epochs no_epochs = {.next = UINT64_MAX, .warmups = -1, .limit = -1};

/* Does the table that exists have this interval and these epochs? */
static bool is_same_kind(struct clp_recorder *recorder, uint64_t interval, const char *epochs)
{
    const struct clp_epochs *old = &recorder->epochs;
    struct clp_epochs new = no_epochs;

    if (!read_epochs(recorder, epochs, &new)) {
        PyErr_Clear();
        return false;
    }
    bool same = recorder->heap->interval == interval && old->kind == new.kind &&
                old->period == new.period &&
                (old->name == NULL || strcmp(old->name, new.name) == 0);
    clp_mem_free_text(&recorder->mem, new.name);
    return same;
}

/* Takes wanted->name. */
static void set_epochs(struct clp_recorder *recorder, const struct clp_epochs *wanted)
{
    clp_mem_free_text(&recorder->mem, recorder->epochs.name);
    clp_epochs_set(&recorder->epochs, wanted);
}

static bool make_table(struct clp_recorder *recorder, uint64_t interval)
{
    enum clp_heap_epochs by = recorder->epochs.kind == CLP_EPOCHS_NONE    ? CLP_HEAP_NO_EPOCHS
                              : recorder->epochs.kind == CLP_EPOCHS_CALLS ? CLP_HEAP_BY_CALLS
                                                                          : CLP_HEAP_BY_ONE;

    struct clp_heap *heap = recorder->heap;
    clp_status status = CLP_NO_MEMORY;

    if (heap != NULL) { /* a thread that frees a block may be looking at the table */
        status = clp_heap_restart(heap, interval, by);
    } else if ((heap = clp_mem_alloc(&recorder->mem, 1, sizeof *heap)) != NULL) {
        status = clp_heap_init(heap, interval, by);
    }
    if (status != CLP_OK) {
        PyErr_NoMemory();
        return false;
    }
    if (recorder->heap == NULL) {
        recorder->heap = recorder->epochs.heap = heap;
        recorder->epochs.clock = &recorder->clock;
    }
    /* a seed of each run, so that no two runs choose the same blocks */
    __atomic_store_n(&heap->seeds, clp_clock_monotonic(), __ATOMIC_RELAXED);
    recorder->heap_before = (uint64_t)blocks_before();
    return true;
}

static void start_looks(struct clp_recorder *recorder)
{
    recorder->looks.start = clp_clock_read(&recorder->clock);
    recorder->looks.used = 0;
    recorder->looks.looked = recorder->looks.searched = 0;
}

static bool start_table(struct clp_recorder *recorder, uint64_t interval, const char *epochs)
{
    struct clp_epochs wanted = no_epochs;

    if (!read_epochs(recorder, epochs, &wanted))
        return false;
    set_epochs(recorder, &wanted);
    if (!make_table(recorder, interval))
        return false;
    start_looks(recorder);
    clp_recorder_watch_calls(recorder, recorder->epochs.kind == CLP_EPOCHS_CALLS ||
                                           recorder->epochs.kind == CLP_EPOCHS_NAMED ||
                                           recorder->epochs.kind == CLP_EPOCHS_SECONDS);
    if (clp_hooks_set_heap(recorder->heap, &recorder->epochs, &recorder->engine))
        return true;
    PyErr_SetString(PyExc_RuntimeError, hooks_taken);
    return false;
}

bool clp_heap_table_start(struct clp_recorder *recorder, uint64_t interval, const char *epochs)
{
    if (recorder->with_heap != 0 && !is_same_kind(recorder, interval, epochs)) {
        PyErr_SetString(PyExc_RuntimeError, other_table);
        return false;
    }
    if (recorder->with_heap == 0 && !start_table(recorder, interval, epochs))
        return false;
    recorder->with_heap++;
    return true;
}

void clp_heap_table_rest(struct clp_recorder *recorder)
{
    (void)clp_hooks_set_heap(NULL, &recorder->epochs, &recorder->engine);
}

void clp_heap_table_stop(struct clp_recorder *recorder)
{
    if (--recorder->with_heap != 0)
        return;
    clp_heap_table_rest(recorder);
    clp_recorder_watch_calls(recorder, false);
    (void)clp_heap_restart(recorder->heap, recorder->heap->interval, recorder->heap->epochs);
    set_epochs(recorder, &no_epochs);
}

bool clp_heap_table_restart(struct clp_recorder *recorder, int warmups, int64_t limit)
{
    struct clp_heap *heap = recorder->heap;

    clp_heap_table_rest(recorder);
    if (clp_heap_restart(heap, heap->interval, heap->epochs) != CLP_OK) {
        PyErr_NoMemory();
        return false;
    }
    clp_epochs_forget(&recorder->epochs);
    recorder->epochs.warmups = warmups;
    recorder->epochs.limit = limit;
    if (clp_hooks_set_heap(heap, &recorder->epochs, &recorder->engine))
        return true;
    PyErr_SetString(PyExc_RuntimeError, hooks_taken);
    return false;
}

const char *clp_heap_table_epoch(const struct clp_recorder *recorder, char *seconds)
{
    const struct clp_epochs *epochs = &recorder->epochs;

    (void)snprintf(seconds, CLP_EPOCH_SECONDS, "%.6g", (double)epochs->period * recorder->clock.rough_nanos * 1e-9);
    return epochs->kind == CLP_EPOCHS_NONE          ? NULL
           : epochs->kind == CLP_EPOCHS_CALLS       ? "calls"
           : epochs->kind == CLP_EPOCHS_CHECKPOINTS ? "checkpoints"
           : epochs->kind == CLP_EPOCHS_NAMED       ? epochs->name
                                                    : seconds;
}

void clp_heap_table_after_fork(struct clp_recorder *recorder)
{
    struct clp_heap *heap = recorder->heap;

    if (recorder->with_heap == 0 || recorder->epochs.kind == CLP_EPOCHS_NONE ||
        clp_heap_restart(heap, heap->interval, heap->epochs) != CLP_OK)
        return;
    clp_epochs_forget(&recorder->epochs);
    start_looks(recorder);
}

void clp_heap_table_finish(struct clp_recorder *recorder)
{
    if (recorder->with_heap == 0 || recorder->epochs.kind == CLP_EPOCHS_NONE)
        return;
    clp_heap_collects(recorder->heap, true); /* by now nobody may tell of collections any more (gc_calls.h) */
    (void)PyGC_Collect();                    /* runs finalizers, and lets other threads run */
    clp_heap_collects(recorder->heap, false);
    if (recorder->with_heap != 0)
        clp_heap_finish(recorder->heap);
}
