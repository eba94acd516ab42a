/* SPDX-License-Identifier: MIT */
#include "reach.h"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
#define Py_BUILD_CORE 1 /* for the frames of running functions */
#include <internal/pycore_frame.h>
#endif

/* ---- the objects that were reached ---- */

static size_t slot_of(const struct clp_reach *reach, const PyObject *object)
{
    uint64_t hash = ((uint64_t)(uintptr_t)object >> 4) * UINT64_C(0x9E3779B97F4A7C15);
    size_t slot = (size_t)(hash >> 20) & (reach->place_room - 1);

    while (reach->places[slot] != 0 && reach->items[reach->places[slot] - 1].object != object)
        slot = (slot + 1) & (reach->place_room - 1);
    return slot;
}

/* Makes room for one more object. The hash table is at most half full. */
static bool make_room(struct clp_reach *reach)
{
    void *items = reach->items;
    uint32_t *old = reach->places;
    size_t old_room = reach->place_room, room = old_room != 0 ? old_room * 2 : 4096;

    if (reach->count == reach->room) {
        if (clp_mem_grow(reach->mem, &items, &reach->room, reach->room * 2 + 2048, sizeof *reach->items) != CLP_OK)
            return false;
        reach->items = items;
    }
    if (2 * reach->count < old_room)
        return true;
    uint32_t *places = clp_mem_alloc(reach->mem, room, sizeof *places);
    if (places == NULL)
        return false;
    reach->places = places;
    reach->place_room = room;
    for (size_t i = 0; i < reach->count; i++)
        places[slot_of(reach, reach->items[i].object)] = (uint32_t)i + 1;
    clp_mem_free(reach->mem, old, old_room, sizeof *old);
    return true;
}

/* Adds an object unless it was reached before. False when memory ran out. */
static bool add(struct clp_reach *reach, PyObject *object, uint32_t parent)
{
    if (object == NULL || reach->count == CLP_REACH_NONE - 1)
        return true;
    if (!make_room(reach)) {
        reach->status = CLP_NO_MEMORY;
        return false;
    }
    size_t slot = slot_of(reach, object);
    if (reach->places[slot] != 0)
        return true;
    reach->items[reach->count++] = (struct clp_reached){object, parent};
    reach->places[slot] = (uint32_t)reach->count;
    return true;
}

bool clp_reach_claim(struct clp_reach *reach, const void *block, uint32_t holder)
{
    size_t before = reach->count;

    return add(reach, (PyObject *)block, holder) && reach->count != before;
}

static int visit(PyObject *object, void *data)
{
    struct clp_reach *reach = data;

    return ++reach->steps >= reach->most || !add(reach, object, reach->from);
}

/* May the object's references be followed? An object that the collector does not track may be half made, except for
 * frames that run, and for tuples and dicts that hold nothing which could be part of a circle. */
static bool is_open(PyObject *object)
{
    return PyObject_IS_GC(object) && Py_TYPE(object)->tp_traverse != NULL &&
           (PyObject_GC_IsTracked(object) || PyTuple_CheckExact(object) || PyDict_CheckExact(object) ||
            PyFrame_Check(object));
}

/* Follows the references of all objects from item `from` on. */
static void follow(struct clp_reach *reach)
{
    for (; reach->from < reach->count && !clp_reach_gave_up(reach); reach->from++) {
        PyObject *object = reach->items[reach->from].object;
        if (is_open(object))
            (void)Py_TYPE(object)->tp_traverse(object, visit, reach);
    }
}

/* ---- roots ---- */

/* Adds the modules of that name; of all names when it is NULL. A lookup could run code: that of a name which belongs to
 * a subclass of str. */
static void add_modules_called(struct clp_reach *reach, PyObject *modules, const char *wanted)
{
    PyObject *name, *module;
    Py_ssize_t at = 0;

    while (PyDict_Next(modules, &at, &name, &module))
        if (wanted == NULL || (PyUnicode_CheckExact(name) && PyUnicode_CompareWithASCIIString(name, wanted) == 0))
            (void)add(reach, module, CLP_REACH_NONE);
}

/* __main__ comes first, so that of two modules that have the same object it is named. */
static void add_modules(struct clp_reach *reach)
{
    PyObject *modules = PyImport_GetModuleDict();

    if (modules == NULL || !PyDict_CheckExact(modules))
        return;
    add_modules_called(reach, modules, "__main__");
    add_modules_called(reach, modules, NULL);
}

/* Adds a root that no module has, unless it was reached before. */
static void add_local(struct clp_reach *reach, PyObject *object, const struct clp_reach_local *local)
{
    size_t before = reach->count;
    void *locals = reach->locals;

    (void)add(reach, object, CLP_REACH_NONE);
    if (reach->count == before)
        return;
    if (reach->local_count == reach->local_room) {
        if (clp_mem_grow(reach->mem, &locals, &reach->local_room, reach->local_room * 2 + 64,
                         sizeof *reach->locals) != CLP_OK) {
            reach->status = CLP_NO_MEMORY;
            return;
        }
        reach->locals = locals;
    }
    reach->locals[reach->local_count] = *local;
    reach->locals[reach->local_count++].place = (uint32_t)before;
}

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000

/* A frame object would change the frame that it is made for, so the frame itself is read. */
typedef struct _PyInterpreterFrame frame_type;

