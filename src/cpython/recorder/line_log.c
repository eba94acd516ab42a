/* SPDX-License-Identifier: MIT */
#include "line_log.h"
#include "base/buf.h"
#include "engine/hot.h"
#include "os/clock.h"
#include <string.h>
#include <unistd.h>

#define CHUNK_EVENTS ((size_t)1 << 16)
#define CHUNKS (CLP_LINE_LOG_MOST / CHUNK_EVENTS)
#define SYNC_NANOS 1e6 /* clocks are compared again after this time: then their rates matter little */
#define SYNC_TRIES 4

#define MOST_DEPTH 255
#define DEPTH_SHIFT 24
#define FUNCTION_MASK ((1u << DEPTH_SHIFT) - 1)
#define CONTINUES (1u << 31) /* the line began earlier */

struct event {
    uint64_t nanos; /* since 1970 */
    uint32_t body;  /* the number of the function plus 1, 0 outside all of them; and the depth of the stack */
    uint32_t line;  /* and CONTINUES */
};

/* The events from `first` on happened in this thread, until the next of these begins. */
struct run {
    uint64_t first;
    uint64_t thread; /* the system's number */
};

struct clp_line_log {
    struct clp_mem *mem; /* borrowed */
    struct clp_pages pages;
    struct event *chunks[CHUNKS];
    size_t mapped[CHUNKS];
    size_t count;
    uint64_t dropped;
    uint64_t process; /* that the events are of */
    struct run *runs;
    size_t run_count, run_room;
    size_t users;
    /* of the event that is being recorded: the body on top before it, its line, and how often that line had begun */
    size_t depth;
    const struct clp_cell *cell;
    uint64_t hits;
    uint64_t sync_ticks, sync_nanos; /* the clock, and the time since 1970, at one moment */
    double nanos_per_tick;
    PyObject *torch;             /* owned: the names of torch.autograd.profiler; NULL: it was not imported yet */
    PyObject *module_name, *flag_name; /* owned */
    bool on;                     /* torch.profiler recorded at the last event */
};

/* ---- beginning and end ---- */

static struct clp_line_log *make(struct clp_recorder *recorder)
{
    struct clp_line_log *log = clp_mem_alloc(&recorder->mem, 1, sizeof *log);

    if (log == NULL)
        return NULL;
    log->mem = &recorder->mem;
    log->module_name = PyUnicode_InternFromString("torch.autograd.profiler");
    log->flag_name = PyUnicode_InternFromString("_is_profiler_enabled");
    if (log->module_name != NULL && log->flag_name != NULL)
        return log;
    PyErr_Clear();
    Py_XDECREF(log->module_name);
    Py_XDECREF(log->flag_name);
    clp_mem_free(&recorder->mem, log, 1, sizeof *log);
    return NULL;
}

static void set_slow(struct clp_recorder *recorder, bool slow)
{
    recorder->engine.logs_lines = slow;
    clp_engine_spread_spans(&recorder->engine);
}

void clp_line_log_start(struct clp_recorder *recorder)
{
    if (recorder->line_log == NULL)
        recorder->line_log = make(recorder);
    if (recorder->line_log == NULL || recorder->line_log->users++ != 0)
        return;
    recorder->line_log->on = false;
    set_slow(recorder, true);
}

static void forget(struct clp_line_log *log)
{
    log->count = log->run_count = 0;
    log->dropped = 0;
    log->on = false;
    for (size_t i = 0; i < CHUNKS && log->chunks[i] != NULL; i++) {
        clp_pages_unmap(&log->pages, log->chunks[i], log->mapped[i]);
        log->chunks[i] = NULL;
    }
}

void clp_line_log_stop(struct clp_recorder *recorder)
{
    struct clp_line_log *log = recorder->line_log;

    if (log == NULL || log->users == 0 || --log->users != 0)
        return;
    set_slow(recorder, false);
    forget(log);
}

void clp_line_log_reset(struct clp_recorder *recorder)
{
    if (recorder->line_log != NULL && recorder->line_log->users == 1)
        forget(recorder->line_log);
}

void clp_line_log_after_fork(struct clp_recorder *recorder)
{
    if (recorder->line_log != NULL)
        forget(recorder->line_log);
}

uint64_t clp_line_log_bytes(const struct clp_recorder *recorder)
{
    return recorder->line_log != NULL ? recorder->line_log->pages.bytes : 0;
}

/* ---- events ---- */

