/* SPDX-License-Identifier: MIT */
#include "holders.h"
#include "hooks.h"
#include "reach.h"
#include "base/buf.h"
#include "cpython/compat/raised.h"
#include <stdlib.h>
#include <string.h>

#define MOST_LEAKS 64      /* of which the holders are told */
#define SHOWN_STEPS 5      /* of a long way: these, and the last one */
#define TRACEBACK "sys.last_" /* begins the names of what the interpreter keeps of an exception that ended the program */
#define NAME_BYTES 100     /* of a name that is shown */
#define LEAST_FOUND 100    /* of a line's live bytes, one part in so many must be found */
#define LEAST_EPOCHS 4     /* or something of one epoch in so many */
#define LEAST_HELD 10      /* of what was found, one part in so many must hang on the holder */

/* ---- what belongs to a line ---- */

struct survivor {
    uint32_t place; /* in reach.items */
    uint32_t leak;
    uint32_t epoch;  /* of the line, in which it was allocated */
    int64_t bytes;
};

struct search {
    struct clp_heap *heap;
    struct clp_mem *mem;
    struct clp_profile_leak *leaks[MOST_LEAKS];
    size_t leak_count;
    struct clp_reach reach;
    struct survivor *survivors;
    size_t survivor_count, survivor_room;
    int64_t *weights; /* of a leak's survivors below each item of reach; reach.count of them */
};

/* The epoch of the line in which the block was allocated. One that has grown is as new as can be. */
static uint32_t epoch_of(const struct search *search, uint32_t leak, const struct clp_shadow_slot *slot)
{
    const struct clp_heap_clock *clock =
        clp_heap_clock_of(search->heap, search->heap->owners[search->leaks[leak]->owner]);
    uint32_t epoch = 0;

    while (epoch < clock->epochs && (slot->stretched || clp_heap_born_since(search->heap, slot, clock->at[epoch + 1])))
        epoch++;
    return epoch;
}

/* Returns the leak to whose line the block belongs; MOST_LEAKS when there is none. */
static uint32_t leak_of(const struct search *search, const struct clp_shadow_slot *slot)
{
    uint32_t leak = 0, owner = clp_heap_slot_owner(slot);

    while (leak < search->leak_count && search->leaks[leak]->owner != owner)
        leak++;
    return leak < search->leak_count ? leak : MOST_LEAKS;
}

static bool add_block(struct search *search, uint32_t place, const struct clp_shadow_slot *slot)
{
    uint32_t leak = leak_of(search, slot);
    void *survivors = search->survivors;

    if (leak == MOST_LEAKS)
        return true;
    if (search->survivor_count == search->survivor_room) {
        if (clp_mem_grow(search->mem, &survivors, &search->survivor_room, search->survivor_room * 2 + 256,
                         sizeof *search->survivors) != CLP_OK)
            return false;
        search->survivors = survivors;
    }
    search->survivors[search->survivor_count++] =
        (struct survivor){place, leak, epoch_of(search, leak, slot), clp_heap_weight(search->heap, clp_heap_slot_bytes(slot), slot->level).bytes};
    return true;
}

/* The slot of the block that the object is in. Before an object lie up to 32 bytes, which the collector and the
 * object's dict need. Returns NULL when the block is not in the table. */
static const struct clp_shadow_slot *block_of(const struct clp_heap *heap, PyObject *object)
{
    const char *start = (const char *)object;

    for (uint64_t before = 0; before <= 32; before += 16) {
        const struct clp_shadow_slot *slot = clp_shadow_find(&heap->shadow, start - before);
        if (slot != NULL && clp_heap_slot_bytes(slot) > before)
            return slot;
    }
    return NULL;
}

/* Do the fields that its type has belong to the object? A str may be shorter, and so may a class. What a weak reference
 * points to does not belong to it. */
static bool has_fields(PyObject *object)
{
    return !PyUnicode_Check(object) && !PyType_Check(object) && !PyWeakref_Check(object);
}

/* Adds the blocks that fields of the object point to, such as the contents of a list, a bytearray or an array, if no
 * object that was reached is there. */
