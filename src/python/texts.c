/* SPDX-License-Identifier: MIT */
#include "texts.h"
#include "../core/file.h"
#include "../core/source.h"
#include <sys/stat.h>

#define LARGEST_FILE ((size_t)64 << 20)

static const char byte_order_mark[] = "\xef\xbb\xbf";

/* The encoding a line declares (PEP 263: "coding[:=] name" in a comment), copied into name. */
static bool declared_encoding(struct clp_span line, char *name, size_t room)
{
    size_t i = 0, used = 0;

    while (i < line.bytes && (line.text[i] == ' ' || line.text[i] == '\t' || line.text[i] == '\f'))
        i++;
    if (i == line.bytes || line.text[i] != '#')
        return false;
    for (; i + 7 < line.bytes; i++) {
        if (memcmp(line.text + i, "coding", 6) == 0 &&
            (line.text[i + 6] == ':' || line.text[i + 6] == '='))
            break;
    }
    if (i + 7 >= line.bytes)
        return false;
    i += 7;
    while (i < line.bytes && (line.text[i] == ' ' || line.text[i] == '\t'))
        i++;
    for (; i < line.bytes && used + 1 < room; i++) {
        char c = line.text[i];
        if (!Py_ISALNUM(c) && c != '-' && c != '_' && c != '.')
            break;
        name[used++] = c;
    }
    name[used] = 0;
    return used != 0;
}

/* Owned str; undecodable bytes are shown as such. */
static PyObject *decode(const char *bytes, size_t count)
{
    char encoding[40] = "";
    struct clp_span rest = {bytes, count}, line;

    if (count >= 3 && memcmp(bytes, byte_order_mark, 3) == 0)
        return PyUnicode_DecodeUTF8(bytes + 3, (Py_ssize_t)count - 3, "backslashreplace");
    for (int i = 0; i < 2 && clp_source_next_line(&rest, &line); i++) {
        if (declared_encoding(line, encoding, sizeof encoding))
            break;
    }
    if (encoding[0] != 0) {
        PyObject *text = PyUnicode_Decode(bytes, (Py_ssize_t)count, encoding, "backslashreplace");
        if (text != NULL)
            return text;
        PyErr_Clear(); /* no codec of that name */
    }
    return PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)count, "backslashreplace");
}

/* Owned bytes, or NULL, with an exception only for want of memory. */
static PyObject *read_file(PyObject *file_name)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_fault fault;
    struct clp_buf buf;
    PyObject *path = NULL, *text = NULL, *result = NULL;

    clp_buf_init(&buf, &mem);
    if (!PyUnicode_FSConverter(file_name, &path)) {
        PyErr_Clear();
    } else if (clp_file_read(PyBytes_AS_STRING(path), LARGEST_FILE, &buf, &fault) == CLP_OK) {
        text = decode(clp_buf_text(&buf), buf.used);
        result = text != NULL ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace") : NULL;
    }
    Py_XDECREF(path);
    Py_XDECREF(text);
    clp_buf_clear(&buf);
    return result;
}

/* Owned str, or NULL: what a notebook or a debugger has put into linecache. Looked up only where
 * that is loaded: an import now could find a file of the program's own. */
static PyObject *from_linecache(PyObject *file_name, PyObject *globals)
{
    PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), "linecache"); /* borrowed */
    PyObject *empty = PyUnicode_FromString(""), *lines = NULL, *text = NULL;

    if (module != NULL)
        lines = PyObject_CallMethod(module, "getlines", "OO", file_name, globals);
    if (lines != NULL && empty != NULL && PyList_Check(lines) && PyList_GET_SIZE(lines) > 0)
        text = PyUnicode_Join(empty, lines);
    Py_XDECREF(empty);
    Py_XDECREF(lines);
    return text;
}

/* Owned str, or NULL: from the loader of a module that lies in no file of its own (a zip). */
static PyObject *from_loader(PyObject *globals)
{
    PyObject *loader = PyDict_GetItemString(globals, "__loader__"); /* borrowed */
    PyObject *name = PyDict_GetItemString(globals, "__name__");     /* borrowed */
    PyObject *text = NULL;

    if (loader != NULL && name != NULL && PyObject_HasAttrString(loader, "get_source"))
        text = PyObject_CallMethod(loader, "get_source", "O", name);
    if (text != NULL && !PyUnicode_Check(text))
        Py_CLEAR(text);
    return text;
}

