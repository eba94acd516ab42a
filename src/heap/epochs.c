/* SPDX-License-Identifier: MIT */
#include "epochs.h"
#include <string.h>

bool clp_epochs_is_named(const char *wanted, const char *name)
{
    const char *dot = strrchr(name, '.');

    return strcmp(name, wanted) == 0 || (dot != NULL && strcmp(dot + 1, wanted) == 0);
}

void clp_epochs_set(struct clp_epochs *epochs, const struct clp_epochs *wanted)
{
    epochs->name = wanted->name;
    epochs->warmups = wanted->warmups;
    epochs->limit = wanted->limit;
    __atomic_store_n(&epochs->period, wanted->period, __ATOMIC_RELAXED);
    __atomic_store_n(&epochs->next, wanted->next, __ATOMIC_RELAXED);
    __atomic_store_n(&epochs->kind, wanted->kind, __ATOMIC_RELEASE); /* last: the others are set by then */
}

/* Only one thread finds that an epoch is over: the one that exchanges `next`. */
static bool is_over(struct clp_epochs *epochs)
{
    uint64_t now = clp_clock_read(epochs->clock);
    uint64_t next = __atomic_load_n(&epochs->next, __ATOMIC_RELAXED);
    uint64_t period = __atomic_load_n(&epochs->period, __ATOMIC_RELAXED);

    return now >= next && __atomic_compare_exchange_n(&epochs->next, &next, now + period, false,
                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void clp_epochs_look_at_time(struct clp_epochs *epochs)
{
    if (clp_epochs_go_by_time(epochs) && is_over(epochs))
        clp_heap_tick(epochs->heap);
}

void clp_epochs_note_call(struct clp_epochs *epochs, const struct clp_functions *functions,
                          uint32_t function)
{
    if (epochs->kind == CLP_EPOCHS_CALLS)
        clp_heap_call(epochs->heap, function);
    else if (epochs->kind == CLP_EPOCHS_SECONDS)
        clp_epochs_look_at_time(epochs);
    else if (clp_epochs_is_named(epochs->name, functions->items[function].name))
        clp_heap_tick(epochs->heap);
}

void clp_epochs_checkpoint(struct clp_epochs *epochs)
{
    if (epochs->kind == CLP_EPOCHS_CHECKPOINTS)
        clp_heap_tick(epochs->heap);
}
