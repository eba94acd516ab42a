/* SPDX-License-Identifier: MIT */
#include "paper.h"
#include "console.h"
#include <unistd.h>

/* Can standard output be more than plain text? Else Python code need not be asked. */
static bool may_be_paper(const struct clp_paper_wish *wish)
{
    const char *forced = getenv("FORCE_COLOR");

    return isatty(STDOUT_FILENO) || wish->rich || (forced != NULL && *forced != 0) ||
           (wish->color != NULL && strcmp(wish->color, "always") == 0);
}

PyObject *clp_paper_open(const struct clp_paper_wish *wish)
{
    PyObject *module = may_be_paper(wish) ? PyImport_ImportModule("clineprof._report.terminal") : NULL;
    PyObject *paper = NULL, *found = NULL;
    int lacks_rich = 0;

    if (module != NULL)
        found = PyObject_CallMethod(module, "paper", "sO", wish->color != NULL ? wish->color : "auto",
                                    wish->path != NULL ? wish->path : Py_None);
    if (found != NULL && PyArg_ParseTuple(found, "Op", &paper, &lacks_rich))
        paper = paper != Py_None ? Py_NewRef(paper) : NULL;
    Py_XDECREF(found);
    Py_XDECREF(module);
    PyErr_Clear();
    if (lacks_rich && (wish->rich || (wish->color != NULL && strcmp(wish->color, "always") == 0)))
        clp_console_complain(wish->name, CLP_PAPER_NO_COLOURS);
    return paper;
}

static PyObject *text_of(PyObject *paper, const char *method, const char *content)
{
    PyObject *text = PyObject_CallMethod(paper, method, "s", content);

    if (text != NULL && PyUnicode_Check(text) && PyUnicode_AsUTF8(text) != NULL)
        return text;
    PyErr_Clear();
    Py_XDECREF(text);
    return NULL;
}

PyObject *clp_paper_paint(PyObject *paper, const char *marked)
{
    return text_of(paper, "painted", marked);
}

PyObject *clp_paper_crop(PyObject *paper, const char *rows)
{
    return text_of(paper, "cropped", rows);
}

PyObject *clp_paper_changes(PyObject *paper, const char *changes)
{
    return text_of(paper, "changes", changes);
}
