/* SPDX-License-Identifier: MIT */
#include "wire_texts.h"
#include "profile/texts.h"
#include "wire_objects.h"
#include "wire_split.h"
#include <stdlib.h>
#include <zlib.h>

/* A text is searched in so many of the texts before it. More than one: a file may have several versions. */
#define MOST_OUTERS 8

/* Shorter texts are written as they are. */
#define LEAST_COMPRESSED 256

/* ---- laying out ---- */

/* A text in which others are searched. */
struct outer {
    int32_t first_line;
    struct clp_source_walk walk; /* at the line that was searched last */
    struct clp_wire_place place;
};

struct search {
    struct clp_wire_texts *texts;
    const char *file;                 /* the file whose functions are searched now */
    bool begun;                       /* has the file a text that functions are appended to? It is the last one then */
    struct outer outers[MOST_OUTERS]; /* of this file, the last ones, as a ring */
    size_t outer_count;
    size_t bytes, parts; /* bytes of texts, and of the functions and files that have them */
    size_t *wholes;      /* places in profile->texts of whole files' texts, by file */
    size_t whole_count;
    size_t next_whole; /* the first one in `wholes` that is not of an earlier file */
};

static int32_t first_line(const struct clp_profile_function *function)
{
    return function->first_line > 1 ? function->first_line : 1;
}

