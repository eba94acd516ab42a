/* SPDX-License-Identifier: MIT */
#include "epochs.h"
#include <string.h>

bool clp_epochs_is_named(const char *wanted, const char *name)
{
    const char *dot = strrchr(name, '.');

    return strcmp(name, wanted) == 0 || (dot != NULL && strcmp(dot + 1, wanted) == 0);
}

void clp_epochs_look_at_time(struct clp_epochs *epochs)
{
    uint64_t now = clp_clock_read(epochs->clock);

    if (epochs->kind != CLP_EPOCHS_SECONDS || now < epochs->next)
        return;
    epochs->next = now + epochs->period;
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
