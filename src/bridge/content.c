/* SPDX-License-Identifier: MIT */
#include "content.h"
#include "family_files.h"
#include "formats/lprof/dedupe_processes.h"
#include "formats/lprof/wire_reader.h"
#include "load.h"
#include "profile/profile_merge.h"
#include "profile/texts.h"
#include "reading.h"
#include "rendering.h"
#include "report/report.h"
#include "values.h"
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

PyObject *clp_content_of(const struct clp_profile *profile)
{
    const struct clp_rendering own_file = {.format = "lprof"};

    return clp_rendering_of(profile, &own_file);
}

PyObject *clp_content_dict(const struct clp_profile *profile)
{
    PyObject *dict = clp_load_dict(profile);

    if (dict != NULL && !clp_dict_set(dict, "content", clp_content_of(profile)))
        Py_CLEAR(dict);
    return dict;
}

/* Warns if parts of a damaged file were left out. False with an exception set, which a filter may make of it. */
static bool warn(const char *path, const struct clp_profile *profile)
{
    struct clp_buf text;

    clp_buf_init(&text, profile->mem);
    clp_reading_add_left_out(path, profile, &text);
    bool good = text.used == 0 || PyErr_WarnEx(PyExc_RuntimeWarning, clp_buf_text(&text), 2) == 0;
    clp_buf_clear(&text);
    return good;
}

bool clp_content_read(const char *bytes, Py_ssize_t count, struct clp_profile *profile)
{
    struct clp_fault fault;

    if (clp_wire_decode(bytes, (size_t)count, profile, &fault) == CLP_OK)
        return warn("profile", profile);
    if (fault.status == CLP_NO_MEMORY)
        PyErr_NoMemory();
    else
        PyErr_SetString(PyExc_ValueError, clp_fault_text(&fault));
    return false;
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

/* Adds a profile to the sum, each process once. False with an exception set. */
static bool merge(struct clp_dedupe *once, struct clp_profile *sum, struct clp_profile *one, const char *name)
{
    if (clp_dedupe_merge(once, sum, one, name))
        return true;
    PyErr_SetString(PyExc_ValueError, clp_buf_text(&once->complaint));
    return false;
}

static bool add_file(PyObject *path, struct clp_dedupe *once, struct clp_profile *sum)
{
    struct clp_profile one;
    struct clp_fault fault;
    PyObject *name;

    if (!PyUnicode_FSConverter(path, &name))
        return false;
    clp_profile_init(&one, sum->mem);
    bool good = clp_reading_file(PyBytes_AS_STRING(name), false, &one, NULL, &fault) == CLP_OK;
    if (!good)
        raise(PyBytes_AS_STRING(name), &fault, sum->mem);
    else
        good = warn(PyBytes_AS_STRING(name), &one) && merge(once, sum, &one, PyBytes_AS_STRING(name));
    clp_profile_clear(&one);
    Py_DECREF(name);
    return good;
}

/* Adds the content of a .lprof file, the one of this number. False with an exception set. */
static bool add_bytes(PyObject *content, Py_ssize_t number, struct clp_dedupe *once, struct clp_profile *sum)
{
    struct clp_fault fault;
    struct clp_profile one;
    char *bytes, name[32];
    Py_ssize_t count;

    if (PyBytes_AsStringAndSize(content, &bytes, &count) != 0)
        return false;
    (void)snprintf(name, sizeof name, "profile %zd", number);
    clp_profile_init(&one, sum->mem);
    bool good = clp_wire_decode(bytes, (size_t)count, &one, &fault) == CLP_OK;
    if (!good)
        raise(name, &fault, sum->mem);
    else
        good = warn(name, &one) && merge(once, sum, &one, name);
    clp_profile_clear(&one);
    return good;
}

static bool add_each(PyObject *items, bool are_files, struct clp_dedupe *once, struct clp_profile *sum)
{
    bool good = true;

    for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(items); i++)
        good = are_files ? add_file(PyTuple_GET_ITEM(items, i), once, sum)
                         : add_bytes(PyTuple_GET_ITEM(items, i), i + 1, once, sum);
    return good;
}

