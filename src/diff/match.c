/* SPDX-License-Identifier: MIT */
#include "match.h"
#include <stdlib.h>
#include <string.h>

#define LONGEST_TAIL 64 /* parts of a path (folders and the file); longer tails are not compared */

/* ---- files ---- */

struct path {
    const char *text;
    size_t bytes;
    size_t tail;   /* offset in text where the current tail begins */
    uint64_t hash; /* hash of the current tail */
    uint64_t id;   /* equal in two files that are the same */
    bool matched;
    bool ended;    /* the path has no tail longer than the current one */
};

struct paths {
    struct path *items;
    size_t count, room;
    struct clp_hashmap places; /* hash of a path -> its index in items */
};

/* How many files of each side have one tail, and the index of the last of these files. */
struct tally {
    size_t counts[2], places[2];
};

struct files {
    struct clp_mem *mem;
    struct paths sides[2];
    struct tally *tallies;
    size_t tally_room;
};

/* Is it the name of a notebook's cell, such as In[4]? */
static bool is_cell(const char *file)
{
    const char *number = file + 3;

    return strncmp(file, "In[", 3) == 0 && strcmp(number + strspn(number, "0123456789"), "]") == 0;
}

/* A hash of the file's name. All cells of a notebook are one file: a cell that was edited has another number. */
static uint64_t hash_of(const char *file)
{
    const char *name = is_cell(file) ? "In[]" : file;

    return clp_hash_text(0, name, strlen(name));
}

/* Enters each path once. */
static clp_status add_paths(struct files *files, int side,
                            const struct clp_profile_function *const *functions, size_t count)
{
    struct paths *paths = &files->sides[side];
    uint64_t place;

    paths->items = clp_mem_alloc(files->mem, count, sizeof *paths->items);
    paths->room = count;
    if (paths->items == NULL && count != 0)
        return CLP_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        uint64_t hash = hash_of(functions[i]->file);
        if (clp_hashmap_get(&paths->places, hash, &place))
            continue;
        if (clp_hashmap_set(&paths->places, hash, paths->count) != CLP_OK)
            return CLP_NO_MEMORY;
        size_t bytes = strlen(functions[i]->file);
        paths->items[paths->count++] = (struct path){
            .text = functions[i]->file, .bytes = bytes, .id = hash};
    }
    return CLP_OK;
}

static void match_equal_paths(struct files *files)
{
    struct paths *a = &files->sides[0], *b = &files->sides[1];
    uint64_t place;

    for (size_t i = 0; i < a->count; i++) {
        if (!clp_hashmap_get(&b->places, a->items[i].id, &place))
            continue;
        a->items[i].matched = b->items[place].matched = true;
    }
}

/* Moves the tail one folder up. */
static void lengthen_tail(struct path *path)
{
    size_t at = path->tail;

    while (at > 0 && path->text[at - 1] == '/')
        at--;
    size_t end = at;
    while (at > 0 && path->text[at - 1] != '/')
        at--;
    path->ended |= end == at;
    if (path->ended)
        return;
    path->hash = clp_hash_text(path->hash, path->text + at, end - at);
    path->tail = at;
}

static clp_status count_tails(struct files *files, bool rest, struct clp_hashmap *map)
{
    uint64_t place;

    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < files->sides[side].count; i++) {
            struct path *path = &files->sides[side].items[i];
            lengthen_tail(path);
            if (path->ended || (rest && path->matched))
                continue;
            if (!clp_hashmap_get(map, path->hash, &place)) {
                place = map->count;
                if (clp_hashmap_set(map, path->hash, place) != CLP_OK)
                    return CLP_NO_MEMORY;
                files->tallies[place] = (struct tally){0};
            }
            files->tallies[place].counts[side]++;
            files->tallies[place].places[side] = i;
        }
    }
    return CLP_OK;
}

/* Lengthens the tails by one part, and matches two files where no other file on either side has their tail. Without
 * `rest` all files are looked at. With `rest` only the unmatched files are, and the tail must be the whole path of one
 * of the two ("main.py" and "sub/main.py"). Sets *more when longer tails may match further files. */
static clp_status match_tails(struct files *files, bool rest, bool *more)
{
    struct clp_hashmap map;

    *more = false;
    clp_hashmap_init(&map, files->mem);
    clp_status status = count_tails(files, rest, &map);
    for (size_t i = 0; i < map.count && status == CLP_OK; i++) {
        const struct tally *tally = &files->tallies[i];
        struct path *a = &files->sides[0].items[tally->places[0]];
        struct path *b = &files->sides[1].items[tally->places[1]];
        *more |= rest || tally->counts[0] > 1 || tally->counts[1] > 1;
        if (tally->counts[0] != 1 || tally->counts[1] != 1 || a->matched || b->matched ||
            (rest && a->tail != 0 && b->tail != 0))
            continue;
        a->matched = b->matched = true;
        b->id = a->id;
    }
    clp_hashmap_clear(&map);
    return status;
}

