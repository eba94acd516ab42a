/* SPDX-License-Identifier: MIT */
#include "load.h"
#include "reading.h"
#include <errno.h>
#include <string.h>

static PyObject *text_of(const char *text, size_t bytes)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)bytes, "backslashreplace");
}

/* Takes the reference to `value`; NULL is a failure that has its exception already. */
static bool set(PyObject *dict, const char *key, PyObject *value)
{
    bool done = value != NULL && PyDict_SetItemString(dict, key, value) == 0;

    Py_XDECREF(value);
    return done;
}

static bool set_text(PyObject *dict, const char *key, const char *text)
{
    return set(dict, key, text_of(text, strlen(text)));
}

/* ---- columns ---- */

static PyObject *number_of_uint64_t(uint64_t value)
{
    return PyLong_FromUnsignedLongLong(value);
}

static PyObject *number_of_int64_t(int64_t value)
{
    return PyLong_FromLongLong(value);
}

static PyObject *number_of_line(const struct clp_profile_line *line)
{
    return PyLong_FromLong(line->line);
}

#define CLP_MEASURE_GETTERS(name, type, merge)                            \
    static bool has_##name(const struct clp_profile_line *line)           \
    {                                                                     \
        return line->measures.name != 0;                                  \
    }                                                                     \
    static PyObject *number_of_##name(const struct clp_profile_line *line) \
    {                                                                     \
        return number_of_##type(line->measures.name);                     \
    }
CLP_MEASURE_TABLE(CLP_MEASURE_GETTERS)
#undef CLP_MEASURE_GETTERS

static const struct column {
    const char *name;
    bool (*has)(const struct clp_profile_line *line);
    PyObject *(*number_of)(const struct clp_profile_line *line);
} columns[] = {
#define CLP_MEASURE_COLUMN(name, type, merge) {#name, has_##name, number_of_##name},
    CLP_MEASURE_TABLE(CLP_MEASURE_COLUMN)
#undef CLP_MEASURE_COLUMN
};

static PyObject *list_of(const struct clp_profile_function *function,
                         PyObject *(*number_of)(const struct clp_profile_line *line))
{
    PyObject *list = PyList_New((Py_ssize_t)function->line_count);

    for (size_t i = 0; list != NULL && i < function->line_count; i++) {
        PyObject *number = number_of(&function->lines[i]);
        if (number == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, number);
    }
    return list;
}

static bool is_zero(const struct clp_profile_function *function, const struct column *column)
{
    for (size_t i = 0; i < function->line_count; i++)
        if (column->has(&function->lines[i]))
            return false;
    return true;
}

static PyObject *lines_of(const struct clp_profile_function *function)
{
    PyObject *lines = PyDict_New();
    bool good = lines != NULL && set(lines, "line", list_of(function, number_of_line));

    for (size_t i = 0; good && i < sizeof columns / sizeof *columns; i++)
        if (!is_zero(function, &columns[i]))
            good = set(lines, columns[i].name, list_of(function, columns[i].number_of));
    if (!good)
        Py_CLEAR(lines);
    return lines;
}

static PyObject *running_of(const struct clp_profile_function *function)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list != NULL && i < function->line_count; i++) {
        if (!function->lines[i].running)
            continue;
        PyObject *number = number_of_line(&function->lines[i]);
        if (number == NULL || PyList_Append(list, number) != 0)
            Py_CLEAR(list);
        Py_XDECREF(number);
    }
    return list;
}

static PyObject *leak_of(const struct clp_profile_leak *leak)
{
    return Py_BuildValue("{s:i,s:K,s:d,s:d,s:d}", "line", (int)leak->line, "bytes",
                         (unsigned long long)leak->bytes, "bytes_per_call", leak->bytes_per_call,
                         "bytes_per_second", leak->bytes_per_second, "confidence",
                         leak->confidence);
}