static bool add_contents(struct search *search, uint32_t place)
{
    PyObject *object = search->reach.items[place].object;
    size_t end = has_fields(object) ? (size_t)Py_TYPE(object)->tp_basicsize : 0;
    bool done = true;

    for (size_t at = sizeof(PyObject); done && at + sizeof(void *) <= end; at += sizeof(void *)) {
        const void *block = *(const void *const *)((const char *)object + at);
        const struct clp_shadow_slot *slot = clp_shadow_find(&search->heap->shadow, block);
        if (slot != NULL && leak_of(search, slot) != MOST_LEAKS && clp_reach_claim(&search->reach, block, place))
            done = add_block(search, place, slot);
    }
    return done;
}

static bool find_survivors(struct search *search)
{
    size_t objects = search->reach.count; /* blocks are claimed behind them */
    bool done = true;

    for (size_t i = 0; done && i < objects; i++) {
        const struct clp_shadow_slot *slot = block_of(search->heap, search->reach.items[i].object);
        done = (slot == NULL || add_block(search, (uint32_t)i, slot)) && add_contents(search, (uint32_t)i);
    }
    return done;
}

/* ---- who holds most of it ---- */

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

/* Sets the weights to the bytes of the leak's survivors, and returns their sum. What the line has made in its warm-up
 * does not count, and what it has made in one epoch counts twice as much as in a middle one at most: what grows over
 * the epochs is wanted, not what was filled at once. */
static int64_t weigh(struct search *search, uint32_t leak)
{
    const struct clp_heap_clock *clock =
        clp_heap_clock_of(search->heap, search->heap->owners[search->leaks[leak]->owner]);
    int64_t sums[CLP_LEAKS_MOST_EPOCHS + 1] = {0}, sorted[CLP_LEAKS_MOST_EPOCHS + 1], all = 0;
    size_t first = clp_leaks_warmups(clock->epochs), count = 0;

    memset(search->weights, 0, search->reach.count * sizeof *search->weights);
    for (size_t i = 0; i < search->survivor_count; i++)
        if (search->survivors[i].leak == leak)
            sums[search->survivors[i].epoch] += search->survivors[i].bytes;
    for (size_t i = first; i <= clock->epochs; i++)
        if (sums[i] != 0)
            sorted[count++] = sums[i];
    qsort(sorted, count, sizeof *sorted, compare);
    for (size_t i = 0; i < search->survivor_count && count != 0; i++) {
        const struct survivor *survivor = &search->survivors[i];
        if (survivor->leak != leak || survivor->epoch < first)
            continue;
        int64_t most = 2 * sorted[count / 2], sum = sums[survivor->epoch];
        int64_t weight = sum <= most ? survivor->bytes : (int64_t)((double)survivor->bytes * (double)most / (double)sum);
        search->weights[survivor->place] += weight;
        all += weight;
    }
    return all;
}

enum found { NOTHING, TRACES, ENOUGH };

/* How much of the line's memory was found? Traces are few bytes of many epochs: objects of an extension whose memory is
 * that of C code, which no reference leads to. */
static enum found how_much_is_found(const struct search *search, uint32_t leak)
{
    const struct clp_heap_line *line = search->heap->owners[search->leaks[leak]->owner];
    size_t epochs = clp_heap_clock_of(search->heap, line)->epochs, with = 0;
    bool seen[CLP_LEAKS_MOST_EPOCHS + 1] = {false};
    int64_t found = 0;

    for (size_t i = 0; i < search->survivor_count; i++)
        if (search->survivors[i].leak == leak) {
            found += search->survivors[i].bytes;
            seen[search->survivors[i].epoch] = true;
        }
    for (size_t i = 0; i <= epochs; i++)
        with += seen[i];
    if (found >= line->live / LEAST_FOUND)
        return ENOUGH;
    return with >= CLP_LEAKS_LEAST_EPOCHS && with >= epochs / LEAST_EPOCHS ? TRACES : NOTHING;
}

/* Returns the deepest object on the way to more than half of the bytes. Where they lie apart, it is on the way to most
 * of them. CLP_REACH_NONE: too little hangs on any object. A queue that was emptied may still have a block that the line
 * has made, and CPython gives memory of freed objects to other lines without telling the table of live blocks. */
