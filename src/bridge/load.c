/* SPDX-License-Identifier: MIT */
#include "load.h"
#include "profile/calls.h"
#include "report/columns.h"
#include "values.h"
#include <string.h>

static PyObject *text_of(const char *text, size_t bytes)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)bytes, "backslashreplace");
}

static bool set_text(PyObject *dict, const char *key, const char *text)
{
    return clp_dict_set(dict, key, text_of(text, strlen(text)));
}

/* ---- columns ---- */

static PyObject *number_of_count(const void *value)
{
    return PyLong_FromUnsignedLongLong(*(const uint64_t *)value);
}

static PyObject *number_of_change(const void *value)
{
    return PyLong_FromLongLong(*(const int64_t *)value);
}

typedef PyObject *make_object(const void *item);

/* Makes a list of what `make` makes of each item. */
static PyObject *list_of(const void *items, size_t count, size_t item_bytes, make_object *make)
{
    PyObject *list = PyList_New((Py_ssize_t)count);

    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *object = make((const char *)items + i * item_bytes);
        if (object == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, object);
    }
    return list;
}

#define LIST_OF(items, count, make) list_of(items, count, sizeof *(items), make)

static PyObject *number_of_line(const void *line)
{
    return PyLong_FromLong(((const struct clp_profile_line *)line)->line);
}

static PyObject *is_below_resolution(const void *line)
{
    return PyBool_FromLong(clp_measures_below_resolution(&((const struct clp_profile_line *)line)->measures));
}

static bool any_below_resolution(const struct clp_profile_function *function)
{
    for (size_t i = 0; i < function->line_count; i++)
        if (clp_measures_below_resolution(&function->lines[i].measures))
            return true;
    return false;
}

static bool is_zero(const struct clp_profile_function *function, size_t at)
{
    for (size_t i = 0; i < function->line_count; i++) {
        const char *measures = (const char *)&function->lines[i].measures;
        if (*(const uint64_t *)(const void *)(measures + at) != 0)
            return false;
    }
    return true;
}

static PyObject *spread_of(const void *line)
{
    const struct clp_profile_spread *spread = &((const struct clp_profile_line *)line)->spread;

    return Py_BuildValue("(KKIII)", (unsigned long long)spread->least, (unsigned long long)spread->most,
                         (unsigned)spread->least_in, (unsigned)spread->most_in, (unsigned)spread->count);
}

