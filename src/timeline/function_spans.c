/* SPDX-License-Identifier: MIT */
#include "function_spans.h"
#include <stdlib.h>

static uint64_t length(const struct clp_function_span *mark)
{
    return mark->leave - mark->enter;
}

static int by_length(const void *a, const void *b)
{
    uint64_t one = length(a), two = length(b);

    return one < two ? 1 : one > two ? -1 : 0;
}

static int by_beginning(const void *a, const void *b)
{
    const struct clp_function_span *one = a, *two = b;

    if (one->enter != two->enter)
        return one->enter > two->enter ? 1 : -1;
    return one->level > two->level ? 1 : one->level < two->level ? -1 : 0;
}

static void close(struct clp_function_spans *marks, const struct clp_function_span *mark)
{
    if (length(mark) < marks->least)
        return;
    if (marks->closed_count == CLP_FUNCTION_SPANS) {
        qsort(marks->closed, CLP_FUNCTION_SPANS, sizeof *marks->closed, by_length);
        marks->closed_count = CLP_FUNCTION_SPANS / 2;
        marks->least = length(&marks->closed[CLP_FUNCTION_SPANS / 2 - 1]) + 1;
        if (length(mark) < marks->least)
            return;
    }
    marks->closed[marks->closed_count++] = *mark;
}

static struct clp_function_span *find_open(struct clp_function_spans *marks, const struct clp_function_span *wanted)
{
    for (size_t i = 0; i < marks->open_count; i++) {
        struct clp_function_span *mark = &marks->open[i];
        if (mark->thread == wanted->thread && mark->level == wanted->level &&
            mark->entered == wanted->entered && mark->function == wanted->function)
            return mark;
    }
    return NULL;
}

static void see(struct clp_function_spans *marks, const struct clp_function_span *seen)
{
    struct clp_function_span *mark = find_open(marks, seen);

    if (mark == NULL && marks->open_count == CLP_FUNCTION_SPANS)
        return;
    if (mark == NULL) {
        mark = &marks->open[marks->open_count++];
        *mark = *seen;
    }
    mark->leave = seen->leave;
    mark->look = marks->look;
}

/* `entered` is by the thread's own clock, which is behind the clock by the time for which it stood still
 * (`stopped`). */
static void see_thread(struct clp_function_spans *marks, const struct clp_thread *thread, uint64_t now)
{
    const struct clp_activation *activation = thread->stack + 1; /* [0] is the floor */

    for (uint32_t level = 0; level < CLP_FUNCTION_SPANS_DEPTH && activation <= thread->top;
         level++, activation++) {
        uint64_t enter = activation->entered + thread->stopped;
        see(marks, &(struct clp_function_span){.enter = enter < now ? enter : now,
                                               .leave = now,
                                               .entered = activation->entered,
                                               .thread = thread,
                                               .function = activation->block->function,
                                               .level = level});
    }
}

static void close_unseen(struct clp_function_spans *marks)
{
    size_t kept = 0;

    for (size_t i = 0; i < marks->open_count; i++) {
        if (marks->open[i].look == marks->look)
            marks->open[kept++] = marks->open[i];
        else
            close(marks, &marks->open[i]);
    }
    marks->open_count = kept;
}

void clp_function_spans_look(struct clp_function_spans *marks, const struct clp_engine *engine, uint64_t now)
{
    marks->look++;
    for (const struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next)
        see_thread(marks, thread, now);
    close_unseen(marks);
}

void clp_function_spans_end(struct clp_function_spans *marks)
{
    marks->look++;
    close_unseen(marks);
    qsort(marks->closed, marks->closed_count, sizeof *marks->closed, by_beginning);
}