static frame_type *newest_frame(PyThreadState *thread)
{
    return thread->cframe->current_frame;
}

static frame_type *caller_of(frame_type *frame)
{
    return frame->previous;
}

static void add_frame(struct clp_reach *reach, frame_type *frame)
{
    PyCodeObject *code = frame->f_code;

    for (int i = 0; i < code->co_nlocalsplus && !_PyFrame_IsIncomplete(frame); i++) {
        PyObject *value = frame->localsplus[i];
        if (value != NULL && PyCell_Check(value))
            value = PyCell_GET(value);
        add_local(reach, value, &(struct clp_reach_local){
            .code = (PyObject *)code, .name = PyTuple_GET_ITEM(code->co_localsplusnames, i)});
    }
}

#else

typedef PyFrameObject frame_type;

static frame_type *newest_frame(PyThreadState *thread)
{
    frame_type *frame = PyThreadState_GetFrame(thread);

    Py_XDECREF(frame); /* the thread keeps it while it runs, and its callers, too */
    return frame;
}

static frame_type *caller_of(frame_type *frame)
{
    frame_type *back = PyFrame_GetBack(frame);

    Py_XDECREF(back);
    return back;
}

#if PY_VERSION_HEX >= 0x030C0000
/* Adds the variables of one kind. Their names belong to the code object, which the frame keeps. */
static void add_variables(struct clp_reach *reach, PyFrameObject *frame, PyObject *code, const char *kind)
{
    PyObject *names = PyObject_GetAttrString(code, kind);

    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        struct clp_reach_local local = {.code = code, .name = PyTuple_GET_ITEM(names, i)};
        PyObject *value = PyFrame_GetVar(frame, local.name);
        add_local(reach, value, &local);
        Py_XDECREF(value); /* the frame has a reference, too */
    }
    Py_XDECREF(names);
    PyErr_Clear();
}

static void add_frame(struct clp_reach *reach, frame_type *frame)
{
    PyObject *code = (PyObject *)PyFrame_GetCode(frame);

    add_variables(reach, frame, code, "co_varnames");
    add_variables(reach, frame, code, "co_cellvars");
    add_variables(reach, frame, code, "co_freevars");
    Py_DECREF(code);
}
#else
/* A frame shows its variables to the collector. */
static void add_frame(struct clp_reach *reach, frame_type *frame)
{
    PyObject *code = (PyObject *)PyFrame_GetCode(frame);

    add_local(reach, (PyObject *)frame, &(struct clp_reach_local){.code = code});
    Py_DECREF(code);
}
#endif

#endif

/* The oldest frames come first: a function far out keeps what it has for longer than those that it calls. */
static void add_frames(struct clp_reach *reach, PyThreadState *thread)
{
    void *frames = NULL;
    size_t count = 0, room = 0;

    for (frame_type *frame = newest_frame(thread); frame != NULL; frame = caller_of(frame)) {
        if (count == room && clp_mem_grow(reach->mem, &frames, &room, room * 2 + 64, sizeof frame) != CLP_OK)
            break;
        ((frame_type **)frames)[count++] = frame;
    }
    while (count-- > 0)
        add_frame(reach, ((frame_type **)frames)[count]);
    clp_mem_free(reach->mem, frames, room, sizeof(frame_type *));
}

static void add_threads(struct clp_reach *reach)
{
    PyThreadState *thread = PyInterpreterState_ThreadHead(PyThreadState_Get()->interp);

    for (; thread != NULL; thread = PyThreadState_Next(thread)) {
        (void)add(reach, thread->context, CLP_REACH_NONE); /* the values of context variables */
        add_frames(reach, thread);
    }
}

/* Adds the subclasses of `class` that were not reached: those that no module has. type.__subclasses__ is asked, not a
 * method of that name, which a metaclass may have. */
static void add_subclasses(struct clp_reach *reach, PyObject *class)
{
    PyObject *list = PyObject_CallMethod((PyObject *)&PyType_Type, "__subclasses__", "O", class);

    for (Py_ssize_t i = 0; list != NULL && i < PyList_GET_SIZE(list); i++)
        (void)add(reach, PyList_GET_ITEM(list, i), CLP_REACH_NONE);
    Py_XDECREF(list);
    PyErr_Clear();
}

static void add_classes(struct clp_reach *reach)
{
    (void)add(reach, (PyObject *)&PyBaseObject_Type, CLP_REACH_NONE);
    for (size_t i = 0; i < reach->count && !clp_reach_gave_up(reach); i++)
        if (PyType_Check(reach->items[i].object))
            add_subclasses(reach, reach->items[i].object);
}

void clp_reach_search(struct clp_reach *reach, struct clp_mem *mem, size_t most)
{
    *reach = (struct clp_reach){.mem = mem, .most = most};
    add_modules(reach);
    add_threads(reach);
    follow(reach);
    add_classes(reach);
    follow(reach);
}

void clp_reach_clear(struct clp_reach *reach)
{
    clp_mem_free(reach->mem, reach->items, reach->room, sizeof *reach->items);
    clp_mem_free(reach->mem, reach->locals, reach->local_room, sizeof *reach->locals);
    clp_mem_free(reach->mem, reach->places, reach->place_room, sizeof *reach->places);
    *reach = (struct clp_reach){.mem = reach->mem};
}