/* Columns of zeros are left out. */
static PyObject *lines_of(const struct clp_profile_function *function)
{
    const struct clp_profile_line *lines = function->lines;
    size_t count = function->line_count;
    PyObject *columns = PyDict_New();
    bool good = columns != NULL && clp_dict_set(columns, "line", LIST_OF(lines, count, number_of_line));

    for (size_t i = 0; good && i < CLP_MEASURES; i++) {
        const struct clp_measure_row *row = &clp_measure_rows[i];
        if (row->kept && !is_zero(function, row->at))
            good = clp_dict_set(columns, row->field,
                                list_of((const char *)&lines->measures + row->at, count, sizeof *lines,
                                        row->is_signed ? number_of_change : number_of_count));
    }
    if (good && any_below_resolution(function))
        good = clp_dict_set(columns, "below_resolution", LIST_OF(lines, count, is_below_resolution));
    if (!good)
        Py_CLEAR(columns);
    return columns;
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

static PyObject *number_of_missed(const void *line)
{
    return PyLong_FromLong(*(const int32_t *)line);
}

static PyObject *leak_of(const void *item)
{
    const struct clp_profile_leak *leak = item;

    PyObject *dict = Py_BuildValue("{s:i,s:K,s:K,s:d,s:d,s:d,s:O,s:O}", "line", (int)leak->line, "bytes",
                                   (unsigned long long)leak->bytes, "margin", (unsigned long long)leak->margin,
                                   "bytes_per_call", leak->bytes_per_call, "bytes_per_second", leak->bytes_per_second,
                                   "confidence", leak->confidence, "per_execution",
                                   leak->per_execution ? Py_True : Py_False, "at_end",
                                   leak->at_end ? Py_True : Py_False);
    if (dict != NULL && leak->held_by != NULL && !set_text(dict, "held_by", leak->held_by))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *callee_of(const void *item)
{
    const struct clp_profile_callee *callee = item;
    PyObject *dict = Py_BuildValue("{s:i,s:K,s:O}", "line", (int)callee->line, "time",
                                   (unsigned long long)callee->time, "library", callee->library ? Py_True : Py_False);

    if (dict != NULL && !set_text(dict, "name", callee->name))
        Py_CLEAR(dict);
    return dict;
}

/* ---- functions and the rest ---- */

static PyObject *source_of(const struct clp_profile_function *function)
{
    if (function->source == NULL)
        Py_RETURN_NONE;
    return text_of(function->source, function->source_bytes);
}

static PyObject *text_or_none(const char *text)
{
    return text != NULL ? text_of(text, strlen(text)) : Py_NewRef(Py_None);
}

static PyObject *compiled_of(const struct clp_profile_function *function)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;
    PyObject *object;

    if (function->compiler == NULL)
        Py_RETURN_NONE;
    clp_buf_init(&text, &mem);
    clp_profile_add_compiled(&text, function);
    object = text.failed ? PyErr_NoMemory() : text_or_none(clp_buf_text(&text));
    clp_buf_clear(&text);
    return object;
}

static PyObject *function_of(const void *item)
{
    const struct clp_profile_function *function = item;
    PyObject *dict = PyDict_New();
    bool good = dict != NULL && set_text(dict, "file", function->file) &&
                clp_dict_set(dict, "line", PyLong_FromLong(function->first_line)) &&
                set_text(dict, "name", function->name) &&
                clp_dict_set(dict, "total", PyLong_FromUnsignedLongLong(function->total)) &&
                clp_dict_set(dict, "raw_total", PyLong_FromUnsignedLongLong(function->raw_total)) &&
                clp_dict_set(dict, "lines", lines_of(function)) &&
                clp_dict_set(dict, "running", running_of(function)) &&
                clp_dict_set(dict, "missed",
                             LIST_OF(function->missed, function->missed_count, number_of_missed)) &&
                clp_dict_set(dict, "leaks",
                             LIST_OF(function->leaks, function->leak_count, leak_of)) &&
                clp_dict_set(dict, "callees",
                             LIST_OF(function->callees, function->callee_count, callee_of)) &&
                clp_dict_set(dict, "compiler", text_or_none(function->compiler)) &&
                clp_dict_set(dict, "compiled", compiled_of(function)) &&
                clp_dict_set(dict, "compiled_calls", PyLong_FromUnsignedLongLong(function->compiled.calls)) &&
                clp_dict_set(dict, "compilations", PyLong_FromUnsignedLongLong(function->compiled.times)) &&
                clp_dict_set(dict, "compile_time", PyLong_FromUnsignedLongLong(function->compiled.nanos)) &&
                clp_dict_set(dict, "source", source_of(function)) &&
                clp_dict_set(dict, "source_changed", PyBool_FromLong(function->source_changed)) &&
                (!clp_profile_has_spread(function) ||
                 clp_dict_set(dict, "spread", LIST_OF(function->lines, function->line_count, spread_of)));

    if (!good)
        Py_CLEAR(dict);
    return dict;
}

static PyObject *mark_of(const void *item)
{
    const struct clp_profile_mark *mark = item;
    PyObject *dict = PyDict_New();
    bool good = dict != NULL && set_text(dict, "file", mark->file) &&
                clp_dict_set(dict, "line", PyLong_FromLong(mark->first_line)) &&
                set_text(dict, "name", mark->name) &&
                clp_dict_set(dict, "level", PyLong_FromUnsignedLong(mark->level)) &&
                clp_dict_set(dict, "enter", PyLong_FromUnsignedLongLong(mark->enter)) &&
                clp_dict_set(dict, "leave", PyLong_FromUnsignedLongLong(mark->leave));

    if (!good)
        Py_CLEAR(dict);
    return dict;
}

static PyObject *series_of(const void *item)
{
    const struct clp_profile_series *series = item;
    PyObject *dict = PyDict_New();
    bool good = dict != NULL && clp_dict_set(dict, "pid", PyLong_FromUnsignedLongLong(series->pid)) &&
                clp_dict_set(dict, "start", PyFloat_FromDouble(series->start)) &&
                clp_dict_set(dict, "time", LIST_OF(series->time, series->count, number_of_count)) &&
                clp_dict_set(dict, "rss", LIST_OF(series->rss, series->count, number_of_count)) &&
                (series->mark_count == 0 ||
                 clp_dict_set(dict, "marks", LIST_OF(series->marks, series->mark_count, mark_of)));

    if (!good)
        Py_CLEAR(dict);
    return dict;
}

/* A text that is not known is left out. */
static bool set_known(PyObject *dict, const char *key, const char *text)
{
    return text == NULL || set_text(dict, key, text);
}

static PyObject *process_of(const void *item)
{
    const struct clp_profile_process *process = item;
    PyObject *dict = PyDict_New();
    bool good = dict != NULL && clp_dict_set(dict, "pid", PyLong_FromUnsignedLongLong(process->pid)) &&
                clp_dict_set(dict, "parent", PyLong_FromUnsignedLongLong(process->parent)) &&
                clp_dict_set(dict, "start", PyFloat_FromDouble(process->start)) &&
                clp_dict_set(dict, "wall", PyLong_FromUnsignedLongLong(process->wall)) &&
                clp_dict_set(dict, "self", PyLong_FromUnsignedLongLong(process->self)) &&
                clp_dict_set(dict, "events", PyLong_FromUnsignedLongLong(process->events)) &&
                set_known(dict, "name", process->name) && set_known(dict, "host", process->host) &&
                set_known(dict, "boot", process->boot) && set_known(dict, "rank", process->rank) &&
                (process->pid_namespace == 0 ||
                 clp_dict_set(dict, "pid_namespace", PyLong_FromUnsignedLongLong(process->pid_namespace))) &&
                (process->restart == 0 ||
                 clp_dict_set(dict, "restart", PyLong_FromUnsignedLongLong(process->restart)));

    if (!good)
        Py_CLEAR(dict);
    return dict;
}

/* A calling context as Call in _profile/__init__.py has it, with a function's place in the place of the function. */
static PyObject *call_of(const struct clp_profile_call *call, uint64_t self)
{
    PyObject *parent = call->parent != 0 ? PyLong_FromUnsignedLong(call->parent - 1) : Py_NewRef(Py_None);
    PyObject *function = call->function != CLP_CALL_DEEPER ? PyLong_FromUnsignedLong(call->function)
                                                           : Py_NewRef(Py_None);

    return Py_BuildValue("(NiNOKKKLK)", parent, (int)call->line, function, call->through ? Py_True : Py_False,
                         (unsigned long long)call->calls, (unsigned long long)call->time,
                         (unsigned long long)call->again, (long long)call->increment,
                         (unsigned long long)self);
}

static PyObject *calls_of(const struct clp_profile *profile)
{
    uint64_t *self = clp_mem_alloc(profile->mem, profile->call_count, sizeof *self);
    PyObject *list = PyList_New(0);

    if (profile->call_count != 0 && (self == NULL || clp_profile_call_selves(profile, self) != CLP_OK)) {
        Py_CLEAR(list);
        PyErr_NoMemory();
    }
    for (size_t i = 0; list != NULL && i < profile->call_count; i++)
        if (!clp_list_append(list, call_of(&profile->calls[i], self[i])))
            Py_CLEAR(list);
    clp_mem_free(profile->mem, self, profile->call_count, sizeof *self);
    return list;
}

static bool set_meta_number(PyObject *dict, const char *key, uint64_t number)
{
    return clp_dict_set(dict, key, PyLong_FromUnsignedLongLong(number));
}

static bool set_meta_flag(PyObject *dict, const char *key, bool flag)
{
    return clp_dict_set(dict, key, PyBool_FromLong(flag));
}

static bool set_meta_seconds(PyObject *dict, const char *key, double seconds)
{
    return clp_dict_set(dict, key, PyFloat_FromDouble(seconds));
}

#define SET_TEXT set_known
#define SET_COUNT set_meta_number
#define SET_ASKED set_meta_number
#define SET_TIME set_meta_number
#define SET_FLAG set_meta_flag
#define SET_SECONDS set_meta_seconds

static PyObject *meta_of(const struct clp_profile_meta *meta)
{
    PyObject *dict = PyDict_New();
    bool good = dict != NULL;

#define SET_META(name, kind) good = good && SET_##kind(dict, #name, meta->name);
    CLP_META_TABLE(SET_META)
#undef SET_META
    if (!good)
        Py_CLEAR(dict);
    return dict;
}

/* The whole texts of files that the profile has kept: a list of (file, text). */
static PyObject *files_of(const struct clp_profile *profile)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list != NULL && i < profile->text_count; i++) {
        const struct clp_profile_text *text = &profile->texts[i];
        if (text->file != NULL && !clp_list_append(list, Py_BuildValue("(NN)", text_of(text->file, strlen(text->file)),
                                                                       text_of(text->text, text->bytes))))
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *line_log_of(const void *item)
{
    const struct clp_profile_line_log *log = item;

    return PyBytes_FromStringAndSize(log->bytes, (Py_ssize_t)log->count);
}

PyObject *clp_load_dict(const struct clp_profile *profile)
{
    PyObject *dict = PyDict_New();
    bool good = dict != NULL && clp_dict_set(dict, "unit", PyFloat_FromDouble(1e-9)) &&
                clp_dict_set(dict, "functions",
                             LIST_OF(profile->functions, profile->function_count, function_of)) &&
                clp_dict_set(dict, "files", files_of(profile)) &&
                clp_dict_set(dict, "timeline",
                             LIST_OF(profile->series, profile->series_count, series_of)) &&
                clp_dict_set(dict, "line_log",
                             LIST_OF(profile->line_logs, profile->line_log_count, line_log_of)) &&
                clp_dict_set(dict, "meta", meta_of(&profile->meta)) &&
                clp_dict_set(dict, "processes",
                             LIST_OF(profile->processes, profile->process_count, process_of)) &&
                clp_dict_set(dict, "calls", calls_of(profile)) &&
                set_meta_number(dict, "calls_cut", profile->calls_cut) &&
                clp_dict_set(dict, "allocated_tells", PyBool_FromLong(clp_columns_allocated_tells(profile)));

    if (!good)
        Py_CLEAR(dict);
    return dict;
}
