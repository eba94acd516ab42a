/* SPDX-License-Identifier: MIT */
#include "epochs.h"
#include <stdlib.h>
#include <string.h>

#define FIRST_LOOK 64

bool clp_epochs_is_named(const char *wanted, const char *name)
{
    const char *dot = strrchr(name, '.');

    return strcmp(name, wanted) == 0 || (dot != NULL && strcmp(dot + 1, wanted) == 0);
}

enum clp_epochs_kind clp_epochs_kind_of(const char *words, double *seconds)
{
    char *end;

    if (strcmp(words, "calls") == 0)
        return CLP_EPOCHS_CALLS;
    if (strcmp(words, "checkpoints") == 0)
        return CLP_EPOCHS_CHECKPOINTS;
    *seconds = strtod(words, &end);
    return end != words && *end == 0 ? CLP_EPOCHS_SECONDS : CLP_EPOCHS_NAMED;
}

bool clp_epochs_go_by_name(const char *words)
{
    double seconds;

    return words != NULL && clp_epochs_kind_of(words, &seconds) == CLP_EPOCHS_NAMED;
}

void clp_epochs_forget(struct clp_epochs *epochs)
{
    memset(epochs->bodies, 0, sizeof epochs->bodies);
    epochs->next_look = FIRST_LOOK;
    epochs->due = false;
}

void clp_epochs_set(struct clp_epochs *epochs, const struct clp_epochs *wanted)
{
    epochs->name = wanted->name;
    epochs->warmups = wanted->warmups;
    epochs->limit = wanted->limit;
    clp_epochs_forget(epochs);
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

static struct clp_epochs_body *place_of(struct clp_epochs *epochs, const void *body)
{
    uint64_t hash = ((uint64_t)(uintptr_t)body >> 4) * UINT64_C(0x9E3779B97F4A7C15);

    return &epochs->bodies[hash >> 56];
}

bool clp_epochs_note_return(struct clp_epochs *epochs, const void *body)
{
    struct clp_epochs_body *place = place_of(epochs, body);
    uint64_t all = epochs->heap->progress, within = all - place->progress;

    if (place->body != body)
        return false;
    place->body = NULL;
    return within >= clp_leaks_needed(0) && within >= all / 2 && clp_heap_mark(epochs->heap, CLP_HEAP_RETURNED);
}

static void see_if_due(struct clp_epochs *epochs)
{
    if (CLP_LIKELY(epochs->heap->progress < epochs->next_look))
        return;
    epochs->next_look = epochs->heap->progress + epochs->heap->progress / 8;
    epochs->due = true;
}

void clp_epochs_note_call(struct clp_epochs *epochs, const struct clp_functions *functions,
                          uint32_t function, const void *body)
{
    struct clp_epochs_body *place = place_of(epochs, body);

    if (place->body == NULL || place->body == body)
        *place = (struct clp_epochs_body){body, epochs->heap->progress};
    if (epochs->kind == CLP_EPOCHS_CALLS)
        clp_heap_call(epochs->heap, function, 1);
    else if (epochs->kind == CLP_EPOCHS_SECONDS)
        clp_epochs_look_at_time(epochs);
    else if (clp_epochs_is_named(epochs->name, functions->items[function].name))
        clp_heap_tick(epochs->heap);
    see_if_due(epochs);
}

void clp_epochs_note_calls(struct clp_epochs *epochs, uint32_t function, uint32_t count)
{
    if (epochs->kind == CLP_EPOCHS_CALLS && count > 0)
        clp_heap_call(epochs->heap, function, count);
    see_if_due(epochs);
}

void clp_epochs_checkpoint(struct clp_epochs *epochs)
{
    if (epochs->kind == CLP_EPOCHS_CHECKPOINTS)
        clp_heap_tick(epochs->heap);
}
