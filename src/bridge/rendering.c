/* SPDX-License-Identifier: MIT */
#include "rendering.h"
#include "report/memory_table.h"
#include "formats/pickle/pickle.h"
#include "report/report.h"
#include "formats/lprof/wire.h"
#include "formats/lprof/wire_reader.h"
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
    options.marked = wanted->marked;
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

bool clp_rendering_check(const struct clp_rendering *rendering)
{
    if (format_named(rendering->format) == NULL)
        return false;
    if (!(rendering->unit > 0) || isinf(rendering->unit)) {
        PyErr_SetString(PyExc_ValueError, "the unit must be a number of seconds above 0");
        return false;
    }
    return true;
}

/* Sets the profile's command, or reads the `bytes` into the profile. False with an exception set. */
static bool fill(struct clp_profile *profile, const struct clp_rendering *rendering)
{
    struct clp_fault fault = {.status = CLP_NO_MEMORY};

    if (rendering->bytes == NULL
            ? clp_profile_set_text(profile, &profile->meta.command, rendering->command) == CLP_OK
            : clp_wire_decode(rendering->bytes, (size_t)rendering->count, profile, &fault) == CLP_OK)
        return true;
    if (fault.status != CLP_NO_MEMORY)
        PyErr_SetString(PyExc_ValueError, "these are no bytes of a profile");
    else
        PyErr_NoMemory();
    return false;
}

PyObject *clp_rendering_make(struct clp_profile *counted, const struct clp_rendering *rendering)
{
    return fill(counted, rendering) ? clp_rendering_of(counted, rendering) : NULL;
}
