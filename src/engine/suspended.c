/* SPDX-License-Identifier: MIT */
#include "suspended.h"

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

    clp_suspended_forget(engine, frame); /* drops what was kept of another body, which ended unnoticed and had this
                                          * address */
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
    return sizeof(struct clp_parked) + count * sizeof(struct clp_parked_body);
}

void clp_parked_free(struct clp_engine *engine, struct clp_parked *parked)
{
    clp_mem_free(engine->mem, parked, 1, parked_bytes(parked->count));
}

struct clp_parked *clp_parked_take(struct clp_engine *engine, const void *owner)
{
    uint64_t found;

    return clp_hashmap_take(&engine->parked, key_of(owner), &found)
               ? (struct clp_parked *)(uintptr_t)found
               : NULL;
}

void clp_engine_forget_stack(struct clp_engine *engine, const void *owner)
{
    struct clp_parked *parked = clp_parked_take(engine, owner);

    if (parked != NULL)
        clp_parked_free(engine, parked);
}

struct clp_parked *clp_parked_new(struct clp_engine *engine, const void *owner, size_t count)
{
    struct clp_parked *parked = clp_mem_alloc(engine->mem, 1, parked_bytes(count));

    if (parked == NULL)
        return NULL;
    parked->count = count;
    clp_engine_forget_stack(engine, owner);
    if (clp_hashmap_set(&engine->parked, key_of(owner), (uint64_t)(uintptr_t)parked) == CLP_OK)
        return parked;
    clp_parked_free(engine, parked);
    return NULL;
}

void clp_engine_forget_stacks(struct clp_engine *engine)
{
    for (size_t i = 0; i < engine->parked.room; i++)
        if (engine->parked.slots[i].used)
            clp_parked_free(engine, (struct clp_parked *)(uintptr_t)engine->parked.slots[i].value);
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
