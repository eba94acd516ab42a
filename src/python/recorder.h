/* SPDX-License-Identifier: MIT */
/* What every tracer shares: the engine, the clock and the memory it records by, and what is known
 * of a selected code object. A process has one recorder; whoever wants numbers of it has a window
 * (window.h).
 *
 * Threads. The interpreter's lock protects all of this, and every window. A thread keeps that lock for as
 * long as it runs no Python code. So:
 *
 *   - An event runs no Python code before it is recorded. (clp_recorder_end_slow may, behind it.)
 *   - A change runs none either: clp_window_hold begins one and clp_window_release ends it. What needs
 *     Python code (attributes of the program's objects, imports, source text) is fetched before, and what
 *     was known from before that is looked up again.
 *   - In a change the program has its say in a few places all the same: its audit hooks, when __code__ is
 *     assigned or a callback of sys.monitoring set, and what dies with a code object. Whatever it
 *     does there, from any thread, is safe: `open` of a site is right at all times, a site and an
 *     audience never move, no window goes while it is held, and no tracer stops while any is. It is also
 *     undone: whoever exchanges code looks again, afterwards, whether that is still wanted.
 *
 * Two things run without that lock: an ending thread's mark (clp_engine_end_thread), and the hooks of the raw
 * allocators (hooks.h). */
#ifndef CLP_RECORDER_H
#define CLP_RECORDER_H

#include "../core/clock.h"
#include "../core/engine.h"
#include "../core/heap.h"
#include "../core/live.h"
#include "../core/proc.h"
#include "../core/reach.h"
#include "../core/resident.h"
#include "../core/thread.h"
#include "../core/threads.h"
#include "../core/view.h"
#include "compat.h"
#include "shape.h"
#include "texts.h"
#include "watch.h"

/* What ends an epoch (epochs.h). */
struct clp_epochs {
    enum {
        CLP_EPOCHS_NONE,
        CLP_EPOCHS_CALLS, /* of each function those of its own lines */
        CLP_EPOCHS_NAMED, /* of the function of this name */
        CLP_EPOCHS_SECONDS,
        CLP_EPOCHS_CHECKPOINTS
    } kind;
    char *name;            /* owned */
    uint64_t period, next; /* ticks */
    int warmups;           /* epochs; negative: the usual number */
    int64_t limit;         /* bytes; negative: the usual one */
};

/* Open `with` blocks (blocks.h). */
struct clp_stay;
struct clp_place;
struct clp_blocks {
    struct clp_stay *stays;   /* the newest first */
    struct clp_place *places; /* those that were entered last */
    bool lifted; /* some are off the stack while an event of their body is recorded */
    uint32_t walks; /* events are recorded for stay after stay: none may go meanwhile */
    void *source; /* what their events come from; its own */
};

/* Greenlets, once their module is there (greenlets.h). All owned. */
struct clp_greenlets {
    PyObject *settrace; /* the module's own */
    PyObject *callback; /* what is told of switches; NULL: the module was not met yet */
};

/* Modules to come (modules.h). */
#define CLP_MODULES_LOADERS 2
struct clp_modules {
    struct clp_exchanged {
        /* owned: a loader's class, its exec_module, and what takes that one's place; NULL: not looked for yet */
        PyObject *class, *own, *ours;
        bool put; /* ours is in its place, or what has come there since calls it */
    } loaders[CLP_MODULES_LOADERS];
    bool met; /* all that were loaded when the watching began */
    bool watching;
};

/* Where a selected function's code is; by its number. Never moves. */
struct clp_site {
    uint32_t open; /* windows that are, and have it. Changed together with them */
    PyObject *functions; /* owned, or NULL: of a tracer that installs. Weak references to those selected,
                          * each with the code that is put aside for it while no window is open */
    struct clp_selected *codes; /* those that are recorded without probes; borrowed */
};

struct clp_window;

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
    struct clp_texts texts;
    struct clp_live live;
    const struct clp_window *live_window; /* borrowed: whose numbers are in the live file */
    const struct clp_pages *helpers[2]; /* borrowed: helper threads' memory; NULL: there is none */
    struct clp_watch *watch;            /* borrowed; NULL: there is none */
    struct clp_heap *heap; /* owned: the table of live blocks; NULL: there is none */
    uint64_t heap_before;  /* blocks that were there before it */
    struct clp_epochs epochs;
    bool watches_calls; /* clp_recorder_note_call is told of each; clp_recorder_watch_calls sets it */
    struct clp_clock clock;
    struct clp_proc proc;
    struct clp_proc_check memory_check;
    double change_margin;          /* the part of its change_ticks in which nothing can change */
    uint64_t check_at, check_gap;  /* ticks: when that is tried again */
    uint64_t file_bytes; /* of files among the resident memory, at the last read */
    struct clp_reach_facts reach;
    uint64_t use_span, use_span_alone; /* ticks for which a thread's use is known well enough */
    struct clp_thread_hook thread_hook;
    struct clp_opcodes opcodes;
    struct clp_bytecode bytecode; /* of this interpreter, where `knows_bytecode` */
    bool knows_bytecode;
    Py_ssize_t code_slot;
    uint64_t copies; /* made so far */
    PyObject *statements; /* owned: statements.h's helper; NULL: lines count by themselves */
    const struct clp_tracer *tracer;
    const struct clp_tracer *fallback; /* takes what the tracer refuses; NULL until needed */
    struct clp_refusal *refusals;      /* the newest first; owned */
    const char *no_probes; /* a constant: why no code gets any; NULL: it may */
    struct clp_blocks blocks;
    struct clp_greenlets greenlets;
    struct clp_modules modules;
    void *probe_state, *monitoring_state; /* each tracer's own */
    bool settrace_on; /* that tracer sends events */
    bool names_threads; /* they are told apart (names.h) */
    unsigned long first_thread; /* .. and this is the main one */
    bool displaced;     /* another tool took the tracer's place; events are missing */
    double cost_error;    /* the share of its events' cost by which that may be off */
    double started;       /* seconds since 1970 */
    uint64_t start_nanos; /* CLOCK_MONOTONIC then */
};

