/* SPDX-License-Identifier: MIT */
#include "source_cache.h"
#include "profile/source_block.h"
#include "profile/texts.h"
#include "os/proc.h"

#define MOST_VERSIONS 100 /* different texts of one function */

void clp_source_cache_init(struct clp_source_cache *texts, struct clp_mem *mem, struct clp_live *live)
{
    *texts = (struct clp_source_cache){.mem = mem, .live = live, .began = clp_proc_began()};
}

struct clp_text *clp_source_cache_get(const struct clp_source_cache *texts, uint32_t number)
{
    return number != CLP_TEXT_NONE && number <= texts->count ? &texts->items[number - 1] : NULL;
}

struct clp_span clp_source_cache_span(const struct clp_text *text)
{
    return (struct clp_span){PyBytes_AS_STRING(text->text), (size_t)PyBytes_GET_SIZE(text->text)};
}

PyObject *clp_source_cache_bytes(const struct clp_source_cache *texts, uint32_t number)
{
    const struct clp_text *text = clp_source_cache_get(texts, number);

    return text != NULL ? Py_NewRef(text->text) : NULL;
}

static bool is_of_file(const struct clp_text *text, PyObject *file)
{
    return text->file == file || PyUnicode_Compare(text->file, file) == 0;
}

uint32_t clp_source_cache_before(const struct clp_source_cache *texts, PyObject *file, uint32_t number)
{
    while (--number > 0)
        if (is_of_file(&texts->items[number - 1], file))
            return number;
    return CLP_TEXT_NONE;
}

uint32_t clp_source_cache_newest(const struct clp_source_cache *texts, PyObject *file)
{
    return clp_source_cache_before(texts, file, (uint32_t)texts->count + 1);
}

uint32_t clp_source_cache_equal(const struct clp_source_cache *texts, PyObject *file, struct clp_span text)
{
    uint32_t number = clp_source_cache_newest(texts, file);

    for (; number != CLP_TEXT_NONE; number = clp_source_cache_before(texts, file, number)) {
        struct clp_span known = clp_source_cache_span(&texts->items[number - 1]);
        if (known.bytes == text.bytes && memcmp(known.text, text.text, text.bytes) == 0)
            break;
    }
    return number;
}

static void tell_live(const struct clp_source_cache *texts, uint32_t number)
{
    struct clp_span text = clp_source_cache_span(clp_source_cache_get(texts, number));

    if (texts->live_source != CLP_SOURCE_NONE)
        clp_live_note_text(texts->live, number, text.text, text.bytes);
}

void clp_source_cache_tell_live(struct clp_source_cache *texts, enum clp_kept_source source)
{
    texts->live_source = source;
    for (uint32_t number = 1; number <= texts->count; number++)
        tell_live(texts, number);
}

uint32_t clp_source_cache_add(struct clp_source_cache *texts, PyObject *file, PyObject *bytes)
{
    if (bytes == NULL)
        return CLP_TEXT_NONE;
    const struct clp_text text = {.file = file, .text = bytes};
    uint32_t number = clp_source_cache_equal(texts, file, clp_source_cache_span(&text));
    if (number == CLP_TEXT_NONE &&
        (texts->count < texts->room ||
         clp_mem_grow(texts->mem, (void **)&texts->items, &texts->room, texts->room * 2 + 16,
                      sizeof *texts->items) == CLP_OK)) {
        number = (uint32_t)++texts->count;
        texts->items[number - 1] = text;
        Py_INCREF(file);
        Py_INCREF(bytes);
        tell_live(texts, number);
    }
    Py_DECREF(bytes);
    return number;
}

/* ---- functions and their texts ---- */

/* Returns the function's lines in the text; for a module the whole text. Borrowed from the text. */
static struct clp_span block_of(const struct clp_text *text, const struct clp_function *function)
{
    struct clp_source_walk walk = {.text = clp_source_cache_span(text)};
    int32_t first = function->first_line > 1 ? function->first_line : 1;

    if (strcmp(function->name, "<module>") == 0)
        return walk.text;
    clp_source_walk_to(&walk, first);
    return clp_source_lines(walk.rest, 1, clp_source_with_end(walk.rest, 1));
}

static bool have_same_block(const struct clp_source_cache *texts, const struct clp_function *a,
                            const struct clp_function *b)
{
    const struct clp_text *one = clp_source_cache_get(texts, a->text), *other = clp_source_cache_get(texts, b->text);

    if (one == NULL || other == NULL)
        return a->text == b->text;
    struct clp_span first = block_of(one, a), second = block_of(other, b);
    return first.bytes == second.bytes && memcmp(first.text, second.text, first.bytes) == 0;
}

uint32_t clp_source_cache_of_function(const struct clp_source_cache *texts, const struct clp_functions *functions,
                                      const struct clp_function *wanted)
{
    const struct clp_function *other;
    uint64_t at = 0;

    while ((other = clp_functions_next_version(functions, wanted, &at)) != NULL)
        if (other->text == wanted->text || have_same_block(texts, other, wanted))
            return other->text;
    return at < MOST_VERSIONS ? wanted->text : CLP_TEXT_NONE;
}

clp_status clp_source_cache_fill(const struct clp_source_cache *texts, enum clp_kept_source kept,
                                 struct clp_profile *profile)
{
    struct clp_source_walk walk = {0};
    clp_status status = CLP_OK;

    if (kept == CLP_SOURCE_NONE)
        return CLP_OK;
    for (size_t i = 0; i < profile->function_count && status == CLP_OK; i++) {
        struct clp_profile_function *function = &profile->functions[i];
        const struct clp_text *text = clp_source_cache_get(texts, function->text);
        if (text == NULL)
            continue;
        if (walk.text.text != PyBytes_AS_STRING(text->text))
            status = clp_profile_begin_text(profile, kept, function->file, clp_source_cache_span(text), &walk);
        clp_profile_lend_source(profile, function, clp_profile_find_source(function, &walk));
    }
    return status;
}