/* Makes the sum of profiles, paths of files or contents, in which each process counts once. False with an exception
 * set. */
static bool add_all(PyObject *items, bool are_files, struct clp_profile *sum)
{
    struct clp_mem *mem = sum->mem;
    struct clp_dedupe once;

    clp_dedupe_init(&once, PyTuple_GET_SIZE(items) > 1, mem);
    bool good = add_each(items, are_files, &once, sum);
    if (good && once.again) {
        clp_dedupe_begin_again(&once);
        clp_profile_clear(sum);
        good = add_each(items, are_files, &once, sum);
    }
    clp_dedupe_clear(&once);
    return good;
}

/* A tuple of the paths; or of those of the whole family, if the only one is the live file of a run's first process. NULL
 * with an exception set. */
static PyObject *with_family(PyObject *paths)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_family_files family;
    PyObject *path;

    if (PyTuple_GET_SIZE(paths) != 1)
        return Py_NewRef(paths);
    if (!PyUnicode_FSConverter(PyTuple_GET_ITEM(paths, 0), &path))
        return NULL;
    clp_family_files_find(&family, PyBytes_AS_STRING(path), &mem);
    bool leads = clp_family_files_lead(&family, PyBytes_AS_STRING(path));
    PyObject *all = leads ? PyTuple_New((Py_ssize_t)family.count) : Py_NewRef(paths);
    for (size_t i = 0; all != NULL && leads && i < family.count; i++) {
        PyObject *name = PyUnicode_DecodeFSDefault(family.items[i]);
        if (name == NULL)
            Py_CLEAR(all);
        else
            PyTuple_SET_ITEM(all, (Py_ssize_t)i, name);
    }
    clp_family_files_clear(&family);
    Py_DECREF(path);
    return all;
}

PyObject *clp_content_of_files(PyObject *module, PyObject *paths)
{
    struct clp_mem mem = clp_mem_system();
    PyObject *all = with_family(paths);
    struct clp_profile sum;

    (void)module;
    clp_profile_init(&sum, &mem);
    PyObject *dict = all != NULL && add_all(all, true, &sum) ? clp_content_dict(&sum) : NULL;
    clp_profile_clear(&sum);
    Py_XDECREF(all);
    return dict;
}

/* The content of the sum of `items`; see add_all. */
static PyObject *sum_of(PyObject *items, bool are_files)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_profile sum;

    clp_profile_init(&sum, &mem);
    PyObject *bytes = add_all(items, are_files, &sum) ? clp_content_of(&sum) : NULL;
    clp_profile_clear(&sum);
    return bytes;
}

PyObject *clp_content_sum(PyObject *module, PyObject *paths)
{
    (void)module;
    return sum_of(paths, true);
}

static PyObject *hottest_of(const struct clp_profile *profile, size_t count)
{
    struct clp_report_options options = clp_report_defaults();
    char folder[PATH_MAX];
    PyObject *text = NULL;
    struct clp_buf out;

    options.lines = count;
    options.choice.order = CLP_CHOICE_BY_self;
    options.folder = getcwd(folder, sizeof folder);
    clp_buf_init(&out, profile->mem);
    bool whole = clp_report_text(profile, &options, &out) == CLP_OK;
    clp_buf_add_text(&out, "\n");
    if (whole && !out.failed)
        text = PyUnicode_DecodeUTF8(clp_buf_text(&out), (Py_ssize_t)out.used, "backslashreplace");
    else
        PyErr_NoMemory();
    clp_buf_clear(&out);
    return text;
}

PyObject *clp_content_hottest(PyObject *module, PyObject *arguments)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_profile profile;
    PyObject *text = NULL;
    Py_ssize_t size, count;
    const char *bytes;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "y#n:hottest", &bytes, &size, &count))
        return NULL;
    clp_profile_init(&profile, &mem);
    if (clp_content_read(bytes, size, &profile))
        text = profile.meta.events != 0 ? hottest_of(&profile, count > 0 ? (size_t)count : 1)
                                        : PyUnicode_FromString("");
    clp_profile_clear(&profile);
    return text;
}

