/* SPDX-License-Identifier: MIT */
/* Says of each line that leaks who holds what it has allocated: "app._cache: dict, 150 entries". Of the objects that
 * the line allocated and that are alive, and of the lists, dicts, sets and bytearrays whose contents it allocated, a way
 * from a module, a frame or a class to most of their bytes is looked for (reach.h).
 *
 * Names in the text are those of modules, variables and types. Of the objects only lengths of built-in types are told:
 * neither their contents nor anything that Python code would have to say. */
#ifndef CLP_HOLDERS_H
#define CLP_HOLDERS_H

#include "heap/heap.h"
#include "profile/profile.h"

/* Sets held_by of the leaks that were just judged (clp_heap_judge), and forgets their owners. Without memory, or where
 * the search was given up, it says so instead. CLP_NO_MEMORY: not even that. */
clp_status clp_holders_find(const struct clp_heap *heap, struct clp_profile *profile);

#endif
