/* SPDX-License-Identifier: MIT */
#include "folding.h"
#include "report/choice.h"
#include "cpython/compat/compat.h"

static void fold(PyObject *helper, struct clp_profile_function *function)
{
    PyObject *bytes = PyObject_CallFunction(helper, "y#", function->source,
                                            (Py_ssize_t)function->source_bytes);

    if (bytes != NULL && PyBytes_Check(bytes))
        clp_choice_fold(function, (const int32_t *)(const void *)PyBytes_AS_STRING(bytes),
                        (size_t)PyBytes_GET_SIZE(bytes) / sizeof(int32_t));
    PyErr_Clear();
    Py_XDECREF(bytes);
}

void clp_folding_fold(struct clp_profile *profile)
{
    PyObject *module = clp_compat_own_module("clineprof._boot.statements");
    PyObject *helper = module != NULL ? PyObject_GetAttrString(module, "starts_in") : NULL;

    for (size_t i = 0; helper != NULL && i < profile->function_count; i++) {
        struct clp_profile_function *function = &profile->functions[i];
        if (function->source != NULL && function->line_count > 1)
            fold(helper, function);
    }
    PyErr_Clear();
    Py_XDECREF(helper);
    Py_XDECREF(module);
}