/* Orders by file and line, and puts the longest text of a line first. So an outer text comes before its parts. */
static int by_place(const void *one, const void *other)
{
    const struct clp_profile_function *a = *(const struct clp_profile_function *const *)one;
    const struct clp_profile_function *b = *(const struct clp_profile_function *const *)other;
    int order = strcmp(a->file, b->file);

    if (order != 0)
        return order;
    if (first_line(a) != first_line(b))
        return first_line(a) < first_line(b) ? -1 : 1;
    if (a->source_bytes != b->source_bytes)
        return a->source_bytes > b->source_bytes ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* May another function, or file, have a part of so many bytes of what was laid out? */
static bool may_share(const struct search *search, size_t bytes)
{
    return search->parts + bytes <= search->bytes * CLP_WIRE_MOST_PARTS;
}

static void add_outer(struct search *search, int32_t line, struct clp_span text, struct clp_wire_place place)
{
    search->outers[search->outer_count++ % MOST_OUTERS] = (struct outer){line, {.text = text}, place};
}

static bool holds(struct outer *outer, const struct clp_profile_function *function)
{
    clp_source_walk_to(&outer->walk, first_line(function) - outer->first_line + 1);
    return outer->walk.rest.bytes >= function->source_bytes &&
           memcmp(outer->walk.rest.text, function->source, function->source_bytes) == 0;
}

static bool find_outer(struct search *search, const struct clp_profile_function *function,
                       struct clp_wire_place *place)
{
    size_t kept = search->outer_count < MOST_OUTERS ? search->outer_count : MOST_OUTERS;

    if (!may_share(search, function->source_bytes))
        return false;
    for (size_t i = 1; i <= kept; i++) {
        struct outer *outer = &search->outers[(search->outer_count - i) % MOST_OUTERS];
        if (!holds(outer, function))
            continue;
        *place = outer->place;
        place->start += outer->walk.text.bytes - outer->walk.rest.bytes;
        return true;
    }
    return false;
}

/* Returns a new text; NULL: out of memory. */
static struct clp_buf *begin_text(struct clp_wire_texts *texts)
{
    struct clp_mem *mem = texts->profile->mem;
    void *block = texts->texts;

    if (texts->count == texts->room) {
        clp_status status = clp_mem_grow(mem, &block, &texts->room, texts->room != 0 ? texts->room * 2 : 8,
                                         sizeof *texts->texts);
        texts->texts = block;
        if (status != CLP_OK)
            return NULL;
    }
    clp_buf_init(&texts->texts[texts->count], mem);
    return &texts->texts[texts->count++];
}

/* Turns to the file of the function. Files come in the order of their names. */
static void turn_to(struct search *search, const char *file)
{
    const struct clp_profile_text *items = search->texts->profile->texts;
    int order;

    if (search->file != NULL && strcmp(search->file, file) == 0)
        return;
    search->file = file;
    search->begun = false;
    search->outer_count = 0;
    for (; search->next_whole < search->whole_count; search->next_whole++) {
        size_t place = search->wholes[search->next_whole];
        order = strcmp(items[place].file, file);
        if (order > 0)
            return;
        if (order == 0)
            add_outer(search, 1, (struct clp_span){items[place].text, items[place].bytes},
                      (struct clp_wire_place){search->texts->wholes[place], 0});
    }
}

static clp_status append(struct search *search, const struct clp_profile_function *function,
                         struct clp_wire_place *place)
{
    struct clp_wire_texts *texts = search->texts;

    if (!search->begun && begin_text(texts) == NULL)
        return CLP_NO_MEMORY;
    search->begun = true;
    struct clp_buf *text = &texts->texts[texts->count - 1];
    *place = (struct clp_wire_place){texts->count - 1, text->used};
    clp_buf_add(text, function->source, function->source_bytes);
    add_outer(search, first_line(function), (struct clp_span){function->source, function->source_bytes}, *place);
    search->bytes += function->source_bytes;
    return text->failed ? CLP_NO_MEMORY : CLP_OK;
}

static int by_file(const void *one, const void *other, void *items)
{
    const struct clp_profile_text *texts = items;

    return strcmp(texts[*(const size_t *)one].file, texts[*(const size_t *)other].file);
}

/* Files with equal texts share one (clp_profile_keep_file). `numbers` has the numbers of texts by their addresses. */
static clp_status lay_out_whole(struct search *search, size_t place, struct clp_hashmap *numbers)
{
    const struct clp_profile_text *whole = &search->texts->profile->texts[place];
    struct clp_wire_texts *texts = search->texts;
    uint64_t number, address = (uint64_t)(uintptr_t)whole->text;
    bool shares = clp_hashmap_get(numbers, address, &number) && texts->texts[number].used == whole->bytes &&
                  may_share(search, whole->bytes);

    search->parts += whole->bytes;
    texts->wholes[place] = shares ? number : texts->count;
    if (shares)
        return CLP_OK;
    struct clp_buf *text = begin_text(texts);
    if (text == NULL)
        return CLP_NO_MEMORY;
    clp_buf_add(text, whole->text, whole->bytes);
    search->bytes += whole->bytes;
    return text->failed ? CLP_NO_MEMORY : clp_hashmap_set(numbers, address, texts->wholes[place]);
}

static clp_status lay_out_wholes(struct search *search)
{
    const struct clp_profile *profile = search->texts->profile;
    struct clp_hashmap numbers;
    clp_status status = CLP_OK;

    clp_hashmap_init(&numbers, profile->mem);
    for (size_t i = 0; i < profile->text_count && status == CLP_OK; i++) {
        if (profile->texts[i].file == NULL)
            continue;
        search->wholes[search->whole_count++] = i;
        status = lay_out_whole(search, i, &numbers);
    }
    clp_hashmap_clear(&numbers);
    if (search->whole_count != 0)
        qsort_r(search->wholes, search->whole_count, sizeof *search->wholes, by_file, profile->texts);
    return status;
}

static clp_status lay_out(struct search *search, const struct clp_profile_function **sorted, size_t count)
{
    clp_status status = lay_out_wholes(search);

    qsort(sorted, count, sizeof(void *), by_place);
    for (size_t i = 0; i < count && status == CLP_OK; i++) {
        struct clp_wire_place *place = &search->texts->places[sorted[i] - search->texts->profile->functions];
        turn_to(search, sorted[i]->file);
        if (!find_outer(search, sorted[i], place))
            status = append(search, sorted[i], place);
        search->parts += sorted[i]->source_bytes;
    }
    return status;
}

clp_status clp_wire_texts_lay_out(struct clp_wire_texts *texts, const struct clp_profile *profile)
{
    struct clp_mem *mem = profile->mem;
    size_t count = profile->function_count, with_text = 0;
    struct search search = {.texts = texts};

    *texts = (struct clp_wire_texts){.profile = profile};
    texts->places = clp_mem_alloc(mem, count + 1, sizeof *texts->places);
    texts->wholes = clp_mem_alloc(mem, profile->text_count + 1, sizeof *texts->wholes);
    search.wholes = clp_mem_alloc(mem, profile->text_count + 1, sizeof *search.wholes);
    const struct clp_profile_function **sorted = clp_mem_alloc(mem, count + 1, sizeof *sorted);
    clp_status status = texts->places == NULL || texts->wholes == NULL || search.wholes == NULL || sorted == NULL
                            ? CLP_NO_MEMORY : CLP_OK;
    for (size_t i = 0; i < count && status == CLP_OK; i++)
        if (profile->functions[i].source != NULL)
            sorted[with_text++] = &profile->functions[i];
    if (status == CLP_OK)
        status = lay_out(&search, sorted, with_text);
    clp_mem_free(mem, search.wholes, profile->text_count + 1, sizeof *search.wholes);
    clp_mem_free(mem, sorted, count + 1, sizeof *sorted);
    return status;
}

void clp_wire_texts_clear(struct clp_wire_texts *texts)
{
    struct clp_mem *mem = texts->profile->mem;

    for (size_t i = 0; i < texts->count; i++)
        clp_buf_clear(&texts->texts[i]);
    clp_mem_free(mem, texts->texts, texts->room, sizeof *texts->texts);
    clp_mem_free(mem, texts->wholes, texts->profile->text_count + 1, sizeof *texts->wholes);
    clp_mem_free(mem, texts->places, texts->profile->function_count + 1, sizeof *texts->places);
}

/* ---- writing ---- */

static void pack_str(msgpack_packer *packer, const char *text, size_t bytes)
{
    msgpack_pack_str(packer, bytes);
    msgpack_pack_str_body(packer, text, bytes);
}

static clp_status pack_text(msgpack_packer *packer, const struct clp_buf *text, struct clp_buf *packed)
{
    uLongf bytes = compressBound(text->used);

    packed->used = 0;
    clp_buf_add_repeated(packed, 0, bytes);
    if (packed->failed)
        return CLP_NO_MEMORY;
    if (text->used < LEAST_COMPRESSED ||
        compress2((Bytef *)packed->bytes, &bytes, (const Bytef *)text->bytes, text->used, Z_BEST_SPEED) != Z_OK ||
        bytes >= text->used || text->used / CLP_WIRE_MOST_RATIO >= bytes) {
        pack_str(packer, clp_buf_text(text), text->used);
        return CLP_OK;
    }
    msgpack_pack_map(packer, 2);
    pack_str(packer, "bytes", 5);
    msgpack_pack_uint64(packer, text->used);
    pack_str(packer, "zlib", 4);
    msgpack_pack_bin(packer, bytes);
    msgpack_pack_bin_body(packer, packed->bytes, bytes);
    return CLP_OK;
}

clp_status clp_wire_texts_pack(const struct clp_wire_texts *texts, msgpack_packer *packer)
{
    clp_status status = CLP_OK;
    struct clp_buf packed;

    clp_buf_init(&packed, texts->profile->mem);
    msgpack_pack_array(packer, texts->count);
    for (size_t i = 0; i < texts->count && status == CLP_OK; i++)
        status = pack_text(packer, &texts->texts[i], &packed);
    clp_buf_clear(&packed);
    return status;
}

size_t clp_wire_texts_files(const struct clp_wire_texts *texts)
{
    size_t count = 0;

    for (size_t i = 0; i < texts->profile->text_count; i++)
        count += texts->profile->texts[i].file != NULL;
    return count;
}

void clp_wire_texts_pack_files(const struct clp_wire_texts *texts, msgpack_packer *packer)
{
    msgpack_pack_array(packer, clp_wire_texts_files(texts));
    for (size_t i = 0; i < texts->profile->text_count; i++) {
        const char *file = texts->profile->texts[i].file;
        if (file == NULL)
            continue;
        msgpack_pack_map(packer, 2);
        pack_str(packer, "file", 4);
        pack_str(packer, file, strlen(file));
        pack_str(packer, "text", 4);
        msgpack_pack_uint64(packer, texts->wholes[i]);
    }
}

/* ---- reading ---- */

/* Takes a part of so many bytes off what functions and files may have. */
static bool take_part(struct clp_decoder *decoder, uint64_t bytes)
{
    if (bytes > decoder->parts_left)
        return false;
    decoder->parts_left -= bytes;
    return true;
}

static clp_status add_text(struct clp_decoder *decoder, const struct clp_profile_text *text)
{
    if (clp_profile_add_text(decoder->profile, text) == CLP_OK) {
        decoder->parts_left += (uint64_t)text->bytes * CLP_WIRE_MOST_PARTS;
        return CLP_OK;
    }
    if (!text->borrowed)
        clp_mem_free(decoder->profile->mem, text->text, text->bytes + 1, 1);
    return no_memory(decoder);
}

static clp_status take_plain(struct clp_decoder *decoder, const msgpack_object_str *str)
{
    const char *bytes = str->size != 0 ? str->ptr : ""; /* msgpack-c gives NULL for an empty text */
    struct clp_profile_text text = {(char *)(uintptr_t)bytes, str->size, decoder->in_place, NULL};

    if (!decoder->in_place)
        text.text = clp_mem_copy_text(decoder->profile->mem, bytes, str->size);
    return text.text != NULL ? add_text(decoder, &text) : no_memory(decoder);
}

static clp_status take_compressed(struct clp_decoder *decoder, uint64_t count, const msgpack_object_bin *packed)
{
    struct clp_mem *mem = decoder->profile->mem;
    struct clp_profile_text text = {.bytes = count};
    uLongf bytes = count;

    if (count / CLP_WIRE_MOST_RATIO >= packed->size)
        return refuse_here(decoder, "a text that is compressed more than it may be");
    text.text = clp_mem_alloc(mem, count + 1, 1);
    if (text.text == NULL)
        return no_memory(decoder);
    if (uncompress((Bytef *)text.text, &bytes, (const Bytef *)packed->ptr, packed->size) != Z_OK || bytes != count) {
        clp_mem_free(mem, text.text, count + 1, 1);
        return refuse_here(decoder, "a text that zlib cannot read");
    }
    text.text[count] = 0;
    return add_text(decoder, &text);
}

static clp_status read_text(struct clp_decoder *decoder, struct clp_wire_span span)
{
    enum { BYTES, ZLIB, COUNT };
    static const char *const names[COUNT] = {"bytes", "zlib"};
    const msgpack_object *found[COUNT];
    msgpack_object object;
    uint64_t bytes;

    if (clp_wire_unpack(decoder, span, &object) != CLP_OK)
        return decoder->fault->status;
    if (object.type == MSGPACK_OBJECT_STR)
        return take_plain(decoder, &object.via.str);
    if (object.type != MSGPACK_OBJECT_MAP)
        return refuse_here(decoder, "an item of \"texts\" is neither a text nor a map");
    if (clp_wire_find_keys(decoder, &object, names, COUNT, found) != CLP_OK)
        return decoder->fault->status;
    if (found[BYTES] == NULL || !read_uint64(found[BYTES], &bytes) || found[ZLIB] == NULL ||
        found[ZLIB]->type != MSGPACK_OBJECT_BIN)
        return refuse_here(decoder, "a compressed text lacks \"bytes\" or \"zlib\"");
    return take_compressed(decoder, bytes, &found[ZLIB]->via.bin);
}

/* Texts are known by number. So one that cannot be read leaves an empty one behind. */
clp_status clp_wire_read_text(struct clp_decoder *decoder, struct clp_wire_span span)
{
    const struct clp_profile_text none = {.text = (char[]){""}, .borrowed = true};

    if (read_text(decoder, span) == CLP_OK)
        return CLP_OK;
    return clp_wire_leave_out(decoder, NULL) == CLP_OK ? add_text(decoder, &none) : decoder->fault->status;
}

/* The file's name points into the bytes, where it does not end in a 0. So the decoder's buffer has a copy. */
clp_status clp_wire_read_file(struct clp_decoder *decoder, struct clp_wire_span span)
{
    enum { FILE_NAME, TEXT, COUNT };
    static const char *const names[COUNT] = {"file", "text"};
    const msgpack_object *found[COUNT];
    msgpack_object object;
    uint64_t number;

    if (clp_wire_unpack(decoder, span, &object) != CLP_OK ||
        clp_wire_find_keys(decoder, &object, names, COUNT, found) != CLP_OK)
        return decoder->fault->status;
    if (found[FILE_NAME] == NULL || !is_plain_text(found[FILE_NAME]) || found[TEXT] == NULL ||
        !read_uint64(found[TEXT], &number) || number >= decoder->profile->text_count)
        return refuse_here(decoder, "an item of \"files\" lacks \"file\" or \"text\"");
    if (clp_wire_copy_text(decoder, found[FILE_NAME], &decoder->file) != CLP_OK)
        return decoder->fault->status;
    struct clp_profile_text whole = decoder->profile->texts[number];
    if (!take_part(decoder, whole.bytes))
        return refuse_here(decoder, "files have more text together than they may");
    whole.borrowed = true;
    whole.file = (char *)(uintptr_t)clp_buf_text(&decoder->file);
    return clp_profile_add_text(decoder->profile, &whole) == CLP_OK ? CLP_OK : no_memory(decoder);
}

clp_status clp_wire_read_place(struct clp_decoder *decoder, struct clp_wire_span span,
                               struct clp_profile_function *function)
{
    enum { TEXT, START, BYTES, COUNT };
    const struct clp_profile *profile = decoder->profile;
    msgpack_object object;
    uint64_t place[COUNT];

    if (span.end == 0)
        return CLP_OK;
    if (clp_wire_unpack(decoder, span, &object) != CLP_OK)
        return decoder->fault->status;
    if (object.type != MSGPACK_OBJECT_ARRAY || object.via.array.size != COUNT)
        return refuse_here(decoder, "\"text\" of a function is not three numbers");
    for (size_t i = 0; i < COUNT; i++)
        if (!read_uint64(&object.via.array.ptr[i], &place[i]))
            return refuse_here(decoder, "\"text\" of a function is not three numbers");
    if (place[TEXT] >= profile->text_count)
        return refuse_here(decoder, "\"text\" of a function names a text that is not there");
    const struct clp_profile_text *text = &profile->texts[place[TEXT]];
    if (place[BYTES] == 0 || place[START] > text->bytes || place[BYTES] > text->bytes - place[START])
        return refuse_here(decoder, "\"text\" of a function goes beyond the end of the text");
    if (!take_part(decoder, place[BYTES]))
        return refuse_here(decoder, "functions have more text together than they may");
    clp_profile_lend_source(decoder->profile, function,
                            (struct clp_span){text->text + place[START], place[BYTES]});
    return CLP_OK;
}