static clp_status match_by_tails(struct files *files, bool rest)
{
    bool more = true;

    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < files->sides[side].count; i++) {
            struct path *path = &files->sides[side].items[i];
            path->tail = path->bytes;
            path->hash = 0;
            path->ended = false;
        }
    }
    for (int length = 1; length <= LONGEST_TAIL && more; length++)
        if (match_tails(files, rest, &more) != CLP_OK)
            return CLP_NO_MEMORY;
    return CLP_OK;
}

/* Returns the only file of the side that has no match; NULL when there is none or there are several. */
static struct path *only_unmatched(struct paths *paths)
{
    struct path *found = NULL;

    for (size_t i = 0; i < paths->count; i++) {
        if (!paths->items[i].matched && found != NULL)
            return NULL;
        if (!paths->items[i].matched)
            found = &paths->items[i];
    }
    return found;
}

/* Matches the last file on both sides. */
static void match_last(struct files *files)
{
    struct path *a = only_unmatched(&files->sides[0]), *b = only_unmatched(&files->sides[1]);

    if (a != NULL && b != NULL)
        b->id = a->id;
}

static clp_status match_files(struct files *files, bool renamed)
{
    match_equal_paths(files);
    files->tally_room = files->sides[0].count + files->sides[1].count;
    files->tallies = clp_mem_alloc(files->mem, files->tally_room, sizeof *files->tallies);
    if (files->tallies == NULL && files->tally_room != 0)
        return CLP_NO_MEMORY;
    if (match_by_tails(files, false) != CLP_OK)
        return CLP_NO_MEMORY;
    if (match_by_tails(files, true) != CLP_OK)
        return CLP_NO_MEMORY;
    if (renamed)
        match_last(files);
    return CLP_OK;
}

static void init_files(struct files *files, struct clp_mem *mem)
{
    *files = (struct files){.mem = mem};
    for (int side = 0; side < 2; side++)
        clp_hashmap_init(&files->sides[side].places, mem);
}

static void clear_files(struct files *files)
{
    for (int side = 0; side < 2; side++) {
        struct paths *paths = &files->sides[side];
        clp_mem_free(files->mem, paths->items, paths->room, sizeof *paths->items);
        clp_hashmap_clear(&paths->places);
    }
    clp_mem_free(files->mem, files->tallies, files->tally_room, sizeof *files->tallies);
}

/* ---- functions ---- */

/* A function, a key that is equal in functions of the same file and name, and the function's index in its profile. */
struct called {
    const struct clp_profile_function *function;
    uint64_t key; /* hash of file and qualified name */
    size_t place;
};

static int compare_called(const void *left, const void *right)
{
    const struct called *a = left, *b = right;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->function->first_line != b->function->first_line)
        return a->function->first_line < b->function->first_line ? -1 : 1;
    return a->place < b->place ? -1 : 1;
}

/* Returns the functions sorted by key, and those with one key in the order of the file. The caller frees the array of
 * `count` items. NULL: out of memory. */
static struct called *name_functions(const struct files *files, int side,
                                     const struct clp_profile_function *const *functions,
                                     size_t count)
{
    const struct paths *paths = &files->sides[side];
    struct called *called = clp_mem_alloc(files->mem, count, sizeof *called);
    uint64_t path = 0;

    if (called == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        (void)clp_hashmap_get(&paths->places, hash_of(functions[i]->file), &path);
        uint64_t id = paths->items[path].id;
        uint64_t key = clp_hash_text(id, functions[i]->name, clp_profile_plain_name(functions[i]));
        called[i] = (struct called){functions[i], key, i};
    }
    qsort(called, count, sizeof *called, compare_called);
    return called;
}

static uint64_t hash_source(const struct clp_profile_function *function)
{
    return clp_hash_text(1, function->source != NULL ? function->source : "",
                         function->source_bytes);
}

static uint64_t hash_first_line(const struct clp_profile_function *function)
{
    struct clp_span rest = {function->source, function->source_bytes}, line = {"", 0};

    if (function->source != NULL)
        (void)clp_source_next_line(&rest, &line);
    return clp_hash_text(2, line.text, line.bytes);
}

struct group {
    const struct called *a, *b;
    size_t a_count, b_count;
};

/* Aligns the functions of a group by the given hash. A group is all functions of one key, or those between two matched
 * functions of it. */
static clp_status align_group(struct clp_align *align, const struct group *group,
                              uint64_t (*hash)(const struct clp_profile_function *function),
                              size_t *places)
{
    size_t count = group->a_count + group->b_count;
    uint64_t *hashes = clp_mem_alloc(align->mem, count, sizeof *hashes);

    if (hashes == NULL && count != 0)
        return CLP_NO_MEMORY;
    for (size_t i = 0; i < group->a_count; i++)
        hashes[i] = hash(group->a[i].function);
    for (size_t i = 0; i < group->b_count; i++)
        hashes[group->a_count + i] = hash(group->b[i].function);
    clp_status status = clp_align_items(align, hashes, group->a_count, hashes + group->a_count,
                                        group->b_count, places);
    clp_mem_free(align->mem, hashes, count, sizeof *hashes);
    return status;
}

