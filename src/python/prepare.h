/* SPDX-License-Identifier: MIT */
/* Code that is about to run gets its probes before there are functions of it: since 3.13 a function
 * whose code is exchanged afterwards is called more slowly for good. */
#ifndef CLP_PREPARE_H
#define CLP_PREPARE_H

#include "tracer.h"

/* The code to run in the place of this one, a new reference: functions in it that are decorated with
 * `profile` have probes already, which record nothing until they are selected. The same code where
 * there is nothing to do; NULL with an exception set. */
PyObject *clp_prepare_code(struct clp_recorder *recorder, PyObject *code);

#endif
