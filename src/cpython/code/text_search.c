/* SPDX-License-Identifier: MIT */
#include "text_search.h"
#include "profile/source_block.h"
#include "cpython/compat/code_keys.h"
#include "compiled.h"
#include "cpython/compat/file_text.h"
#include "cpython/compat/raised.h"
#include <sys/stat.h>
#include <unistd.h>

#define MOST_GENERATED ((size_t)16 << 20) /* bytes of texts in no file that are stored at most */
#define CLOCK_STEP 0.02 /* seconds by which the clock for the times of files may lag behind */

/* ---- does the text fit? ---- */

/* The search for the text of one code object. */
struct search {
    struct clp_source_cache *texts;
    PyCodeObject *code;  /* owned: the code as it was compiled, without probes */
    PyObject *file;      /* borrowed from code */
    PyObject *globals;   /* borrowed, or NULL */
    PyObject *key;       /* owned: the key of the code (code_keys.h); NULL: not needed yet */
    bool fresh;          /* the module's loader has returned the code just now */
};

static int raise_later(void *exception)
{
    PyErr_SetObject((PyObject *)Py_TYPE((PyObject *)exception), exception);
    Py_DECREF((PyObject *)exception);
    return -1;
}

/* Drops the current exception: an error during the search only means that no text is found. KeyboardInterrupt (Ctrl-C)
 * and SystemExit (sys.exit() in a signal handler) are raised in the program a moment later. Both come only in the main
 * thread. */
static void forget_error(void)
{
    if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear();
        return;
    }
    struct clp_raised raised = clp_raised_take();
    PyObject *exception = Py_XNewRef(clp_raised_exception(&raised));
    clp_raised_drop(&raised);
    if (gettid() != getpid() || Py_AddPendingCall(raise_later, exception) != 0)
        Py_XDECREF(exception);
}

/* Has the text, at the code's first line, a block that fits the code's name? */
static bool has_block(const struct search *search, struct clp_span text)
{
    const char *name = PyUnicode_AsUTF8(search->code->co_name);
    struct clp_source_walk walk = {.text = text};
    int32_t rows;

    if (name == NULL || strcmp(name, "<module>") == 0)
        return name != NULL;
    clp_source_walk_to(&walk, search->code->co_firstlineno);
    if (name[0] == '<' && strcmp(name, "<lambda>") != 0)
        return walk.rest.bytes != 0;
    return clp_source_block_of(walk.rest, name, &rows);
}

/* Returns the keys of all code that the text compiles to, borrowed from text->keys. NULL with an exception set. */
static PyObject *keys_of(const struct search *search, struct clp_text *text)
{
    int flags = search->code->co_flags & PyCF_MASK;

    if (text->keys == NULL || text->flags != flags) {
        Py_XSETREF(text->keys, clp_code_keys(PyBytes_AS_STRING(text->text), flags));
        text->flags = flags;
    }
    return text->keys;
}

/* Does the text compile to the code? */
static bool is_source_text(struct search *search, struct clp_text *text)
{
    PyObject *keys = keys_of(search, text);

    if (search->key == NULL && keys != NULL)
        search->key = clp_code_key(search->code);
    bool found = search->key != NULL && keys != NULL && PySet_Contains(keys, search->key) == 1;
    forget_error();
    return found;
}

/* Does the text with this number compile to the code? Works on a copy of the entry: an audit hook of the program may
 * select functions during the compilation, which may move the array of texts. */
static bool is_source(struct search *search, uint32_t number)
{
    struct clp_text copy = *clp_source_cache_get(search->texts, number);

    Py_INCREF(copy.text);
    Py_XINCREF(copy.keys);
    bool found = is_source_text(search, &copy);
    struct clp_text *text = clp_source_cache_get(search->texts, number);
    Py_XSETREF(text->keys, copy.keys);
    text->flags = copy.flags;
    Py_DECREF(copy.text);
    return found;
}

/* Returns the newest of the file's stored texts that compile to the code, or CLP_TEXT_NONE. */
static uint32_t find_source(struct search *search)
{
    uint32_t number = clp_source_cache_newest(search->texts, search->file);

    while (number != CLP_TEXT_NONE && !is_source(search, number))
        number = clp_source_cache_before(search->texts, search->file, number);
    return number;
}

/* ---- texts given to exec() ---- */

static bool has_word(struct clp_span text, const char *word)
{
    return memmem(text.text, text.bytes, word, strlen(word)) != NULL;
}