/* ---- the sum of contents ---- */

/* Replaces the name of a file by the one that name(file) returns, if it returns one. */
static bool rename_file(struct clp_profile *profile, char **file, PyObject *name)
{
    PyObject *found = *file != NULL ? PyObject_CallFunction(name, "N", PyUnicode_DecodeUTF8(
                                          *file, (Py_ssize_t)strlen(*file), "backslashreplace"))
                                    : Py_NewRef(Py_None);
    const char *text = found != NULL && found != Py_None ? PyUnicode_AsUTF8(found) : NULL;

    if (text != NULL && clp_profile_set_text(profile, file, text) != CLP_OK)
        PyErr_NoMemory();
    Py_XDECREF(found);
    return !PyErr_Occurred();
}

static bool rename_files(struct clp_profile *profile, PyObject *name)
{
    bool good = true;

    for (size_t i = 0; good && i < profile->function_count; i++)
        good = rename_file(profile, &profile->functions[i].file, name);
    for (size_t i = 0; good && i < profile->text_count; i++)
        good = rename_file(profile, &profile->texts[i].file, name);
    for (size_t i = 0; good && i < profile->series_count; i++)
        for (size_t j = 0; good && j < profile->series[i].mark_count; j++)
            good = rename_file(profile, &profile->series[i].marks[j].file, name);
    return good;
}

static bool add_content(PyObject *content, PyObject *name, struct clp_profile *sum)
{
    struct clp_profile profile;
    bool good = PyBytes_Check(content);

    if (!good) {
        PyErr_Format(PyExc_TypeError, "the content of a profile must be bytes, not %s", Py_TYPE(content)->tp_name);
        return false;
    }
    clp_profile_init(&profile, sum->mem);
    good = clp_content_read(PyBytes_AS_STRING(content), PyBytes_GET_SIZE(content), &profile) &&
           (name == Py_None || rename_files(&profile, name));
    if (good && clp_profile_merge(sum, &profile) != CLP_OK) {
        PyErr_NoMemory();
        good = false;
    }
    clp_profile_clear(&profile);
    return good;
}

PyObject *clp_content_merge(PyObject *module, PyObject *contents)
{
    (void)module;
    return sum_of(contents, false);
}

PyObject *clp_content_total(PyObject *module, PyObject *arguments)
{
    struct clp_mem mem = clp_mem_system();
    PyObject *contents, *name = Py_None;
    struct clp_profile sum;
    bool good = true;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!|O:total", &PyTuple_Type, &contents, &name))
        return NULL;
    clp_profile_init(&sum, &mem);
    for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(contents); i++)
        good = add_content(PyTuple_GET_ITEM(contents, i), name, &sum);
    PyObject *dict = good ? clp_content_dict(&sum) : NULL;
    clp_profile_clear(&sum);
    return dict;
}

/* ---- texts ---- */

/* Gives the function its part of its file's text, if it has none and `texts` has the file. False with an exception set. */
static bool give_text(struct clp_profile *profile, struct clp_profile_function *function, PyObject *texts)
{
    PyObject *text = function->source == NULL ? PyDict_GetItemString(texts, function->file) : NULL; /* borrowed */
    struct clp_source_walk walk;
    struct clp_span whole;

    if (text == NULL || !PyBytes_Check(text))
        return true;
    whole = (struct clp_span){PyBytes_AS_STRING(text), (size_t)PyBytes_GET_SIZE(text)};
    clp_status status = clp_profile_begin_text(profile, CLP_SOURCE_FUNCTIONS, function->file, whole, &walk);
    struct clp_span part = clp_profile_find_source(function, &walk);
    if (status == CLP_OK && clp_profile_set_source(profile, function, part.text, part.bytes) == CLP_OK)
        return true;
    PyErr_NoMemory();
    return false;
}

