/* SPDX-License-Identifier: MIT */
/* The names of what lines call (called.h), each once, by its number. Numbers begin with 1 and are never used again. */
#ifndef CLP_CALLEE_NAMES_H
#define CLP_CALLEE_NAMES_H

#include "base/hashmap.h"
#include "base/mem.h"
#include <stddef.h>
#include <stdint.h>

struct clp_callee_names {
    struct clp_mem *mem; /* borrowed */
    char **items;        /* owned, and so are the texts */
    size_t count, room;
    struct clp_hashmap index; /* hash of a name -> its number */
    /* Called for each new name, in the order of their numbers; may be NULL. */
    void (*added)(void *listener, const char *name);
    void *listener; /* borrowed */
};

void clp_callee_names_init(struct clp_callee_names *names, struct clp_mem *mem);
void clp_callee_names_clear(struct clp_callee_names *names);

/* The number of the name, which is added if it is new; 0: no memory. */
uint32_t clp_callee_names_add(struct clp_callee_names *names, const char *name, size_t bytes);

/* The name of the number, borrowed; NULL: there is none. */
const char *clp_callee_names_get(const struct clp_callee_names *names, uint32_t number);

#endif
