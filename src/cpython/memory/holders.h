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

/* References that are followed at the end of a run: under a second, if most of them miss the caches. */
#define CLP_HOLDERS_STEPS 2000000

/* Sets held_by of the leaks that were just judged (clp_heap_judge), and forgets their owners. The search follows `most`
 * references; 0: nothing is searched. If it finds nothing, an earlier answer of the run is given. Without any, it says why. CLP_NO_MEMORY: not even that. */
clp_status clp_holders_find(struct clp_heap *heap, size_t most, struct clp_profile *profile);

/* Have earlier searches of the run found the holders of all leaks that were just judged? */
bool clp_holders_known(const struct clp_heap *heap, const struct clp_profile *profile);

#endif
