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
    PyObject *module = may_be_paper(wish) ? clp_compat_own_module("clineprof._report.terminal") : NULL;
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

/* Replaces *text by what a method of the paper returned. Takes the reference, which may be NULL. */
static bool replace(struct clp_buf *text, PyObject *painted)
{
    bool done = painted != NULL && PyUnicode_Check(painted) && PyUnicode_AsUTF8(painted) != NULL;

    clp_buf_cut(text, 0);
    if (done)
        clp_buf_add_text(text, PyUnicode_AsUTF8(painted));
    PyErr_Clear();
    Py_XDECREF(painted);
    return done && !text->failed;
}

bool clp_paper_paint(PyObject *paper, struct clp_buf *text)
{
    return replace(text, PyObject_CallMethod(paper, "painted", "s", clp_buf_text(text)));
}

bool clp_paper_paint_screen(PyObject *paper, struct clp_buf *text, unsigned width, unsigned height)
{
    return replace(text, PyObject_CallMethod(paper, "screen", "sII", clp_buf_text(text), width, height));
}

void clp_paper_write(const struct clp_paper_wish *wish, clp_paper_writer *write, const void *data, struct clp_buf *out)
{
    PyObject *paper = wish != NULL ? clp_paper_open(wish) : NULL;

    write(data, paper != NULL, out);
    if (paper != NULL && !out->failed && !clp_paper_paint(paper, out)) {
        clp_console_complain(wish->name, CLP_PAPER_NO_COLOURS);
        write(data, false, out);
    }
    Py_XDECREF(paper);
}

static void write_sentences(const void *data, bool marked, struct clp_buf *out)
{
    (void)marked; /* sentences have no marks */
    clp_buf_add_text(out, clp_buf_text(data));
}

int clp_paper_answer(const char *name, const struct clp_buf *sentences)
{
    const struct clp_paper_wish wish = {.name = name, .color = "never"};
    struct clp_buf text;

    clp_buf_init(&text, sentences->mem);
    clp_paper_write(&wish, write_sentences, sentences, &text);
    int code = clp_console_answer(name, clp_buf_text(&text));
    clp_buf_clear(&text);
    return code;
}
