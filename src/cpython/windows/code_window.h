/* SPDX-License-Identifier: MIT */
/* A window: a view (engine/view.h) together with the code of its functions. While the window is open, its
 * functions run the code that is recorded. A function on which no window is open runs its own code.
 *
 * Code is exchanged in function objects. The selected ones are known by weak references, so that selecting
 * keeps no function alive. A body that runs when code is exchanged continues as it is: code with probes finds
 * its gate closed.
 *
 * Protected as recorder_state.h says. Of the functions that take a window, only clp_code_window_open runs
 * Python code. */
#ifndef CLP_CODE_WINDOW_H
#define CLP_CODE_WINDOW_H

#include "cpython/recorder/recorder_state.h"
#include "cupti/device_sums.h"

/* Decides which code of a module, or of a function, is selected. */
struct clp_chooser {
    /* Is the code with this qualified name selected ("Class.method", "f.<locals>.g", "<module>")? */
    bool (*chooses)(void *data, PyCodeObject *code, const char *name);
    void *data;
};

/* Does the chooser choose the code? `name` is its qualified name, a str. */
bool clp_chooser_takes(const struct clp_chooser *chooser, PyCodeObject *code, PyObject *name);

struct clp_code_window {
    struct clp_recorder *recorder; /* borrowed */
    /* Borrowed: decides which code within functions that are selected with this window is selected, too. NULL:
     * all is. */
    const struct clp_chooser *within;
    struct clp_view view;
    bool open;   /* its functions run the code that is recorded */
    bool shut;   /* the gate is closed: what is recorded does not count */
    bool paused; /* nothing counts now, whatever the gate says */
    bool displaced; /* the window has a limit, and another window counted while this one was open */
    PyObject *limit; /* borrowed: the ContextVar that limits it to some contexts, or NULL */
    PyObject *owner; /* borrowed: the Profiler, which that variable must hold */
    bool memory; /* the window wants memory, and memory can be read */
    bool ranges; /* the window wants ranges of NVTX, and a tool listens */
    bool cpu;    /* the window wants processor time, and the system tells it */
    uint32_t tallies; /* what the window wants of enum clp_tally_source, and the system tells */
    bool called; /* the window wants the time of what lines call, and the tracer tells it */
    uint32_t devices; /* what the window wants of enum clp_device_source */
    bool line_log; /* the window wants the log of lines */
    struct clp_device_outside outside; /* what devices did for no line before the window's numbers began */
    uint32_t held; /* how many holds of the window there are */
    bool gone;   /* to be cleared when nobody holds it any more */
};

/* Is the window still there? False with a ValueError set: it was cleared. */
bool clp_code_window_is_there(const struct clp_code_window *window);

/* Begins a change. Until clp_code_window_release no Python code is run, the window stays, and the tracer goes
 * on. Holds may be nested. False with a ValueError set: the window was cleared. */
bool clp_code_window_hold(struct clp_code_window *window);
void clp_code_window_release(struct clp_code_window *window);

/* Makes a window, which must not move in memory. It counts nothing before it is opened. */
void clp_code_window_init(struct clp_code_window *window, struct clp_recorder *recorder, bool memory,
                          bool cpu, uint32_t tallies, bool called, uint32_t devices);

/* Lets lines be logged (line_log.h) as long as the window is there. Call it at most once. */
void clp_code_window_log_lines(struct clp_code_window *window);

/* Closes the window and gives everything up, its recorder too, as soon as nobody holds it. An exception that is
 * set stays set. */
void clp_code_window_clear(struct clp_code_window *window);

/* Open and close the window. Opening may run Python code before it begins. False with an exception set: then
 * some functions are not recorded, or are recorded still. */
bool clp_code_window_open(struct clp_code_window *window);
bool clp_code_window_close(struct clp_code_window *window);

/* Opens or closes the gate of the window, which is cheaper than closing the window: code stays as it is. False
 * with an exception set. */
bool clp_code_window_set_gate(struct clp_code_window *window, bool open);

/* Pauses counting, or lets it go on where the window and its gate are open. False with an exception set. */
bool clp_code_window_set_pause(struct clp_code_window *window, bool paused);

/* Closes the window for good at the end of the program, and leaves all code as it is. */
void clp_code_window_end(struct clp_code_window *window);

/* Is code of this name to be selected, too, if it lies within a function that is selected with the window? Code
 * that is part of a line (inner_code.h) is not. */
bool clp_code_window_wants_within(const struct clp_code_window *window, PyCodeObject *code, PyObject *name);

/* Makes the function with this number one of the window's. `known`: the number was given before. False with an
 * exception set. */
bool clp_code_window_add(struct clp_code_window *window, uint32_t function, bool known);

/* Adds a function to the table and to the window. `wanted` describes it, except for its file and its name,
 * which are str. *number becomes its number. False with an exception set. */
bool clp_code_window_add_function(struct clp_code_window *window, PyObject *file, PyObject *name,
                                  const struct clp_function *wanted, uint32_t *number);

/* Takes the function from the window. If no other open window has it, it runs its own code again. False with an
 * exception set. */
bool clp_code_window_remove(struct clp_code_window *window, uint32_t function);

#endif
