/* SPDX-License-Identifier: MIT */
#include "cython.h"
#include "cpython/recorder/callers.h"
#include "cpython/recorder/recorder.h"
#include "cpython/recorder/events.h"

/* ---- which functions there are ---- */

/* The UTF-8 text of a str, borrowed; "" where it has none. Leaves no exception. */
static const char *text_of(PyObject *string)
{
    const char *text = PyUnicode_AsUTF8(string);

    PyErr_Clear();
    return text != NULL ? text : "";
}

static uint64_t hash_of(PyObject *file, int32_t first_line)
{
    const char *text = text_of(file);

    return clp_hash_text((uint64_t)first_line, text, strlen(text));
}

static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot != NULL ? dot + 1 : name;
}

static struct clp_cython_function *get(const struct clp_recorder *recorder, uint64_t key)
{
    uint64_t found;

    return clp_hashmap_get(&recorder->cython.functions, key, &found) ? (void *)(uintptr_t)found : NULL;
}

/* Is it the function at this line whose code has this name? Cython calls a property's functions __get__, __set__ and
 * __del__, and variants of a fused function __pyx_... Other code may begin on the same line: that of a lambda, or of a
 * generator expression. */
static bool is_it(const struct clp_cython_function *function, PyObject *file, int32_t first_line, const char *name)
{
    return function != NULL && function->first_line == first_line && PyUnicode_Compare(function->file, file) == 0 &&
           (strcmp(function->name, name) == 0 || strncmp(name, "__pyx_", 6) == 0 || strcmp(name, "__get__") == 0 ||
            strcmp(name, "__set__") == 0 || strcmp(name, "__del__") == 0);
}

/* Finds a function by the address of its code, which it holds, or by its place. */
static struct clp_cython_function *find(const struct clp_recorder *recorder, PyObject *code, PyObject *file,
                                        int32_t first_line, const char *name)
{
    struct clp_cython_function *function = code != NULL ? get(recorder, (uintptr_t)code) : NULL;

    if (function != NULL && function->code == code)
        return function;
    function = get(recorder, hash_of(file, first_line));
    return is_it(function, file, first_line, name) ? function : NULL;
}

struct clp_cython_function *clp_cython_known(const struct clp_recorder *recorder, const struct clp_cython_key *key)
{
    struct clp_cython_function *function =
        find(recorder, key->code, key->file, key->first_line, last_part(text_of(key->name)));

    return function != NULL && (key->code == NULL || function->code == NULL || function->code == key->code) ? function
                                                                                                           : NULL;
}

struct clp_cython_function *clp_cython_find(const struct clp_recorder *recorder, PyObject *object)
{
    const PyCodeObject *code = (PyCodeObject *)object;

    if (!PyCode_Check(object))
        return NULL;
    return find(recorder, object, code->co_filename, code->co_firstlineno, text_of(code->co_name));
}

static void free_function(struct clp_recorder *recorder, struct clp_cython_function *function)
{
    clp_mem_free(&recorder->mem, function->loops, function->line_count, 1);
    clp_mem_free_text(&recorder->mem, function->name);
    Py_XDECREF(function->code);
    Py_XDECREF(function->file);
    clp_mem_free(&recorder->mem, function, 1, sizeof *function);
}

/* Enters the function under its code, and under its place if no other has that. */
static bool enter_in_table(struct clp_recorder *recorder, struct clp_cython_function *function)
{
    struct clp_hashmap *map = &recorder->cython.functions;
    uint64_t place = hash_of(function->file, function->first_line);
    bool done = get(recorder, place) != NULL || clp_hashmap_set(map, place, (uintptr_t)function) == CLP_OK;

    return done && (function->code == NULL ||
                    clp_hashmap_set(map, (uintptr_t)function->code, (uintptr_t)function) == CLP_OK);
}