static uint32_t find_holder(struct search *search, uint32_t leak)
{
    const struct clp_reached *items = search->reach.items;
    uint32_t holder = CLP_REACH_NONE, heaviest = CLP_REACH_NONE;
    enum found found = how_much_is_found(search, leak);
    int64_t all = found != NOTHING ? weigh(search, leak) : 0;

    for (size_t i = search->reach.count; all != 0 && i-- > 0;) { /* a parent stands before what is reached from it */
        int64_t weight = search->weights[i];
        if (items[i].parent != CLP_REACH_NONE)
            search->weights[items[i].parent] += weight;
        if (holder == CLP_REACH_NONE && weight > all - weight)
            holder = (uint32_t)i;
        if (weight != 0 && (heaviest == CLP_REACH_NONE || weight > search->weights[heaviest]))
            heaviest = (uint32_t)i;
    }
    if (found == TRACES) /* they must hang on one object, and not on a whole module */
        return holder != CLP_REACH_NONE && items[holder].parent != CLP_REACH_NONE ? holder : CLP_REACH_NONE;
    if (holder == CLP_REACH_NONE && heaviest != CLP_REACH_NONE && search->weights[heaviest] >= all / LEAST_HELD)
        holder = heaviest;
    return holder;
}

/* ---- in words ---- */

/* Appends a name. Of a long one only the first characters are shown, and no half of one. */
static void add_name(struct clp_buf *out, const char *name, size_t bytes)
{
    size_t shown = bytes < NAME_BYTES ? bytes : NAME_BYTES;

    while (shown < bytes && (name[shown] & 0xc0) == 0x80)
        shown--;
    clp_buf_add(out, name, shown);
}

