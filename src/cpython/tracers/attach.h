/* SPDX-License-Identifier: MIT */
/* What hangs on a code object (selected.h) is made from its shape. Part of a change (change.h). */
#ifndef CLP_ATTACH_H
#define CLP_ATTACH_H

#include "cpython/recorder/selected.h"

/* The shape of the code. Of code that must be left alone it is its first line, and shape->damage says why. False
 * with an exception set. */
bool clp_attach_read_shape(struct clp_recorder *recorder, PyCodeObject *code, struct clp_code_lines *shape);

/* The code object takes it over, even when this fails: false with an exception set. */
bool clp_attach_hang(struct clp_selected *selected, PyObject *code);

/* One more code object of the function of `known` has what hangs on it; NULL with an exception set. */
struct clp_selected *clp_attach_more(struct clp_recorder *recorder, PyCodeObject *code,
                                     const struct clp_selected *known);

#endif