/* Pairs the functions that no text has matched, in order, between each two matched functions. */
static void pair_rest(size_t *places, size_t a_count, size_t b_count)
{
    size_t next = 0; /* the first index in `b` that is behind all matches so far */

    for (size_t i = 0; i < a_count; i++) {
        size_t end = i;
        while (end < a_count && places[end] == CLP_ALIGN_NONE)
            end++;
        size_t limit = end < a_count ? places[end] : b_count;
        for (; i < end && next < limit; i++)
            places[i] = next++;
        i = end;
        next = limit + 1;
    }
}

/* Aligns the functions without a match, between each two matched functions, by the first lines of their texts. */
static clp_status align_gaps(struct clp_align *align, const struct group *group, size_t *places)
{
    size_t next = 0;
    clp_status status = CLP_OK;

    for (size_t i = 0; i <= group->a_count && status == CLP_OK; i++) {
        size_t start = i;
        while (i < group->a_count && places[i] == CLP_ALIGN_NONE)
            i++;
        size_t limit = i < group->a_count ? places[i] : group->b_count;
        struct group gap = {group->a + start, group->b + next, i - start, limit - next};
        if (gap.a_count != 0 && gap.b_count != 0)
            status = align_group(align, &gap, hash_first_line, places + start);
        for (size_t j = start; j < i; j++)
            if (places[j] != CLP_ALIGN_NONE)
                places[j] += next;
        next = limit + 1;
    }
    return status;
}

static clp_status match_group(struct clp_align *align, const struct group *group, size_t *to)
{
    size_t one = CLP_ALIGN_NONE, *places = &one;
    clp_status status = CLP_OK;

    if (group->a_count == 1 && group->b_count == 1) {
        to[group->a[0].place] = group->b[0].place;
        return CLP_OK;
    }
    places = clp_mem_alloc(align->mem, group->a_count, sizeof *places);
    if (places == NULL)
        return CLP_NO_MEMORY;
    status = align_group(align, group, hash_source, places);
    if (status == CLP_OK)
        status = align_gaps(align, group, places);
    if (status == CLP_OK)
        pair_rest(places, group->a_count, group->b_count);
    for (size_t i = 0; i < group->a_count && status == CLP_OK; i++)
        if (places[i] != CLP_ALIGN_NONE)
            to[group->a[i].place] = group->b[places[i]].place;
    clp_mem_free(align->mem, places, group->a_count, sizeof *places);
    return status;
}

static size_t same_key(const struct called *called, size_t at, size_t count)
{
    size_t end = at;

    while (end < count && called[end].key == called[at].key)
        end++;
    return end - at;
}

/* Matches the functions with the same key. Both lists are sorted by key. */
static clp_status match_names(struct clp_align *align, const struct called *a, size_t a_count,
                              const struct called *b, size_t b_count, size_t *to)
{
    clp_status status = CLP_OK;

    for (size_t i = 0, j = 0; i < a_count && j < b_count && status == CLP_OK;) {
        if (a[i].key != b[j].key) {
            if (a[i].key < b[j].key)
                i++;
            else
                j++;
            continue;
        }
        struct group group = {a + i, b + j, same_key(a, i, a_count), same_key(b, j, b_count)};
        status = match_group(align, &group, to);
        i += group.a_count;
        j += group.b_count;
    }
    return status;
}

clp_status clp_match_functions(struct clp_align *align,
                               const struct clp_profile_function *const *a, size_t a_count,
                               const struct clp_profile_function *const *b, size_t b_count,
                               bool renamed, size_t *to)
{
    struct called *left = NULL, *right = NULL;
    clp_status status = CLP_NO_MEMORY;
    struct files files;

    for (size_t i = 0; i < a_count; i++)
        to[i] = CLP_ALIGN_NONE;
    if (a_count == 0 || b_count == 0)
        return CLP_OK;
    init_files(&files, align->mem);
    if (add_paths(&files, 0, a, a_count) != CLP_OK || add_paths(&files, 1, b, b_count) != CLP_OK ||
        match_files(&files, renamed) != CLP_OK)
        goto out;
    left = name_functions(&files, 0, a, a_count);
    right = name_functions(&files, 1, b, b_count);
    if (left != NULL && right != NULL)
        status = match_names(align, left, a_count, right, b_count, to);
out:
    clp_mem_free(align->mem, left, a_count, sizeof *left);
    clp_mem_free(align->mem, right, b_count, sizeof *right);
    clear_files(&files);
    return status;
}
