/* SPDX-License-Identifier: MIT */
/* A view (engine/view.h) and the code of its functions. While the window is open they run the code that is
 * recorded; where no window is open on a function, it runs its own.
 *
 * Code is exchanged in function objects. Those that were selected are known by weak references, so that
 * selecting keeps nobody alive. What runs when code is exchanged goes on as it is: code with probes
 * finds its gate closed.
 *
 * Protected as recorder_state.h says. A function that runs Python code takes no window but by clp_code_window_open. */
#ifndef CLP_CODE_WINDOW_H
#define CLP_CODE_WINDOW_H

#include "cpython/recorder/recorder_state.h"

/* Which code of a module, or of a function, is selected. */
struct clp_chooser {
    /* Is the code with this qualified name ("Class.method", "f.<locals>.g", "<module>")? */
    bool (*chooses)(void *data, PyCodeObject *code, const char *name);
    void *data;
};

bool clp_chooser_takes(const struct clp_chooser *chooser, PyCodeObject *code, PyObject *name);

struct clp_code_window {
    struct clp_recorder *recorder; /* borrowed */
    const struct clp_chooser *within; /* borrowed: which code within functions that are selected with it is
                                       * selected; NULL: all */
    struct clp_view view;
    bool open;   /* functions run what is recorded */
    bool shut;   /* the gate: what is recorded does not count */
    bool paused; /* nor does it now, whatever the gate says */
    bool memory; /* it wants memory, and there is some */
    uint32_t held; /* so often */
    bool gone;   /* it is cleared when it is not held any more */
};

/* False with a ValueError set: it was cleared. */
bool clp_code_window_is_there(const struct clp_code_window *window);

/* A change begins: until clp_code_window_release no Python code is run, the window stays and the tracer goes on.
 * May be nested. False as above. */
bool clp_code_window_hold(struct clp_code_window *window);
void clp_code_window_release(struct clp_code_window *window);

/* The window must not move. It counts nothing before it is open. */
void clp_code_window_init(struct clp_code_window *window, struct clp_recorder *recorder, bool memory);

/* Closes it and gives everything up, its recorder too, as soon as nobody holds it; an exception that is set
 * stays. */
void clp_code_window_clear(struct clp_code_window *window);

/* False with an exception set: then some functions are not recorded, or still are. Opening may run Python
 * code before it begins. */
bool clp_code_window_open(struct clp_code_window *window);
bool clp_code_window_close(struct clp_code_window *window);

/* The cheap kind of closing: code stays as it is. False with an exception set. */
bool clp_code_window_set_gate(struct clp_code_window *window, bool open);

/* Counting stops, or goes on where the window is open and so is its gate. False with an exception set. */
bool clp_code_window_set_pause(struct clp_code_window *window, bool paused);

/* Closes it for good, and leaves all code as it is: the program is at its end. */
void clp_code_window_end(struct clp_code_window *window);

/* Is code of this name, within a function that is selected with it, to be selected, too? Not so what is part of a
 * line (inner_code.h). */
bool clp_code_window_wants_within(const struct clp_code_window *window, PyCodeObject *code, PyObject *name);

/* The function with this number is one of the window's, from now on. `known`: the number is not new. False
 * with an exception set. */
bool clp_code_window_add(struct clp_code_window *window, uint32_t function, bool known);

/* Adds a function to the window's: `wanted` describes it but for its file and name, two str. *number: the one
 * that it got. False with an exception set. */
bool clp_code_window_add_function(struct clp_code_window *window, PyObject *file, PyObject *name,
                                  const struct clp_function *wanted, uint32_t *number);

/* Takes the function from the window's; when nobody else has it, it runs its own code. False with an exception
 * set. */
bool clp_code_window_remove(struct clp_code_window *window, uint32_t function);

#endif
