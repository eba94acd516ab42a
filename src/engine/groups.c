/* SPDX-License-Identifier: MIT */
#include "groups.h"
#include <string.h>

void clp_groups_init(struct clp_groups *groups, struct clp_mem *mem)
{
    *groups = (struct clp_groups){.mem = mem};
}

void clp_groups_clear(struct clp_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        clp_mem_free_text(groups->mem, groups->names[i]);
    clp_mem_free(groups->mem, groups->names, groups->room, sizeof *groups->names);
    clp_groups_init(groups, groups->mem);
}

clp_status clp_groups_find(struct clp_groups *groups, const char *name, uint32_t *group)
{
    if (groups->count >= CLP_GROUPS_MOST - 1)
        name = "other threads";
    for (size_t i = 0; i < groups->count; i++) {
        if (strcmp(groups->names[i], name) == 0) {
            *group = (uint32_t)i + 1;
            return CLP_OK;
        }
    }
    if (groups->count == groups->room &&
        clp_mem_grow(groups->mem, (void **)&groups->names, &groups->room, groups->room * 2 + 8,
                     sizeof *groups->names) != CLP_OK)
        return CLP_NO_MEMORY;
    char *copy = clp_mem_copy_text(groups->mem, name, strlen(name));
    if (copy == NULL)
        return CLP_NO_MEMORY;
    groups->names[groups->count++] = copy;
    *group = (uint32_t)groups->count;
    return CLP_OK;
}

const char *clp_groups_name(const struct clp_groups *groups, uint32_t group)
{
    return group == 0 ? "no name" : groups->names[group - 1];
}
