/* SPDX-License-Identifier: MIT */
/* Modules for which something must be done as soon as they are loaded: greenlet's, and those that read code.
 * The loaders' exec_module is exchanged while there are windows, so that imports are seen.
 *
 * Threads: the interpreter's lock protects this. clp_modules_watch runs Python code, before a change
 * (change.h), and so does what is done for a module, in the thread that imports it. Several threads may call
 * clp_modules_watch at once, and each returns when all is done. clp_modules_unwatch runs no Python code. */
#ifndef CLP_MODULES_H
#define CLP_MODULES_H

#include "cpython/recorder/recorder_state.h"

/* Does what must be done for the modules that are loaded, and sees to it that it is done for those that come.
 * An exception that is set stays set. */
void clp_modules_watch(struct clp_recorder *recorder);

/* Calls loaded(data, module), in the importing thread, for each extension module that is loaded from now on while there
 * are windows, in place of what was to be called before. `loaded` runs Python code, and leaves no exception. */
void clp_modules_tell(void (*loaded)(void *data, PyObject *module), void *data);

/* Ends that, if it is still this `data`. */
void clp_modules_tell_no_more(const void *data);

/* Gives the loaders back their own exec_module, unless somebody has put something else there since. */
void clp_modules_unwatch(void);

#endif