/* The number of a function that has probes but is not selected. */
#define CLP_UNSELECTED UINT32_MAX

/* Attached to a selected code object, through the recorder's code slot. */
struct clp_selected {
    struct clp_recorder *recorder; /* borrowed */
    PyObject *code;                /* borrowed: the code object that this hangs on; where that may have gone, and
                                    * `holders` has kept this, it is compared only */
    uint64_t identity;             /* of that code: its address, or odd and never used again */
    uint32_t function;
    uint32_t text; /* number of the text that the code was compiled from: whose statements count */
    const struct clp_audience *audience; /* borrowed: who counts the function */
    struct clp_selected *next, **link; /* among the site's codes; NULL: it is not */
    bool on;          /* a tracer sends events of this code */
    bool studied;     /* .. and has found in it what it needs to know */
    bool spread;      /* whoever else held the code has the copy */
    uint32_t holders; /* the code object, and each probe that points here */
    bool probed;      /* the code records itself, by its probes */
    bool suspends;    /* generator or coroutine: its bodies are known by their frames */
    PyObject *copy;     /* borrowed: the code object with probes made of this one, while it lives */
    PyObject *original; /* owned: the code object that this one was made of, or NULL */
    bool refused;       /* it cannot have probes */
    bool left_alone;    /* no tracer may have it */
    const char *compiler; /* a constant: what compiles the code, too; NULL: nothing known */
    int32_t moved;      /* by so many lines: a copy that the program has made, with another first line. Its
                         * identity is odd then, so that only its own events have to look here */
    struct clp_shape shape;
};

/* Makes what hangs on a code object of the function. Takes *shape, also when it fails: NULL with an exception
 * set. */
struct clp_selected *clp_recorder_new_selected(struct clp_recorder *recorder, PyObject *code,
                                               uint32_t function, struct clp_shape *shape);

/* The code object on which this hangs is going. NULL is nothing. */
void clp_recorder_code_gone(void *selected);

/* One holder less; the last one frees it. NULL is nothing. */
void clp_recorder_drop_selected(void *selected);

/* A function that the tracer could not take. */
struct clp_refusal {
    struct clp_refusal *next;
    uint32_t function; /* in the engine's table, which is not the place in a profile */
    const char *reason; /* a constant */
    const char *taken_by; /* the tracer that took it instead; NULL when none did */
};

/* The counters of the running thread, or NULL before its first event. The one global. */
extern __thread struct clp_thread *clp_thread_here __attribute__((tls_model("initial-exec")));

/* What is to be known of the interpreter, which takes Python code; the rest of the recorder is zero. False with
 * an exception set. */
bool clp_recorder_learn(struct clp_recorder *recorder);

/* Then sets up everything but the tracer and memory. False with an exception set. */
bool clp_recorder_init(struct clp_recorder *recorder);

/* Memory can be read, in this way, where /proc allows it. Nobody else may want another way now. False
 * with an exception set. */
bool clp_recorder_open_memory(struct clp_recorder *recorder, enum clp_memory memory);

/* One window more, or less, for which memory is read. */
void clp_recorder_begin_reading(struct clp_recorder *recorder);
void clp_recorder_end_reading(struct clp_recorder *recorder);

/* Takes the engine back to the state of clp_recorder_init: no function, no counter, no cost; the
 * calling thread, which must be the only one that recorded, starts anew. Windows have no functions. */
void clp_recorder_forget(struct clp_recorder *recorder);

/* The site of a function with this number, made if need be. NULL with an exception set. */
struct clp_site *clp_recorder_site(struct clp_recorder *recorder, uint32_t function);

/* Is clp_recorder_note_call to be told of calls from now on? */
void clp_recorder_watch_calls(struct clp_recorder *recorder, bool watch);

/* This process is the child of a fork: its memory is read from now on, and threads that it does not have
 * end. What was counted stays. */
void clp_recorder_after_fork(struct clp_recorder *recorder);

/* Puts it among the codes of its function's site. False with an exception set. */
bool clp_recorder_list_code(struct clp_selected *selected);

