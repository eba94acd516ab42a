/* SPDX-License-Identifier: MIT */
/* The table of measures (profile/measures.h) for the Python package. */
#ifndef CLP_MEASURE_ROWS_H
#define CLP_MEASURE_ROWS_H

#include "cpython/compat/compat.h"

/* A tuple with a tuple for each measure of a line: column, name, title, about, unit ("count", "ns", "bytes"), merge
 * ("sum", "largest", "furthest from 0"), needs ("times", "memory", "heap", "native"), page, is_signed, kept.
 * A new reference, NULL with an exception set. */
PyObject *clp_measure_rows_tuple(void);

#endif
