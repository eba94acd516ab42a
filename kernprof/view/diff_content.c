/* SPDX-License-Identifier: MIT */
#include "diff_content.h"
#include "bridge/content.h"
#include "bridge/values.h"
#include "diff.h"
#include "diff_export.h"
#include "report/unit.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define MOST_MARKED 100 /* functions that a notebook has room for */

static PyObject *text_of(const struct clp_diff *diff, bool marked)
{
    struct clp_buf text;

    clp_buf_init(&text, diff->mem);
    clp_diff_add_text(diff, marked, &text);
    return clp_text_take(&text);
}

static PyObject *result_of(struct clp_diff *diff, const struct clp_compare_side sides[2], bool as_text, bool marked)
{
    struct clp_compare_options options = clp_compare_defaults();

    if (clp_comparison_make(&diff->comparison, diff->mem, &options, sides) != CLP_OK)
        return PyErr_NoMemory();
    PyObject *result = as_text ? text_of(diff, marked) : clp_diff_object(diff);
    clp_comparison_clear(&diff->comparison);
    return result;
}

PyObject *clp_diff_content_compare(PyObject *module, PyObject *arguments)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_diff_request request = clp_diff_defaults();
    struct clp_profile profiles[2];
    char *names[2], folder[PATH_MAX];
    const char *bytes[2], *what;
    Py_ssize_t counts[2];

    (void)module;
    if (!PyArg_ParseTuple(arguments, "y#y#(ss)s:compare", &bytes[CLP_OLD], &counts[CLP_OLD], &bytes[CLP_NEW],
                          &counts[CLP_NEW], &names[CLP_OLD], &names[CLP_NEW], &what))
        return NULL;
    bool as_text = strcmp(what, "object") != 0, marked = strcmp(what, "marked") == 0;
    request.unit = CLP_UNIT_AUTO;
    request.files = names;
    request.top = marked ? MOST_MARKED : 0;
    request.counts[CLP_OLD] = request.counts[CLP_NEW] = 1;
    struct clp_diff diff = {.request = &request, .mem = &mem, .folder = getcwd(folder, sizeof folder),
                            .profiles = {&profiles[CLP_OLD], &profiles[CLP_NEW]}};
    const struct clp_compare_side sides[2] = {{&profiles[CLP_OLD], 1}, {&profiles[CLP_NEW], 1}};
    clp_profile_init(&profiles[CLP_OLD], &mem);
    clp_profile_init(&profiles[CLP_NEW], &mem);
    PyObject *result = clp_content_read(bytes[CLP_OLD], counts[CLP_OLD], &profiles[CLP_OLD]) &&
                               clp_content_read(bytes[CLP_NEW], counts[CLP_NEW], &profiles[CLP_NEW])
                           ? result_of(&diff, sides, as_text, marked)
                           : NULL;
    clp_profile_clear(&profiles[CLP_OLD]);
    clp_profile_clear(&profiles[CLP_NEW]);
    return result;
}
