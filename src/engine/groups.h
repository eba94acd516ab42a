/* SPDX-License-Identifier: MIT */
/* Threads that are told apart by name. Threads of one name are a group, and their counts stay together when
 * they end. Groups have small numbers; group 0 is the threads that nobody has named. */
#ifndef CLP_GROUPS_H
#define CLP_GROUPS_H

#include "base/mem.h"
#include "base/status.h"
#include <stdint.h>

/* The most groups. A program may start any number of threads, each with a name of its own, and each name has
 * counters of its own to the end. The last group takes all further names ("other threads"). */
#define CLP_GROUPS_MOST 1000

struct clp_groups {
    struct clp_mem *mem; /* borrowed */
    char **names;        /* owned; [0] is of group 1 */
    size_t count, room;
};

void clp_groups_init(struct clp_groups *groups, struct clp_mem *mem);
void clp_groups_clear(struct clp_groups *groups);

/* Finds the group of this name, or makes it. CLP_NO_MEMORY leaves all as it was. */
clp_status clp_groups_find(struct clp_groups *groups, const char *name, uint32_t *group);

/* What reports call a group. Borrowed. */
const char *clp_groups_name(const struct clp_groups *groups, uint32_t group);

#endif
