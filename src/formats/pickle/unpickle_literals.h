/* SPDX-License-Identifier: MIT */
/* Numbers and texts, as each protocol of pickle writes them. A text stays as it is in the file till
 * somebody wants it. */
#ifndef CLP_UNPICKLE_LITERALS_H
#define CLP_UNPICKLE_LITERALS_H

#include "unpickler.h"

clp_instruction clp_unpickle_plain, clp_unpickle_number, clp_unpickle_signed, clp_unpickle_long,
    clp_unpickle_decimal, clp_unpickle_real, clp_unpickle_real_text, clp_unpickle_text;

#endif