/* Can the text be the code's source? A fast check that saves compiling most other texts: the text must have all names
 * of the code. Names that may be written differently in the text (private, generated, not ASCII) are left out. */
static bool may_be_source(const struct search *search, struct clp_span text)
{
    PyObject *names = search->code->co_names;

    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
        if (name != NULL && name[0] != '_' && name[0] != '.' &&
            PyUnicode_IS_ASCII(PyTuple_GET_ITEM(names, i)) && !has_word(text, name))
            return false;
    }
    return has_block(search, text);
}

/* Returns the text as UTF-8, owned bytes; NULL where it has another file name or cannot be the code's source. A decoder
 * may be written in Python, during which `compiled` may move, so it gets the copy `given`. */
static PyObject *candidate_of(const struct search *search, const struct clp_compiled_text *compiled)
{
    const char *file = PyUnicode_AsUTF8(search->file);

    if (file == NULL || strcmp(file, compiled->file) != 0)
        return NULL;
    PyObject *given =
        PyBytes_FromStringAndSize(compiled->text.text, (Py_ssize_t)compiled->text.bytes);
    PyObject *bytes = given == NULL || !compiled->is_bytes
                          ? Py_XNewRef(given)
                          : clp_file_text_decode(PyBytes_AS_STRING(given),
                                                 (size_t)PyBytes_GET_SIZE(given));
    Py_XDECREF(given);
    if (bytes != NULL &&
        !may_be_source(search, (struct clp_span){PyBytes_AS_STRING(bytes),
                                                 (size_t)PyBytes_GET_SIZE(bytes)}))
        Py_CLEAR(bytes);
    return bytes;
}

/* Returns the number of the text `bytes` if it compiles to the code, else CLP_TEXT_NONE. Takes over the reference to
 * `bytes`. */
static uint32_t try_candidate(struct search *search, PyObject *bytes)
{
    struct clp_source_cache *texts = search->texts;
    struct clp_text text = {.text = bytes};
    uint32_t number = clp_source_cache_equal(texts, search->file, clp_source_cache_span(&text));

    if (number != CLP_TEXT_NONE) {
        number = is_source(search, number) ? number : CLP_TEXT_NONE;
    } else if (is_source_text(search, &text) && texts->generated_bytes < MOST_GENERATED) {
        texts->generated_bytes += (size_t)PyBytes_GET_SIZE(bytes);
        number = clp_source_cache_add(search->texts, search->file, Py_NewRef(bytes));
    }
    Py_XDECREF(text.keys);
    Py_DECREF(bytes);
    return number;
}

static uint32_t find_compiled(struct search *search)
{
    struct clp_compiled_text compiled;
    uint32_t number = CLP_TEXT_NONE;
    size_t at = SIZE_MAX;

    while (number == CLP_TEXT_NONE && clp_compiled_before(&at, &compiled)) {
        PyObject *bytes = candidate_of(search, &compiled);
        forget_error();
        if (bytes != NULL)
            number = try_candidate(search, bytes);
    }
    return number;
}

/* ---- files ---- */

/* Returns a global of the module, owned, or NULL. */
static PyObject *global_of(const struct search *search, const char *name)
{
    return search->globals != NULL ? Py_XNewRef(PyDict_GetItemString(search->globals, name)) : NULL;
}

/* Is `name` the name of the code's file? */
static bool is_its_file(const struct search *search, PyObject *name)
{
    return name != NULL && PyUnicode_Check(name) && PyUnicode_Compare(name, search->file) == 0;
}

/* Does the loader say that the file of the module `name` is the code's file? */
static bool gives_file(const struct search *search, PyObject *loader, PyObject *name)
{
    PyObject *found = NULL;

    if (PyObject_HasAttrString(loader, "get_filename"))
        found = PyObject_CallMethod(loader, "get_filename", "O", name);
    bool same = is_its_file(search, found);
    forget_error();
    Py_XDECREF(found);
    return same;
}

/* Did the module's loader make the module's code from the code's file? The name alone does not say so: code of a
 * template may also carry the module's __file__ as its file name. */
static bool is_loaders(const struct search *search)
{
    PyObject *loader = global_of(search, "__loader__"), *name = global_of(search, "__name__");
    PyObject *file = global_of(search, "__file__");
    bool found = search->fresh;

    if (!found && loader != NULL && loader != Py_None && name != NULL)
        found = is_its_file(search, file) || gives_file(search, loader, name);
    Py_XDECREF(loader);
    Py_XDECREF(name);
    Py_XDECREF(file);
    return found;
}

