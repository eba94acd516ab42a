/* SPDX-License-Identifier: MIT */
/* Which code objects are selected, by their addresses, and on which line each of their instructions is. Not synchronised. */
#ifndef CLP_SAMPLED_CODE_H
#define CLP_SAMPLED_CODE_H

#include "base/hashmap.h"
#include "cpython/compat/raw_frames.h"
#include "engine/stack_samples.h"

struct clp_sampled_codes {
    struct clp_hashmap known; /* address -> struct clp_sampled_code, owned */
};

void clp_sampled_codes_init(struct clp_sampled_codes *codes, struct clp_mem *mem);
void clp_sampled_codes_clear(struct clp_sampled_codes *codes);

/* Adds a code object, or replaces what is known of it. `cells` is copied: the cell of each code unit. A unit that has
 * CLP_NO_CELL counts for the line of the unit before it, the first ones for the first line. False: no memory, or no unit
 * has a line; then the code is not known. */
bool clp_sampled_codes_add(struct clp_sampled_codes *codes, const void *code, uint32_t function, const uint32_t *cells,
                           uint32_t units);
void clp_sampled_codes_remove(struct clp_sampled_codes *codes, const void *code);

enum clp_sampled_place { CLP_SAMPLED_LINE, CLP_SAMPLED_NOT_SELECTED, CLP_SAMPLED_WRONG };

/* Finds the line on which the frame stands. CLP_SAMPLED_WRONG: the frame was read while it changed. */
enum clp_sampled_place clp_sampled_codes_find(const struct clp_sampled_codes *codes, const struct clp_raw_frame *frame,
                                              struct clp_sampled_line *line);

#endif
