/* SPDX-License-Identifier: MIT */
#include "blocks.h"
#include "text_search.h"

/* Where a block stands; kept, because a block in a loop is entered over and over. */
struct clp_place {
    struct clp_place *next;
    PyObject *code, *name; /* owned */
    int32_t first;         /* the line of its `with` */
    struct clp_selected selected; /* of the entry in the table of functions */
};

/* Places that are remembered; of code that a program keeps making none is met again. */
#define PLACES_MOST 64

/* ---- places ---- */

static void free_place(struct clp_recorder *recorder, struct clp_place *place)
{
    clp_shape_clear(&place->selected.shape, &recorder->mem);
    Py_DECREF(place->code);
    Py_DECREF(place->name);
    clp_mem_free(&recorder->mem, place, 1, sizeof *place);
}

/* Is a block of its code open? */
static bool is_watched(const struct clp_recorder *recorder, const struct clp_place *place)
{
    const struct clp_stay *stay = recorder->blocks.stays;

    while (stay != NULL && stay->place->code != place->code)
        stay = stay->next;
    return stay != NULL;
}

/* The list begins with those that were used last. */
static void forget_oldest(struct clp_recorder *recorder)
{
    struct clp_place **link = &recorder->blocks.places;

    for (int i = 0; *link != NULL; i++) {
        struct clp_place *place = *link;
        if (i < PLACES_MOST || is_watched(recorder, place)) {
            link = &place->next;
            continue;
        }
        *link = place->next;
        clp_blocks_unwatch_code(recorder, place->code);
        free_place(recorder, place);
    }
}

static struct clp_place *find_place(struct clp_recorder *recorder, PyObject *code, PyObject *name,
                                    int32_t first)
{
    for (struct clp_place **link = &recorder->blocks.places; *link != NULL;
         link = &(*link)->next) {
        struct clp_place *place = *link;
        if (place->code != code || place->first != first ||
            PyUnicode_Compare(place->name, name) != 0)
            continue;
        *link = place->next;
        place->next = recorder->blocks.places;
        recorder->blocks.places = place;
        return place;
    }
    return NULL;
}

/* An entry in the table of functions: from the line of the `with` to the end of the body it stands
 * in. */
