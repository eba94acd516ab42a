/* SPDX-License-Identifier: MIT */
#include "unpickler.h"

#define MOST_VALUES ((size_t)1 << 26)

clp_status clp_unpickler_push_node(struct clp_unpickler *machine, enum clp_pickled_kind kind)
{
    struct clp_unpickled *values = machine->values;
    struct clp_pickled value = of_kind(kind);

    if (!CLP_RESERVE(machine, values->nodes, values->node_count, values->node_room))
        return no_memory(machine);
    if (values->node_count == MOST_VALUES)
        return refuse(machine, CLP_TOO_LARGE, "too many values");
    value.as.node = (uint32_t)values->node_count;
    values->nodes[values->node_count++] = (struct clp_pickled_node){0};
    return push(machine, value);
}

clp_status clp_unpickler_add_item(struct clp_unpickler *machine, uint32_t node,
                                  const struct clp_pickled *value)
{
    struct clp_unpickled *values = machine->values;
    struct clp_pickled_node *into = &values->nodes[node];

    if (!CLP_RESERVE(machine, values->items, values->item_count, values->item_room))
        return no_memory(machine);
    if (values->item_count == MOST_VALUES)
        return refuse(machine, CLP_TOO_LARGE, "too many values");
    uint32_t place = (uint32_t)values->item_count++;
    values->items[place] = (struct clp_pickled_item){.value = *value};
    if (into->count++ == 0)
        into->first = place;
    else
        values->items[into->last].next = place;
    into->last = place;
    return CLP_OK;
}
