/* SPDX-License-Identifier: MIT */
/* Finds the frame whose code has the `with` of a block that is being entered or left. */
#ifndef CLP_FRAME_OF_WITH_H
#define CLP_FRAME_OF_WITH_H

#include "cpython/compat/compat.h"

/* The frame, a new reference. NULL: there is none, perhaps with an exception set. */
PyFrameObject *clp_frame_of_with(void);

/* Is it defined in this package? */
bool clp_frame_is_within(PyFrameObject *frame, const char *package);

#endif