static bool add_function(struct clp_window *window, struct clp_place *place, uint32_t text)
{
    const PyCodeObject *code = (PyCodeObject *)place->code;
    const struct clp_shape *shape = &place->selected.shape;
    int64_t end = (int64_t)shape->lowest_line + shape->line_count;
    const struct clp_function wanted = {
        .first_line = place->first,
        .lowest_line = place->first,
        .line_count = end > place->first ? (uint32_t)(end - place->first) : 1,
        .text = text,
        .generator = true, /* its key may have been another stay's */
        .awaits = (code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0,
    };

    if (wanted.line_count > CLP_FUNCTION_MOST_LINES) {
        PyErr_NoMemory();
        return false;
    }
    return clp_window_add_function(window, code->co_filename, place->name, &wanted,
                                   &place->selected.function);
}

static bool read_shape(struct clp_recorder *recorder, struct clp_place *place)
{
    struct clp_shape *shape = &place->selected.shape;
    PyCodeObject *code = (PyCodeObject *)place->code;

    return clp_shape_init(shape, &recorder->mem, code, &recorder->opcodes) &&
           (!CLP_LINE_EVENTS_REPEAT || !recorder->knows_bytecode ||
            clp_shape_find_repeats(shape, &recorder->mem, code, &recorder->bytecode));
}

static struct clp_place *new_place(struct clp_window *window, PyObject *code, PyObject *name,
                                   int32_t first, uint32_t text)
{
    struct clp_recorder *recorder = window->recorder;
    struct clp_place *place = clp_mem_alloc(&recorder->mem, 1, sizeof *place);

    if (place == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    *place = (struct clp_place){.next = recorder->blocks.places,
                                .code = Py_NewRef(code),
                                .name = Py_NewRef(name),
                                .first = first,
                                .selected = {.recorder = recorder, .suspends = true}};
    place->selected.identity = ++recorder->copies << 1 | 1;
    if (!read_shape(recorder, place) || !add_function(window, place, text)) {
        free_place(recorder, place);
        return NULL;
    }
    place->selected.audience = recorder->views.audiences[place->selected.function];
    recorder->blocks.places = place;
    forget_oldest(recorder);
    return place;
}

/* ---- stays on the stack ---- */

/* Nobody may count it now; what is on the stack already goes on. */
static bool is_counted(const struct clp_stay *stay, const struct clp_thread *thread)
{
    return clp_recorder_counts(&stay->place->selected) || clp_engine_is_running(thread, stay);
}

static bool on_top(const struct clp_thread *thread, const struct clp_stay *stay)
{
    return thread->top->frame == stay;
}

static void push(struct clp_stay *stay, struct clp_thread *thread)
{
    struct clp_recorder *recorder = stay->recorder;
    const struct clp_selected *selected = &stay->place->selected;
    struct clp_moment moment = clp_recorder_begin(recorder, thread);
    struct clp_activation *top =
        clp_engine_resume(thread, selected->function, stay, moment.now);

    if (top != NULL)
        top->code = selected->identity;
    clp_recorder_end(thread, moment);
}

/* Exits that nobody told of may have left something above it. */
static void put_on_top(struct clp_stay *stay, struct clp_thread *thread)
{
    uint64_t now = clp_clock_read(&stay->recorder->clock);

    if (on_top(thread, stay))
        return;
    if (clp_engine_is_running(thread, stay))
        (void)clp_engine_align(thread, stay->place->selected.function, stay, now);
    else
        push(stay, thread);
}

static struct clp_stay *stay_on_top(const struct clp_recorder *recorder,
                                    const struct clp_thread *thread)
{
    struct clp_stay *stay = recorder->blocks.stays;

    while (stay != NULL && !on_top(thread, stay))
        stay = stay->next;
    return stay;
}

void clp_blocks_lift_open(struct clp_recorder *recorder, struct clp_thread *thread,
                          const PyFrameObject *frame)
{
    struct clp_stay *stay = recorder->blocks.stays;

    recorder->blocks.walks++;
    for (struct clp_stay *at = stay; at != NULL; at = at->next)
        at->lifted = false;
    while ((stay = stay_on_top(recorder, thread)) != NULL && stay->frame == frame) {
        clp_recorder_suspend(thread);
        stay->lifted = true;
        recorder->blocks.lifted = true;
    }
    recorder->blocks.walks--;
}

/* The oldest first. */
static void lower_from(struct clp_stay *stay, struct clp_thread *thread)
{
    if (stay == NULL)
        return;
    lower_from(stay->next, thread);
    if (stay->lifted)
        push(stay, thread);
    stay->lifted = false;
}

void clp_blocks_lower_lifted(struct clp_recorder *recorder, struct clp_thread *thread)
{
    recorder->blocks.lifted = false;
    recorder->blocks.walks++;
    lower_from(recorder->blocks.stays, thread);
    recorder->blocks.walks--;
}

/* ---- events ---- */

bool clp_blocks_hold(const struct clp_recorder *recorder, const PyFrameObject *frame)
{
    const struct clp_stay *stay = recorder->blocks.stays;

    while (stay != NULL && stay->frame != frame)
        stay = stay->next;
    return stay != NULL;
}

/* The `with` itself is told of again when its block ends: what then follows is no line of it. */
static void begin_line(struct clp_stay *stay, struct clp_thread *thread, int line)
{
    if (!is_counted(stay, thread))
        return;
    if (line > stay->place->first) {
        put_on_top(stay, thread);
        clp_recorder_line(stay->recorder, thread, line);
        stay->begun = true;
        stay->over = false;
    } else if (stay->begun && on_top(thread, stay)) {
        clp_recorder_leave(thread);
        stay->over = true;
    }
}

/* A block within another is part of it; the oldest first. */
static void begin_lines(struct clp_stay *stay, const PyFrameObject *frame,
                        struct clp_thread *thread, int line)
{
    if (stay == NULL)
        return;
    begin_lines(stay->next, frame, thread, line);
    if (stay->frame == frame)
        begin_line(stay, thread, line);
}

static bool repeats(const struct clp_stay *stay, const struct clp_thread *thread, int line)
{
    return CLP_LINE_EVENTS_REPEAT && on_top(thread, stay) &&
           clp_engine_current_line(thread) == line &&
           clp_shape_repeats_at(&stay->place->selected.shape,
                                clp_compat_frame_offset(stay->frame), line, CLP_SHAPE_NO_LINE);
}

/* Is it in another block of its body? */
static bool is_within(const struct clp_stay *stay)
{
    const struct clp_stay *older = stay->next;

    while (older != NULL && older->frame != stay->frame)
        older = older->next;
    return older != NULL;
}

void clp_blocks_line(struct clp_recorder *recorder, PyFrameObject *frame, int line)
{
    struct clp_thread *thread = clp_recorder_thread(recorder);
    struct clp_stay *top = thread != NULL ? stay_on_top(recorder, thread) : NULL;

    if (thread == NULL || (top != NULL && top->frame == frame && repeats(top, thread, line)))
        return;
    if (top != NULL && top->frame == frame && is_within(top))
        clp_blocks_lift_open(recorder, thread, frame);
    recorder->blocks.lifted = false;
    recorder->blocks.walks++;
    begin_lines(recorder->blocks.stays, frame, thread, line);
    recorder->blocks.walks--;
}

void clp_blocks_suspend(struct clp_recorder *recorder, const PyFrameObject *frame)
{
    if (clp_thread_here != NULL)
        clp_blocks_lift_open(recorder, clp_thread_here, frame);
    recorder->blocks.lifted = false;
}

static void resume_from(struct clp_stay *stay, const PyFrameObject *frame,
                        struct clp_thread *thread)
{
    if (stay == NULL)
        return;
    resume_from(stay->next, frame, thread);
    if (stay->frame == frame && clp_recorder_counts(&stay->place->selected) &&
        !clp_engine_is_running(thread, stay))
        push(stay, thread);
}

void clp_blocks_resume(struct clp_recorder *recorder, const PyFrameObject *frame)
{
    struct clp_thread *thread = clp_recorder_thread(recorder);

    recorder->blocks.walks++;
    if (thread != NULL)
        resume_from(recorder->blocks.stays, frame, thread);
    recorder->blocks.walks--;
}

/* ---- opening and closing ---- */

/* The name of `with profile` itself. */
static PyObject *name_of(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030B0000
    return PyUnicode_FromFormat("%U.<block>", code->co_qualname);
#else
    return PyUnicode_FromFormat("%U.<block>", code->co_name);
#endif
}

/* The number of the text in which a block stands that is entered for the first time: finding it runs Python code. */
static uint32_t find_text(struct clp_recorder *recorder, PyFrameObject *frame, PyCodeObject *code,
                          PyObject *name)
{
    if (find_place(recorder, (PyObject *)code, name, PyFrame_GetLineNumber(frame)) != NULL)
        return CLP_TEXT_NONE;
    PyObject *globals = PyObject_GetAttrString((PyObject *)frame, "f_globals");
    if (globals == NULL)
        PyErr_Clear(); /* no memory for them: the search does without */
    uint32_t text = clp_text_search(&recorder->texts, clp_recorder_plain_code(recorder, code), globals,
                                    false);

    Py_XDECREF(globals);
    return text;
}

static struct clp_place *place_of(struct clp_window *window, PyFrameObject *frame, PyObject *code,
                                  PyObject *name, uint32_t text)
{
    int32_t first = PyFrame_GetLineNumber(frame);
    struct clp_place *place = find_place(window->recorder, code, name, first);

    if (place == NULL)
        return new_place(window, code, name, first, text);
    return clp_window_add(window, place->selected.function, true) ? place : NULL;
}

static struct clp_stay *new_stay(struct clp_recorder *recorder, struct clp_place *place,
                                 PyFrameObject *frame, bool named)
{
    struct clp_stay *stay = clp_mem_alloc(&recorder->mem, 1, sizeof *stay);

    if (stay == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    *stay = (struct clp_stay){.next = recorder->blocks.stays,
                              .recorder = recorder,
                              .place = place,
                              .frame = (PyFrameObject *)Py_NewRef((PyObject *)frame),
                              .named = named};
    recorder->blocks.stays = stay;
    return stay;
}

static void free_stay(struct clp_stay *stay)
{
    struct clp_stay **link = &stay->recorder->blocks.stays;

    while (*link != stay)
        link = &(*link)->next;
    *link = stay->next;
    Py_DECREF(stay->frame);
    clp_mem_free(&stay->recorder->mem, stay, 1, sizeof *stay);
}

static struct clp_stay *open_stay(struct clp_recorder *recorder, struct clp_place *place,
                                  PyFrameObject *frame, bool named)
{
    struct clp_stay *stay = new_stay(recorder, place, frame, named);

    if (stay == NULL || clp_blocks_watch(stay, place->code))
        return stay;
    free_stay(stay);
    return NULL;
}

static struct clp_stay *open_block(struct clp_window *window, PyFrameObject *frame,
                                   PyCodeObject *code, PyObject *name, bool named)
{
    uint32_t text = find_text(window->recorder, frame, code, name);
    struct clp_stay *stay = NULL;

    if (!clp_window_hold(window))
        return NULL;
    struct clp_place *place = place_of(window, frame, (PyObject *)code, name, text);
    if (place != NULL)
        stay = open_stay(window->recorder, place, frame, named);
    clp_window_release(window);
    return stay;
}

struct clp_stay *clp_blocks_open(struct clp_window *window, PyFrameObject *frame, PyObject *name)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    PyObject *its_name = name != NULL ? Py_NewRef(name) : name_of(code);
    struct clp_stay *stay = NULL;

    if (its_name != NULL)
        stay = open_block(window, frame, code, its_name, name != NULL);
    Py_XDECREF(its_name);
    Py_DECREF(code);
    return stay;
}

void clp_blocks_begin(struct clp_stay *stay)
{
    struct clp_thread *thread = clp_recorder_thread(stay->recorder);

    if (thread != NULL && clp_recorder_counts(&stay->place->selected))
        clp_recorder_enter(&stay->place->selected, thread, stay);
}

/* A block on the line of its `with` had no event of its own: that line has it all. */
static void end(struct clp_stay *stay, struct clp_thread *thread)
{
    put_on_top(stay, thread);
    if (!stay->begun)
        clp_recorder_line(stay->recorder, thread, stay->place->first);
    clp_recorder_leave(thread);
}

void clp_blocks_close(struct clp_stay *stay)
{
    struct clp_recorder *recorder = stay->recorder;
    struct clp_thread *thread = clp_recorder_thread(recorder);

    if (thread != NULL && !stay->over && is_counted(stay, thread))
        end(stay, thread);
    clp_blocks_unwatch(stay);
    free_stay(stay);
}

struct clp_stay *clp_blocks_find(const struct clp_recorder *recorder, const PyFrameObject *frame)
{
    struct clp_stay *stay = recorder->blocks.stays;

    while (stay != NULL && (stay->named || stay->frame != frame))
        stay = stay->next;
    return stay;
}

/* The body is left, but its `with` never was: it was entered by hand. */
void clp_blocks_leave(struct clp_recorder *recorder, const PyFrameObject *frame)
{
    struct clp_thread *thread = clp_thread_here;

    recorder->blocks.walks++;
    for (struct clp_stay *stay = recorder->blocks.stays; stay != NULL; stay = stay->next) {
        if (stay->frame == frame && thread != NULL && clp_engine_is_running(thread, stay)) {
            put_on_top(stay, thread);
            clp_recorder_leave(thread);
        }
    }
    recorder->blocks.walks--;
}

bool clp_blocks_yield_at(const struct clp_recorder *recorder, PyFrameObject *frame)
{
    for (const struct clp_stay *stay = recorder->blocks.stays; stay != NULL; stay = stay->next)
        if (stay->frame == frame)
            return clp_shape_yields_at(&stay->place->selected.shape,
                                       clp_compat_frame_offset(frame));
    return false;
}

void clp_blocks_rest(struct clp_recorder *recorder)
{
    for (struct clp_place *place = recorder->blocks.places; place != NULL; place = place->next)
        if (!is_watched(recorder, place))
            clp_blocks_unwatch_code(recorder, place->code);
    if (recorder->blocks.stays == NULL)
        clp_blocks_unwatch_all(recorder);
}

void clp_blocks_stop(struct clp_recorder *recorder)
{
    for (struct clp_place *place = recorder->blocks.places; place != NULL; place = place->next)
        clp_blocks_unwatch_code(recorder, place->code);
    clp_blocks_unwatch_all(recorder);
}