/* Owned bytes of what no file on disk gives, or NULL without an exception. */
static PyObject *read_elsewhere(PyObject *file_name, PyObject *globals)
{
    PyObject *text = from_linecache(file_name, globals), *bytes = NULL;

    PyErr_Clear();
    if (text == NULL)
        text = from_loader(globals);
    if (text != NULL)
        bytes = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
    PyErr_Clear();
    Py_XDECREF(text);
    return bytes;
}

/* A pipe would be waited for, and what it gives would be missing elsewhere; a device may not end. */
static bool is_special(PyObject *file_name)
{
    struct stat about;
    PyObject *path = NULL;
    bool special = false;

    if (PyUnicode_FSConverter(file_name, &path)) {
        special = stat(PyBytes_AS_STRING(path), &about) == 0 && !S_ISREG(about.st_mode);
        Py_DECREF(path);
    }
    PyErr_Clear();
    return special;
}

PyObject *clp_texts_read(PyObject *file_name)
{
    return is_special(file_name) ? NULL : read_file(file_name);
}

/* The live file hangs on a key that no file has. */
bool clp_texts_set_live(PyObject *texts, struct clp_live *live)
{
    PyObject *capsule = PyCapsule_New(live, NULL, NULL);
    bool done = capsule != NULL && PyDict_SetItem(texts, Py_None, capsule) == 0;

    Py_XDECREF(capsule);
    return done;
}

static void tell_live(PyObject *texts, PyObject *file_name, PyObject *text)
{
    PyObject *capsule = PyDict_GetItem(texts, Py_None); /* borrowed */
    PyObject *name =
        capsule != NULL ? PyUnicode_AsEncodedString(file_name, "utf-8", "backslashreplace") : NULL;

    if (name != NULL)
        clp_live_note_text(PyCapsule_GetPointer(capsule, NULL), PyBytes_AS_STRING(name),
                           PyBytes_AS_STRING(text), (size_t)PyBytes_GET_SIZE(text));
    PyErr_Clear();
    Py_XDECREF(name);
}

bool clp_texts_note(PyObject *texts, PyObject *file_name, PyObject *globals)
{
    if (PyDict_GetItemWithError(texts, file_name) != NULL)
        return true;
    if (PyErr_Occurred())
        return false;
    bool special = is_special(file_name);
    PyObject *text = special ? NULL : read_file(file_name);
    if (text == NULL && !special && !PyErr_Occurred())
        text = read_elsewhere(file_name, globals);
    if (PyErr_Occurred())
        return false;
    bool done = PyDict_SetItem(texts, file_name, text != NULL ? text : Py_None) == 0;
    if (done && text != NULL)
        tell_live(texts, file_name, text);
    Py_XDECREF(text);
    return done;
}

bool clp_texts_know(PyObject *texts, PyObject *file_name, const char *text, size_t bytes)
{
    PyObject *decoded = decode(text, bytes), *utf8 = NULL;
    bool done = false;

    if (decoded != NULL)
        utf8 = PyUnicode_AsEncodedString(decoded, "utf-8", "backslashreplace");
    if (utf8 != NULL)
        done = PyDict_SetItem(texts, file_name, utf8) == 0;
    if (done)
        tell_live(texts, file_name, utf8);
    Py_XDECREF(decoded);
    Py_XDECREF(utf8);
    return done;
}

clp_status clp_texts_fill(PyObject *texts, struct clp_profile *profile)
{
    struct clp_source_walk walk = {0};
    clp_status status = CLP_OK;

    for (size_t i = 0; i < profile->function_count && status == CLP_OK; i++) {
        struct clp_profile_function *function = &profile->functions[i];
        PyObject *text = PyDict_GetItemString(texts, function->file); /* borrowed */
        if (text == NULL || !PyBytes_Check(text))
            continue;
        if (walk.text.text != PyBytes_AS_STRING(text))
            walk = (struct clp_source_walk){
                .text = {PyBytes_AS_STRING(text), (size_t)PyBytes_GET_SIZE(text)}};
        status = clp_profile_cut_source(profile, function, &walk);
    }
    return status;
}
