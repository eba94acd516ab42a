/* SPDX-License-Identifier: MIT */
/* A view (core/view.h) and the code of its functions. While the window is open they run the code that is
 * recorded; where no window is open on a function, it runs its own.
 *
 * Code is exchanged in function objects. Those that were selected are known by weak references, so that
 * selecting keeps nobody alive. What runs when code is exchanged goes on as it is: code with probes
 * finds its gate closed. */
#ifndef CLP_WINDOW_H
#define CLP_WINDOW_H

#include "recorder.h"

struct clp_window {
    struct clp_recorder *recorder; /* borrowed */
    struct clp_view view;
    bool open;   /* functions run what is recorded */
    bool shut;   /* the gate: what is recorded does not count */
    bool memory; /* it wants memory, and there is some */
};

/* The window must not move. It counts nothing before it is open. */
void clp_window_init(struct clp_window *window, struct clp_recorder *recorder, bool memory);

/* Closes it and gives everything up, its recorder too; an exception that is set stays. */
void clp_window_clear(struct clp_window *window);

/* False with an exception set: then some functions are not recorded, or still are. */
bool clp_window_open(struct clp_window *window);
bool clp_window_close(struct clp_window *window);

/* The cheap kind of closing: code stays as it is. False with an exception set. */
bool clp_window_set_gate(struct clp_window *window, bool open);

/* Closes it for good, and leaves all code as it is: the program is at its end. */
void clp_window_end(struct clp_window *window);

/* The function with this number is one of the window's, from now on. `known`: the number is not new. False
 * with an exception set. */
bool clp_window_add(struct clp_window *window, uint32_t function, bool known);

/* The same of one with this description, which gets its number. */
bool clp_window_add_function(struct clp_window *window, const struct clp_function *wanted,
                             uint32_t *number);

/* It is not any more; when nobody else has it, it runs its own code. False with an exception set. */
bool clp_window_remove(struct clp_window *window, uint32_t function);

#endif