bool clp_cython_add(struct clp_recorder *recorder, const struct clp_cython_key *key, uint32_t number, uint8_t *loops,
                    uint32_t line_count)
{
    struct clp_cython_function *function = clp_mem_alloc(&recorder->mem, 1, sizeof *function);
    const char *name = last_part(text_of(key->name));

    if (function == NULL) {
        clp_mem_free(&recorder->mem, loops, line_count, 1);
        PyErr_NoMemory();
        return false;
    }
    *function = (struct clp_cython_function){
        .code = Py_XNewRef(key->code),
        .file = Py_NewRef(key->file),
        .name = clp_mem_copy_text(&recorder->mem, name, strlen(name)),
        .loops = loops,
        .line_count = line_count,
        .first_line = key->first_line,
        .selected = {.recorder = recorder, .function = number, .audience = recorder->views.audiences[number],
                     .identity = ++recorder->copies << 1 | 1},
    };
    if (function->name != NULL && enter_in_table(recorder, function))
        return true;
    uint64_t place = hash_of(function->file, function->first_line), gone;
    if (get(recorder, place) == function)
        (void)clp_hashmap_take(&recorder->cython.functions, place, &gone);
    free_function(recorder, function);
    PyErr_NoMemory();
    return false;
}

/* ---- the events ---- */

/* Takes what surrounds an event off the line that runs, or off the first line of a body that has just begun. */
static void charge(const struct clp_recorder *recorder, struct clp_thread *thread)
{
    struct clp_activation *top = thread->top;
    int64_t cost = recorder->cython.cost;

    if (top->cell != &thread->outside || top == thread->stack) {
        clp_engine_add_cost(thread, cost);
        return;
    }
    thread->correction += cost;
    top->entry_cost += cost;
}

static bool is_on_top(const struct clp_thread *thread, const struct clp_selected *selected)
{
    return thread->top->code == selected->identity;
}

/* Notes the body that a call of the engine has put on top; NULL: it put none. */
static bool note(struct clp_thread *thread, const struct clp_selected *selected, struct clp_activation *activation)
{
    clp_recorder_note_code(activation, selected);
    clp_callers_note(selected->recorder, thread);
    return activation != NULL;
}

void clp_cython_enter(struct clp_cython_function *function)
{
    const struct clp_selected *selected = &function->selected;
    struct clp_thread *thread = clp_recorder_counts(selected) ? clp_recorder_thread(selected->recorder) : NULL;

    if (thread == NULL)
        return;
    charge(selected->recorder, thread);
    clp_recorder_enter(selected, thread, NULL);
}

/* Puts the body on top, if it is not: bodies above it have ended untold, or it ran before it was selected. False: drop
 * the event. */
static bool align(struct clp_thread *thread, const struct clp_selected *selected)
{
    struct clp_recorder *recorder = selected->recorder;

    if (is_on_top(thread, selected))
        return true;
    if (!clp_recorder_counts(selected))
        return false;
    uint64_t now = clp_clock_read(&recorder->clock);
    return note(thread, selected, clp_engine_align(thread, selected->function, NULL, now));
}

/* Is the line running already? That of a `for` comes twice at each step, to get the next value and to assign it. It
 * counts once, as in Python. */
static bool repeats(const struct clp_cython_function *function, const struct clp_thread *thread, int32_t line)
{
    int64_t place = (int64_t)line - function->first_line;

    return clp_engine_current_line(thread) == line && place >= 0 && place < function->line_count &&
           function->loops[place] != 0;
}

void clp_cython_line(struct clp_cython_function *function, int32_t line)
{
    const struct clp_selected *selected = &function->selected;
    struct clp_recorder *recorder = selected->recorder;
    struct clp_thread *thread = clp_recorder_thread(recorder);

    if (thread == NULL || !align(thread, selected))
        return;
    charge(recorder, thread);
    if (!repeats(function, thread, line))
        clp_recorder_line(recorder, thread, line);
}

/* Cython tells of no line of a body that stands on the line of its `def`. */
void clp_cython_leave(struct clp_cython_function *function)
{
    const struct clp_selected *selected = &function->selected;
    struct clp_thread *thread = clp_thread_here;

    if (thread == NULL || !clp_engine_has_block(thread, selected->function) ||
        thread->blocks[selected->function]->running == 0 || !align(thread, selected))
        return;
    charge(selected->recorder, thread);
    if (function->line_count == 1 && clp_engine_current_line(thread) < 0)
        clp_recorder_line(selected->recorder, thread, function->first_line);
    clp_recorder_leave(thread);
}
