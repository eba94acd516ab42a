/* SPDX-License-Identifier: MIT */
#include "texts.h"
#include "source_block.h"
#include <string.h>

enum clp_kept_source clp_kept_source_named(const char *name)
{
    static const char *const names[CLP_SOURCE_MODES] = {"functions", "files", "none"};
    enum clp_kept_source mode = 0;

    while (mode < CLP_SOURCE_MODES && strcmp(name, names[mode]) != 0)
        mode++;
    return mode;
}

void clp_profile_lend_source(struct clp_profile *profile, struct clp_profile_function *function, struct clp_span text)
{
    clp_profile_drop_source(profile->mem, function);
    if (text.bytes == 0)
        return;
    function->source = (char *)(uintptr_t)text.text;
    function->source_bytes = text.bytes;
    function->source_borrowed = true;
}

clp_status clp_profile_set_source(struct clp_profile *profile,
                                  struct clp_profile_function *function, const char *text,
                                  size_t bytes)
{
    char *copy = NULL;

    if (bytes != 0) {
        copy = clp_mem_copy_text(profile->mem, text, bytes);
        if (copy == NULL)
            return CLP_NO_MEMORY;
    }
    clp_profile_drop_source(profile->mem, function);
    function->source = copy;
    function->source_bytes = bytes;
    return CLP_OK;
}

/* The last line of which the profile knows that it holds code. */
static int32_t last_line(const struct clp_profile_function *function)
{
    int32_t last = function->first_line;

    if (function->line_count != 0)
        last = function->lines[function->line_count - 1].line;
    if (function->missed_count != 0 && function->missed[function->missed_count - 1] > last)
        last = function->missed[function->missed_count - 1];
    return last;
}

/* May the function be a `with` block that the program named? A lambda or a comprehension may begin on the line of a
 * `with`, but is not this block. */
static bool may_be_with(const struct clp_profile_function *function)
{
    const char *dot = strrchr(function->name, '.'), *own = dot != NULL ? dot + 1 : function->name;

    return *own != '<' || strcmp(own, "<block>") == 0;
}

static int32_t source_end(const struct clp_profile_function *function, struct clp_span text,
                          int32_t first)
{
    return may_be_with(function) ? clp_source_with_end(text, first)
                                 : clp_source_block_end(text, first);
}

struct clp_span clp_profile_find_source(const struct clp_profile_function *function, struct clp_source_walk *walk)
{
    int32_t base = function->first_line > 1 ? function->first_line - 1 : 0, end;

    if (walk->text.bytes == 0) /* an empty file, often a package's __init__.py: its source is known and has no lines */
        return (struct clp_span){"\n", 1};
    clp_source_walk_to(walk, base + 1);
    end = base + source_end(function, walk->rest, function->first_line - base);
    if (end < last_line(function))
        end = last_line(function);
    return clp_source_lines(walk->rest, function->first_line - base, end - base);
}

/* ---- texts that stand apart ---- */

clp_status clp_profile_add_text(struct clp_profile *profile, const struct clp_profile_text *text)
{
    struct clp_mem *mem = profile->mem;
    char *file = NULL;

    if (text->file != NULL) {
        file = clp_mem_copy_text(mem, text->file, strlen(text->file));
        if (file == NULL)
            return CLP_NO_MEMORY;
    }
    if (profile->text_count == profile->text_room) {
        void *block = profile->texts;
        size_t room = profile->text_room != 0 ? profile->text_room * 2 : 8;
        clp_status status = clp_mem_grow(mem, &block, &profile->text_room, room, sizeof *profile->texts);
        profile->texts = block;
        if (status != CLP_OK) {
            clp_mem_free_text(mem, file);
            return status;
        }
    }
    profile->texts[profile->text_count] = *text;
    profile->texts[profile->text_count++].file = file;
    return CLP_OK;
}

/* Returns the text with this content that is in kept_texts under `hash`; NULL: there is none. */
static const struct clp_profile_text *find_kept(const struct clp_profile *profile, uint64_t hash, struct clp_span text)
{
    const struct clp_profile_text *known;
    uint64_t place;

    if (!clp_hashmap_get(&profile->kept_texts, hash, &place))
        return NULL;
    known = &profile->texts[place];
    return known->bytes == text.bytes && memcmp(known->text, text.text, text.bytes) == 0 ? known : NULL;
}

/* Appends the text of the file; `same` is a text with its content, or NULL. */
static clp_status add_kept(struct clp_profile *profile, const char *file, struct clp_span text,
                           const struct clp_profile_text *same)
{
    struct clp_profile_text kept = {.bytes = text.bytes, .borrowed = same != NULL, .file = (char *)(uintptr_t)file};

    kept.text = same != NULL ? same->text : clp_mem_copy_text(profile->mem, text.text, text.bytes);
    if (kept.text == NULL)
        return CLP_NO_MEMORY;
    clp_status status = clp_profile_add_text(profile, &kept);
    if (status != CLP_OK && !kept.borrowed)
        clp_mem_free(profile->mem, kept.text, kept.bytes + 1, 1);
    return status;
}

clp_status clp_profile_keep_file(struct clp_profile *profile, const char *file, struct clp_span text)
{
    uint64_t content = clp_hash_text(1, text.text, text.bytes), both = clp_hash_text(content, file, strlen(file));
    const struct clp_profile_text *known = find_kept(profile, both, text), *same = find_kept(profile, content, text);

    if ((known != NULL && strcmp(known->file, file) == 0) ||
        (same == NULL && profile->kept_bytes + text.bytes > CLP_MOST_WHOLE_TEXTS))
        return CLP_OK;
    if (add_kept(profile, file, text, same) != CLP_OK)
        return CLP_NO_MEMORY;
    clp_status status = clp_hashmap_set(&profile->kept_texts, both, profile->text_count - 1);
    if (same != NULL || status != CLP_OK)
        return status;
    profile->kept_bytes += text.bytes;
    return clp_hashmap_set(&profile->kept_texts, content, profile->text_count - 1);
}

clp_status clp_profile_begin_text(struct clp_profile *profile, enum clp_kept_source kept, const char *file,
                                  struct clp_span text, struct clp_source_walk *walk)
{
    *walk = (struct clp_source_walk){.text = text};
    return kept == CLP_SOURCE_FILES && file[0] != '<' ? clp_profile_keep_file(profile, file, text) : CLP_OK;
}
