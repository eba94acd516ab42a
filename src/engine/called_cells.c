/* SPDX-License-Identifier: MIT */
#include "called_cells.h"
#include <stddef.h>

static void add_name(struct clp_called_name *names, uint32_t number, int64_t time)
{
    struct clp_called_name *place = names;

    for (struct clp_called_name *name = names; name < names + CLP_CALLED_NAMES; name++) {
        if (name->name == number) {
            name->time += time;
            return;
        }
        if (name->name == 0 || name->time < place->time)
            place = name;
        if (name->name == 0)
            break;
    }
    place->name = number;
    place->time += time;
}

void clp_called_add_anyhow(struct clp_called_cell *cell, struct clp_callee callee, int64_t time)
{
    cell->time[callee.kind] += time;
    add_name(cell->names[callee.kind], callee.name, time);
}

void clp_called_merge(struct clp_called_cell *into, const struct clp_called_cell *from)
{
    for (int kind = 0; kind < CLP_CALLED_KINDS; kind++) {
        into->time[kind] += from->time[kind];
        for (int i = 0; i < CLP_CALLED_NAMES; i++)
            if (from->names[kind][i].name != 0)
                add_name(into->names[kind], from->names[kind][i].name, from->names[kind][i].time);
    }
}

static void subtract_name(struct clp_called_name *names, const struct clp_called_name *base)
{
    for (int i = 0; i < CLP_CALLED_NAMES; i++)
        if (names[i].name == base->name)
            names[i].time -= base->time;
}

void clp_called_subtract(struct clp_called_cell *from, const struct clp_called_cell *base)
{
    for (int kind = 0; kind < CLP_CALLED_KINDS; kind++) {
        from->time[kind] -= base->time[kind];
        for (int i = 0; i < CLP_CALLED_NAMES; i++)
            if (base->names[kind][i].name != 0)
                subtract_name(from->names[kind], &base->names[kind][i]);
    }
}

const struct clp_called_name *clp_called_most(const struct clp_called_cell *cell, enum clp_called_kind kind)
{
    const struct clp_called_name *most = NULL;

    for (const struct clp_called_name *name = cell->names[kind]; name < cell->names[kind] + CLP_CALLED_NAMES; name++)
        if (name->name != 0 && name->time > 0 && (most == NULL || name->time > most->time))
            most = name;
    return most;
}
