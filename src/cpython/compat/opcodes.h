/* SPDX-License-Identifier: MIT */
/* The instructions of the running interpreter, from its own opcode module. */
#ifndef CLP_OPCODES_H
#define CLP_OPCODES_H

#include "rewrite/bytecode.h"
#include "compat.h"

/* Reads them; `known` says whether they are those of the table. The module is not left in sys.modules when it
 * was not there before. Knows no instruction of 3.10, where nobody needs them, nor of an interpreter whose module
 * is not what it is today. False with an exception set. */
bool clp_opcodes_read(struct clp_bytecode *bytecode);

#endif
