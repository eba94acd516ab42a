/* SPDX-License-Identifier: MIT */
#include "cython_selecting.h"
#include "cpython/tracers/cython.h"
#include "cpython/tracers/cython_monitoring.h"
#include "cpython/tracers/settrace.h"
#include "profile/source_block.h"

/* A function, and where its source is. References are borrowed. */
struct place {
    struct clp_cython_key key;
    PyObject *path, *text;
    int32_t last_line;
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
    const char *dot = strrchr(Py_TYPE(object)->tp_name, '.'), *name = dot != NULL ? dot + 1 : Py_TYPE(object)->tp_name;

    return strcmp(name, "cython_function_or_method") == 0 || strcmp(name, "fused_cython_function") == 0;
}

static bool holds(PyObject *names, bool with_classes)
{
    PyObject *name, *value;
    Py_ssize_t at = 0;
    bool found = false;

    while (!found && PyDict_Next(names, &at, &name, &value)) {
        PyObject *within = with_classes && PyType_Check(value) ? clp_compat_class_dict(value) : NULL;
        found = clp_cython_is(value) || (within != NULL && PyDict_Check(within) && holds(within, false));
        Py_XDECREF(within);
    }
    return found;
}

bool clp_cython_made(PyObject *module)
{
    bool made = PyModule_Check(module) && holds(PyModule_GetDict(module), true);

    PyErr_Clear();
    return made;
}

/* Stores the text. Returns its number, or CLP_TEXT_NONE. */
static uint32_t store_text(struct clp_recorder *recorder, const struct place *place)
{
    return PyBytes_Check(place->text)
               ? clp_source_cache_add(&recorder->texts, place->path, Py_NewRef(place->text))
               : CLP_TEXT_NONE;
}

static struct clp_span span_of(const struct place *place)
{
    if (!PyBytes_Check(place->text))
        return (struct clp_span){"", 0};
    return (struct clp_span){PyBytes_AS_STRING(place->text), (size_t)PyBytes_GET_SIZE(place->text)};
}

static uint32_t count_lines(const struct place *place)
{
    int32_t first = place->key.first_line;
    int32_t last = PyBytes_Check(place->text) ? clp_source_block_end(span_of(place), first) : place->last_line;

    return last >= first && last - first < (int)CLP_FUNCTION_MOST_LINES ? (uint32_t)(last - first) + 1 : 1;
}

/* Does the line have the word `for`, before any comment? */
static bool has_loop(struct clp_span line)
{
    for (size_t i = 0; i + 3 <= line.bytes && line.text[i] != '#'; i++)
        if (memcmp(line.text + i, "for", 3) == 0 && (i + 3 == line.bytes || !clp_source_is_word_byte(line.text[i + 3])) &&
            (i == 0 || !clp_source_is_word_byte(line.text[i - 1])))
            return true;
    return false;
}

/* Finds the lines of loops, one byte for each line. Without a text each may be one. NULL with an exception set. */
static uint8_t *find_loops(struct clp_recorder *recorder, const struct place *place, uint32_t count)
{
    uint8_t *loops = clp_mem_alloc(&recorder->mem, count, 1);
    struct clp_source_walk walk = {.text = span_of(place)};
    struct clp_span line;

    if (loops == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    clp_source_walk_to(&walk, place->key.first_line);
    for (uint32_t i = 0; i < count; i++)
        loops[i] = !clp_source_next_line(&walk.rest, &line) || has_loop(line);
    return loops;
}

/* Adds the function to the table and to the window. Which of its lines hold code is not known. False with an exception
 * set. */
static bool add(struct clp_code_window *window, const struct place *place, uint32_t text)
{
    struct clp_recorder *recorder = window->recorder;
    uint32_t number, count = count_lines(place);
    uint8_t *loops;
    const struct clp_function wanted = {
        .first_line = place->key.first_line,
        .lowest_line = place->key.first_line,
        .line_count = count,
        .text = text,
    };
    bool done = clp_code_window_add_function(window, place->path, place->key.name, &wanted, &number);

    if (done && !place->tells)
        recorder->engine.functions.items[number].compiler = CLP_CYTHON;
    if (!done || !place->tells)
        return done;
    loops = find_loops(recorder, place, count);
    return loops != NULL && clp_cython_add(recorder, &place->key, number, loops, count);
}

static bool select_there(struct clp_code_window *window, const struct place *place)
{
    if (!clp_code_window_is_there(window))
        return false;
    struct clp_recorder *recorder = window->recorder;
    uint32_t text = store_text(recorder, place);
    if (!clp_code_window_hold(window))
        return false;
    const struct clp_cython_function *known = clp_cython_known(recorder, &place->key);
    bool done = known != NULL ? clp_code_window_add(window, known->selected.function, true)
                              : add(window, place, text);
    clp_code_window_release(window);
    return done && clp_cython_begin(recorder);
}

bool clp_cython_select_at(struct clp_code_window *window, const struct clp_cython_key *key, PyObject *path,
                          PyObject *text, int32_t last_line)
{
    return select_there(window, &(struct place){*key, path, text, last_line, true});
}

int clp_cython_select(struct clp_code_window *window, PyObject *object)
{
    PyObject *helper = clp_compat_own_module("clineprof._boot.cython");
    PyObject *found = helper != NULL ? PyObject_CallMethod(helper, "place_of", "O", object) : NULL;
    struct place place;
    int tells, selected = found == Py_None ? 0 : -1;

    if (found != NULL && found != Py_None &&
        PyArg_ParseTuple(found, "OUUOUiip", &place.key.code, &place.key.file, &place.path, &place.text, &place.key.name,
                         &place.key.first_line, &place.last_line, &tells)) {
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
    if (known != NULL && known->code != NULL && known->code != code)
        known = NULL; /* another function at the same place, such as a variant of a fused one */
    Py_XDECREF(code);
    return code != NULL && (known == NULL || clp_code_window_remove(window, known->selected.function));
}
