/* SPDX-License-Identifier: MIT */
#include "frame_of_with.h"

/* The name of the frame's module, a new reference; NULL: it has none. */
static PyObject *module_of(PyFrameObject *frame)
{
    PyObject *globals = PyObject_GetAttrString((PyObject *)frame, "f_globals");
    PyObject *name = globals != NULL ? PyDict_GetItemString(globals, "__name__") : NULL; /* borrowed */

    name = name != NULL && PyUnicode_Check(name) ? Py_NewRef(name) : NULL;
    Py_XDECREF(globals);
    return name;
}

bool clp_frame_is_within(PyFrameObject *frame, const char *package)
{
    PyObject *module = module_of(frame);
    const char *name = module != NULL ? PyUnicode_AsUTF8(module) : NULL;
    size_t bytes = strlen(package);
    bool is_it = name != NULL && strncmp(name, package, bytes) == 0 && (name[bytes] == 0 || name[bytes] == '.');

    Py_XDECREF(module);
    return is_it;
}

static bool is_called(PyFrameObject *frame, const char *name)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    bool is_it = PyUnicode_CompareWithASCIIString(code->co_name, name) == 0;

    Py_DECREF(code);
    return is_it;
}

/* Does a function of this module only enter a block for another frame? contextlib's ExitStack does, the `profile` of
 * `from clineprof import profile`, and torch's record_function with the operator that it calls. */
static bool is_between(PyFrameObject *frame)
{
    static const char *const modules[] = {"contextlib", "torch._ops", "torch.autograd.profiler"};
    PyObject *module = module_of(frame);
    bool is_it = false;

    for (size_t i = 0; module != NULL && i < sizeof modules / sizeof *modules; i++)
        is_it |= PyUnicode_CompareWithASCIIString(module, modules[i]) == 0;
    if (module != NULL && PyUnicode_CompareWithASCIIString(module, "clineprof._global") == 0)
        is_it = is_called(frame, "__enter__") || is_called(frame, "__exit__");
    Py_XDECREF(module);
    return is_it;
}

PyFrameObject *clp_frame_of_with(void)
{
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef((PyObject *)PyEval_GetFrame());

    while (frame != NULL && is_between(frame)) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    return frame;
}
