/* SPDX-License-Identifier: MIT */
/* Names, and what may be called by them: line_profiler's one class. */
#ifndef CLP_UNPICKLE_OBJECTS_H
#define CLP_UNPICKLE_OBJECTS_H

#include "unpickler.h"

clp_instruction clp_unpickle_name, clp_unpickle_stack_name, clp_unpickle_new, clp_unpickle_build;

#endif
