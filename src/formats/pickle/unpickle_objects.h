/* SPDX-License-Identifier: MIT */
/* Instructions for names of classes and functions, and for calling them: of line_profiler's LineStats alone. */
#ifndef CLP_UNPICKLE_OBJECTS_H
#define CLP_UNPICKLE_OBJECTS_H

#include "unpickler.h"

clp_instruction clp_unpickle_name, clp_unpickle_stack_name, clp_unpickle_new, clp_unpickle_build;

#endif
