/* SPDX-License-Identifier: MIT */
/* Copies that the program makes of code which monitoring or settrace records: by code.replace(), as
 * types.coroutine does, or by handing the parts of the code to types.CodeType. Probes lie in a code
 * object's constants and get into its copies by themselves; the other tracers know a code object by
 * what is attached to it, and a copy begins with nothing.
 *
 * So the two C functions that make such copies are exchanged for ours while one of those tracers is on.
 *
 * Threads: the interpreter's lock. Making a copy may run Python code, so who watches is looked up behind it;
 * using a copy is a change (change.h). */
#ifndef CLP_CODE_COPIES_H
#define CLP_CODE_COPIES_H

#include "cpython/recorder/selected.h"

/* Called with code that is recorded and a new copy of it. False with an exception set. */
typedef bool clp_code_copies_use(const struct clp_selected *from, PyCodeObject *code,
                                 PyCodeObject *copy);

/* Who is told of copies. To be said before they are watched. */
void clp_code_copies_give(clp_code_copies_use *use);

/* From now on each copy is told of. Calling it again has no effect. */
void clp_code_copies_watch(struct clp_recorder *recorder);

void clp_code_copies_leave(void);

#endif
