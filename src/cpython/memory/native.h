/* SPDX-License-Identifier: MIT */
/* What C code asks of malloc, mmap and their kin, where the library of src/native was loaded before
 * all others: its blocks go into the table of live blocks (heap/heap.h) beside those of Python's
 * allocators, and belong to the line that runs in their thread. Threads in which no selected code
 * runs, OpenMP's and BLAS's among them, are nobody's.
 *
 * What Python's allocators ask of malloc is counted by hooks.h already: while one of its hooks is
 * inside an allocator, nothing is counted here.
 *
 * Threads: as hooks.h says of those without the interpreter's lock. */
#ifndef CLP_NATIVE_H
#define CLP_NATIVE_H

#include "heap/epochs.h"

/* From now on a table gets C's blocks. False: the library is not there. */
bool clp_native_use(void);
bool clp_native_is_there(void);
bool clp_native_is_used(void);

/* Whose malloc the process calls first, when that is not the library's. NULL: it is the library's.
 * Borrowed. */
const char *clp_native_before(void);

/* Whose malloc the library goes on to, when that is not the C library's; else NULL. Borrowed. */
const char *clp_native_behind(void);

/* For hooks.h: blocks go into this table, and its epochs that go by time end; NULL: they do not any more. */
void clp_native_set_heap(struct clp_heap *heap, struct clp_epochs *epochs);

/* Between the two nothing that the calling thread does is counted. They may be nested. */
uint32_t clp_native_pause(void);
void clp_native_resume(uint32_t inside);

#endif
