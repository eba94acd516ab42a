/* SPDX-License-Identifier: MIT */
/* Selects code for a window: while the window is open, the code's lines count. All functions but
 * clp_tracer_select, clp_tracer_read_text and clp_tracer_use_copy are parts of a change (change.h). */
#ifndef CLP_SELECTING_H
#define CLP_SELECTING_H

#include "cpython/tracers/tracer.h"
#include "code_window.h"

/* Selects the function's code for the window: lines that begin in it count while the window is open. `name` is
 * its qualified name. With with_inner all code within it is selected, too, as far as the window wants it
 * (code_window.h). Selecting again changes nothing. What the tracer refuses goes to the next one that takes it,
 * and recorder->refusals tells of it. False with an exception set. */
bool clp_tracer_select(struct clp_code_window *window, PyObject *function, PyObject *name,
                       bool with_inner);

/* Selects the functions that `definer`, the body of a class, will make behind this function under the same name: the
 * setter and the deleter behind a getter. `name` is the function's qualified name. With a tracer that puts probes in,
 * these are only functions whose code was prepared (prepare.h). False with an exception set. */
bool clp_tracer_select_later(struct clp_code_window *window, PyCodeObject *definer, PyObject *function,
                             PyObject *name);

/* Finds what selecting the code needs to know of its text, because selecting must not run Python code: the
 * number of the text (clp_text_search explains `globals` and `fresh`) and, where statements count, its
 * statements. False with an exception set. */
bool clp_tracer_read_text(struct clp_recorder *recorder, PyCodeObject *code, PyObject *globals,
                          bool fresh, uint32_t *text);

/* Does what clp_tracer_select does, as a part of a change. `text` is the number of the text of the function's
 * code. */
bool clp_tracer_select_within(struct clp_code_window *window, PyObject *function, PyObject *name,
                              uint32_t text, bool with_inner);

/* Gives code of which there are no functions yet its number, before it is selected, so that functions within it
 * get later numbers. `text` is the number of its source text. The result is owned, for clp_tracer_select_code;
 * NULL with an exception set. */
struct clp_selected *clp_tracer_announce_code(struct clp_code_window *window, PyObject *code,
                                              PyObject *name, uint32_t text);

/* Selects code that was announced, or a copy of it with other constants. Returns the code to use in its place,
 * a new reference; NULL with an exception set. Takes over `selected` in any case. */
PyObject *clp_tracer_select_code(struct clp_recorder *recorder, PyObject *code,
                                 struct clp_selected *selected);

/* Lets a copy that the program has made of recorded code count for the function of that code. The program makes
 * copies at any time, so this is a change of its own. False with an exception set. */
bool clp_tracer_use_copy(const struct clp_selected *from, PyCodeObject *code, PyCodeObject *copy);

#endif
