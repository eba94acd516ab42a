/* SPDX-License-Identifier: MIT */
#include "exchange.h"

static PyMethodDef *method_of(PyObject *builtin)
{
    if (builtin == NULL)
        return NULL;
    if (PyCFunction_CheckExact(builtin))
        return ((PyCFunctionObject *)builtin)->m_ml;
    return Py_IS_TYPE(builtin, &PyMethodDescr_Type) ? ((PyMethodDescrObject *)builtin)->d_method : NULL;
}

static bool is_it(const struct clp_exchange *exchange, const PyMethodDef *method)
{
    return method->ml_flags == exchange->flags && strcmp(method->ml_name, exchange->name) == 0;
}

void clp_exchange_put(struct clp_exchange *exchange, PyObject *builtin)
{
    PyMethodDef *method = exchange->method != NULL ? exchange->method : method_of(builtin);

    if (method == NULL || !is_it(exchange, method) || method->ml_meth == exchange->ours)
        return;
    exchange->method = method;
    exchange->theirs = method->ml_meth;
    method->ml_meth = exchange->ours;
}

void clp_exchange_undo(const struct clp_exchange *exchange)
{
    if (exchange->method != NULL && exchange->method->ml_meth == exchange->ours)
        exchange->method->ml_meth = exchange->theirs;
}
