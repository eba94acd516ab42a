/* SPDX-License-Identifier: MIT */
/* A tracer is a source of events: it turns what the interpreter does in selected code into calls
 * of the recorder. All tracers give the same hits. All functions but clp_tracer_start, clp_tracer_select and
 * clp_tracer_read_text are parts of a change (recorder.h). */
#ifndef CLP_TRACER_H
#define CLP_TRACER_H

#include "window.h"

/* What became of a code object. */
enum clp_selection {
    CLP_SELECTION_FAILED,  /* an exception is set */
    CLP_SELECTION_REFUSED, /* not one for this tracer; no exception */
    CLP_SELECTION_DONE,
};

struct clp_tracer {
    const char *name;

    /* Begins to send events; may take the recorder's tracer_state. False with a Python exception
     * set when this interpreter or another tool does not let it; nothing is left behind. */
    bool (*start)(struct clp_recorder *recorder);

    /* Events end; the state is freed. Never fails. By now recorder->displaced says whether another
     * tool has taken the tracer's place. */
    void (*stop)(struct clp_recorder *recorder);

    /* The code object has just been given its clp_selected. When refused, *reason is a constant.
     * A tracer that installs leaves selected->copy, and the caller a reference to it. */
    enum clp_selection (*select)(struct clp_recorder *recorder, PyCodeObject *code,
                                 struct clp_selected *selected, const char **reason);

    /* A function has this selected code. NULL: nothing is to be done to it. False with an exception
     * set. */
    bool (*install)(PyObject *function, struct clp_selected *selected);

    /* Events of this code, told so far, end. A body of it may still run: `runs`; its exits must be told.
     * NULL: nothing is to be done. False with an exception set. */
    bool (*deselect)(struct clp_recorder *recorder, PyObject *code, bool runs);

    /* Whose probes are in this code, which somebody else made of code with probes? Borrowed, or
     * NULL. Only where there is install. */
    struct clp_selected *(*owner)(PyCodeObject *code);
};

/* In order of preference; ended by NULL. Holds those that this interpreter has. */
extern const struct clp_tracer *const clp_tracers[];

#if CLP_HAS_PROBES
extern const struct clp_tracer clp_tracer_probe;
#endif
extern const struct clp_tracer clp_tracer_settrace;
#if CLP_HAS_MONITORING
extern const struct clp_tracer clp_tracer_monitoring;
#endif

/* The tracer of this name; NULL with a ValueError set. */
const struct clp_tracer *clp_tracer_named(const char *name);

/* What other tools watch in one code object, through sys.monitoring, they watch in the other, too.
 * False with an exception set. */
#if CLP_HAS_MONITORING
bool clp_tracer_carry(const struct clp_recorder *recorder, PyObject *from, PyObject *to);
#else
static inline bool clp_tracer_carry(const struct clp_recorder *recorder, PyObject *from,
                                    PyObject *to)
{
    (void)recorder, (void)from, (void)to;
    return true;
}
#endif

/* Starts the named tracer, or for NULL and "auto" the first that starts, and measures what its
 * events cost, which runs Python code: in a turn (turn.h). Once; false with an exception set. */
bool clp_tracer_start(struct clp_recorder *recorder, const char *name);

/* Events end where they cost something though nothing is selected, as long as no window is open; and
 * begin again. False with an exception set. */
void clp_tracer_rest(struct clp_recorder *recorder);
bool clp_tracer_wake(struct clp_recorder *recorder);

/* Has recorder->fallback send events of the code: the first tracer behind the recorder's own that starts. False
 * with an exception set. */
bool clp_tracer_select_fallback(struct clp_recorder *recorder, PyCodeObject *code,
                                struct clp_selected *selected);

/* Selects the function's code for the window: while that is open, lines that begin in it count. `name` is
 * its qualified name. with_inner: and all code within it, as far as the window wants it (window.h). Selecting
 * again changes nothing. What the tracer refuses goes to the next one that takes it, and recorder->refusals
 * tells of it. False with an exception set. */
bool clp_tracer_select(struct clp_window *window, PyObject *function, PyObject *name,
                       bool with_inner);

/* Finds what selecting the code needs to know of its text, for that must not run Python code: the text's number
 * (clp_text_search explains `globals` and `fresh`) and, where statements count, its statements. False with an
 * exception set. */
bool clp_tracer_read_text(struct clp_recorder *recorder, PyCodeObject *code, PyObject *globals,
                          bool fresh, uint32_t *text);

/* clp_tracer_select as a part of a change: the text of the function's code is known. */
bool clp_tracer_select_within(struct clp_window *window, PyObject *function, PyObject *name,
                              uint32_t text, bool with_inner);

/* What code with probes has in the place of this constant: of selected code the copy with probes, which is made
 * if there is none; else the same. Owned; NULL with an exception set. */
PyObject *clp_tracer_inner_code(struct clp_recorder *recorder, PyObject *item);

/* Code of which there are no functions yet is about to be selected: it gets its number now, so that
 * functions within it come behind it. `text` is that of its source text. Owned, for
 * clp_tracer_select_code; NULL with an exception set. */
struct clp_selected *clp_tracer_announce_code(struct clp_window *window, PyObject *code,
                                              PyObject *name, uint32_t text);

/* Selects what was announced, or a copy of it with other constants. The code to use in its place, a
 * new reference; NULL with an exception set. Takes `selected` in any case. */
PyObject *clp_tracer_select_code(struct clp_recorder *recorder, PyObject *code,
                                 struct clp_selected *selected);

/* Code with probes is replaced by its own, for good: where its function is recorded another tracer takes
 * that. False with an exception set. */
bool clp_tracer_give_up(struct clp_recorder *recorder, const struct clp_selected *copy,
                        PyObject *own);

/* The function with this number is recorded from now on, or runs its own code again: as its site's `open`
 * says when this returns. False with an exception set. */
bool clp_tracer_settle(struct clp_recorder *recorder, uint32_t function);

#endif
