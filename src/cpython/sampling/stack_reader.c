/* SPDX-License-Identifier: MIT */
#include "stack_reader.h"
#include <string.h>

#define TRIES 3
#define HINTS (sizeof((struct clp_stack_hint *)0)->pages / sizeof(char *))

static const char *page_of(const void *address)
{
    return (const char *)((uintptr_t)address & ~(uintptr_t)(CLP_STACK_PAGE - 1));
}

/* ---- pages ---- */

static char *find_page(struct clp_stack_reader *reader, const char *page)
{
    for (size_t i = 0; i < reader->page_count; i++) {
        size_t at = (reader->latest + i) % reader->page_count;
        if (reader->pages[at] == page) {
            reader->latest = at;
            return reader->copies[at];
        }
    }
    return NULL;
}

/* Reads one more page; the oldest makes room. NULL: it cannot be read. */
static char *read_page(struct clp_stack_reader *reader, const char *page)
{
    size_t at = reader->page_count < CLP_STACK_PAGES ? reader->page_count : (reader->latest + 1) % CLP_STACK_PAGES;

    if (!clp_peek_one(&reader->peek, page, reader->copies[at], CLP_STACK_PAGE)) {
        if (at < reader->page_count)
            reader->pages[at] = NULL;
        return NULL;
    }
    reader->pages[at] = page;
    reader->latest = at;
    if (at == reader->page_count)
        reader->page_count++;
    return reader->copies[at];
}

/* Copies a part of a frame, which does not cross the end of a page. *more counts the system calls. */
static bool copy_part(struct clp_stack_reader *reader, const char *from, char *into, size_t bytes, size_t *more)
{
    const char *page = page_of(from), *copy = find_page(reader, page);

    if (copy == NULL) {
        ++*more;
        copy = read_page(reader, page);
    }
    if (copy == NULL)
        return false;
    memcpy(into, copy + (from - page), bytes);
    return true;
}

static bool copy_frame(struct clp_stack_reader *reader, const char *from, char *into, size_t *more)
{
    size_t here = (size_t)(page_of(from) + CLP_STACK_PAGE - from);

    if (here >= CLP_RAW_FRAME_BYTES)
        return copy_part(reader, from, into, CLP_RAW_FRAME_BYTES, more);
    return copy_part(reader, from, into, here, more) &&
           copy_part(reader, from + here, into + here, CLP_RAW_FRAME_BYTES - here, more);
}

/* ---- a stack ---- */

/* Adds a page to those that will be read, in ascending order. */
static void add_page(struct clp_stack_reader *reader, const char *page)
{
    size_t at = reader->page_count;

    for (size_t i = 0; i < reader->page_count; i++)
        if (reader->pages[i] == page)
            return;
    for (; at > 0 && reader->pages[at - 1] > page; at--)
        reader->pages[at] = reader->pages[at - 1];
    reader->pages[at] = page;
    reader->page_count++;
}

/* Reads the address of the innermost frame and, with the same call, the pages where frames should be: where they were at
 * the last read, and the end of the stack of frames. Pages that lie side by side are one part, so that frames on both sides
 * of a seam are copied within some nanoseconds. */
static bool read_together(struct clp_stack_reader *reader, const struct clp_raw_thread *thread,
                          const struct clp_stack_hint *hint, const char **innermost)
{
    const void *place;
    struct clp_peek_part parts[HINTS + 3] = {
        {thread->frame_at, innermost, sizeof *innermost},
        {thread->place_at, &place, sizeof place},
    };
    size_t count = 2;

    reader->page_count = reader->latest = 0;
    add_page(reader, page_of(thread->top - 1));
    for (size_t i = 0; i < HINTS && hint->pages[i] != NULL; i++)
        add_page(reader, hint->pages[i]);
    for (size_t i = 0; i < reader->page_count; i++) {
        if (i != 0 && reader->pages[i] == reader->pages[i - 1] + CLP_STACK_PAGE)
            parts[count - 1].bytes += CLP_STACK_PAGE;
        else
            parts[count++] = (struct clp_peek_part){reader->pages[i], reader->copies[i], CLP_STACK_PAGE};
    }
    size_t whole = clp_peek_read(&reader->peek, parts, count);
    reader->page_count = 0;
    for (size_t i = 2; i < whole; i++)
        reader->page_count += parts[i].bytes / CLP_STACK_PAGE;
    return whole >= 2 && place == thread->place;
}

