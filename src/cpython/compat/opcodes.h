/* SPDX-License-Identifier: MIT */
/* Reads the instructions of the running interpreter from its own module opcode. */
#ifndef CLP_OPCODES_H
#define CLP_OPCODES_H

#include "rewrite/bytecode.h"
#include "compat.h"

/* Fills *bytecode. bytecode->known says whether the instructions agree with the table of src/rewrite. The module opcode
 * is not added to sys.modules. *bytecode is without instructions on 3.10, where nothing needs them, and for an
 * interpreter whose module opcode lacks what is read here. Returns false with an exception set. */
bool clp_opcodes_read(struct clp_bytecode *bytecode);

#endif
