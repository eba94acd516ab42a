/* SPDX-License-Identifier: MIT */
#include "compiled.h"
#include "base/hashmap.h"

#define ROOM ((size_t)256 << 10)
#define MOST 1024

struct entry {
    uint64_t hash;
    size_t at, file_bytes, text_bytes; /* at `at` the file name, whose file_bytes include its 0, then the text */
    bool is_bytes;
};

/* The kept texts of the process: its built-in exec(), eval() and compile() are shared by the whole process too. */
static struct {
    char *room;                 /* ROOM bytes, never freed; NULL: not needed yet */
    struct entry entries[MOST]; /* the oldest first */
    size_t count;
} kept;

static size_t end_of(const struct entry *entry)
{
    return entry->at + entry->file_bytes + entry->text_bytes;
}

static size_t used(void)
{
    return kept.count != 0 ? end_of(&kept.entries[kept.count - 1]) : 0;
}

/* Drops the older half of the texts, and more if the rest still takes more than half of the memory. */
static void drop_oldest(void)
{
    size_t first = kept.count / 2, end = used();

    while (first < kept.count && end - kept.entries[first].at > ROOM / 2)
        first++;
    size_t start = first < kept.count ? kept.entries[first].at : end;
    memmove(kept.room, kept.room + start, end - start);
    memmove(kept.entries, kept.entries + first, (kept.count - first) * sizeof *kept.entries);
    kept.count -= first;
    for (size_t i = 0; i < kept.count; i++)
        kept.entries[i].at -= start;
}

static bool is_kept(uint64_t hash)
{
    for (size_t i = kept.count; i-- > 0;)
        if (kept.entries[i].hash == hash)
            return true;
    return false;
}

static bool has_room(struct clp_pages *pages)
{
    size_t mapped;

    if (kept.room == NULL)
        kept.room = clp_pages_map(pages, ROOM, &mapped);
    return kept.room != NULL;
}

static void keep(struct clp_pages *pages, const char *file, struct clp_span text, bool is_bytes)
{
    struct entry entry = {.file_bytes = strlen(file) + 1, .text_bytes = text.bytes,
                          .is_bytes = is_bytes};

    entry.hash = clp_hash_text(clp_hash_text(is_bytes, file, entry.file_bytes), text.text, text.bytes);
    if (entry.file_bytes > ROOM / 4 || text.bytes > ROOM / 4 || !has_room(pages) || is_kept(entry.hash))
        return;
    if (kept.count == MOST || ROOM - used() < entry.file_bytes + text.bytes)
        drop_oldest();
    entry.at = used();
    memcpy(kept.room + entry.at, file, entry.file_bytes);
    memcpy(kept.room + entry.at + entry.file_bytes, text.text, text.bytes);
    kept.entries[kept.count++] = entry;
}

static void keep_object(struct clp_pages *pages, const char *file, PyObject *source)
{
    struct clp_span text = {NULL, 0};
    Py_ssize_t bytes = 0;

    if (PyUnicode_Check(source))
        text.text = PyUnicode_AsUTF8AndSize(source, &bytes);
    else if (PyBytes_Check(source))
        text.text = PyBytes_AS_STRING(source), bytes = PyBytes_GET_SIZE(source);
    else if (PyByteArray_Check(source))
        text.text = PyByteArray_AS_STRING(source), bytes = PyByteArray_GET_SIZE(source);
    text.bytes = (size_t)bytes;
    if (file != NULL && text.text != NULL)
        keep(pages, file, text, !PyUnicode_Check(source));
    PyErr_Clear(); /* a str with a lone surrogate has no UTF-8, and does not compile either */
}

static void keep_named(struct clp_pages *pages, PyObject *file, PyObject *source)
{
    PyObject *name = PyBytes_Check(file) ? PyUnicode_DecodeFSDefault(PyBytes_AS_STRING(file))
                                         : Py_NewRef(file);

    if (name != NULL && PyUnicode_Check(name))
        keep_object(pages, PyUnicode_AsUTF8(name), source);
    PyErr_Clear();
    Py_XDECREF(name);
}

void clp_compiled_keep(struct clp_pages *pages, PyObject *file, PyObject *source)
{
    if (file == NULL)
        keep_object(pages, "<string>", source);
    else
        keep_named(pages, file, source);
}

bool clp_compiled_before(size_t *at, struct clp_compiled_text *text)
{
    size_t place = *at < kept.count ? *at : kept.count;

    if (place == 0)
        return false;
    const struct entry *entry = &kept.entries[*at = place - 1];
    text->file = kept.room + entry->at;
    text->text = (struct clp_span){text->file + entry->file_bytes, entry->text_bytes};
    text->is_bytes = entry->is_bytes;
    return true;
}
