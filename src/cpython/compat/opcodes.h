/* SPDX-License-Identifier: MIT */
/* What the instructions of the running interpreter do, from its own opcode module. */
#ifndef CLP_OPCODES_H
#define CLP_OPCODES_H

#include "rewrite/bytecode.h"
#include "compat.h"

struct clp_opcodes {
    signed char jump[256];  /* 1 forward, -1 backward, 0 none */
    bool never_starts[256]; /* a line never begins here, whatever its line */
    bool resumes[256];      /* RESUME */
    int extended_arg, yield_value, cache;
};

/* Reads them; the module is not left in sys.modules when it was not there before. False with an
 * exception set. Knows nothing of 3.10, where nobody needs to know: all fields are zero. */
bool clp_opcodes_read(struct clp_opcodes *opcodes);

/* Does the running interpreter have the instructions of this table, and no others in code? False,
 * maybe with an exception set, when not or when it could not be asked. */
bool clp_opcodes_agree(const struct clp_bytecode *bytecode);

#endif