static PyObject *leaks_of(const struct clp_profile_function *function)
{
    PyObject *list = PyList_New((Py_ssize_t)function->leak_count);

    for (size_t i = 0; list != NULL && i < function->leak_count; i++) {
        PyObject *leak = leak_of(&function->leaks[i]);
        if (leak == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, leak);
    }
    return list;
}

/* ---- functions and the rest ---- */

static PyObject *source_of(const struct clp_profile_function *function)
{
    if (function->source == NULL)
        Py_RETURN_NONE;
    return text_of(function->source, function->source_bytes);
}

static PyObject *function_of(const struct clp_profile_function *function)
{
    PyObject *dict = PyDict_New();
    bool good = dict != NULL && set_text(dict, "file", function->file) &&
                set(dict, "line", PyLong_FromLong(function->first_line)) &&
                set_text(dict, "name", function->name) &&
                set(dict, "total", PyLong_FromUnsignedLongLong(function->total)) &&
                set(dict, "raw_total", PyLong_FromUnsignedLongLong(function->raw_total)) &&
                set(dict, "lines", lines_of(function)) &&
                set(dict, "running", running_of(function)) &&
                set(dict, "leaks", leaks_of(function)) &&
                set(dict, "source", source_of(function));

    if (!good)
        Py_CLEAR(dict);
    return dict;
}

static PyObject *functions_of(const struct clp_profile *profile)
{
    PyObject *list = PyList_New((Py_ssize_t)profile->function_count);

    for (size_t i = 0; list != NULL && i < profile->function_count; i++) {
        PyObject *function = function_of(&profile->functions[i]);
        if (function == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, function);
    }
    return list;
}

static PyObject *numbers_of(const uint64_t *numbers, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);

    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *number = number_of_uint64_t(numbers[i]);
        if (number == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, number);
    }
    return list;
}

static PyObject *mark_of(const struct clp_profile_mark *mark)
{
    PyObject *dict = PyDict_New();
    bool good = dict != NULL && set_text(dict, "file", mark->file) &&
                set(dict, "line", PyLong_FromLong(mark->first_line)) &&
                set_text(dict, "name", mark->name) &&
                set(dict, "level", PyLong_FromUnsignedLong(mark->level)) &&
                set(dict, "enter", number_of_uint64_t(mark->enter)) &&
                set(dict, "leave", number_of_uint64_t(mark->leave));

    if (!good)
        Py_CLEAR(dict);
    return dict;
}

static PyObject *marks_of(const struct clp_profile_series *series)
{
    PyObject *list = PyList_New((Py_ssize_t)series->mark_count);

    for (size_t i = 0; list != NULL && i < series->mark_count; i++) {
        PyObject *mark = mark_of(&series->marks[i]);
        if (mark == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, mark);
    }
    return list;
}

static PyObject *series_of(const struct clp_profile_series *series)
{
    PyObject *dict = PyDict_New();
    bool good = dict != NULL && set(dict, "pid", number_of_uint64_t(series->pid)) &&
                set(dict, "start", PyFloat_FromDouble(series->start)) &&
                set(dict, "time", numbers_of(series->time, series->count)) &&
                set(dict, "rss", numbers_of(series->rss, series->count)) &&
                (series->mark_count == 0 || set(dict, "marks", marks_of(series)));

    if (!good)
        Py_CLEAR(dict);
    return dict;
}

static PyObject *timeline_of(const struct clp_profile *profile)
{
    PyObject *list = PyList_New((Py_ssize_t)profile->series_count);

    for (size_t i = 0; list != NULL && i < profile->series_count; i++) {
        PyObject *series = series_of(&profile->series[i]);
        if (series == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, series);
    }
    return list;
}

static bool set_known_text(PyObject *dict, const char *key, const char *text)
{
    return text == NULL || set_text(dict, key, text);
}