/* Does torch.profiler record? A version of torch that does not tell is taken to. No Python code runs here. */
static bool torch_records(struct clp_line_log *log)
{
    if (log->torch == NULL) {
        PyObject *modules = PyImport_GetModuleDict();
        PyObject *module = PyDict_Check(modules) ? PyDict_GetItem(modules, log->module_name) : NULL;
        if (module == NULL || !PyModule_Check(module))
            return false;
        log->torch = Py_NewRef(PyModule_GetDict(module));
    }
    PyObject *flag = PyDict_GetItem(log->torch, log->flag_name);
    return flag == NULL || flag == Py_True;
}

/* Reads both clocks together: the quickest of some tries counts, because any may be interrupted. */
static void compare_clocks(struct clp_line_log *log, const struct clp_clock *clock)
{
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < SYNC_TRIES; i++) {
        uint64_t before = clp_clock_read(clock), nanos = clp_clock_wall_nanos();
        uint64_t took = clp_clock_read(clock) - before;
        if (took >= least)
            continue;
        least = took;
        log->sync_nanos = nanos;
        log->sync_ticks = before + took / 2;
    }
    log->nanos_per_tick = clp_clock_nanos_per_tick(clock);
}

/* The time of a reading of the clock, since 1970. Clocks are compared often, because the system adjusts the time. */
static uint64_t nanos_of(struct clp_line_log *log, const struct clp_clock *clock, uint64_t ticks)
{
    double passed = (double)(int64_t)(ticks - log->sync_ticks);

    if (log->sync_nanos == 0 || passed * clock->rough_nanos > SYNC_NANOS) {
        compare_clocks(log, clock);
        passed = (double)(int64_t)(ticks - log->sync_ticks);
    }
    return log->sync_nanos + (uint64_t)(int64_t)(passed * log->nanos_per_tick);
}

static struct event *room_for_one(struct clp_line_log *log)
{
    size_t chunk = log->count / CHUNK_EVENTS;

    if (chunk == CHUNKS)
        return NULL;
    if (log->chunks[chunk] == NULL)
        log->chunks[chunk] =
            clp_pages_map(&log->pages, CHUNK_EVENTS * sizeof(struct event), &log->mapped[chunk]);
    return log->chunks[chunk] != NULL ? &log->chunks[chunk][log->count % CHUNK_EVENTS] : NULL;
}

static bool begin_run(struct clp_line_log *log, uint64_t thread)
{
    if (log->run_count != 0 && log->runs[log->run_count - 1].thread == thread)
        return true;
    if (log->run_count == log->run_room &&
        clp_mem_grow(log->mem, (void **)&log->runs, &log->run_room, log->run_room * 2 + 64, sizeof *log->runs) !=
            CLP_OK)
        return false;
    log->runs[log->run_count++] = (struct run){log->count, thread};
    return true;
}

static void add(struct clp_line_log *log, const struct clp_thread *thread, struct event event)
{
    struct event *room = room_for_one(log);

    if (room == NULL || !begin_run(log, (uint64_t)thread->number)) {
        log->dropped++;
        return;
    }
    *room = event;
    log->count++;
}

/* The line of the body at this depth. */
static struct event event_at(const struct clp_thread *thread, size_t depth, uint64_t nanos, uint32_t flag)
{
    const struct clp_activation *body = &thread->stack[depth];
    uint32_t shown = depth < MOST_DEPTH ? (uint32_t)depth : MOST_DEPTH;

    return (struct event){nanos, ((body->block->function + 1) & FUNCTION_MASK) | shown << DEPTH_SHIFT,
                          (uint32_t)body->block->map->lines[clp_engine_line_index(body)] | flag};
}

static bool on_line(const struct clp_thread *thread, size_t depth)
{
    return depth != 0 && thread->stack[depth].cell != &thread->outside;
}

static size_t depth_of(const struct clp_thread *thread)
{
    return (size_t)(thread->top - thread->stack);
}

void clp_line_log_expect(struct clp_recorder *recorder, const struct clp_thread *thread)
{
    struct clp_line_log *log = recorder->line_log;

    log->depth = depth_of(thread);
    log->cell = thread->top->cell;
    log->hits = log->cell->hits;
}

/* Logs the lines on all stacks, when torch.profiler begins to record; but not the one on top in the thread `here`. */
static void add_all(struct clp_line_log *log, const struct clp_thread *here, uint64_t nanos)
{
    for (const struct clp_thread *thread = here->engine->threads; thread != NULL; thread = thread->next) {
        if (__atomic_load_n(&thread->ended, __ATOMIC_ACQUIRE))
            continue;
        for (size_t depth = 1; depth < depth_of(thread) + (thread != here); depth++)
            if (on_line(thread, depth))
                add(log, thread, event_at(thread, depth, nanos, CONTINUES));
    }
}

