/* SPDX-License-Identifier: MIT */
/* Memory of the profiler's own, straight from the kernel: zeroed, and present from the first
 * moment, so that its effect on the resident size is known to the page and can be taken off. */
#ifndef CLP_PAGES_H
#define CLP_PAGES_H

#include <stddef.h>
#include <stdint.h>

struct clp_pages {
    uint64_t bytes; /* mapped and resident now */
};

/* At least `bytes` bytes, rounded up to whole pages; *mapped is the size they came to. NULL when
 * the system has none. */
void *clp_pages_map(struct clp_pages *pages, size_t bytes, size_t *mapped);

/* Gives back what clp_pages_map gave; `mapped` as it said. */
void clp_pages_unmap(struct clp_pages *pages, void *block, size_t mapped);

#endif
