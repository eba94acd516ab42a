/* SPDX-License-Identifier: MIT */
/* What all tracers share: the engine, the clock and memory by which it records, and what is known of selected
 * code. A process has one recorder. Whoever wants numbers from it has a window (code_window.h).
 *
 * Threads. The interpreter's lock protects all of this, and every window. A thread keeps that lock for as long
 * as it runs no Python code. So:
 *
 *   - An event runs no Python code before it is recorded. (clp_recorder_end_slow may, afterwards.)
 *   - A change runs none either. clp_code_window_hold or clp_change_begin starts a change,
 *     clp_code_window_release or clp_change_end ends it. What needs Python code (attributes of the program's
 *     objects, imports, source text) is fetched before. What was looked up before that is looked up again.
 *   - There are exceptions: within a change the program's code runs in its audit hooks, when __code__ is
 *     assigned or a callback of sys.monitoring is set, and when what hangs on a code object dies. Whatever
 *     it does there, from any thread, is safe: a site's `open` is right at all times; a site and an audience
 *     never move; no window goes while it is held; and no tracer stops while any window is held. And whoever
 *     exchanges code looks afterwards whether that is still wanted, and undoes it otherwise.
 *
 * Three things run without that lock: the mark of an ending thread (clp_engine_end_thread), the hooks of the
 * raw allocator and of C's allocators (hooks.h), and helper threads (os/thread.h), which have their own
 * memory. */
#ifndef CLP_RECORDER_STATE_H
#define CLP_RECORDER_STATE_H

#include "rewrite/bytecode.h"
#include "os/clock.h"
#include "os/io.h"
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
#include "cpython/code/source_cache.h"
#include "cpython/memory/thread_here.h"
#include "watch.h"
#include "cpython/sampling/stack_sampler.h"

struct clp_selected;
struct clp_with_place;
struct clp_tracer;
struct clp_code_window;
struct clp_line_log;

/* A `with` block that a body is in (stays.h). */
struct clp_stay {
    struct clp_stay *next;    /* the next older stay */
    struct clp_recorder *recorder; /* borrowed */
    struct clp_with_place *place;  /* the block's place; borrowed from the recorder */
    const struct clp_selected *selected; /* borrowed: of the place's entry in the table of functions */
    int32_t first;            /* the line of the `with` */
    PyFrameObject *frame;     /* owned */
    PyObject *record;         /* owned: a weak reference to the record_function of torch that made it; or NULL */
    bool named;               /* it has a name; false: `with profile` */
    bool begun;               /* has a line of the block begun yet? */
    bool over;                /* the `with` runs again, to leave the block */
    bool lifted;              /* taken off the stack for one event of the body */
    void *source;             /* where its events come from; see block_source.h */
};

/* The open `with` blocks (blocks.h). */
struct clp_blocks {
    struct clp_stay *stays;   /* the newest first */
    struct clp_with_place *places; /* the places that were entered last */
    bool lifted; /* some blocks are off the stack while an event of their body is recorded */
    uint32_t walks; /* not 0: a loop over the stays records events, so no stay may be freed */
    void *source; /* where the blocks' events come from; belongs to that source */
};

/* Functions of Cython (tracers/cython.h). */
struct clp_cython {
    struct clp_hashmap functions; /* code object, or hash of file and first line -> struct clp_cython_function, owned */
    bool monitored; /* events come from sys.monitoring, under the id `tool` */
    int tool;
    int64_t cost; /* of what surrounds the recording of an event, in 1/256 ticks; 0 where calibration has it (3.12) */
};

/* What is needed to be told of garbage collections (gc_calls.h). */
struct clp_gc_calls {
    PyObject *list;     /* owned: gc.callbacks; NULL: it was not found */
    PyObject *function; /* owned: ours in the list */
    bool on;            /* it was put into the list */
    bool cleared;       /* the program has taken it out */
};

/* How fast the processor runs the interpreter (pace.h). */
struct clp_pace {
    PyObject *small, *large, *texts, *dict, *key, *attribute; /* owned: what the work is done on; NULL: nothing yet */
    uint64_t usual;    /* ticks of the work beside the calibration; 0: not known */
    double sum, count; /* of all that was seen, in terms of the usual */
};

/* What is needed to name callables (callees.h). */
struct clp_callees {
    struct clp_hashmap known; /* the address of a callable, or of what tells it apart -> the number of its name */
    PyObject *init, *make, *call, *next, *func, *name, *module_name; /* owned: names of attributes; NULL: not needed yet */
};

/* Where the code of a selected function is. Sites are found by the function's number, and never move in memory. */
struct clp_site {
    uint32_t open; /* how many open windows have the function; changed together with them */
    /* Owned, or NULL where the tracer installs no code. Weak references to the selected functions, each with
     * the code that is kept for it while no window is open. */
    PyObject *functions;
    struct clp_selected *codes; /* the function's code objects that are recorded without probes; borrowed */
};

/* A function that the tracer could not take. */
struct clp_refusal {
    struct clp_refusal *next;
    uint32_t function; /* its number in the engine's table, which is not its place in a profile */
    const char *reason; /* a constant */
    const char *taken_by; /* the tracer that took it instead; NULL: none did */
};

/* In which contexts bodies count (Profiler(context=)), while the one window counts that has such a limit. */
struct clp_limit {
    PyObject *variable; /* borrowed: a ContextVar, which must hold `value`; NULL: there is no limit */
    PyObject *value;    /* borrowed: the Profiler */
    struct clp_code_window *window; /* borrowed */
    const struct clp_view *view;    /* borrowed: that of the window */
};