static PyObject *meta_of(const struct clp_profile_meta *meta)
{
    PyObject *dict = PyDict_New();
    bool good = dict != NULL && set_known_text(dict, "python", meta->python) &&
                set_known_text(dict, "tracer", meta->tracer) &&
                set_known_text(dict, "command", meta->command) &&
                set_known_text(dict, "memory", meta->memory) &&
                set(dict, "pid", number_of_uint64_t(meta->pid)) &&
                set(dict, "start", PyFloat_FromDouble(meta->start)) &&
                set(dict, "wall", number_of_uint64_t(meta->wall)) &&
                set(dict, "overhead", number_of_uint64_t(meta->overhead)) &&
                set(dict, "overhead_error", number_of_uint64_t(meta->overhead_error)) &&
                set(dict, "events", number_of_uint64_t(meta->events)) &&
                set(dict, "reads", number_of_uint64_t(meta->reads)) &&
                set(dict, "own_bytes", number_of_uint64_t(meta->own_bytes)) &&
                set(dict, "others_grown", number_of_uint64_t(meta->others_grown)) &&
                set(dict, "others_released", number_of_uint64_t(meta->others_released)) &&
                set(dict, "has_memory", PyBool_FromLong(meta->has_memory)) &&
                set(dict, "inexact_memory", PyBool_FromLong(meta->inexact_memory)) &&
                set(dict, "memory_step", number_of_uint64_t(meta->memory_step)) &&
                set(dict, "heap_interval", number_of_uint64_t(meta->heap_interval)) &&
                set(dict, "heap_live", number_of_uint64_t(meta->heap_live)) &&
                set(dict, "heap_peak", number_of_uint64_t(meta->heap_peak)) &&
                set(dict, "heap_unselected", number_of_uint64_t(meta->heap_unselected)) &&
                set(dict, "heap_unselected_peak", number_of_uint64_t(meta->heap_unselected_peak)) &&
                set(dict, "heap_before", number_of_uint64_t(meta->heap_before));

    if (!good)
        Py_CLEAR(dict);
    return dict;
}

PyObject *clp_load_dict(const struct clp_profile *profile)
{
    PyObject *dict = PyDict_New();
    bool good = dict != NULL && set(dict, "unit", PyFloat_FromDouble(1e-9)) &&
                set(dict, "functions", functions_of(profile)) &&
                set(dict, "timeline", timeline_of(profile)) &&
                set(dict, "meta", meta_of(&profile->meta));

    if (!good)
        Py_CLEAR(dict);
    return dict;
}

/* ---- files ---- */

static void raise(const char *path, const struct clp_fault *fault, struct clp_mem *mem)
{
    struct clp_buf text;

    if (fault->status == CLP_NO_MEMORY) {
        PyErr_NoMemory();
    } else if (fault->os_error != 0) {
        errno = fault->os_error;
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, path);
    } else {
        clp_buf_init(&text, mem);
        clp_reading_add_fault(path, fault, &text);
        PyErr_SetString(PyExc_ValueError, clp_buf_text(&text));
        clp_buf_clear(&text);
    }
}

static bool add_file(PyObject *path, struct clp_profile *sum)
{
    struct clp_profile one;
    struct clp_fault fault;
    PyObject *name;

    if (!PyUnicode_FSConverter(path, &name))
        return false;
    clp_profile_init(&one, sum->mem);
    if (clp_reading_file(PyBytes_AS_STRING(name), &one, NULL, &fault) == CLP_OK)
        fault.status = clp_profile_merge(sum, &one);
    if (fault.status != CLP_OK)
        raise(PyBytes_AS_STRING(name), &fault, sum->mem);
    clp_profile_clear(&one);
    Py_DECREF(name);
    return fault.status == CLP_OK;
}

PyObject *clp_load_files(PyObject *paths)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_profile sum;
    PyObject *dict = NULL;
    bool good = true;

    clp_profile_init(&sum, &mem);
    for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(paths); i++)
        good = add_file(PyTuple_GET_ITEM(paths, i), &sum);
    if (good)
        dict = clp_load_dict(&sum);
    clp_profile_clear(&sum);
    return dict;
}