/* Has a line begun in the body at the depth at which the event found the stack? */
static bool began_there(const struct clp_line_log *log, const struct clp_thread *thread)
{
    const struct clp_cell *cell = thread->stack[log->depth].cell;

    return on_line(thread, log->depth) && (cell != log->cell || cell->hits != log->hits);
}

/* Logs what runs from now on. An event begins a line, enters or leaves a body, or both. */
static void add_event(struct clp_line_log *log, const struct clp_thread *thread, uint64_t nanos)
{
    size_t depth = depth_of(thread);
    bool continues = depth < log->depth || thread->top->continued;

    if (depth < log->depth && began_there(log, thread))
        add(log, thread, event_at(thread, log->depth, nanos, 0)); /* `return x`, whose body is left already */
    if (depth == log->depth && !continues && !began_there(log, thread))
        return;
    if (on_line(thread, depth))
        add(log, thread, event_at(thread, depth, nanos, continues ? CONTINUES : 0));
    else if (depth == 0)
        add(log, thread, (struct event){.nanos = nanos});
}

bool clp_line_log_note(struct clp_recorder *recorder, const struct clp_thread *thread)
{
    struct clp_line_log *log = recorder->line_log;
    bool was_on = log->on;

    log->on = torch_records(log);
    if (!log->on)
        return true;
    if (log->count == 0)
        log->process = (uint64_t)getpid();
    uint64_t nanos = nanos_of(log, &recorder->clock, thread->last + thread->stopped);
    if (!was_on)
        add_all(log, thread, nanos);
    add_event(log, thread, nanos);
    return true;
}

/* ---- into a profile ---- */

static void add_number(struct clp_buf *out, uint64_t number)
{
    clp_buf_add(out, (const char *)&number, sizeof number);
}

/* The number, plus 1, that each function has in the profile's log; 0: it is none of the view's. NULL: no memory. */
static uint32_t *number_functions(const struct clp_functions *functions, const struct clp_view *view,
                                  struct clp_mem *mem)
{
    uint32_t *numbers = clp_mem_alloc(mem, functions->count + 1, sizeof *numbers), count = 0;

    for (size_t i = 0; numbers != NULL && i < view->count; i++)
        numbers[view->items[i].function] = ++count;
    return numbers;
}

static void add_events(const struct clp_line_log *log, const uint32_t *numbers, struct clp_buf *out)
{
    for (size_t i = 0; i < log->count; i++) {
        struct event event = log->chunks[i / CHUNK_EVENTS][i % CHUNK_EVENTS];
        uint32_t function = event.body & FUNCTION_MASK;
        if (function != 0)
            event.body = (event.body & ~FUNCTION_MASK) | numbers[function - 1];
        clp_buf_add(out, (const char *)&event, sizeof event);
    }
}

static void add_content(const struct clp_line_log *log, const struct clp_functions *functions,
                        const struct clp_view *view, const uint32_t *numbers, struct clp_buf *out)
{
    add_number(out, log->process);
    add_number(out, view->count);
    add_number(out, log->run_count);
    add_number(out, log->count);
    add_number(out, log->dropped);
    clp_buf_add(out, (const char *)log->runs, log->run_count * sizeof *log->runs);
    add_events(log, numbers, out);
    for (size_t i = 0; i < view->count; i++) {
        const struct clp_function *function = &functions->items[view->items[i].function];
        clp_buf_add(out, function->file, strlen(function->file) + 1);
        clp_buf_add(out, function->name, strlen(function->name) + 1);
        clp_buf_add_format(out, "%d", (int)function->first_line);
        clp_buf_add(out, "", 1);
    }
}

clp_status clp_line_log_fill(const struct clp_recorder *recorder, const struct clp_view *view,
                             struct clp_profile *profile)
{
    const struct clp_line_log *log = recorder->line_log;
    const struct clp_functions *functions = &recorder->engine.functions;
    struct clp_buf out;

    if (log == NULL || log->count == 0 || log->process != (uint64_t)getpid())
        return CLP_OK; /* the child of a fork, which goes on with what its parent has counted */
    uint32_t *numbers = number_functions(functions, view, profile->mem);
    if (numbers == NULL)
        return CLP_NO_MEMORY;
    clp_buf_init(&out, profile->mem);
    add_content(log, functions, view, numbers, &out);
    clp_status status = out.failed ? CLP_NO_MEMORY : clp_profile_add_line_log(profile, clp_buf_text(&out), out.used);
    clp_buf_clear(&out);
    clp_mem_free(profile->mem, numbers, functions->count + 1, sizeof *numbers);
    return status;
}
