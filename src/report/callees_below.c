/* SPDX-License-Identifier: MIT */
#include "callees_below.h"
#include "base/escape.h"
#include "base/number.h"

#define MOST 8
#define LEAST_SHARE 0.01

/* The callees of most time, the largest first. */
struct chosen {
    const struct clp_profile_callee *items[MOST];
    size_t count;
};

static void offer(struct chosen *chosen, const struct clp_profile_callee *callee)
{
    size_t place = chosen->count < MOST ? chosen->count++ : MOST - 1;

    if (place == MOST - 1 && chosen->items[place] != NULL && chosen->items[place]->time >= callee->time)
        return;
    for (; place > 0 && chosen->items[place - 1]->time < callee->time; place--)
        chosen->items[place] = chosen->items[place - 1];
    chosen->items[place] = callee;
}

void clp_callees_below_add(struct clp_buf *out, const struct clp_profile_function *function)
{
    struct chosen chosen = {.count = 0};

    for (size_t i = 0; i < function->callee_count; i++)
        if ((double)function->callees[i].time >= LEAST_SHARE * (double)function->total)
            offer(&chosen, &function->callees[i]);
    if (chosen.count == 0)
        return;
    clp_buf_add_text(out, "Most time in calls:\n");
    for (size_t i = 0; i < chosen.count; i++) {
        const struct clp_profile_callee *callee = chosen.items[i];
        clp_buf_add_format(out, "%6d  ", (int)callee->line);
        clp_number_add_time(out, (double)callee->time);
        clp_buf_add_text(out, "  ");
        clp_escape_add_text(out, callee->name);
        clp_buf_add_text(out, callee->library ? " (library)\n" : "\n");
    }
    clp_buf_add_text(out, "\n");
}
