/* SPDX-License-Identifier: MIT */
/* Shared libraries that the program has loaded, or could load. */
#ifndef CLP_LIBRARY_H
#define CLP_LIBRARY_H

#include <stddef.h>

/* The loaded library of this name, or path; NULL: it is not loaded. Nothing is loaded. */
void *clp_library_loaded(const char *name);

/* A loaded library whose file's name begins so, such as "libcupti"; NULL: there is none. */
void *clp_library_loaded_like(const char *start);

/* Loads a library, which then stays loaded; NULL: it cannot be loaded. */
void *clp_library_load(const char *path);

/* Sets *function, a pointer to a function, to the library's one of that name, or to NULL. */
void clp_library_function(void *library, const char *name, void *function);

#endif
