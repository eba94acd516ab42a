/* SPDX-License-Identifier: MIT */
#include "device_modules.h"
#include "cpython/compat/exchange.h"
#include "cpython/compat/raised.h"
#include "cpython/memory/thread_here.h"
#include "cpython/recorder/device_time.h"

static bool wanted; /* has a window ever wanted the time of devices? */

/* ---- functions that are exchanged ---- */

static PyObject *open_library(PyObject *self, PyObject *arguments);
static PyObject *init_cuda(PyObject *self, PyObject *nothing);
static PyObject *run_backward(PyObject *self, PyObject *arguments, PyObject *keywords);

enum { DLOPEN, CUDA_INIT, BACKWARD, EXCHANGES };
static struct clp_exchange exchanges[EXCHANGES] = {
    {"dlopen", METH_VARARGS, open_library, NULL, NULL},
    {"_cuda_init", METH_NOARGS, init_cuda, NULL, NULL},
    {"run_backward", METH_VARARGS | METH_KEYWORDS, CLP_C_FUNCTION(run_backward), NULL, NULL},
};

static PyObject *open_library(PyObject *self, PyObject *arguments)
{
    PyObject *result = exchanges[DLOPEN].theirs(self, arguments);

    clp_device_time_try();
    return result;
}

static PyObject *init_cuda(PyObject *self, PyObject *nothing)
{
    PyObject *result = exchanges[CUDA_INIT].theirs(self, nothing);

    clp_device_time_try();
    return result;
}

/* --tensors learns of backward() in another way (entered in native/tensors.h), which cannot serve --cuda, because it
 * needs a preloaded library. This one cannot serve --tensors: it does not see C++ code that calls backward(), knows
 * threads of autograd by their names alone, for which each allocation would need a system call, and must forget the
 * caller when the call ends; but autograd's threads free tensors of it a moment later, and launch nothing any more. */
static PyObject *run_backward(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    const struct clp_thread *thread = clp_thread_here;
    PyCFunctionWithKeywords theirs = (PyCFunctionWithKeywords)(void (*)(void))exchanges[BACKWARD].theirs;

    clp_devices_begin_backward(thread);
    PyObject *result = theirs(self, arguments, keywords);
    clp_devices_end_backward(thread);
    return result;
}

/* ---- functions that are wrapped ---- */

/* What the wrapper holds: the function, and the profiler that begins with it; None: it may load CUDA. */
static PyObject *call_wrapped(PyObject *both, PyObject *arguments, PyObject *keywords)
{
    PyObject *function = PyTuple_GET_ITEM(both, 0);
    const char *profiler = PyLong_AsVoidPtr(PyTuple_GET_ITEM(both, 1));

    if (profiler != NULL)
        clp_device_time_give_up(profiler);
    PyObject *result = PyObject_Call(function, arguments, keywords);
    if (profiler == NULL)
        clp_device_time_try();
    return result;
}

static PyMethodDef wrapped_method = {"wrapped", CLP_C_FUNCTION(call_wrapped), METH_VARARGS | METH_KEYWORDS, NULL};

static bool is_wrapped(PyObject *function)
{
    return PyCFunction_Check(function) && PyCFunction_GetFunction(function) == wrapped_method.ml_meth;
}

static void wrap(PyObject *module, const char *name, const char *profiler)
{
    PyObject *function = PyObject_GetAttrString(module, name);
    PyObject *both = function != NULL && !is_wrapped(function)
                         ? Py_BuildValue("(ON)", function, PyLong_FromVoidPtr((void *)(uintptr_t)profiler)) : NULL;
    PyObject *wrapper = both != NULL ? PyCFunction_New(&wrapped_method, both) : NULL;

    if (wrapper != NULL)
        (void)PyObject_SetAttrString(module, name, wrapper);
    PyErr_Clear();
    Py_XDECREF(function);
    Py_XDECREF(both);
    Py_XDECREF(wrapper);
}

/* ---- the modules ---- */

static const struct interest {
    const char *module, *function;
    const char *class; /* NULL: the function is the module's */
    struct clp_exchange *exchange; /* NULL: it is wrapped */
    const char *profiler; /* the one that begins with it; NULL: it may load CUDA */
} interests[] = {
    {"_ctypes", "dlopen", NULL, &exchanges[DLOPEN], NULL}, /* numba */
    {"torch._C", "_cuda_init", NULL, &exchanges[CUDA_INIT], NULL},
    {"torch._C", "run_backward", "_ImperativeEngine", &exchanges[BACKWARD], NULL},
    {"torch.autograd.profiler", "_prepare_profiler", NULL, NULL, "torch.profiler"},
    {"torch.autograd.profiler", "_enable_profiler", NULL, NULL, "torch.profiler"},
    {"jax._src.xla_bridge", "_init_backend", NULL, NULL, NULL},
    {"jax._src.profiler", "start_trace", NULL, NULL, "jax.profiler"},
    {"jax.profiler", "start_trace", NULL, NULL, "jax.profiler"},
    {"triton.profiler.profile", "start", NULL, NULL, "triton.profiler"},
    {"triton.profiler", "start", NULL, NULL, "triton.profiler"},
};

static void exchange(PyObject *module, const struct interest *interest)
{
    PyObject *class = interest->class != NULL ? PyObject_GetAttrString(module, interest->class) : Py_NewRef(module);
    PyObject *function = class != NULL ? PyObject_GetAttrString(class, interest->function) : NULL;

    clp_exchange_put(interest->exchange, function);
    PyErr_Clear();
    Py_XDECREF(class);
    Py_XDECREF(function);
}

void clp_device_modules_meet(const char *name, PyObject *module)
{
    if (!wanted)
        return;
    clp_device_time_try();
    for (size_t i = 0; i < sizeof interests / sizeof *interests; i++) {
        const struct interest *interest = &interests[i];
        if (strcmp(interest->module, name) != 0)
            continue;
        if (interest->exchange != NULL)
            exchange(module, interest);
        else
            wrap(module, interest->function, interest->profiler);
    }
}

void clp_device_modules_meet_loaded(void)
{
    struct clp_raised raised = clp_raised_take();

    wanted = true;
    clp_device_time_try();
    for (size_t i = 0; i < sizeof interests / sizeof *interests; i++) {
        PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), interests[i].module); /* borrowed */
        if (module == NULL)
            continue;
        Py_INCREF(module);
        clp_device_modules_meet(interests[i].module, module);
        Py_DECREF(module);
    }
    clp_raised_give(raised);
}