struct clp_recorder {
    struct clp_engine engine; /* first, so that a thread's engine is its recorder */
    struct clp_mem mem;
    struct clp_pages pages;
    struct clp_views views;
    struct clp_pages view_pages;
    struct clp_site **sites; /* by function; owned; NULL where no window ever had the function */
    size_t site_room;
    size_t held;    /* how many holds of windows there are */
    bool collects;  /* was garbage collection on before the first hold? */
    bool opening;   /* a window is being opened, with all its functions */
    bool holders_noted; /* since that began, all functions with selected code were noted in their sites (shared.c) */
    bool may_rest;  /* no window is open any more: the tracer stops when none is held */
    bool starting;  /* a tracer is being started */
    struct clp_limit limit;
    size_t windows;     /* how many windows there are */
    size_t open;        /* how many windows are open */
    size_t reading;     /* how many windows count and want memory */
    size_t with_memory; /* how many windows want memory */
    size_t with_cpu;    /* how many windows want processor time */
    bool with_queue;    /* the run queue can be read, too */
    struct clp_read_cost cpu_cost, queue_cost; /* of such reads */
    size_t with_called; /* how many windows want the time of what lines call */
    bool around_known;  /* the costs of the probes that tell of it are known */
    struct clp_pace pace;
    struct clp_callees callees;
    size_t with_tallies[3]; /* how many windows want each of enum clp_tally_source */
    uint32_t tallies;       /* the sources that are read, a sum of these */
    struct clp_io_file io;
    bool io_failed; /* reading it has failed since the start */
    struct clp_read_cost tally_cost;
    uint64_t source_span;  /* ticks: the sources are not read for shorter lines; UINT64_MAX: none is read */
    uint64_t counter_span; /* ticks: the program's own counters are not read for shorter lines; UINT64_MAX: there are none */
    uint64_t tensor_span;  /* the same for PyTorch's statistics */
    size_t with_heap;   /* how many windows want the table of live blocks */
    struct clp_stack_sampler stack_sampler; /* started by the tracer that only counts */
    bool awake;         /* the tracer sends events */
    bool opened_late;   /* some window was opened on functions, or got one, that may have been running */
    struct clp_source_cache texts;
    struct clp_live live;
    const struct clp_code_window *live_window; /* borrowed: the window whose numbers are in the live file */
    const struct clp_pages *helpers[2]; /* borrowed: memory of the helper threads; NULL: there is none */
    struct clp_watch *watch;            /* borrowed; may be NULL */
    struct clp_line_log *line_log;      /* owned; NULL: nobody has wanted it yet */
    struct clp_heap *heap; /* owned: the table of live blocks, or NULL */
    uint64_t heap_before;  /* blocks that existed before the table */
    struct clp_epochs epochs;
    struct {
        uint64_t start; /* ticks */
        uint64_t used;
        uint64_t looked, searched; /* the progress at the last look, and at the last search for holders */
    } looks; /* for leaks (leak_looks.h), since the table of live blocks was started */
    bool watches_calls; /* epochs are told of each call; set by clp_recorder_watch_calls */
    struct clp_clock clock;
    struct clp_proc proc;
    struct clp_proc_check memory_check;
    double change_margin;          /* a line shorter than this part of change_ticks cannot have changed memory */
    uint64_t check_at, check_gap;  /* ticks: when that is tried again, and the time to the next try */
    uint64_t file_bytes; /* bytes of resident memory that belong to files, at the last read */
    struct clp_rss_bounds_facts reach;
    uint64_t use_span, use_span_alone; /* ticks during which what is known of a thread's use is new enough */
    struct clp_thread_hook thread_hook;
    struct clp_bytecode bytecode; /* of this interpreter */
    Py_ssize_t code_slot;
    uint64_t copies; /* how many copies of code were made */
    PyObject *statements; /* owned: the helper of statements.h; NULL: each line counts by itself */
    /* Borrowed: the tracers of this interpreter, the preferred one first, ended by NULL. */
    const struct clp_tracer *const *tracers;
    const struct clp_tracer *tracer;
    const struct clp_tracer *fallback; /* takes what `tracer` refuses; NULL until it is needed */
    struct clp_refusal *refusals;      /* the newest first; owned */
    const char *no_probes; /* a constant: why no code may have probes; NULL: it may */
    struct clp_blocks blocks;
    struct clp_cython cython;
    struct clp_greenlets greenlets;
    struct clp_gc_calls gc_calls;
    void *probe_state, *monitoring_state; /* each belongs to its tracer */
    uint32_t ranges;  /* how many profilers want ranges of NVTX (ranges.h) */
    bool settrace_on; /* the tracer settrace sends events */
    bool names_threads; /* threads are told apart by name (names.h) */
    unsigned long first_thread; /* identifies the main thread, with names_threads */
    bool displaced;     /* another tool took the tracer's place; events are missing */
    double cost_error;    /* by which part of itself the cost of events may be wrong */
    double started;       /* seconds since 1970 */
    uint64_t start_nanos; /* CLOCK_MONOTONIC at `started` */
};

static inline struct clp_recorder *clp_recorder_of(const struct clp_thread *thread)
{
    return (struct clp_recorder *)thread->engine;
}

#endif