PyObject *clp_content_with_texts(PyObject *module, PyObject *arguments)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_profile profile;
    const char *bytes;
    Py_ssize_t count;
    PyObject *texts;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "y#O!:with_texts", &bytes, &count, &PyDict_Type, &texts))
        return NULL;
    clp_profile_init(&profile, &mem);
    bool good = clp_content_read(bytes, count, &profile);
    for (size_t i = 0; good && i < profile.function_count; i++)
        good = give_text(&profile, &profile.functions[i], texts);
    PyObject *made = good ? clp_content_of(&profile) : NULL;
    clp_profile_clear(&profile);
    return made;
}

/* ---- devices ---- */

static void forget_devices(struct clp_profile *profile)
{
    for (size_t i = 0; i < profile->function_count; i++)
        for (size_t j = 0; j < profile->functions[i].line_count; j++) {
            struct clp_measures *measures = &profile->functions[i].lines[j].measures;
            measures->device_time = measures->device_wait = measures->launches = 0;
        }
}

/* Gives a line what `row` has: the place of its function, its number, and the three measures. A row of a line that the
 * profile does not have is left out. False with an exception set. */
static bool give_device(struct clp_profile *profile, PyObject *row)
{
    unsigned long long time, wait, launches;
    Py_ssize_t place;
    int line;

    if (!PyArg_ParseTuple(row, "niKKK:row", &place, &line, &time, &wait, &launches))
        return false;
    if (place < 0 || (size_t)place >= profile->function_count)
        return true;
    struct clp_profile_function *function = &profile->functions[place];
    for (size_t i = 0; i < function->line_count; i++) {
        struct clp_measures *measures = &function->lines[i].measures;
        if (function->lines[i].line != line)
            continue;
        measures->device_time = time;
        measures->device_wait = wait;
        measures->launches = launches;
    }
    return true;
}

PyObject *clp_content_with_devices(PyObject *module, PyObject *arguments)
{
    unsigned long long outside_time, outside_launches;
    struct clp_mem mem = clp_mem_system();
    struct clp_profile profile;
    const char *bytes;
    Py_ssize_t count;
    PyObject *rows;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "y#O!KK:with_devices", &bytes, &count, &PyList_Type, &rows,
                          &outside_time, &outside_launches))
        return NULL;
    clp_profile_init(&profile, &mem);
    bool good = clp_content_read(bytes, count, &profile);
    if (good)
        forget_devices(&profile);
    for (Py_ssize_t i = 0; good && i < PyList_GET_SIZE(rows); i++)
        good = give_device(&profile, PyList_GET_ITEM(rows, i));
    profile.meta.has_device_time = 1;
    profile.meta.outside_device_time = outside_time;
    profile.meta.outside_launches = outside_launches;
    profile.meta.lost_launches = 0;
    clp_profile_drop_line_logs(&profile);
    PyObject *made = good ? clp_content_of(&profile) : NULL;
    clp_profile_clear(&profile);
    return made;
}

/* ---- rendering ---- */

static PyObject *rendered(PyObject *content, const struct clp_rendering *wanted)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_profile profile;

    clp_profile_init(&profile, &mem);
    PyObject *made = clp_content_read(PyBytes_AS_STRING(content), PyBytes_GET_SIZE(content), &profile)
                         ? clp_rendering_of(&profile, wanted)
                         : NULL;
    clp_profile_clear(&profile);
    return made;
}

PyObject *clp_content_rendered(PyObject *module, PyObject *arguments, PyObject *keywords)
{
    PyObject *content = PyTuple_GET_SIZE(arguments) > 0 ? PyTuple_GET_ITEM(arguments, 0) : Py_None, *made = NULL;
    PyObject *rest = PyTuple_GetSlice(arguments, 1, PyTuple_GET_SIZE(arguments));
    struct clp_rendering wanted;

    (void)module;
    if (!PyBytes_Check(content))
        PyErr_SetString(PyExc_TypeError, "the content of a profile must be bytes");
    else if (rest != NULL && clp_rendering_read(&wanted, rest, keywords))
        made = rendered(content, &wanted);
    Py_XDECREF(rest);
    return made;
}
