/* SPDX-License-Identifier: MIT */
/* Calls of torch's record_function: tells who listens when one begins and ends.
 *
 * Its `__enter__` and `__exit__`, which are Python functions, call two operators of torch. The C functions of these
 * operators are exchanged, so the program and torch's compilers see every object as it was. Code of TorchScript calls
 * the operators in another way, which is not told.
 *
 * Threads: the interpreter's lock protects this. */
#ifndef CLP_RECORD_CALLS_H
#define CLP_RECORD_CALLS_H

#include "cpython/recorder/recorder_state.h"

struct clp_record_listener {
    /* A record_function of this name has begun; or it is about to end. `record` is the object that torch made for it.
     * No exception is set, and none may be left. */
    void (*begun)(PyObject *name, PyObject *record);
    void (*ends)(PyObject *record);
};

/* From now on the listener, which stays there, is told; NULL: nobody is. Runs Python code. */
void clp_record_calls_tell(const struct clp_record_listener *listener);

/* To be called when this module is loaded. */
#define CLP_RECORD_CALLS_MODULE "torch"
void clp_record_calls_meet(struct clp_recorder *recorder, PyObject *module);

#endif
