/* SPDX-License-Identifier: MIT */
/* Instructions for tuples, lists and dicts; for the marks that say where their items begin; and for the memo,
 * by which a pickle refers to what it made before. */
#ifndef CLP_UNPICKLE_CONTAINERS_H
#define CLP_UNPICKLE_CONTAINERS_H

#include "unpickler.h"

clp_instruction clp_unpickle_mark, clp_unpickle_empty, clp_unpickle_tuple, clp_unpickle_gather,
    clp_unpickle_extend, clp_unpickle_add, clp_unpickle_memoize, clp_unpickle_put,
    clp_unpickle_get, clp_unpickle_memo_text;

#endif
