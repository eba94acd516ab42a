/* SPDX-License-Identifier: MIT */
#include "counted_blocks.h"
#include "cpython/compat/raw_frames.h"
#include "cpython/memory/hooks.h"
#include "cpython/recorder/counted_code.h"
#include "cpython/recorder/leak_looks.h"
#include "cpython/recorder/stays.h"
#include "tracer.h"
#include <string.h>
#include <unistd.h>

#if CLP_HAS_PROBES

#define MOST_FRAMES 1000 /* between an allocation and the selected line that owns it */

static struct clp_recorder *allocating;

/* ---- frames ---- */

/* A selected body on the stack of the calling thread. */
struct body {
    const void *frame; /* the next one that is called may have the same */
    PyCodeObject *code;
    struct clp_sampled_line line;
};

/* Walks from the frame outward to a selected body, and stops before the frame `end`. Returns the body's caller's frame.
 * The body's `frame` is NULL if there is none. */
static const void *find_body(const void *at, const void *end, struct body *body)
{
    for (int i = 0; i < MOST_FRAMES && at != end && at != NULL; i++) {
        struct clp_raw_frame frame;
        clp_raw_frame_get(at, &frame);
        if (clp_sampled_codes_find(&allocating->stack_sampler.codes, &frame, &body->line) == CLP_SAMPLED_LINE) {
            body->frame = at;
            body->code = (PyCodeObject *)(uintptr_t)frame.code;
            return frame.previous;
        }
        at = frame.previous;
    }
    body->frame = NULL;
    return NULL;
}

static const void *innermost_frame(void)
{
    const PyThreadState *state = clp_compat_state_if_any();

    return state != NULL ? clp_compat_running_frame(state) : NULL;
}

static struct clp_ways *ways_of(const struct body *body)
{
    const struct clp_selected *selected = allocating->tracer->owner(body->code);

    return selected != NULL && selected->counted != NULL ? selected->counted->ways : NULL;
}

/* ---- calls ---- */

/* Tells of the calls since it was last told. Calls from before the table was started again are none of it. */
static void tell_calls(struct clp_recorder *recorder, struct clp_ways *ways, uint64_t calls)
{
    uint32_t in = (uint32_t)recorder->heap->restarts + 1;

    if (ways->told_in != in)
        ways->told_calls = calls > 0 ? calls - 1 : 0;
    ways->told_in = in;
    if (calls < ways->told_calls || ways->function >= recorder->engine.functions.count)
        return;
    uint64_t more = calls - ways->told_calls;
    clp_epochs_note_calls(&recorder->epochs, ways->function, more < UINT32_MAX ? (uint32_t)more : UINT32_MAX);
    ways->told_calls = calls;
}

static void tell_all_calls(struct clp_recorder *recorder)
{
    struct clp_ways_counts counts;

    for (struct clp_ways *ways = recorder->engine.ways; ways != NULL; ways = ways->next)
        if (clp_ways_count(&recorder->engine, ways, CLP_NO_CELL, &counts) == CLP_OK)
            tell_calls(recorder, ways, counts.calls);
}

/* The interpreter calls this between two instructions of the main thread: while a block is allocated, objects are unfinished. */
static int look(void *recorder)
{
    if (((struct clp_recorder *)recorder)->epochs.due)
        clp_leak_looks_look(recorder, false);
    return 0;
}

/* ---- the end of the program ----
 *
 * Nobody tells that a function returns whose local variables hold what leaks. So each moment may be the last before that, and
 * marks are set all the time. What is freed after the last mark was alive before the end if the return of a body frees it in
 * which most of the progress was made. That is so when the stack has lost such a body since the mark. All else that selected
 * lines free was cleared by the program itself. */

#define OUTERMOST 16

/* The outermost selected bodies of the main thread at the last mark, the outermost first. */
static struct {
    struct {
        const void *frame, *code;
        uint64_t calls;    /* of the code: tells bodies with the same frame apart */
        uint64_t progress; /* when it was first seen */
    } bodies[OUTERMOST];
    size_t count;
    uint64_t restarts; /* the heap's; progress begins anew with each */
} marked;

