/* SPDX-License-Identifier: MIT */
/* What a report is printed on, where it is more than plain text: a terminal, which has a width and mostly colours, or
 * a pipe for which somebody asked for colours. clineprof/_report/terminal.py paints. */
#ifndef CLP_PAPER_H
#define CLP_PAPER_H

#include "base/buf.h"
#include "cpython/compat/compat.h"

#define CLP_PAPER_NO_COLOURS "no colours: the package rich is not installed or does not work; pip install rich"

struct clp_paper_wish {
    const char *name;  /* the command, for messages on stderr */
    const char *color; /* what --color says: "auto", "always", "never"; NULL: auto */
    bool rich;         /* says on stderr when the package rich is missing */
    PyObject *path;    /* where the package rich is looked for, borrowed; NULL: sys.path */
};

/* Returns the paper, a new reference; NULL where standard output gets plain text. No exception is set. */
PyObject *clp_paper_open(const struct clp_paper_wish *wish);

/* Replaces a marked text (report/table.h) by what the paper gets. False, without an exception, when memory ran out or
 * rich does not work; the text is then empty. */
bool clp_paper_paint(PyObject *paper, struct clp_buf *text);

/* Does the same for a text that is to fill a terminal of this size, in the place of what it shows. */
bool clp_paper_paint_screen(PyObject *paper, struct clp_buf *text, unsigned width, unsigned height);

/* Appends a text, marked or plain. */
typedef void clp_paper_writer(const void *data, bool marked, struct clp_buf *out);

/* Fills the empty buffer with what standard output gets: with what `write` appends, painted where there is paper. NULL
 * for `wish`: the text goes elsewhere, and is plain. */
void clp_paper_write(const struct clp_paper_wish *wish, clp_paper_writer *write, const void *data, struct clp_buf *out);

/* Does what clp_console_answer does with sentences. On a terminal they are wrapped between words. */
int clp_paper_answer(const char *name, const struct clp_buf *sentences);

#endif
