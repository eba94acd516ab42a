/* SPDX-License-Identifier: MIT */
#include "block_places.h"
#include "cpython/tracers/block_source.h"

/* How many places are kept. There is a limit because code that a program keeps making is never met again. */
#define PLACES_MOST 64

void clp_block_place_free(struct clp_recorder *recorder, struct clp_with_place *place)
{
    clp_code_lines_clear(&place->selected.shape, &recorder->mem);
    Py_DECREF(place->code);
    Py_DECREF(place->name);
    clp_mem_free(&recorder->mem, place, 1, sizeof *place);
}

/* Is a block of the place's code open? */
static bool is_watched(const struct clp_recorder *recorder, const struct clp_with_place *place)
{
    const struct clp_stay *stay = recorder->blocks.stays;

    while (stay != NULL && stay->place->code != place->code)
        stay = stay->next;
    return stay != NULL;
}

/* Frees places that have not been used for longest. The list begins with the place that was used last. */
static void forget_oldest(struct clp_recorder *recorder)
{
    struct clp_with_place **link = &recorder->blocks.places;

    for (int i = 0; *link != NULL; i++) {
        struct clp_with_place *place = *link;
        if (i < PLACES_MOST || is_watched(recorder, place)) {
            link = &place->next;
            continue;
        }
        *link = place->next;
        clp_blocks_unwatch_code(recorder, place->code);
        clp_block_place_free(recorder, place);
    }
}

struct clp_with_place *clp_block_place_find(struct clp_recorder *recorder, PyObject *code, PyObject *name,
                                       int32_t first)
{
    for (struct clp_with_place **link = &recorder->blocks.places; *link != NULL;
         link = &(*link)->next) {
        struct clp_with_place *place = *link;
        if (place->code != code || place->first != first ||
            PyUnicode_Compare(place->name, name) != 0)
            continue;
        *link = place->next;
        place->next = recorder->blocks.places;
        recorder->blocks.places = place;
        return place;
    }
    return NULL;
}

struct clp_with_place *clp_block_place_new(struct clp_recorder *recorder, PyObject *code, PyObject *name,
                                      int32_t first)
{
    struct clp_with_place *place = clp_mem_alloc(&recorder->mem, 1, sizeof *place);

    if (place == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    *place = (struct clp_with_place){.code = Py_NewRef(code),
                                .name = Py_NewRef(name),
                                .first = first,
                                .selected = {.recorder = recorder, .suspends = true}};
    place->selected.identity = ++recorder->copies << 1 | 1;
    if (clp_code_lines_init(&place->selected.shape, &recorder->mem, (PyCodeObject *)code,
                            &recorder->bytecode))
        return place;
    clp_block_place_free(recorder, place);
    return NULL;
}

void clp_block_place_keep(struct clp_recorder *recorder, struct clp_with_place *place)
{
    place->selected.audience = recorder->views.audiences[place->selected.function];
    place->next = recorder->blocks.places;
    recorder->blocks.places = place;
    forget_oldest(recorder);
}

void clp_blocks_rest(struct clp_recorder *recorder)
{
    for (struct clp_with_place *place = recorder->blocks.places; place != NULL; place = place->next)
        if (!is_watched(recorder, place))
            clp_blocks_unwatch_code(recorder, place->code);
    if (recorder->blocks.stays == NULL)
        clp_blocks_unwatch_all(recorder);
}

void clp_blocks_stop(struct clp_recorder *recorder)
{
    for (struct clp_with_place *place = recorder->blocks.places; place != NULL; place = place->next)
        clp_blocks_unwatch_code(recorder, place->code);
    clp_blocks_unwatch_all(recorder);
}
