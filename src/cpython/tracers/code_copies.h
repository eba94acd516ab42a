/* SPDX-License-Identifier: MIT */
/* Copies that the program makes of code which monitoring or settrace records: by code.replace(), as
 * types.coroutine does, or by passing the parts of the code to types.CodeType. Probes lie in a code object's
 * constants, so they get into its copies by themselves. The other tracers know a code object by the data that
 * is attached to it, and a copy has none.
 *
 * So the two C functions that make such copies are exchanged for ours while one of those tracers is on.
 *
 * Threads: the interpreter's lock protects this. Making a copy may run Python code, so the watching recorder is
 * looked up afterwards. Using a copy is a change (change.h). */
#ifndef CLP_CODE_COPIES_H
#define CLP_CODE_COPIES_H

#include "cpython/recorder/selected.h"

/* Called with recorded code and a new copy of it. False with an exception set. */
typedef bool clp_code_copies_use(const struct clp_selected *from, PyCodeObject *code,
                                 PyCodeObject *copy);

/* Sets the function that is told of copies. Call it before copies are watched. */
void clp_code_copies_give(clp_code_copies_use *use);

/* Tells of each copy from now on. Calling this again has no effect. */
void clp_code_copies_watch(struct clp_recorder *recorder);

/* Ends the watching of copies, and gives the C functions back. */
void clp_code_copies_leave(void);

#endif
