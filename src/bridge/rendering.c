/* SPDX-License-Identifier: MIT */
#include "rendering.h"
#include "report/memory_table.h"
#include "formats/pickle/pickle.h"
#include "report/report.h"
#include "formats/lprof/wire.h"
#include <math.h>

static clp_status report(const struct clp_profile *profile, const struct clp_rendering *wanted,
                         struct clp_buf *out)
{
    struct clp_report_options options = clp_report_defaults();

    options.unit = wanted->unit;
    options.choice.skip_zero = wanted->skip_zero;
    if (wanted->sort)
        options.choice.order = CLP_CHOICE_BY_time;
    options.no_details = !wanted->details;
    options.summarize = wanted->summarize;
    options.no_memory = !wanted->memory;
    options.marked = options.hottest = options.choice.bodies_last = wanted->marked;
    options.folder = wanted->folder;
    return clp_report_text(profile, &options, out);
}

/* Makes memory_profiler's table, with as many digits as its API and its magics show. Its command line shows
 * more. */
static clp_status memory_table(const struct clp_profile *profile, const struct clp_rendering *wanted,
                               struct clp_buf *out)
{
    const struct clp_memory_table_options options = {.precision = 1,
                                                     .choice.skip_zero = wanted->skip_zero};

    return clp_memory_table_text(profile, &options, out);
}

static clp_status own_file(const struct clp_profile *profile, const struct clp_rendering *wanted,
                           struct clp_buf *out)
{
    (void)wanted;
    return clp_wire_encode(profile, out);
}

static clp_status pickle(const struct clp_profile *profile, const struct clp_rendering *wanted,
                         struct clp_buf *out)
{
    (void)wanted;
    return clp_pickle_encode(profile, out);
}

static const struct format {
    const char *name;
    clp_status (*make)(const struct clp_profile *profile, const struct clp_rendering *wanted,
                       struct clp_buf *out);
    bool is_text, needs_memory;
} formats[] = {
    {"text", report, true, false},
    {"mp", memory_table, true, true},
    {"lprof", own_file, false, false},
    {"line_profiler", pickle, false, false},
};

/* The format of this name; NULL with ValueError set. */
static const struct format *format_named(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    }
    PyErr_Format(PyExc_ValueError, "no format is called '%s'", name);
    return NULL;
}

PyObject *clp_rendering_of(const struct clp_profile *profile, const struct clp_rendering *wanted)
{
    const struct format *format = format_named(wanted->format);
    PyObject *object = NULL;
    struct clp_buf out;

    if (format == NULL)
        return NULL;
    if (format->needs_memory && !profile->meta.has_memory) {
        PyErr_SetString(PyExc_ValueError, "the profile has no memory; it was made without");
        return NULL;
    }
    clp_buf_init(&out, profile->mem);
    if (format->make(profile, wanted, &out) != CLP_OK)
        PyErr_NoMemory();
    else if (format->is_text)
        object = PyUnicode_DecodeUTF8(clp_buf_text(&out), (Py_ssize_t)out.used, "backslashreplace");
    else
        object = PyBytes_FromStringAndSize(clp_buf_text(&out), (Py_ssize_t)out.used);
    clp_buf_clear(&out);
    return object;
}

/* Reads the unit: a word such as "auto", or a number. False with an exception set. */
static bool read_unit(PyObject *object, double *unit)
{
    if (PyUnicode_Check(object)) {
        const char *word = PyUnicode_AsUTF8(object);
        if (word == NULL || clp_unit_named(word, unit))
            return word != NULL;
    } else {
        *unit = PyFloat_AsDouble(object);
        if (PyErr_Occurred() || (*unit > 0 && !isinf(*unit)))
            return !PyErr_Occurred();
    }
    PyErr_SetString(PyExc_ValueError, "the unit must be " CLP_UNIT_WORDS);
    return false;
}

bool clp_rendering_read(struct clp_rendering *rendering, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"format", "unit", "skip_zero", "command", "sort", "details",
                            "summarize", "memory", "marked", "folder", NULL};

    *rendering = (struct clp_rendering){.unit = 1e-6, .command = "", .details = true, .memory = true};
    PyObject *unit = NULL;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "s|Ops$pppppz:render", names, &rendering->format,
                                     &unit, &rendering->skip_zero, &rendering->command,
                                     &rendering->sort, &rendering->details, &rendering->summarize,
                                     &rendering->memory, &rendering->marked, &rendering->folder) ||
        format_named(rendering->format) == NULL)
        return false;
    return unit == NULL || read_unit(unit, &rendering->unit);
}
