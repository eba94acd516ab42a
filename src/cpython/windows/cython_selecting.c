/* SPDX-License-Identifier: MIT */
#include "cython_selecting.h"
#include "cpython/tracers/cython.h"
#include "cpython/tracers/cython_monitoring.h"
#include "cpython/tracers/settrace.h"
#include "profile/source_block.h"

/* A function, and where its source is. References are borrowed. */
struct place {
    PyObject *code_file, *path, *text, *name;
    int32_t first_line, last_line;
    bool tells; /* was it compiled with line tracing? */
};

const char *clp_cython_missing(const struct clp_recorder *recorder)
{
    if (CLP_CYTHON_MONITORS || (!CLP_HAS_FRAME_HOOK && recorder->tracer == &clp_tracer_settrace))
        return NULL;
    return CLP_HAS_FRAME_HOOK ? "was compiled by Cython, whose lines are seen from Python 3.11 on"
                              : "was compiled by Cython, whose lines only --tracer settrace sees before Python 3.13";
}

bool clp_cython_is(PyObject *object)
{
    return strstr(Py_TYPE(object)->tp_name, "cython_function_or_method") != NULL;
}

/* Stores the text. Returns its number, or CLP_TEXT_NONE. */
static uint32_t store_text(struct clp_recorder *recorder, const struct place *place)
{
    return PyBytes_Check(place->text)
               ? clp_source_cache_add(&recorder->texts, place->path, Py_NewRef(place->text))
               : CLP_TEXT_NONE;
}

static int32_t last_line(const struct place *place)
{
    struct clp_span text;
    int32_t last = place->last_line;

    if (PyBytes_Check(place->text)) {
        text = (struct clp_span){PyBytes_AS_STRING(place->text), (size_t)PyBytes_GET_SIZE(place->text)};
        last = clp_source_block_end(text, place->first_line);
    }
    return last < place->first_line                                  ? place->first_line
           : last - place->first_line < (int)CLP_FUNCTION_MOST_LINES ? last
                                                                      : place->first_line;
}

/* Adds the function to the table and to the window. Which of its lines hold code is not known. False with an exception
 * set. */
static bool add(struct clp_code_window *window, const struct place *place, uint32_t text)
{
    struct clp_recorder *recorder = window->recorder;
    uint32_t number, count = (uint32_t)(last_line(place) - place->first_line) + 1;
    uint8_t *instructions = clp_mem_alloc(&recorder->mem, count, 1);
    const struct clp_function wanted = {
        .first_line = place->first_line,
        .lowest_line = place->first_line,
        .line_count = count,
        .text = text,
        .instructions = instructions,
    };

    if (instructions == NULL)
        PyErr_NoMemory();
    bool done = instructions != NULL &&
                clp_code_window_add_function(window, place->path, place->name, &wanted, &number);
    clp_mem_free(&recorder->mem, instructions, count, 1);
    if (done && !place->tells)
        recorder->engine.functions.items[number].compiler = CLP_CYTHON;
    return done && (!place->tells || clp_cython_add(recorder, place->code_file, place->first_line, number));
}

static bool select_there(struct clp_code_window *window, const struct place *place)
{
    uint32_t text;

    if (!clp_code_window_is_there(window))
        return false;
    text = store_text(window->recorder, place);
    if (!clp_code_window_hold(window))
        return false;
    struct clp_recorder *recorder = window->recorder;
    const struct clp_cython_function *known = clp_cython_at(recorder, place->code_file, place->first_line);
    bool done = known != NULL ? clp_code_window_add(window, known->selected.function, true)
                              : add(window, place, text);
    done = done && clp_cython_monitor(recorder);
    clp_code_window_release(window);
    return done;
}

bool clp_cython_select_at(struct clp_code_window *window, PyObject *code_file, PyObject *path, PyObject *text,
                          PyObject *name, int32_t first_line, int32_t last_line)
{
    return select_there(window, &(struct place){code_file, path, text, name, first_line, last_line, true});
}

int clp_cython_select(struct clp_code_window *window, PyObject *object)
{
    PyObject *helper = PyImport_ImportModule("clineprof._boot.cython");
    PyObject *found = helper != NULL ? PyObject_CallMethod(helper, "place_of", "O", object) : NULL;
    struct place place;
    int tells, selected = found == Py_None ? 0 : -1;

    if (found != NULL && found != Py_None &&
        PyArg_ParseTuple(found, "UUOUiip", &place.code_file, &place.path, &place.text, &place.name,
                         &place.first_line, &place.last_line, &tells)) {
        place.tells = tells;
        selected = select_there(window, &place) ? 1 : -1;
    }
    Py_XDECREF(helper);
    Py_XDECREF(found);
    return selected;
}

bool clp_cython_remove(struct clp_code_window *window, PyObject *object)
{
    PyObject *code = PyObject_GetAttrString(object, "__code__");
    const struct clp_cython_function *known = NULL;

    if (code != NULL)
        known = clp_cython_find(window->recorder, code);
    Py_XDECREF(code);
    return code != NULL && (known == NULL || clp_code_window_remove(window, known->selected.function));
}
