/* SPDX-License-Identifier: MIT */
/* Code is selected for a window: while that is open, its lines count. All functions but clp_tracer_select,
 * clp_tracer_read_text and clp_tracer_use_copy are parts of a change (change.h). */
#ifndef CLP_SELECTING_H
#define CLP_SELECTING_H

#include "cpython/tracers/tracer.h"
#include "code_window.h"

/* Selects the function's code for the window: while that is open, lines that begin in it count. `name` is
 * its qualified name. with_inner: and all code within it, as far as the window wants it (code_window.h). Selecting
 * again changes nothing. What the tracer refuses goes to the next one that takes it, and recorder->refusals
 * tells of it. False with an exception set. */
bool clp_tracer_select(struct clp_code_window *window, PyObject *function, PyObject *name,
                       bool with_inner);

/* Finds what selecting the code needs to know of its text, for that must not run Python code: the text's number
 * (clp_text_search explains `globals` and `fresh`) and, where statements count, its statements. False with an
 * exception set. */
bool clp_tracer_read_text(struct clp_recorder *recorder, PyCodeObject *code, PyObject *globals,
                          bool fresh, uint32_t *text);

/* clp_tracer_select as a part of a change: the text of the function's code is known. */
bool clp_tracer_select_within(struct clp_code_window *window, PyObject *function, PyObject *name,
                              uint32_t text, bool with_inner);

/* Code of which there are no functions yet is about to be selected: it gets its number now, so that
 * functions within it come behind it. `text` is that of its source text. Owned, for
 * clp_tracer_select_code; NULL with an exception set. */
struct clp_selected *clp_tracer_announce_code(struct clp_code_window *window, PyObject *code,
                                              PyObject *name, uint32_t text);

/* Selects what was announced, or a copy of it with other constants. The code to use in its place, a
 * new reference; NULL with an exception set. Takes `selected` in any case. */
PyObject *clp_tracer_select_code(struct clp_recorder *recorder, PyObject *code,
                                 struct clp_selected *selected);

/* The program has made a copy of code that is recorded: it counts for the function of that code. Copies are made at
 * any time, so this is a change of its own. False with an exception set. */
bool clp_tracer_use_copy(const struct clp_selected *from, PyCodeObject *code, PyCodeObject *copy);

#endif
