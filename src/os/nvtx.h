/* SPDX-License-Identifier: MIT */
/* Ranges of NVTX, by which NVIDIA Nsight Systems names what a program does. A tool gives the path of its library in
 * NVTX_INJECTION64_PATH. The library's InitializeInjectionNvtx2 is called with a function that returns tables. In these
 * the library finds where to put the functions that it has. The layout of the tables, and the numbers in them, are
 * those of NVTX 3. Nothing is linked, and without a tool nothing is loaded.
 *
 * The ranges are in a domain of their own, "clineprof", which has stacks of its own: ranges that the program pushes and
 * pops itself are never mixed up with them. A tool that knows no domains gets plain ranges.
 *
 * Threads: clp_nvtx_open needs a lock of its caller. The others may be called in any thread once that has succeeded. */
#ifndef CLP_NVTX_H
#define CLP_NVTX_H

/* Loads the tool's library; a second call returns what the first one has. NULL: a tool listens. Otherwise why none
 * does, for a message. */
const char *clp_nvtx_open(void);

/* A range begins in the calling thread; the last one that has begun ends. */
void clp_nvtx_push(const char *name);
void clp_nvtx_pop(void);

#endif
