/* SPDX-License-Identifier: MIT */
/* What every tracer shares: the engine, the clock and the memory it records by, and what is known
 * of a selected code object. A process has one recorder; whoever wants numbers of it has a window
 * (code_window.h).
 *
 * Threads. The interpreter's lock protects all of this, and every window. A thread keeps that lock for as
 * long as it runs no Python code. So:
 *
 *   - An event runs no Python code before it is recorded. (clp_recorder_end_slow may, behind it.)
 *   - A change runs none either: clp_code_window_hold begins one and clp_code_window_release ends it (or
 *     clp_change_begin, clp_change_end). What needs Python code (attributes of the program's objects,
 *     imports, source text) is fetched before, and what was known from before that is looked up again.
 *   - In a change the program has its say in a few places all the same: its audit hooks, when __code__ is
 *     assigned or a callback of sys.monitoring set, and what dies with a code object. Whatever it
 *     does there, from any thread, is safe: `open` of a site is right at all times, a site and an
 *     audience never move, no window goes while it is held, and no tracer stops while any is. It is also
 *     undone: whoever exchanges code looks again, afterwards, whether that is still wanted.
 *
 * Two things run without that lock: an ending thread's mark (clp_engine_end_thread), and the hooks of the raw
 * allocators (hooks.h). */
#ifndef CLP_RECORDER_STATE_H
#define CLP_RECORDER_STATE_H

#include "rewrite/bytecode.h"
#include "os/clock.h"
#include "engine/engine.h"
#include "heap/heap.h"
#include "formats/live/live.h"
#include "os/proc.h"
#include "engine/rss_bounds.h"
#include "os/thread.h"
#include "engine/view.h"
#include "cpython/compat/compat.h"
#include "heap/epochs.h"
#include "greenlet_place.h"
#include "cpython/compat/opcodes.h"
#include "cpython/code/source_cache.h"
#include "cpython/memory/thread_here.h"
#include "watch.h"

struct clp_selected;
struct clp_stay;
struct clp_with_place;
struct clp_tracer;
struct clp_code_window;

/* Open `with` blocks (blocks.h). */
struct clp_blocks {
    struct clp_stay *stays;   /* the newest first */
    struct clp_with_place *places; /* those that were entered last */
    bool lifted; /* some are off the stack while an event of their body is recorded */
    uint32_t walks; /* events are recorded for stay after stay: none may go meanwhile */
    void *source; /* what their events come from; its own */
};

/* Where a selected function's code is; by its number. Never moves. */
struct clp_site {
    uint32_t open; /* windows that are, and have it. Changed together with them */
    PyObject *functions; /* owned, or NULL: of a tracer that installs. Weak references to those selected,
                          * each with the code that is put aside for it while no window is open */
    struct clp_selected *codes; /* those that are recorded without probes; borrowed */
};

/* A function that the tracer could not take. */
struct clp_refusal {
    struct clp_refusal *next;
    uint32_t function; /* in the engine's table, which is not the place in a profile */
    const char *reason; /* a constant */
    const char *taken_by; /* the tracer that took it instead; NULL when none did */
};

struct clp_recorder {
    struct clp_engine engine; /* first: a thread's engine is its recorder */
    struct clp_mem mem;
    struct clp_pages pages;
    struct clp_views views;
    struct clp_pages view_pages;
    struct clp_site **sites; /* owned; NULL where no window ever had the function */
    size_t site_room;
    size_t held;    /* how many holds there are, of all windows */
    bool collects;  /* was garbage collection on before the first hold? */
    bool may_rest;  /* no window is open any more: the tracer stops when none is held */
    bool starting;  /* a tracer is being started */
    size_t windows;     /* how many there are */
    size_t open;        /* how many of them are open */
    size_t reading;     /* how many count, and want memory */
    size_t with_memory; /* how many want memory */
    size_t with_heap;   /* how many want the table of live blocks */
    bool awake;         /* the tracer sends events */
    bool opened_late;   /* a window was opened on functions that may have been running */
    struct clp_source_cache texts;
    struct clp_live live;
    const struct clp_code_window *live_window; /* borrowed: whose numbers are in the live file */
    const struct clp_pages *helpers[2]; /* borrowed: helper threads' memory; NULL: there is none */
    struct clp_watch *watch;            /* borrowed; NULL: there is none */
    struct clp_heap *heap; /* owned: the table of live blocks; NULL: there is none */
    uint64_t heap_before;  /* blocks that were there before it */
    struct clp_epochs epochs;
    bool watches_calls; /* epochs are told of each; clp_recorder_watch_calls sets it */
    struct clp_clock clock;
    struct clp_proc proc;
    struct clp_proc_check memory_check;
    double change_margin;          /* the part of its change_ticks in which nothing can change */
    uint64_t check_at, check_gap;  /* ticks: when that is tried again */
    uint64_t file_bytes; /* of files among the resident memory, at the last read */
    struct clp_rss_bounds_facts reach;
    uint64_t use_span, use_span_alone; /* ticks for which a thread's use is known well enough */
    struct clp_thread_hook thread_hook;
    struct clp_opcodes opcodes;
    struct clp_bytecode bytecode; /* of this interpreter, where `knows_bytecode` */
    bool knows_bytecode;
    Py_ssize_t code_slot;
    uint64_t copies; /* made so far */
    PyObject *statements; /* owned: statements.h's helper; NULL: lines count by themselves */
    const struct clp_tracer *const *tracers; /* borrowed: this interpreter's, the preferred first, ended by NULL */
    const struct clp_tracer *tracer;
    const struct clp_tracer *fallback; /* takes what the tracer refuses; NULL until needed */
    struct clp_refusal *refusals;      /* the newest first; owned */
    const char *no_probes; /* a constant: why no code gets any; NULL: it may */
    struct clp_blocks blocks;
    struct clp_greenlets greenlets;
    void *probe_state, *monitoring_state; /* each tracer's own */
    bool settrace_on; /* that tracer sends events */
    bool names_threads; /* they are told apart (names.h) */
    unsigned long first_thread; /* .. and this is the main one */
    bool displaced;     /* another tool took the tracer's place; events are missing */
    double cost_error;    /* the share of its events' cost by which that may be off */
    double started;       /* seconds since 1970 */
    uint64_t start_nanos; /* CLOCK_MONOTONIC then */
};

static inline struct clp_recorder *clp_recorder_of(const struct clp_thread *thread)
{
    return (struct clp_recorder *)thread->engine;
}

#endif
