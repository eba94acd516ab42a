/* SPDX-License-Identifier: MIT */
/* What is kept of bodies that have left their thread's stack and may go on, in whichever thread:
 *
 *   a record       for each body that is suspended, under its frame's address
 *   a whole stack  where the program switches between stacks within a thread, under its owner's */
#include "engine_parts.h"

/* A body that was suspended with the whole of its stack. */
struct parked_body {
    struct clp_suspended place;
    uint64_t code;
};

struct clp_parked {
    size_t count;
    struct parked_body bodies[];
};

static uint64_t key_of(const void *frame)
{
    return (uint64_t)(uintptr_t)frame;
}

static void give_back(struct clp_engine *engine, struct clp_suspended *record)
{
    record->frame = NULL;
    record->next_free = engine->free_suspended;
    engine->free_suspended = record;
}

struct clp_suspended *clp_suspended_find(const struct clp_engine *engine, const void *frame)
{
    uint64_t found;

    return clp_hashmap_get(&engine->suspended, key_of(frame), &found)
               ? (struct clp_suspended *)(uintptr_t)found
               : NULL;
}

void clp_suspended_forget(struct clp_engine *engine, const void *frame)
{
    uint64_t found;

    if (clp_hashmap_take(&engine->suspended, key_of(frame), &found))
        give_back(engine, (struct clp_suspended *)(uintptr_t)found);
}

struct clp_suspended *clp_suspended_new(struct clp_engine *engine, const void *frame)
{
    struct clp_suspended *record;

    clp_suspended_forget(engine, frame); /* of a body gone unnoticed that had this address */
    record = engine->free_suspended;
    if (record != NULL)
        engine->free_suspended = record->next_free;
    else
        record = clp_mem_alloc(engine->mem, 1, sizeof *record);
    if (record == NULL)
        return NULL;
    if (clp_hashmap_set(&engine->suspended, key_of(frame), (uint64_t)(uintptr_t)record) != CLP_OK) {
        give_back(engine, record);
        return NULL;
    }
    record->frame = frame;
    return record;
}

void clp_suspended_clear(struct clp_engine *engine)
{
    for (size_t i = 0; i < engine->suspended.room; i++) {
        if (engine->suspended.slots[i].used)
            give_back(engine,
                      (struct clp_suspended *)(uintptr_t)engine->suspended.slots[i].value);
    }
    clp_hashmap_clear(&engine->suspended);
    clp_hashmap_init(&engine->suspended, engine->mem);
    while (engine->free_suspended != NULL) {
        struct clp_suspended *record = engine->free_suspended;
        engine->free_suspended = record->next_free;
        clp_mem_free(engine->mem, record, 1, sizeof *record);
    }
}

/* ---- several stacks in a thread ---- */

static size_t parked_bytes(size_t count)
{
    return sizeof(struct clp_parked) + count * sizeof(struct parked_body);
}

static void free_parked(struct clp_engine *engine, struct clp_parked *parked)
{
    clp_mem_free(engine->mem, parked, 1, parked_bytes(parked->count));
}

/* The caller owns it; NULL when there is none. */
static struct clp_parked *take_parked(struct clp_engine *engine, const void *owner)
{
    uint64_t found;

    return clp_hashmap_take(&engine->parked, key_of(owner), &found)
               ? (struct clp_parked *)(uintptr_t)found
               : NULL;
}

void clp_engine_forget_stack(struct clp_engine *engine, const void *owner)
{
    struct clp_parked *parked = take_parked(engine, owner);

    if (parked != NULL)
        free_parked(engine, parked);
}

static struct clp_parked *new_parked(struct clp_engine *engine, const void *owner, size_t count)
{
    struct clp_parked *parked = clp_mem_alloc(engine->mem, 1, parked_bytes(count));

    if (parked == NULL)
        return NULL;
    parked->count = count;
    clp_engine_forget_stack(engine, owner);
    if (clp_hashmap_set(&engine->parked, key_of(owner), (uint64_t)(uintptr_t)parked) == CLP_OK)
        return parked;
    free_parked(engine, parked);
    return NULL;
}

/* Every body leaves the stack as if it were suspended; so what they have counted is complete. */
static void park(struct clp_thread *thread, const void *owner, uint64_t now)
{
    size_t count = (size_t)(thread->top - thread->stack);
    struct clp_parked *parked = count != 0 ? new_parked(thread->engine, owner, count) : NULL;
    struct parked_body body = {0};

    if (parked == NULL && count != 0)
        clp_engine_lose(thread);
    while (clp_engine_take_down(thread, &body.place, now)) {
        const struct clp_activation *popped = thread->top + 1;
        body.code = popped->code;
        if (parked != NULL)
            parked->bodies[--count] = body;
    }
}

static void unpark(struct clp_thread *thread, const struct clp_parked *parked, uint64_t now)
{
    for (size_t i = 0; i < parked->count; i++) {
        const struct parked_body *body = &parked->bodies[i];
        struct clp_activation *top = clp_engine_put_back(thread, &body->place, now);
        if (top == NULL)
            return;
        top->code = body->code;
    }
}

void clp_engine_switch_stack(struct clp_thread *thread, const void *from, const void *to,
                             uint64_t now)
{
    struct clp_parked *parked = take_parked(thread->engine, to);

    park(thread, from, now);
    if (parked != NULL) {
        unpark(thread, parked, now);
        free_parked(thread->engine, parked);
    }
    if (thread->top != thread->last_room)
        thread->top[1].frame = NULL; /* it did not leave this stack last */
}

void clp_engine_forget_stacks(struct clp_engine *engine)
{
    for (size_t i = 0; i < engine->parked.room; i++)
        if (engine->parked.slots[i].used)
            free_parked(engine, (struct clp_parked *)(uintptr_t)engine->parked.slots[i].value);
    clp_hashmap_clear(&engine->parked);
    clp_hashmap_init(&engine->parked, engine->mem);
}

static bool holds(const struct clp_parked *parked, uint32_t function)
{
    for (size_t i = 0; i < parked->count; i++)
        if (parked->bodies[i].place.function == function)
            return true;
    return false;
}

bool clp_engine_is_parked(const struct clp_engine *engine, uint32_t function)
{
    for (size_t i = 0; i < engine->parked.room; i++)
        if (engine->parked.slots[i].used &&
            holds((const struct clp_parked *)(uintptr_t)engine->parked.slots[i].value, function))
            return true;
    return false;
}
