/* SPDX-License-Identifier: MIT */
/* Selected code objects: the data that the recorder's code slot attaches to each, and the sites of their
 * functions. Protected as recorder_state.h says. */
#ifndef CLP_SELECTED_H
#define CLP_SELECTED_H

#include "recorder_state.h"
#include "cpython/code/code_lines.h"

/* The number of a function that has probes but is not selected. */
#define CLP_UNSELECTED UINT32_MAX

/* The data of a selected code object. The recorder's code slot attaches it to the code object. */
struct clp_selected {
    struct clp_recorder *recorder; /* borrowed */
    /* Borrowed: the code object that has this data. While `holders` keep the data for longer than the code
     * object lives, this is only compared, never dereferenced. */
    PyObject *code;
    uint64_t identity;             /* identity of that code: its address, or an odd number that is never used again */
    uint32_t function;
    uint32_t text; /* number of the text that the code was compiled from, for its statements */
    const struct clp_audience *audience; /* borrowed: who counts the function */
    struct clp_selected *next, **link; /* links in the list of the site's codes; link NULL: not in a list */
    bool on;          /* a tracer sends events of this code */
    bool spread;      /* others that held the code have its copy with probes */
    uint32_t holders; /* how many hold this: the code object, and each probe that points here */
    bool probed;      /* the code has probes, and records itself */
    bool suspends;    /* of a generator or coroutine: the frame tells which body runs */
    PyObject *copy;     /* borrowed: the copy with probes that was made of the code, while it lives */
    PyObject *original; /* owned: the code object that this copy was made of, or NULL */
    struct clp_counted *counted; /* owned: of a copy with counters (counted_code.h); else NULL */
    bool refused;       /* the code cannot have probes */
    bool left_alone;    /* no tracer may have the code */
    const char *compiler; /* a constant: a library that compiles the code and runs its own instead; NULL: none known */
    /* By how many lines the code's first line is moved: in a copy that the program has made with another first
     * line. Its identity is odd then, so that only its own events have to look here. */
    int32_t moved;
    struct clp_code_lines shape;
};

/* Makes the data of a code object of this function. Takes over *lines, also when it fails. NULL with an
 * exception set. */
struct clp_selected *clp_recorder_new_selected(struct clp_recorder *recorder, PyObject *code,
                                               uint32_t function, struct clp_code_lines *lines);

/* Tells that the code object with this data is freed. NULL is allowed. */
void clp_recorder_code_gone(void *selected);

/* Removes a holder of the data. The last one frees it. NULL is allowed. */
void clp_recorder_drop_selected(void *selected);

/* The site of a function with this number, made if need be. NULL with an exception set. */
struct clp_site *clp_recorder_site(struct clp_recorder *recorder, uint32_t function);

/* Adds the code object to the list of its function's site. False with an exception set. */
bool clp_recorder_list_code(struct clp_selected *selected);

/* The data of a code object, borrowed; NULL for code that is not selected. */
static inline struct clp_selected *clp_recorder_selected(const struct clp_recorder *recorder,
                                                         PyObject *code)
{
    return clp_compat_code_data(code, recorder->code_slot);
}

/* The data of a code object with probes that were put in here. NULL for other code, and for a copy that
 * somebody has made of such code. */
static inline const struct clp_selected *clp_recorder_probes(const struct clp_recorder *recorder,
                                                             PyObject *code)
{
    const struct clp_selected *selected = clp_recorder_selected(recorder, code);

    return selected != NULL && selected->code == code && selected->original != NULL ? selected
                                                                                    : NULL;
}

/* The code without probes that this code was made of, borrowed from it; or the code itself. */
static inline PyCodeObject *clp_recorder_plain_code(const struct clp_recorder *recorder,
                                                    PyCodeObject *code)
{
    const struct clp_selected *selected = clp_recorder_selected(recorder, (PyObject *)code);

    return selected != NULL && selected->original != NULL ? (PyCodeObject *)selected->original : code;
}

/* Does the running body of this code count for a window with a limit? If not, hides the body on top if that runs the
 * same code: its code becomes 0, so that no event of the running body is taken for one of its own. */
bool clp_recorder_limit_lets(const struct clp_selected *selected);

/* Does anybody count the running body of this code? */
static inline bool clp_recorder_counts(const struct clp_selected *selected)
{
    return *selected->audience->gate != 0 ||
           (selected->recorder->limit.variable != NULL && clp_recorder_limit_lets(selected));
}

/* Is the body on top the running body of this code, although it was hidden? Then it is shown again: its code is noted
 * in it. `frame` identifies the running body. */
bool clp_recorder_show(const struct clp_selected *selected, const struct clp_thread *thread, const void *frame);

/* Is it known, without asking for the context, that an event within a body is of none that counts? Where there is a
 * limit, those that count are on the stack. */
static inline bool clp_recorder_is_outside(const struct clp_recorder *recorder)
{
    return recorder->limit.variable != NULL &&
           (clp_thread_here == NULL || clp_thread_here->top == clp_thread_here->stack);
}

/* The data of selected code that a tracer must record: it has no probes, and is not left alone. NULL for other
 * code. */
static inline struct clp_selected *clp_recorder_traced(const struct clp_recorder *recorder,
                                                       PyObject *code)
{
    struct clp_selected *selected = clp_recorder_selected(recorder, code);

    return selected != NULL && !selected->probed && !selected->left_alone ? selected : NULL;
}

/* settrace gets no event that says that a body goes on which began before it counted. It looks for such bodies only if
 * there may be some, because it then looks at each line of every function. Finds whether a thread runs a body of this
 * code; NULL: of any code that is selected. */
void clp_recorder_look_for_running(struct clp_recorder *recorder, const PyCodeObject *code);

#endif
