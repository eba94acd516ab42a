/* SPDX-License-Identifier: MIT */
#include "selection.h"
#include "imports.h"
#include "bridge/console.h"
#include "cpython/compat/raised.h"
#include <stdlib.h>

/* Is never freed, because a wrapped loader may use it at any time. */
struct lasting {
    struct clp_imports imports;
    struct clp_mem mem;
};

struct selection {
    PyObject_HEAD
    struct lasting *lasting;
    struct clp_command_words targets, excluded; /* lasting->imports borrows texts from these */
    PyObject *profiler; /* owned */
};

static struct selection *cast(PyObject *object)
{
    return (struct selection *)object;
}

static bool begin(struct selection *self, PyObject *targets, PyObject *excluded)
{
    struct lasting *lasting = self->lasting = PyMem_RawCalloc(1, sizeof *lasting);

    if (lasting == NULL) {
        PyErr_NoMemory();
        return false;
    }
    lasting->mem = clp_mem_system();
    if (!clp_command_words_init(&self->targets, targets) || !clp_command_words_init(&self->excluded, excluded))
        return false;
    struct clp_targets *wanted = &lasting->imports.targets;
    if (clp_targets_init(wanted, &lasting->mem, (const char *const *)self->targets.items,
                         (size_t)self->targets.count) != CLP_OK) {
        PyErr_NoMemory();
        return false;
    }
    wanted->excluded = self->excluded.items;
    lasting->imports.profiler = self->profiler;
    return clp_imports_watch(&lasting->imports) && clp_imports_select_loaded(&lasting->imports);
}

/* Checks that the object is a Profiler, as C code reads its memory as one. False with an exception set. */
static bool is_profiler(PyTypeObject *type, PyObject *object)
{
    PyObject *module = PyType_GetModule(type); /* borrowed */
    PyObject *profiler = module != NULL ? PyObject_GetAttrString(module, "Profiler") : NULL;
    int is = profiler != NULL ? PyObject_IsInstance(object, profiler) : -1;

    Py_XDECREF(profiler);
    if (is == 0)
        PyErr_SetString(PyExc_TypeError, "Selection() takes a Profiler");
    return is == 1;
}

static PyObject *selection_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"profiler", "targets", "excluded", NULL};
    PyObject *profiler, *targets, *excluded;

    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO!O!:Selection", names, &profiler,
                                     &PyList_Type, &targets, &PyList_Type, &excluded) ||
        !is_profiler(type, profiler))
        return NULL;
    PyObject *self = type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    cast(self)->profiler = Py_NewRef(profiler);
    if (!begin(cast(self), targets, excluded))
        Py_CLEAR(self);
    return self;
}

static void selection_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    struct clp_raised raised = clp_raised_take(); /* the exception at hand, when making the object has failed */

    if (cast(self)->lasting != NULL) {
        clp_imports_unwatch(&cast(self)->lasting->imports);
        clp_imports_clear(&cast(self)->lasting->imports);
    }
    Py_XDECREF(cast(self)->profiler);
    clp_command_words_clear(&cast(self)->targets);
    clp_command_words_clear(&cast(self)->excluded);
    type->tp_free(self);
    Py_DECREF(type);
    clp_raised_give(raised);
}

static PyObject *selection_select_loaded(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    if (!clp_imports_select_loaded(&cast(self)->lasting->imports))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *selection_select_main(PyObject *self, PyObject *name)
{
    PyObject *bytes = NULL;

    if (!PyUnicode_FSConverter(name, &bytes))
        return NULL;
    bool done = clp_imports_select_main(&cast(self)->lasting->imports, PyBytes_AS_STRING(bytes));
    Py_DECREF(bytes);
    return done ? Py_NewRef(Py_None) : NULL;
}

static PyObject *selection_select_function(PyObject *self, PyObject *arguments)
{
    PyObject *function, *module = NULL;
    bool done = false;

    if (PyArg_ParseTuple(arguments, "O!O&:select_function", &PyFunction_Type, &function, PyUnicode_FSConverter,
                         &module))
        done = clp_imports_select_function(&cast(self)->lasting->imports, function, PyBytes_AS_STRING(module));
    Py_XDECREF(module);
    return done ? Py_NewRef(Py_None) : NULL;
}

static PyObject *selection_unmatched(PyObject *self, PyObject *nothing)
{
    const struct clp_targets *targets = &cast(self)->lasting->imports.targets;
    PyObject *list = PyList_New(0);

    (void)nothing;
    for (size_t i = 0; list != NULL && i < targets->count; i++) {
        if (targets->items[i].matched != 0)
            continue;
        PyObject *text = PyUnicode_DecodeFSDefault(targets->items[i].text);
        if (text == NULL || PyList_Append(list, text) != 0)
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

static PyMethodDef methods[] = {
    {"select_loaded", selection_select_loaded, METH_NOARGS,
     "select_loaded()\n--\n\nSelects in loaded modules whose code did not come through a wrapped loader."},
    {"select_main", selection_select_main, METH_O,
     "select_main(name)\n--\n\nSelects in __main__. `name` is the name by which targets know the program."},
    {"select_function", selection_select_function, METH_VARARGS,
     "select_function(function, module)\n--\n\nSelects in a function of this module, and in what it defines, what the\n"
     "targets name."},
    {"unmatched", selection_unmatched, METH_NOARGS,
     "unmatched()\n--\n\nReturns the targets that no code has matched so far, a list of str."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, selection_new},
    {Py_tp_dealloc, selection_free},
    {Py_tp_methods, methods},
    {Py_tp_doc, "Selection(profiler, targets, excluded)\n--\n\n"
                "Selects for the profiler what ckernprof -p selects, in loaded modules and in those that are\n"
                "imported later. targets: a list of str, as -p takes them. excluded: a list of patterns of names\n"
                "and paths, as --exclude takes them."},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "clineprof._core.Selection",
    .basicsize = sizeof(struct selection),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

PyObject *clp_selection_make_type(PyObject *module)
{
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}