/* Notes the bodies that run. Those that ran at the mark before are known by their frame, code and calls. */
static void note_bodies(const struct clp_recorder *recorder)
{
    struct body found[OUTERMOST], body;
    size_t count = 0;
    const void *at = find_body(innermost_frame(), NULL, &body);

    for (; body.frame != NULL; at = find_body(at, NULL, &body))
        found[count++ % OUTERMOST] = body;
    if (marked.restarts != recorder->heap->restarts)
        memset(&marked, 0, sizeof marked);
    marked.restarts = recorder->heap->restarts;
    marked.count = count < OUTERMOST ? count : OUTERMOST;
    for (size_t i = 0; i < marked.count; i++) {
        const struct body *now = &found[(count - 1 - i) % OUTERMOST];
        const struct clp_ways *ways = ways_of(now);
        struct clp_ways_counts counts = {0};
        if (ways != NULL)
            (void)clp_ways_count(&recorder->engine, ways, CLP_NO_CELL, &counts);
        if (marked.bodies[i].frame == now->frame && marked.bodies[i].code == now->code && marked.bodies[i].calls == counts.calls)
            continue;
        marked.bodies[i].frame = now->frame;
        marked.bodies[i].code = now->code;
        marked.bodies[i].calls = counts.calls;
        marked.bodies[i].progress = recorder->heap->progress;
    }
}

static void mark(struct clp_recorder *recorder)
{
    if (clp_heap_is_marked(recorder->heap))
        return;
    tell_all_calls(recorder);
    (void)clp_heap_mark(recorder->heap, CLP_HEAP_RETURNED);
    if (gettid() == getpid())
        note_bodies(recorder);
}

/* Does the innermost selected body free what it wants to free, rather than that a body which it called has returned? */
static bool clears(const struct clp_recorder *recorder, const struct body *innermost)
{
    uint64_t all = recorder->heap->progress;

    for (size_t i = 0; marked.restarts == recorder->heap->restarts && i + 1 < marked.count; i++)
        if (marked.bodies[i].frame == innermost->frame && marked.bodies[i].code == innermost->code)
            return all - marked.bodies[i + 1].progress < all / 2;
    return true;
}

/* ---- lines ---- */

static void note_execution(const struct body *body, struct clp_heap_place *place)
{
    struct clp_ways *ways = ways_of(body);
    struct clp_ways_counts counts;

    if (ways == NULL || clp_ways_count(&allocating->engine, ways, place->line, &counts) != CLP_OK)
        return;
    place->execution = (uint32_t)counts.hits;
    if (allocating->epochs.kind == CLP_EPOCHS_NONE)
        return;
    place->unmarks = clears(allocating, body);
    tell_calls(allocating, ways, counts.calls > 0 ? counts.calls : 1); /* it runs */
    mark(allocating);
    if (allocating->epochs.due && clp_compat_may_ask_for_call())
        (void)Py_AddPendingCall(look, allocating);
}

/* The frame whose `with` block is the innermost one of the calling thread; NULL: there is none. */
static const void *frame_of_block(void)
{
    const struct clp_stay *stay = clp_thread_here != NULL ? clp_stays_top(allocating, clp_thread_here) : NULL;

    return stay != NULL ? clp_raw_frame_of(stay->frame) : NULL;
}

/* A block has what its own lines allocate, but not what selected functions allocate that it calls. */
static void note_block(const void *frame, struct clp_heap_place *place)
{
    struct clp_raw_frame raw;

    clp_raw_frame_get(frame, &raw);
    place->unmarks = clears(allocating, &(struct body){.frame = frame, .code = (PyCodeObject *)(uintptr_t)raw.code});
}

/* Finds the innermost selected line that runs in the calling thread (hooks.h). Of blocks events have told. */
static bool find_line(struct clp_heap_place *place)
{
    const void *end = place->function != CLP_HEAP_NOBODY ? frame_of_block() : NULL;
    struct body body;

    if (place->function != CLP_HEAP_NOBODY && end == NULL)
        return false;
    (void)find_body(innermost_frame(), end, &body);
    if (body.frame == NULL && end != NULL)
        note_block(end, place);
    if (body.frame == NULL)
        return false;
    place->function = body.line.function;
    place->line = body.line.cell;
    place->line_count = allocating->engine.functions.items[body.line.function].line_count;
    note_execution(&body, place);
    return true;
}

void clp_counted_blocks_start(struct clp_recorder *recorder)
{
    allocating = recorder;
    clp_hooks_set_finder(find_line);
}

#endif
