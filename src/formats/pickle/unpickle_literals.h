/* SPDX-License-Identifier: MIT */
/* Instructions for numbers and texts, as each protocol of pickle writes them. A text is not decoded until a
 * reader asks for it (clp_unpickled_add_text). */
#ifndef CLP_UNPICKLE_LITERALS_H
#define CLP_UNPICKLE_LITERALS_H

#include "unpickler.h"

clp_instruction clp_unpickle_plain, clp_unpickle_number, clp_unpickle_signed, clp_unpickle_long,
    clp_unpickle_decimal, clp_unpickle_real, clp_unpickle_real_text, clp_unpickle_text;

#endif
