/* SPDX-License-Identifier: MIT */
#include "compiled.h"
#include "exchange.h"
#include "profiler_object.h"

#define ROOM ((size_t)256 << 10)
#define MOST 1024

struct entry {
    uint64_t hash;
    size_t at, file_bytes, text_bytes; /* the file's name, its 0 included, and the text behind it */
    bool is_bytes;
};

/* The interpreter's built-in functions are the process's. */
static struct {
    struct clp_recorder *recorder; /* borrowed: the process's; NULL: nobody ever wanted texts */
    bool open;                     /* somebody wants them now */
    char *room;                    /* ROOM bytes, for good; NULL: not needed yet */
    struct entry entries[MOST];    /* the oldest first */
    size_t count;
} kept;

/* ---- the texts ---- */

static size_t end_of(const struct entry *entry)
{
    return entry->at + entry->file_bytes + entry->text_bytes;
}

static size_t used(void)
{
    return kept.count != 0 ? end_of(&kept.entries[kept.count - 1]) : 0;
}

/* The older half goes. */
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

static bool has_room(void)
{
    size_t mapped;

    if (kept.room == NULL)
        kept.room = clp_pages_map(&kept.recorder->view_pages, ROOM, &mapped);
    return kept.room != NULL;
}

static void keep(const char *file, struct clp_span text, bool is_bytes)
{
    struct entry entry = {.file_bytes = strlen(file) + 1, .text_bytes = text.bytes,
                          .is_bytes = is_bytes};

    entry.hash = clp_hash_text(clp_hash_text(is_bytes, file, entry.file_bytes), text.text, text.bytes);
    if (entry.file_bytes > ROOM / 4 || text.bytes > ROOM / 4 || !has_room() || is_kept(entry.hash))
        return;
    if (kept.count == MOST || ROOM - used() < entry.file_bytes + text.bytes)
        drop_oldest();
    entry.at = used();
    memcpy(kept.room + entry.at, file, entry.file_bytes);
    memcpy(kept.room + entry.at + entry.file_bytes, text.text, text.bytes);
    kept.entries[kept.count++] = entry;
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

/* ---- the built-ins ---- */

/* The text of a module that the import system compiles stands in its file. */
static bool is_import(void)
{
    PyFrameObject *frame = clp_compat_frame_here(); /* borrowed */
    PyCodeObject *code = frame != NULL ? PyFrame_GetCode(frame) : NULL;
    bool found = code != NULL && PyUnicode_CompareWithASCIIString(
                                     code->co_filename, "<frozen importlib._bootstrap>") == 0;

    Py_XDECREF(code);
    return found;
}

static void keep_object(const char *file, PyObject *source)
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
        keep(file, text, !PyUnicode_Check(source));
    PyErr_Clear(); /* half a surrogate pair: it will not compile */
}

/* The name may be given as bytes. That of another object is asked for by code of Python's, so it has none. */
static void keep_named(PyObject *file, PyObject *source)
{
    PyObject *name = PyBytes_Check(file) ? PyUnicode_DecodeFSDefault(PyBytes_AS_STRING(file))
                                         : Py_NewRef(file);

    if (name != NULL && PyUnicode_Check(name))
        keep_object(PyUnicode_AsUTF8(name), source);
    PyErr_Clear();
    Py_XDECREF(name);
}

/* Code that is given as a syntax tree has no text. */
static bool is_text(PyObject *source)
{
    return PyUnicode_Check(source) || PyBytes_Check(source) || PyByteArray_Check(source);
}

static void note(PyObject *file, PyObject *source)
{
    if (!kept.open || !clp_compat_is_main() || !is_text(source))
        return;
    struct clp_own_work work = clp_own_work_begin(kept.recorder);
    if (file == NULL)
        keep_object("<string>", source);
    else if (!is_import())
        keep_named(file, source);
    clp_own_work_end(kept.recorder, work);
}

typedef PyObject *(*plain_call)(PyObject *, PyObject *const *, Py_ssize_t);
typedef PyObject *(*keyword_call)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);

enum { COMPILE, EXEC, EVAL, BUILTINS };

/* The interpreter's own functions, each in the two forms that it may have: without keywords, and with them. */
static struct clp_exchange builtins[2 * BUILTINS];

/* By place or by name; borrowed, or NULL. */
static PyObject *argument_of(PyObject *const *arguments, Py_ssize_t count, PyObject *names,
                             Py_ssize_t place, const char *name)
{
    if (place < count)
        return arguments[place];
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), name) == 0)
            return arguments[count + i];
    return NULL;
}

static void note_call(int which, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    PyObject *source = argument_of(arguments, count, names, 0, "source");
    PyObject *file = which == COMPILE ? argument_of(arguments, count, names, 1, "filename") : NULL;

    if (source != NULL && (file != NULL || which != COMPILE))
        note(file, source);
}

#define BOTH_FORMS(name, which)                                                                  \
    static PyObject *name##_plain(PyObject *self, PyObject *const *arguments, Py_ssize_t count)  \
    {                                                                                            \
        note_call(which, arguments, count, NULL);                                                \
        return ((plain_call)(void (*)(void))builtins[2 * which].theirs)(self, arguments, count);    \
    }                                                                                            \
    static PyObject *name##_keywords(PyObject *self, PyObject *const *arguments,                 \
                                     Py_ssize_t count, PyObject *names)                          \
    {                                                                                            \
        note_call(which, arguments, count, names);                                               \
        return ((keyword_call)(void (*)(void))builtins[2 * which + 1].theirs)(                      \
            self, arguments, count, names);                                                      \
    }

BOTH_FORMS(compile, COMPILE)
BOTH_FORMS(exec, EXEC)
BOTH_FORMS(eval, EVAL)

#define FORMS(name)                                                                              \
    {#name, METH_FASTCALL, CLP_C_FUNCTION(name##_plain), NULL, NULL},                            \
    {#name, METH_FASTCALL | METH_KEYWORDS, CLP_C_FUNCTION(name##_keywords), NULL, NULL}

static struct clp_exchange builtins[2 * BUILTINS] = {FORMS(compile), FORMS(exec), FORMS(eval)};

void clp_compiled_open(struct clp_recorder *recorder)
{
    PyObject *names = PyEval_GetBuiltins(); /* borrowed */

    kept.recorder = recorder;
    kept.open = true;
    for (int i = 0; i < 2 * BUILTINS; i++)
        clp_exchange_put(&builtins[i],
                         names != NULL ? PyDict_GetItemString(names, builtins[i].name) : NULL);
}

void clp_compiled_close(void)
{
    for (int i = 0; i < 2 * BUILTINS; i++)
        clp_exchange_undo(&builtins[i]);
    kept.open = false;
}
