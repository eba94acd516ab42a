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

/* Makes what all of these need. False with an exception set. */
bool clp_callees_start(struct clp_recorder *recorder);

/* Forgets all callables, because the engine has forgotten their names. */
void clp_callees_forget(struct clp_recorder *recorder);

#endif