static void note_page(struct clp_stack_hint *hint, size_t *count, const char *page)
{
    for (size_t i = 0; i < *count; i++)
        if (hint->pages[i] == page)
            return;
    if (*count < HINTS)
        hint->pages[(*count)++] = page;
}

/* Follows the frames outwards. *more is how many system calls that took. False: a frame on the way is none any more. */
static bool follow(struct clp_stack_reader *reader, const char *frame, struct clp_stack_hint *hint, size_t *more)
{
    struct clp_stack *stack = &reader->stack;
    char copy[CLP_RAW_FRAME_BYTES];
    size_t pages = 0;

    memset(hint, 0, sizeof *hint);
    for (stack->count = 0; frame != NULL && stack->count < CLP_STACK_MOST; stack->count++) {
        struct clp_raw_frame *into = &stack->frames[stack->count];
        if ((uintptr_t)frame % sizeof(void *) != 0 || !copy_frame(reader, frame, copy, more))
            return false;
        note_page(hint, &pages, page_of(frame));
        clp_raw_frame_get(copy, into);
        frame = into->previous;
    }
    stack->left = clp_raw_frames_left(stack->frames, stack->count, &stack->doubtful);
    stack->cut = frame != NULL;
    return stack->cut || stack->count == 0 || stack->frames[stack->count - 1].outermost;
}

/* What needed further system calls is from a later moment. Then the innermost frame must still be the same; otherwise all
 * is read again, and most of it together now. After the last try it is taken as it is. */
bool clp_stack_reader_read(struct clp_stack_reader *reader, const struct clp_raw_thread *thread,
                           struct clp_stack_hint *hint)
{
    bool whole = false;

    for (int tries = 0; tries < TRIES; tries++) {
        const char *innermost = NULL, *now = NULL;
        size_t more = 0;
        whole = read_together(reader, thread, hint, &innermost) && follow(reader, innermost, hint, &more);
        if (whole && (more == 0 || (clp_peek_one(&reader->peek, thread->frame_at, &now, sizeof now) && now == innermost)))
            return true;
    }
    return whole;
}

bool clp_stack_reader_thread(struct clp_stack_reader *reader, const PyThreadState *state, const PyThreadState *before,
                             struct clp_raw_thread *thread)
{
    union {
        PyThreadState state;
        char bytes[sizeof(PyThreadState)];
    } copy;

    if (!clp_peek_one(&reader->peek, state, copy.bytes, CLP_RAW_THREAD_BYTES))
        return false;
    clp_raw_thread_get(state, &copy.state, thread);
    return thread->interpreter == reader->interpreter && thread->before == before;
}

/* ---- does it work here? ---- */

/* Is the innermost frame that was read the one that runs, at the instruction where the interpreter says that it is? */
static bool is_running(const struct clp_stack *stack, PyFrameObject *running)
{
    PyCodeObject *code = PyFrame_GetCode(running);
    bool same = stack->count != 0 && stack->frames[0].code == code &&
                (int)clp_raw_unit(code, stack->frames[0].instruction) * 2 == clp_compat_frame_offset(running);

    Py_DECREF(code);
    return same;
}

const char *clp_stack_reader_begin(struct clp_stack_reader *reader)
{
    PyThreadState *own = PyThreadState_Get();
    PyFrameObject *running = clp_compat_frame_here();
    struct clp_stack_hint hint = {0};
    struct clp_raw_thread thread;

    reader->interpreter = PyInterpreterState_Main();
    if (!CLP_HAS_RAW_FRAMES)
        return "the stacks of this Python cannot be read";
    if (!clp_peek_begin(&reader->peek))
        return "the system does not let a process read its own memory";
    if (!clp_peek_one(&reader->peek, own, &(char){0}, 1) || own->interp != reader->interpreter ||
        !clp_stack_reader_thread(reader, own, own->prev, &thread) || !thread.holds_lock ||
        !clp_stack_reader_read(reader, &thread, &hint) || (running != NULL && !is_running(&reader->stack, running)))
        return "the stacks of this Python cannot be read";
    return NULL;
}
