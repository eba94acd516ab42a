/* SPDX-License-Identifier: MIT */
/* Which callables are C code, which are Python functions that are not selected (library), and what both are called.
 * Nothing here runs Python code: what objects are is read from their types.
 *
 * Threads: the interpreter's lock protects this. */
#ifndef CLP_CALLEES_H
#define CLP_CALLEES_H

#include "selected.h"

/* Each of these says whether the time of the call counts, and sets *callee if it does. It does not where the function
 * is selected, which has its own time, and where memory runs out. */

bool clp_callee_of(struct clp_recorder *recorder, PyObject *callable, struct clp_callee *callee);

/* Of a call of which only the second value on the stack is known (rewrite/around.h): the object whose method of this
 * name is called, or the callable itself. */
bool clp_callee_of_method(struct clp_recorder *recorder, PyObject *value, PyObject *name, struct clp_callee *callee);

/* Of a step of an iterator. */
bool clp_callee_of_iterator(struct clp_recorder *recorder, PyObject *iterator, struct clp_callee *callee);

/* What tells a callable apart, so that whoever has asked for it does not ask again. */
struct clp_callee_key {
    const void *what; /* NULL: there is nothing */
    uintptr_t more;
};

/* Of a class that may be changed or freed it is the version, which the interpreter never uses again. */
static inline struct clp_callee_key clp_callee_key_of_type(const PyTypeObject *type)
{
    if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0)
        return (struct clp_callee_key){type, 0};
    return (struct clp_callee_key){type->tp_version_tag != 0 ? type : NULL, type->tp_version_tag};
}

static inline struct clp_callee_key clp_callee_key_of(PyObject *callable)
{
    PyTypeObject *type = Py_TYPE(callable);

    if (type == &PyCFunction_Type)
        return (struct clp_callee_key){((PyCFunctionObject *)callable)->m_ml, 0};
    if (type == &PyFunction_Type)
        return (struct clp_callee_key){PyFunction_GET_CODE(callable),
                                       (uintptr_t)((PyFunctionObject *)callable)->func_qualname};
    if (type == &PyMethodDescr_Type)
        return (struct clp_callee_key){((PyMethodDescrObject *)callable)->d_method,
                                       (uintptr_t)((PyDescrObject *)callable)->d_type};
    if (PyType_Check(callable))
        return clp_callee_key_of_type((PyTypeObject *)callable);
    return (struct clp_callee_key){NULL, 0};
}

/* Makes what all of these need. False with an exception set. */
bool clp_callees_start(struct clp_recorder *recorder);

/* Forgets all callables, because the engine has forgotten their names. */
void clp_callees_forget(struct clp_recorder *recorder);

#endif
