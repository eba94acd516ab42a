/* SPDX-License-Identifier: MIT */
#include "export.h"
#include "formats/pickle/pickle.h"
#include "formats/lprof/wire.h"
#include "bridge/load.h"
#include "bridge/console.h"
#include "cpython/compat/raised.h"
#include <string.h>
#include <unistd.h>

static const char me[] = "clineprof";

/* Complains that the format could not be made, with the text of the exception that is set, and clears it. */
static void complain_of_exception(const char *format)
{
    PyObject *text = clp_raised_text();
    const char *why = text != NULL ? PyUnicode_AsUTF8(text) : NULL;

    clp_console_complain_format(me, "cannot make %s: %s", format,
                                why != NULL && *why != 0 ? why : "no reason is known");
    PyErr_Clear();
    Py_XDECREF(text);
}

static bool make_in_python(const struct clp_profile *profile, const struct clp_view_options *options,
                           struct clp_buf *out)
{
    PyObject *dict = clp_load_dict(profile), *module = NULL, *bytes = NULL;

    if (dict != NULL)
        module = clp_compat_own_module("clineprof._profile");
    if (module != NULL)
        bytes = PyObject_CallMethod(module, "render", "sO{s:d,s:O,s:O}", options->format, dict,
                                    "unit", options->show.unit > 0 ? options->show.unit : clp_report_defaults().unit,
                                    "raw_times", options->raw_times ? Py_True : Py_False,
                                    "memory", options->no_memory ? Py_False : Py_True);
    if (bytes != NULL && !PyBytes_Check(bytes)) {
        PyErr_SetString(PyExc_TypeError, "the format gave no bytes");
        Py_CLEAR(bytes);
    }
    if (bytes != NULL)
        clp_buf_add(out, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    else
        complain_of_exception(options->format);
    bool done = bytes != NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(module);
    Py_XDECREF(dict);
    return done;
}

static bool make(const struct clp_profile *profile, const struct clp_view_options *options,
                 struct clp_buf *out)
{
    bool pickle = strcmp(options->format, "line_profiler") == 0;

    if (!pickle && strcmp(options->format, "lprof") != 0)
        return make_in_python(profile, options, out);
    if ((pickle ? clp_pickle_encode(profile, out) : clp_wire_encode(profile, out)) == CLP_OK)
        return true;
    clp_console_complain(me, clp_status_text(CLP_NO_MEMORY));
    return false;
}

static bool is_binary(const struct clp_buf *bytes)
{
    return bytes->used != 0 && memchr(bytes->bytes, 0, bytes->used) != NULL;
}

static bool put(const struct clp_view_options *options, const struct clp_buf *bytes, unsigned rights)
{
    if (bytes->failed) {
        clp_console_complain(me, clp_status_text(CLP_NO_MEMORY));
        return false;
    }
    if (options->outfile == NULL && is_binary(bytes) && isatty(STDOUT_FILENO)) {
        clp_console_complain_format(me, "%s is a binary format and is not printed to a terminal; name a file with -o",
                                    options->format);
        return false;
    }
    const struct clp_file_content content = {clp_buf_text(bytes), bytes->used, rights};
    return clp_console_put(me, options->outfile, &content);
}

bool clp_export(const struct clp_profile *profile, const struct clp_view_options *options)
{
    struct clp_buf bytes;

    clp_buf_init(&bytes, profile->mem);
    bool done = make(profile, options, &bytes) && put(options, &bytes, 0666 & ~profile->denied);
    clp_buf_clear(&bytes);
    return done;
}
