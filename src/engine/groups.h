/* SPDX-License-Identifier: MIT */
/* Threads that are told apart, by name: those of one name are a group, and what they count stays
 * together when they end. Groups have small numbers; 0 is that of threads which nobody has named. */
#ifndef CLP_GROUPS_H
#define CLP_GROUPS_H

#include "base/mem.h"
#include "base/status.h"
#include <stdint.h>

/* A program may start any number of threads, each with a name of its own; and each name has counters
 * of its own for good. The last group is that of all further names. */
#define CLP_GROUPS_MOST 1000

struct clp_groups {
    struct clp_mem *mem; /* borrowed */
    char **names;        /* owned; [0] is of group 1 */
    size_t count, room;
};

void clp_groups_init(struct clp_groups *groups, struct clp_mem *mem);
void clp_groups_clear(struct clp_groups *groups);

/* The group of this name, which may be new. CLP_NO_MEMORY leaves all as it was. */
clp_status clp_groups_find(struct clp_groups *groups, const char *name, uint32_t *group);

/* Borrowed; what reports call a group. */
const char *clp_groups_name(const struct clp_groups *groups, uint32_t group);

#endif
