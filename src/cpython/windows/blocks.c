/* SPDX-License-Identifier: MIT */
#include "blocks.h"
#include "cpython/tracers/block_events.h"
#include "block_places.h"
#include "cpython/tracers/block_source.h"
#include "cpython/code/text_search.h"

/* ---- places ---- */

/* Adds the block to the table of functions: the line of the `with` and all lines of the body behind it. */
static bool add_function(struct clp_code_window *window, struct clp_with_place *place, uint32_t text)
{
    const PyCodeObject *code = (PyCodeObject *)place->code;
    const struct clp_code_lines *lines = &place->selected.shape;
    uint32_t above = 0;

    while (lines->lines != NULL && above < lines->line_count && lines->lines[above] < place->first)
        above++;
    bool known = lines->lines != NULL && above < lines->line_count && lines->lines[above] == place->first;
    const struct clp_function wanted = {
        .first_line = place->first,
        .lowest_line = place->first,
        .line_count = known ? lines->line_count - above : 1,
        .lines = known ? lines->lines + above : NULL,
        .text = text,
        .generator = true, /* another stay at the same address may have been kept under this key */
        .awaits = (code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0,
    };

    if (clp_code_lines_span(lines) > CLP_FUNCTION_MOST_LINES) {
        PyErr_NoMemory();
        return false;
    }
    return clp_code_window_add_function(window, code->co_filename, place->name, &wanted,
                                        &place->selected.function);
}

/* ---- opening and closing ---- */

/* The name of the block of `with profile`. */
static PyObject *name_of(PyCodeObject *code)
{
#if CLP_CODE_HAS_QUALNAME
    return PyUnicode_FromFormat("%U.<block>", code->co_qualname);
#else
    return PyUnicode_FromFormat("%U.<block>", code->co_name);
#endif
}

/* The number of the text in which the block stands. It is searched for, which runs Python code, when the block
 * is entered for the first time; otherwise the result is CLP_TEXT_NONE. */
static uint32_t find_text(struct clp_recorder *recorder, PyFrameObject *frame, PyCodeObject *code,
                          PyObject *name)
{
    if (clp_block_place_find(recorder, (PyObject *)code, name, PyFrame_GetLineNumber(frame)) != NULL)
        return CLP_TEXT_NONE;
    PyObject *globals = PyObject_GetAttrString((PyObject *)frame, "f_globals");
    if (globals == NULL)
        PyErr_Clear(); /* no memory for the globals: the search does without them */
    uint32_t text = clp_text_search(&recorder->texts, clp_recorder_plain_code(recorder, code), globals,
                                    false);

    Py_XDECREF(globals);
    return text;
}

static struct clp_with_place *new_place(struct clp_code_window *window, PyObject *code, PyObject *name,
                                   int32_t first, uint32_t text)
{
    struct clp_with_place *place = clp_block_place_new(window->recorder, code, name, first);

    if (place == NULL)
        return NULL;
    if (!add_function(window, place, text)) {
        clp_block_place_free(window->recorder, place);
        return NULL;
    }
    clp_block_place_keep(window->recorder, place);
    return place;
}

static struct clp_with_place *place_of(struct clp_code_window *window, PyFrameObject *frame, PyObject *code,
                                  PyObject *name, uint32_t text)
{
    int32_t first = PyFrame_GetLineNumber(frame);
    struct clp_with_place *place = clp_block_place_find(window->recorder, code, name, first);

    if (place == NULL)
        return new_place(window, code, name, first, text);
    return clp_code_window_add(window, place->selected.function, true) ? place : NULL;
}

static struct clp_stay *new_stay(struct clp_recorder *recorder, struct clp_with_place *place,
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
                              .selected = &place->selected,
                              .first = place->first,
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
    Py_XDECREF(stay->record);
    clp_mem_free(&stay->recorder->mem, stay, 1, sizeof *stay);
}

static struct clp_stay *open_stay(struct clp_recorder *recorder, struct clp_with_place *place,
                                  PyFrameObject *frame, bool named)
{
    struct clp_stay *stay = new_stay(recorder, place, frame, named);

    if (stay == NULL || clp_blocks_watch(stay, place->code))
        return stay;
    free_stay(stay);
    return NULL;
}

static struct clp_stay *open_block(struct clp_code_window *window, PyFrameObject *frame,
                                   PyCodeObject *code, PyObject *name, bool named)
{
    uint32_t text = find_text(window->recorder, frame, code, name);
    struct clp_stay *stay = NULL;

    if (!clp_code_window_hold(window))
        return NULL;
    struct clp_with_place *place = place_of(window, frame, (PyObject *)code, name, text);
    if (place != NULL)
        stay = open_stay(window->recorder, place, frame, named);
    clp_code_window_release(window);
    return stay;
}

struct clp_stay *clp_blocks_open(struct clp_code_window *window, PyFrameObject *frame, PyObject *name)
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

void clp_blocks_close(struct clp_stay *stay)
{
    clp_blocks_end(stay);
    clp_blocks_forget(stay);
}

void clp_blocks_forget(struct clp_stay *stay)
{
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
