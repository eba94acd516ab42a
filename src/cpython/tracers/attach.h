/* SPDX-License-Identifier: MIT */
/* Makes the data that is attached to a code object (selected.h) from the code's lines. Part of a change
 * (change.h). */
#ifndef CLP_ATTACH_H
#define CLP_ATTACH_H

#include "cpython/recorder/selected.h"

/* Reads the lines of the code, which was compiled from the text of this number: the first lines of its statements where
 * statements count. For code that must be left alone *lines has only the first line, and lines->damage
 * says why. False with an exception set. */
bool clp_attach_read_shape(struct clp_recorder *recorder, PyCodeObject *code, uint32_t text,
                           struct clp_code_lines *lines);

/* Attaches the data to the code object, which takes it over, also when this fails. False with an exception set. */
bool clp_attach_hang(struct clp_selected *selected, PyObject *code);

/* Attaches data to one more code object of the function of `known`. NULL with an exception set. */
struct clp_selected *clp_attach_more(struct clp_recorder *recorder, PyCodeObject *code,
                                     const struct clp_selected *known);

#endif
