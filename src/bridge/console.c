/* SPDX-License-Identifier: MIT */
#include "console.h"
#include "os/file.h"
#include "cpython/compat/raised.h"
#include "base/escape.h"
#include "values.h"
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <unistd.h>

bool clp_command_words_init(struct clp_command_words *words, PyObject *list)
{
    Py_ssize_t count = PyList_GET_SIZE(list);

    *words = (struct clp_command_words){.bytes = PyList_New(count)};
    words->items = PyMem_Calloc((size_t)count + 1, sizeof *words->items);
    if (words->bytes == NULL || words->items == NULL) {
        clp_command_words_clear(words);
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *word = PyUnicode_EncodeFSDefault(PyList_GET_ITEM(list, i));
        if (word == NULL) {
            clp_command_words_clear(words);
            return false;
        }
        PyList_SET_ITEM(words->bytes, i, word);
        words->items[words->count++] = PyBytes_AS_STRING(word);
    }
    return true;
}

void clp_command_words_clear(struct clp_command_words *words)
{
    PyMem_Free(words->items);
    Py_CLEAR(words->bytes);
    *words = (struct clp_command_words){0};
}

bool clp_console_has_ending(const char *word, const char *ending)
{
    size_t bytes = strlen(word), more = strlen(ending);

    return bytes > more && strcmp(word + bytes - more, ending) == 0;
}

/* Adds a word that must not be shown as it is, in the quotes $'..' of bash, ksh and zsh. */
static void add_escaped_word(struct clp_buf *out, const char *word)
{
    clp_buf_add_text(out, "$'");
    for (; *word != 0; word++) {
        size_t plain = strcspn(word, "\\'");
        clp_escape_add(out, word, plain);
        word += plain;
        if (*word == 0)
            break;
        clp_buf_add_format(out, "\\%c", *word);
    }
    clp_buf_add_text(out, "'");
}

static bool may_be_shown(const char *word)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf shown;

    clp_buf_init(&shown, &mem);
    clp_escape_add_text(&shown, word);
    bool same = strcmp(clp_buf_text(&shown), word) == 0;
    clp_buf_clear(&shown);
    return same;
}

void clp_console_add_quoted(struct clp_buf *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%+=:,./-_";

    if (*word != 0 && word[strspn(word, plain)] == 0) {
        clp_buf_add_text(out, word);
        return;
    }
    if (!may_be_shown(word)) {
        add_escaped_word(out, word);
        return;
    }
    clp_buf_add_text(out, "'");
    for (; *word != 0; word++)
        clp_buf_add_format(out, *word == '\'' ? "'\\%c'" : "%c", *word);
    clp_buf_add_text(out, "'");
}

bool clp_console_add_quoted_text(struct clp_buf *out, PyObject *text)
{
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");

    if (bytes != NULL)
        clp_console_add_quoted(out, PyBytes_AS_STRING(bytes));
    Py_XDECREF(bytes);
    return bytes != NULL;
}

PyObject *clp_console_quoted(PyObject *module, PyObject *text)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf quoted;

    (void)module;
    clp_buf_init(&quoted, &mem);
    return clp_console_add_quoted_text(&quoted, text) ? clp_text_take(&quoted) : NULL;
}

static void flush(const char *name)
{
    PyObject *stream = PySys_GetObject(name); /* borrowed */
    PyObject *result = NULL;

    if (stream != NULL && stream != Py_None)
        result = PyObject_CallMethod(stream, "flush", NULL);
    Py_XDECREF(result);
    PyErr_Clear();
}

/* Was the descriptor closed when the interpreter started? A file of the program may have its number now. */
static bool was_closed(int descriptor)
{
    return PySys_GetObject(descriptor == 1 ? "__stdout__" : "__stderr__") == Py_None;
}

bool clp_console_write(int descriptor, const char *bytes, size_t count)
{
    flush("stdout");
    flush("stderr");
    if (was_closed(descriptor)) {
        errno = EBADF;
        return false;
    }
    while (count != 0) {
        ssize_t written = write(descriptor, bytes, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        count -= (size_t)written;
    }
    return true;
}

void clp_console_print(int descriptor, const char *text)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf shown;

    clp_buf_init(&shown, &mem);
    clp_escape_add_lines(&shown, text);
    (void)clp_console_write(descriptor, clp_buf_text(&shown), shown.used);
    clp_buf_clear(&shown);
}

void clp_console_complain(const char *name, const char *text)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf line;

    clp_buf_init(&line, &mem);
    clp_buf_add_format(&line, "%s: ", name);
    clp_escape_add_text(&line, text);
    clp_buf_add_text(&line, "\n");
    (void)clp_console_write(2, clp_buf_text(&line), line.used);
    clp_buf_clear(&line);
}

void clp_console_complain_format(const char *name, const char *format, ...)
{
    char text[2 * PATH_MAX + 512]; /* room for two paths and what is said of them */
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    clp_console_complain(name, text);
}

void clp_console_complain_of_exception(const char *name, const char *otherwise)
{
    PyObject *text = clp_raised_text();
    const char *words = text != NULL ? PyUnicode_AsUTF8(text) : NULL;

    PyErr_Clear();
    clp_console_complain(name, words != NULL ? words : otherwise);
    Py_XDECREF(text);
}

void clp_console_complain_of_place(const char *name, const char *outfile,
                                   const struct clp_fault *fault)
{
    clp_console_complain_format(name, "cannot write to %s: %s",
                                outfile != NULL ? outfile : "standard output",
                                clp_fault_text(fault));
}

bool clp_console_put(const char *name, const char *outfile, const struct clp_file_content *content)
{
    struct clp_fault fault = {.status = CLP_IO};

    if (outfile != NULL ? clp_file_write(outfile, content, &fault) == CLP_OK
                        : clp_console_write(1, content->bytes, content->count) || errno == EPIPE)
        return true;
    if (outfile == NULL)
        fault.os_error = errno;
    clp_console_complain_of_place(name, outfile, &fault);
    return false;
}

int clp_console_answer(const char *name, const char *text)
{
    const struct clp_file_content content = {.bytes = text, .count = strlen(text)};

    return clp_console_put(name, NULL, &content) ? 0 : 1;
}

PyObject *clp_console_exit(int code)
{
    PyObject *value = PyLong_FromLong(code);

    if (value != NULL)
        PyErr_SetObject(PyExc_SystemExit, value);
    Py_XDECREF(value);
    return NULL;
}