/* Makes the running thread's counters; NULL when there is no memory. */
struct clp_thread *clp_recorder_new_thread(struct clp_recorder *recorder);

static inline struct clp_thread *clp_recorder_thread(struct clp_recorder *recorder)
{
    struct clp_thread *thread = clp_thread_here;

    return CLP_LIKELY(thread != NULL) ? thread : clp_recorder_new_thread(recorder);
}

static inline struct clp_recorder *clp_recorder_of(const struct clp_thread *thread)
{
    return (struct clp_recorder *)thread->engine;
}

static inline struct clp_selected *clp_recorder_selected(const struct clp_recorder *recorder,
                                                         PyObject *code)
{
    return clp_compat_code_data(code, recorder->code_slot);
}

/* What hangs on code that got probes here. NULL for other code, and for what somebody has copied. */
static inline const struct clp_selected *clp_recorder_probes(const struct clp_recorder *recorder,
                                                             PyObject *code)
{
    const struct clp_selected *selected = clp_recorder_selected(recorder, code);

    return selected != NULL && selected->code == code && selected->original != NULL ? selected
                                                                                    : NULL;
}

/* Does anybody count the function of this code? */
static inline bool clp_recorder_counts(const struct clp_selected *selected)
{
    return *selected->audience->gate != 0;
}

/* What hangs on selected code that a tracer has to record: it has no probes and is not left alone. NULL for
 * other code. */
static inline struct clp_selected *clp_recorder_traced(const struct clp_recorder *recorder,
                                                       PyObject *code)
{
    struct clp_selected *selected = clp_recorder_selected(recorder, code);

    return selected != NULL && !selected->probed && !selected->left_alone ? selected : NULL;
}

/* An event's time, and for how long the clock stands still after it, because memory was read. */
struct clp_moment {
    uint64_t now;
    uint64_t still;
};

/* Reads resident memory into the thread. If the read was interrupted, the event comes later by that: where
 * a thread has used up its time, the system takes the processor away when it is asked for something, and
 * what used it up is the line that ends. */
struct clp_moment clp_recorder_read_rss(struct clp_recorder *recorder, struct clp_thread *thread,
                                        uint64_t now);

static inline struct clp_moment clp_recorder_begin(struct clp_recorder *recorder,
                                                   struct clp_thread *thread)
{
    struct clp_moment moment = {.now = clp_clock_read(&recorder->clock)};

    if (CLP_UNLIKELY(clp_engine_wants_rss(thread, moment.now)))
        return clp_recorder_read_rss(recorder, thread, moment.now);
    return moment;
}

/* Behind an event for which memory was read. */
void clp_recorder_end_slow(struct clp_thread *thread, uint64_t still);

static inline void clp_recorder_end(struct clp_thread *thread, struct clp_moment moment)
{
    if (CLP_UNLIKELY(moment.still != 0))
        clp_recorder_end_slow(thread, moment.still);
}

/* The events, each with its moment. */
static inline void clp_recorder_line(struct clp_recorder *recorder,
                                     struct clp_thread *thread, int32_t line)
{
    struct clp_moment moment = clp_recorder_begin(recorder, thread);

    clp_engine_line(thread, line, moment.now);
    clp_recorder_end(thread, moment);
}

/* A line begins by an event of the interpreter's own, which keeps the first instruction there from being
 * adapted. */
static inline void clp_recorder_told_line(struct clp_recorder *recorder, struct clp_thread *thread,
                                          int32_t line)
{
    clp_recorder_line(recorder, thread, line);
    const struct clp_activation *top = thread->top;
    if (top->cell == &thread->outside)
        return;
    const uint8_t *instructions = recorder->engine.functions.items[top->block->function].instructions;
    if (instructions != NULL && (instructions[top->cell - top->block->cells] & CLP_FUNCTION_ADAPTS) != 0)
        clp_engine_add_cost(thread, recorder->engine.costs.unadapted);
}

/* clp_recorder_enter, and the first line begins at once. */
void clp_recorder_enter_line(const struct clp_selected *selected, struct clp_thread *thread,
                             const void *frame, int32_t line);

void clp_recorder_enter(const struct clp_selected *selected, struct clp_thread *thread,
                        const void *frame);
void clp_recorder_resume(const struct clp_selected *selected, struct clp_thread *thread,
                         const void *frame);
void clp_recorder_last_line(struct clp_thread *thread, int32_t line);
void clp_recorder_leave(struct clp_thread *thread);
void clp_recorder_suspend(struct clp_thread *thread);

/* The thread goes on with the stack of `to`; the stack that ran until now was that of `from`. */
void clp_recorder_switch_stack(struct clp_recorder *recorder, struct clp_thread *thread,
                               const void *from, const void *to);

/* For epochs.h: a selected function is called; time may have passed. */
void clp_recorder_note_call(struct clp_recorder *recorder, uint32_t function);
void clp_recorder_look_at_time(struct clp_recorder *recorder);

/* clp_engine_align, now. */
bool clp_recorder_align(const struct clp_selected *selected, struct clp_thread *thread,
                        const void *frame);

#endif