static void add_text(struct clp_buf *out, PyObject *text)
{
    PyObject *bytes = PyUnicode_CheckExact(text) ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace") : NULL;

    if (bytes != NULL && memchr(PyBytes_AS_STRING(bytes), 0, (size_t)PyBytes_GET_SIZE(bytes)) == NULL)
        add_name(out, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    else
        clp_buf_add_text(out, "?");
    PyErr_Clear();
    Py_XDECREF(bytes);
}

/* The key of a value in a dict of names, borrowed; NULL when none is a str. */
static PyObject *key_of(PyObject *dict, PyObject *value)
{
    PyObject *key, *found;
    Py_ssize_t at = 0;

    while (dict != NULL && PyDict_CheckExact(dict) && PyDict_Next(dict, &at, &key, &found))
        if (found == value && PyUnicode_CheckExact(key))
            return key;
    return NULL;
}

/* Appends ", 150 entries" and the like. */
static void add_length(struct clp_buf *out, Py_ssize_t length, const char *one, const char *many)
{
    clp_buf_add_format(out, ", %zd %s", length, length == 1 ? one : many);
}

/* Appends what is told of an object: its type, and the length of a built-in one. */
static void add_object(struct clp_buf *out, PyObject *object)
{
    bool is_class = PyType_Check(object);
    const char *type = is_class ? ((PyTypeObject *)object)->tp_name : Py_TYPE(object)->tp_name;

    clp_buf_add_text(out, is_class ? "class " : "");
    add_name(out, type, strlen(type));
    if (PyDict_CheckExact(object))
        add_length(out, PyDict_GET_SIZE(object), "entry", "entries");
    else if (PyList_CheckExact(object))
        add_length(out, PyList_GET_SIZE(object), "item", "items");
    else if (PyTuple_CheckExact(object))
        add_length(out, PyTuple_GET_SIZE(object), "item", "items");
    else if (PyAnySet_CheckExact(object))
        add_length(out, PySet_GET_SIZE(object), "item", "items");
    else if (PyBytes_CheckExact(object))
        add_length(out, PyBytes_GET_SIZE(object), "byte", "bytes");
    else if (PyByteArray_CheckExact(object))
        add_length(out, PyByteArray_GET_SIZE(object), "byte", "bytes");
    else if (PyUnicode_CheckExact(object))
        add_length(out, PyUnicode_GET_LENGTH(object), "character", "characters");
}

static void add_root(const struct search *search, struct clp_buf *out, uint32_t place)
{
    PyObject *object = search->reach.items[place].object;
    PyObject *name = key_of(PyImport_GetModuleDict(), object);

    for (size_t i = 0; i < search->reach.local_count; i++) {
        const struct clp_reach_local *local = &search->reach.locals[i];
        if (local->place != place)
            continue;
        if (local->name != NULL)
            add_text(out, local->name);
        clp_buf_add_text(out, local->name != NULL ? " in " : "variables of ");
        add_text(out, ((PyCodeObject *)local->code)->co_name);
        clp_buf_add_text(out, "()");
        return;
    }
    if (name != NULL)
        add_text(out, name);
    else if (PyContext_CheckExact(object))
        clp_buf_add_text(out, "context of a thread");
    else
        add_object(out, object);
}

/* Is the dict the one with the names of the module or class? */
static bool is_namespace(PyObject *owner, PyObject *dict)
{
    if (!PyDict_CheckExact(dict))
        return false;
    if (PyModule_Check(owner))
        return PyModule_GetDict(owner) == dict;
    return PyType_Check(owner) && ((PyTypeObject *)owner)->tp_dict == dict;
}

/* A way from a root to an object, as text. `named` while it only went through names: "app.Registry.items". */
struct way {
    const struct search *search;
    struct clp_buf *out;
    bool named, described;
};

static void add_description(struct way *way, PyObject *object)
{
    clp_buf_add_text(way->out, way->described ? " > " : ": ");
    add_object(way->out, object);
    way->described = true;
}

/* Appends the step to places[i]. */
static void add_step(struct way *way, const uint32_t *places, size_t i, size_t count)
{
    const struct clp_reached *items = way->search->reach.items;
    PyObject *object = items[places[i]].object, *before = items[places[i - 1]].object;
    PyObject *owner = i > 1 ? items[places[i - 2]].object : NULL;
    PyObject *name = way->named && owner != NULL && is_namespace(owner, before) ? key_of(before, object) : NULL;

    if (way->named && is_namespace(before, object)) {
        if (i == count - 1) /* it holds different things by different names */
            add_description(way, before);
        return;
    }
    if (name != NULL) {
        clp_buf_add_text(way->out, ".");
        add_text(way->out, name);
    }
    way->named = name != NULL && (PyModule_Check(object) || PyType_Check(object));
    if (!way->named || i == count - 1)
        add_description(way, object);
}

static void add_way(const struct search *search, struct clp_buf *out, const uint32_t *places, size_t count)
{
    struct way way = {.search = search, .out = out, .named = true};
    PyObject *root = search->reach.items[places[0]].object;
    size_t left_out = 0;

    add_root(search, out, places[0]);
    if (count == 1 || !(PyModule_Check(root) || PyType_Check(root)))
        add_description(&way, root);
    for (size_t i = 1; i < count; i++) {
        if (i >= SHOWN_STEPS && i < count - 1) {
            left_out++;
            continue;
        }
        if (left_out > 1)
            clp_buf_add_format(out, " > .. %zu more", left_out);
        add_step(&way, places, i, count);
    }
}

/* Appends the way to the holder. */
static clp_status add_holder(const struct search *search, struct clp_buf *out, uint32_t holder)
{
    const struct clp_reached *items = search->reach.items;
    size_t count = 0;

    for (uint32_t at = holder; at != CLP_REACH_NONE; at = items[at].parent)
        count++;
    uint32_t *places = clp_mem_alloc(search->mem, count, sizeof *places);
    if (places == NULL)
        return CLP_NO_MEMORY;
    size_t left = count;
    for (uint32_t at = holder; at != CLP_REACH_NONE; at = items[at].parent)
        places[--left] = at;
    add_way(search, out, places, count);
    clp_mem_free(search->mem, places, count, sizeof *places);
    return CLP_OK;
}

/* ---- the search ---- */

/* Why no holder is told. */
static void add_reason(const struct search *search, struct clp_buf *out)
{
    if (search->reach.status != CLP_OK || search->weights == NULL)
        clp_buf_add_text(out, "(not searched: out of memory)");
    else if (clp_reach_gave_up(&search->reach))
        clp_buf_add_format(out, "(not found: the search was given up after %zu objects)", search->reach.count);
    else
        clp_buf_add_format(out, "(not found among %zu objects that modules, classes, threads and running functions hold: "
                                "C code holds it, or it waits for the garbage collector)", search->reach.count);
}

/* Appends who holds the leak's memory, or why that is not known. What the search has found is kept in the table, for a
 * later time when nothing is found any more. */
static clp_status add_answer(struct search *search, uint32_t leak, struct clp_buf *text)
{
    const struct clp_profile_leak *verdict = search->leaks[leak];
    const char *before = search->heap->owners[verdict->owner]->trail->held_by;
    bool searched = search->weights != NULL && !verdict->at_end; /* what is left then is not what has grown */
    uint32_t holder = searched ? find_holder(search, leak) : CLP_REACH_NONE;

    if (holder != CLP_REACH_NONE) {
        clp_status status = add_holder(search, text, holder);
        if (status != CLP_OK)
            return status;
        if (before == NULL || strncmp(clp_buf_text(text), TRACEBACK, sizeof TRACEBACK - 1) != 0) {
            clp_heap_note_holder(search->heap, verdict->owner, clp_buf_text(text));
            return CLP_OK;
        }
        clp_buf_cut(text, 0); /* the program has died of an exception, which keeps the frames */
    }
    if (before != NULL)
        clp_buf_add_text(text, before);
    else if (verdict->at_end)
        clp_buf_add_text(text, "(not searched: it was freed before)");
    else if (search->reach.items == NULL && search->reach.status == CLP_OK)
        clp_buf_add_text(text, "(not searched yet)");
    else
        add_reason(search, text);
    return CLP_OK;
}

static clp_status tell(struct search *search, uint32_t leak)
{
    struct clp_buf text;

    clp_buf_init(&text, search->mem);
    clp_status status = add_answer(search, leak, &text);
    if (text.failed)
        status = CLP_NO_MEMORY;
    if (status == CLP_OK)
        search->leaks[leak]->held_by = clp_mem_copy_text(search->mem, clp_buf_text(&text), text.used);
    if (search->leaks[leak]->held_by == NULL)
        status = CLP_NO_MEMORY;
    clp_buf_clear(&text);
    return status;
}

static void take_leaks(struct search *search, struct clp_profile *profile)
{
    for (size_t i = 0; i < profile->function_count; i++)
        for (size_t j = 0; j < profile->functions[i].leak_count; j++) {
            struct clp_profile_leak *leak = &profile->functions[i].leaks[j];
            if (leak->owner != 0 && search->leak_count < MOST_LEAKS)
                search->leaks[search->leak_count++] = leak;
        }
}

static clp_status search_and_tell(struct search *search, size_t most)
{
    clp_status status = CLP_OK;

    if (most != 0)
        clp_reach_search(&search->reach, search->mem, most);
    if (most != 0 && search->reach.status == CLP_OK && find_survivors(search))
        search->weights = clp_mem_alloc(search->mem, search->reach.count, sizeof *search->weights);
    for (size_t i = 0; i < search->leak_count && status == CLP_OK; i++)
        status = tell(search, (uint32_t)i);
    for (size_t i = 0; i < search->leak_count; i++)
        search->leaks[i]->owner = 0;
    clp_mem_free(search->mem, search->weights, search->reach.count, sizeof *search->weights);
    clp_mem_free(search->mem, search->survivors, search->survivor_room, sizeof *search->survivors);
    clp_reach_clear(&search->reach);
    return status;
}

bool clp_holders_known(const struct clp_heap *heap, const struct clp_profile *profile)
{
    for (size_t i = 0; i < profile->function_count; i++)
        for (size_t j = 0; j < profile->functions[i].leak_count; j++) {
            uint32_t owner = profile->functions[i].leaks[j].owner;
            if (owner != 0 && heap->owners[owner]->trail->held_by == NULL)
                return false;
        }
    return true;
}

clp_status clp_holders_find(struct clp_heap *heap, size_t most, struct clp_profile *profile)
{
    struct search search = {.heap = heap, .mem = profile->mem};

    take_leaks(&search, profile);
    if (search.leak_count == 0)
        return CLP_OK;
    uint32_t busy = clp_hooks_pause();
    struct clp_raised raised = clp_raised_take();
    int collected = PyGC_Disable(); /* a collection would free objects, and run finalizers */
    clp_status status = search_and_tell(&search, most);
    if (collected)
        (void)PyGC_Enable();
    clp_raised_give(raised);
    clp_hooks_resume(busy);
    return status;
}