/* Does the module's loader compile the file as it is, without transforming the text first? */
static bool compiles_file(const struct search *search)
{
    PyObject *loader = global_of(search, "__loader__");
    bool found = loader != NULL && strcmp(Py_TYPE(loader)->tp_name, "SourceFileLoader") == 0;

    Py_XDECREF(loader);
    return found;
}

static bool look_at(PyObject *file_name, struct stat *about)
{
    PyObject *path = NULL;
    bool found = PyUnicode_FSConverter(file_name, &path) &&
                 stat(PyBytes_AS_STRING(path), about) == 0;

    forget_error();
    Py_XDECREF(path);
    return found;
}

static int64_t nanos_of(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static struct clp_text_stamp stamp_of(const struct stat *about)
{
    return (struct clp_text_stamp){about->st_dev, about->st_ino, (uint64_t)about->st_size,
                          nanos_of(about->st_mtim), nanos_of(about->st_ctim)};
}

/* Returns the number of the text that the file holds now. Reads the file unless its stamp is known. */
static uint32_t text_now(const struct search *search, const struct clp_text_stamp *stamp)
{
    const struct clp_source_cache *texts = search->texts;
    uint32_t number = clp_source_cache_newest(texts, search->file);

    while (number != CLP_TEXT_NONE &&
           memcmp(&texts->items[number - 1].stamp, stamp, sizeof *stamp) != 0)
        number = clp_source_cache_before(texts, search->file, number);
    if (number != CLP_TEXT_NONE)
        return number;
    number = clp_source_cache_add(search->texts, search->file, clp_file_text_read(search->file));
    forget_error();
    if (number != CLP_TEXT_NONE)
        texts->items[number - 1].stamp = *stamp;
    return number;
}

/* Was the file changed since the process began? A file that was changed just before counts as changed too: then the
 * text is only compared with the code, which does no harm. A change that is missed would show lines that did not
 * run. */
static bool is_recent(const struct clp_source_cache *texts, const struct clp_text_stamp *stamp)
{
    return (double)stamp->changed * 1e-9 + CLOCK_STEP > texts->began;
}

static uint32_t find_in_file(struct search *search, const struct stat *about)
{
    const struct clp_source_cache *texts = search->texts;
    const struct clp_text_stamp stamp = stamp_of(about);
    uint32_t now = text_now(search, &stamp);
    bool recent = is_recent(texts, &stamp), trusted = is_loaders(search) && !recent;

    if (now == CLP_TEXT_NONE || search->fresh ||
        (trusted && clp_source_cache_newest(texts, search->file) == now &&
         clp_source_cache_before(texts, search->file, now) == CLP_TEXT_NONE))
        return now;
    uint32_t source = is_source(search, now) ? now : find_source(search);
    if (source != CLP_TEXT_NONE || trusted)
        return source != CLP_TEXT_NONE ? source : now;
    if (recent && compiles_file(search))
        return CLP_TEXT_CHANGED;
    return has_block(search, clp_source_cache_span(clp_source_cache_get(texts, now))) ? now : CLP_TEXT_NONE;
}

/* ---- what is in no file ---- */

static bool starts_with(PyObject *text, const char *start)
{
    const char *bytes = PyUnicode_AsUTF8(text);

    forget_error();
    return bytes != NULL && strncmp(bytes, start, strlen(start)) == 0;
}

/* Joins a list of lines to one text. Takes over the reference to `lines`, which may be NULL. Owned str, or NULL. */
static PyObject *joined(PyObject *lines)
{
    PyObject *empty = PyUnicode_FromString(""), *text = NULL;

    if (lines != NULL && empty != NULL && PyList_Check(lines) && PyList_GET_SIZE(lines) > 0)
        text = PyUnicode_Join(empty, lines);
    forget_error();
    Py_XDECREF(empty);
    Py_XDECREF(lines);
    return text;
}

/* Returns the text that a notebook, a debugger or a library has put into linecache; owned str, or NULL. linecache is
 * used only if the program has loaded it: an import now could find a file of the program with this name. linecache also
 * asks the loader in the globals that it is given. */
static PyObject *from_linecache(const struct search *search)
{
    PyObject *module = Py_XNewRef(PyDict_GetItemString(PyImport_GetModuleDict(), "linecache"));
    bool ask_loader = search->globals != NULL &&
                      (is_loaders(search) || starts_with(search->file, "<frozen "));
    PyObject *text = NULL;

    if (module != NULL && PyObject_HasAttrString(module, "_getlines_from_code")) /* since 3.14 */
        text = joined(PyObject_CallMethod(module, "_getlines_from_code", "O", search->code));
    if (module != NULL && text == NULL)
        text = joined(PyObject_CallMethod(module, "getlines", "OO", search->file,
                                          ask_loader ? search->globals : Py_None));
    Py_XDECREF(module);
    return text;
}

/* Returns the text from the loader of a module that has no file of its own (a zip); owned str, or NULL. */
static PyObject *from_loader(const struct search *search)
{
    PyObject *loader = global_of(search, "__loader__"), *name = global_of(search, "__name__");
    PyObject *text = NULL;

    if (loader != NULL && name != NULL && is_loaders(search) &&
        PyObject_HasAttrString(loader, "get_source"))
        text = PyObject_CallMethod(loader, "get_source", "O", name);
    if (text != NULL && !PyUnicode_Check(text))
        Py_CLEAR(text);
    forget_error();
    Py_XDECREF(loader);
    Py_XDECREF(name);
    return text;
}

/* Stores the text and returns its number, or CLP_TEXT_NONE. Takes over the reference to `text`, which may be NULL. */
static uint32_t add_str(const struct search *search, PyObject *text)
{
    PyObject *utf8 = text != NULL ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace") : NULL;
    uint32_t number = clp_source_cache_add(search->texts, search->file, utf8);

    forget_error();
    Py_XDECREF(text);
    return number;
}

/* Does the file name belong to only one text? Many texts have the name <string>, and linecache searches a relative name
 * in every folder of sys.path. */
static bool is_unique(PyObject *file)
{
    return (starts_with(file, "<") || starts_with(file, "/")) &&
           PyUnicode_CompareWithASCIIString(file, "<string>") != 0 &&
           PyUnicode_CompareWithASCIIString(file, "<stdin>") != 0;
}

/* Finds the text of a frozen module of the standard library, whose __file__ still names its source file. */
static uint32_t find_frozen(struct search *search)
{
    PyObject *file = global_of(search, "__file__");

    if (file != NULL && PyUnicode_Check(file) && starts_with(search->file, "<frozen "))
        (void)clp_source_cache_add(search->texts, search->file, clp_file_text_read(file));
    Py_XDECREF(file);
    forget_error();
    return find_source(search);
}

static uint32_t find_elsewhere(struct search *search)
{
    uint32_t number = add_str(search, from_linecache(search));

    if (number == CLP_TEXT_NONE || !is_unique(search->file))
        number = add_str(search, from_loader(search));
    return number != CLP_TEXT_NONE ? number : find_frozen(search);
}

/* ---- the whole ---- */

/* Finds the text of the code. Only plain files are read; a pipe or device may have a text that is stored already. */
static uint32_t find_text(struct search *search)
{
    uint32_t number = find_compiled(search);
    struct stat about;

    if (number != CLP_TEXT_NONE)
        return number;
    if (!look_at(search->file, &about))
        return find_elsewhere(search);
    return S_ISREG(about.st_mode) ? find_in_file(search, &about)
                                  : clp_source_cache_newest(search->texts, search->file);
}

uint32_t clp_text_search(struct clp_source_cache *texts, PyCodeObject *code, PyObject *globals, bool fresh)
{
    struct search search = {.texts = texts, .globals = globals, .fresh = fresh,
                            .code = (PyCodeObject *)Py_NewRef((PyObject *)code),
                            .file = code->co_filename};
    uint32_t number = find_text(&search);

    forget_error();
    Py_XDECREF(search.key);
    Py_DECREF(search.code);
    return number;
}

bool clp_text_search_know(struct clp_source_cache *texts, PyObject *file_name, const char *text, size_t bytes)
{
    uint32_t number = clp_source_cache_add(texts, file_name, clp_file_text_decode(text, bytes));
    struct stat about;

    if (number != CLP_TEXT_NONE && look_at(file_name, &about) && S_ISREG(about.st_mode))
        texts->items[number - 1].stamp = stamp_of(&about);
    return !PyErr_Occurred();
}
