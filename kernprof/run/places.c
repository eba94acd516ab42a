/* SPDX-License-Identifier: MIT */
#include "places.h"
#include "cli/overwrite.h"
#include "os/file.h"
#include "os/identity.h"
#include "run/processes/naming.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Raises OSError with the reason in `fault`, which may say more than errno does. Returns NULL. */
static PyObject *raise(const struct clp_fault *fault, PyObject *path)
{
    PyObject *name = PyUnicode_DecodeFSDefault(PyBytes_AS_STRING(path));
    PyObject *error = name != NULL ? PyObject_CallFunction(PyExc_OSError, "isN", fault->os_error,
                                                           clp_fault_text(fault), name)
                                   : NULL;

    if (error != NULL)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    return NULL;
}

PyObject *clp_places_write(PyObject *module, PyObject *arguments)
{
    PyObject *path, *result;
    struct clp_fault fault;
    Py_buffer bytes;
    unsigned rights;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "O&y*I:write", PyUnicode_FSConverter, &path, &bytes, &rights))
        return NULL;
    const struct clp_file_content content = {bytes.buf, (size_t)bytes.len, rights};
    clp_status status;
    Py_BEGIN_ALLOW_THREADS
    status = clp_file_write(PyBytes_AS_STRING(path), &content, &fault);
    Py_END_ALLOW_THREADS
    result = status == CLP_OK ? Py_NewRef(Py_None) : raise(&fault, path);
    PyBuffer_Release(&bytes);
    Py_DECREF(path);
    return result;
}

PyObject *clp_places_refuses(PyObject *module, PyObject *arguments)
{
    struct clp_overwrite wish = {0};
    const char *kind;
    PyObject *path;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "sO&s:refuses", &wish.program, PyUnicode_FSConverter, &path, &kind))
        return NULL;
    wish.path = PyBytes_AS_STRING(path);
    wish.only = strcmp(kind, "profile") == 0 ? CLP_OVERWRITE_PROFILES : CLP_OVERWRITE_RECORDINGS;
    bool refused = clp_overwrite_refuse(&wish);
    if (!refused && wish.only == CLP_OVERWRITE_PROFILES)
        clp_overwrite_note_ending(wish.program, wish.path, CLP_OVERWRITE_PROFILE, NULL);
    Py_DECREF(path);
    return PyBool_FromLong(refused);
}

PyObject *clp_places_probe(PyObject *module, PyObject *arguments)
{
    struct clp_fault fault;
    PyObject *path;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "O&:probe", PyUnicode_FSConverter, &path))
        return NULL;
    PyObject *result = clp_file_probe(PyBytes_AS_STRING(path), &fault) == CLP_OK ? Py_NewRef(Py_None)
                                                                                 : raise(&fault, path);
    Py_DECREF(path);
    return result;
}

PyObject *clp_places_put_aside(PyObject *module, PyObject *arguments)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf pattern, path;
    struct clp_fault fault;
    Py_buffer bytes;
    PyObject *name;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "O&y*:put_aside", PyUnicode_FSConverter, &name, &bytes))
        return NULL;
    clp_buf_init(&pattern, &mem);
    clp_buf_init(&path, &mem);
    clp_buf_add_format(&pattern, "clineprof-XXXXXX-%s", PyBytes_AS_STRING(name));
    clp_status status;
    Py_BEGIN_ALLOW_THREADS
    status = clp_file_write_temporary(clp_buf_text(&pattern), bytes.buf, (size_t)bytes.len, &path, &fault);
    Py_END_ALLOW_THREADS
    PyObject *result = status == CLP_OK ? PyUnicode_DecodeFSDefault(clp_buf_text(&path)) : raise(&fault, name);
    clp_buf_clear(&pattern);
    clp_buf_clear(&path);
    PyBuffer_Release(&bytes);
    Py_DECREF(name);
    return result;
}

PyObject *clp_places_rights(PyObject *module, PyObject *paths)
{
    unsigned rights = PyTuple_GET_SIZE(paths) != 0 ? 0666 : CLP_FILE_PRIVATE;

    (void)module;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(paths); i++) {
        PyObject *path;
        if (!PyUnicode_FSConverter(PyTuple_GET_ITEM(paths, i), &path))
            return NULL;
        rights &= clp_file_rights(PyBytes_AS_STRING(path));
        Py_DECREF(path);
    }
    return PyLong_FromUnsignedLong(rights);
}

/* Finds a free name and makes the file. Tries again when another process has taken the name in between. */
static PyObject *make_own(PyObject *path, unsigned rights)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf name;
    int file;

    clp_buf_init(&name, &mem);
    do {
        clp_buf_clear(&name);
        clp_buf_add_text(&name, PyBytes_AS_STRING(path));
        clp_naming_make_own(&name);
        file = open(clp_buf_text(&name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, rights);
    } while (file < 0 && errno == EEXIST);
    PyObject *made = PyUnicode_DecodeFSDefault(clp_buf_text(&name));
    if (file >= 0)
        close(file);
    clp_buf_clear(&name);
    return made;
}

PyObject *clp_places_own_name(PyObject *module, PyObject *arguments)
{
    PyObject *path;
    unsigned rights;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "O&I:own_name", PyUnicode_FSConverter, &path, &rights))
        return NULL;
    PyObject *made = make_own(path, rights);
    Py_DECREF(path);
    return made;
}

PyObject *clp_places_rank(PyObject *module, PyObject *nothing)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf name;

    (void)module, (void)nothing;
    clp_buf_init(&name, &mem);
    clp_naming_add_rank(&name);
    PyObject *rank = PyUnicode_FromString(clp_buf_text(&name));
    clp_buf_clear(&name);
    return rank;
}

PyObject *clp_places_identity(PyObject *module, PyObject *nothing)
{
    struct clp_identity me;

    (void)module, (void)nothing;
    clp_identity_here(&me);
    return Py_BuildValue("(NNN)", PyUnicode_FromFormat("%llu", (unsigned long long)me.pid),
                         PyUnicode_FromFormat("%llu", (unsigned long long)me.start),
                         PyUnicode_FromFormat("%s/%llu", me.boot, (unsigned long long)me.pid_namespace));
}
