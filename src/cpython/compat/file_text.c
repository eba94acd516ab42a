/* SPDX-License-Identifier: MIT */
#include "file_text.h"
#include "os/file.h"
#include "profile/source.h"
#include <sys/stat.h>

#define LARGEST_FILE ((size_t)64 << 20)

static const char byte_order_mark[] = "\xef\xbb\xbf";

/* Copies the encoding that the line declares (PEP 263: "coding[:=] name" in a comment) into `name`. False: none. */
static bool declared_encoding(struct clp_span line, char *name, size_t room)
{
    size_t i = 0, used = 0;

    line = clp_source_unindented(line);
    if (line.bytes == 0 || *line.text != '#')
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

/* Decodes the bytes by their byte order mark, their declared encoding, or UTF-8. Bytes that cannot be decoded become
 * \xNN. Owned str; NULL with an exception set. */
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
        if (text != NULL || !PyErr_ExceptionMatches(PyExc_Exception)) /* Ctrl-C */
            return text;
        PyErr_Clear(); /* there is no codec with the declared name */
    }
    return PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)count, "backslashreplace");
}

PyObject *clp_file_text_decode(const char *bytes, size_t count)
{
    PyObject *text = decode(bytes, count);
    PyObject *utf8 = text != NULL ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace") : NULL;

    Py_XDECREF(text);
    return utf8;
}

/* Is the path a plain file? Reading a pipe would wait, and would take the data away from the program; a device may
 * never end. */
static bool is_plain(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

PyObject *clp_file_text_read(PyObject *file_name)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_fault fault;
    struct clp_buf buf;
    PyObject *path = NULL, *text = NULL;

    clp_buf_init(&buf, &mem);
    if (!PyUnicode_FSConverter(file_name, &path))
        PyErr_Clear();
    else if (is_plain(PyBytes_AS_STRING(path)) &&
             clp_file_read(PyBytes_AS_STRING(path), LARGEST_FILE, &buf, &fault) == CLP_OK)
        text = clp_file_text_decode(clp_buf_text(&buf), buf.used);
    Py_XDECREF(path);
    clp_buf_clear(&buf);
    return text;
}
