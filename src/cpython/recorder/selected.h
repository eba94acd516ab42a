/* SPDX-License-Identifier: MIT */
/* Selected code objects: what hangs on each, through the recorder's code slot, and the sites of their functions.
 * Protected as recorder_state.h says. */
#ifndef CLP_SELECTED_H
#define CLP_SELECTED_H

#include "recorder_state.h"
#include "cpython/code/code_lines.h"

/* The number of a function that has probes but is not selected. */
#define CLP_UNSELECTED UINT32_MAX

/* Attached to a selected code object, through the recorder's code slot. */
struct clp_selected {
    struct clp_recorder *recorder; /* borrowed */
    PyObject *code;                /* borrowed: the code object that this hangs on; where that may have gone, and
                                    * `holders` has kept this, it is compared only */
    uint64_t identity;             /* of that code: its address, or odd and never used again */
    uint32_t function;
    uint32_t text; /* number of the text that the code was compiled from: whose statements count */
    const struct clp_audience *audience; /* borrowed: who counts the function */
    struct clp_selected *next, **link; /* among the site's codes; NULL: it is not */
    bool on;          /* a tracer sends events of this code */
    bool spread;      /* whoever else held the code has the copy */
    uint32_t holders; /* the code object, and each probe that points here */
    bool probed;      /* the code records itself, by its probes */
    bool suspends;    /* generator or coroutine: its bodies are known by their frames */
    PyObject *copy;     /* borrowed: the code object with probes made of this one, while it lives */
    PyObject *original; /* owned: the code object that this one was made of, or NULL */
    bool refused;       /* it cannot have probes */
    bool left_alone;    /* no tracer may have it */
    const char *compiler; /* a constant: what compiles the code, too; NULL: nothing known */
    int32_t moved;      /* by so many lines: a copy that the program has made, with another first line. Its
                         * identity is odd then, so that only its own events have to look here */
    struct clp_code_lines shape;
};

/* Makes what hangs on a code object of the function. Takes *shape, also when it fails: NULL with an exception
 * set. */
struct clp_selected *clp_recorder_new_selected(struct clp_recorder *recorder, PyObject *code,
                                               uint32_t function, struct clp_code_lines *shape);

/* The code object on which this hangs is going. NULL is nothing. */
void clp_recorder_code_gone(void *selected);

/* One holder less; the last one frees it. NULL is nothing. */
void clp_recorder_drop_selected(void *selected);

/* The site of a function with this number, made if need be. NULL with an exception set. */
struct clp_site *clp_recorder_site(struct clp_recorder *recorder, uint32_t function);

/* Puts it among the codes of its function's site. False with an exception set. */
bool clp_recorder_list_code(struct clp_selected *selected);

static inline struct clp_selected *clp_recorder_selected(const struct clp_recorder *recorder,
                                                         PyObject *code)
{
    return clp_compat_code_data(code, recorder->code_slot);
}

/* What hangs on code that got probes here. NULL for other code, and for what somebody has copied. */
static inline const struct clp_selected *clp_recorder_probes(const struct clp_recorder *recorder,
                                                             PyObject *code)
{
    const struct clp_selected *selected = clp_recorder_selected(recorder, code);

    return selected != NULL && selected->code == code && selected->original != NULL ? selected
                                                                                    : NULL;
}

/* The code as it was before probes; borrowed from it. */
static inline PyCodeObject *clp_recorder_plain_code(const struct clp_recorder *recorder,
                                                    PyCodeObject *code)
{
    const struct clp_selected *selected = clp_recorder_selected(recorder, (PyObject *)code);

    return selected != NULL && selected->original != NULL ? (PyCodeObject *)selected->original : code;
}

/* Does anybody count the function of this code? */
static inline bool clp_recorder_counts(const struct clp_selected *selected)
{
    return *selected->audience->gate != 0;
}

/* What hangs on selected code that a tracer has to record: it has no probes and is not left alone. NULL for
 * other code. */
static inline struct clp_selected *clp_recorder_traced(const struct clp_recorder *recorder,
                                                       PyObject *code)
{
    struct clp_selected *selected = clp_recorder_selected(recorder, code);

    return selected != NULL && !selected->probed && !selected->left_alone ? selected : NULL;
}

#endif
