/* SPDX-License-Identifier: MIT */
/* What a report is printed on, where it is more than plain text: a terminal, which has a width and mostly colours, or
 * a pipe for which somebody asked for colours. clineprof/_report/terminal.py paints. */
#ifndef CLP_PAPER_H
#define CLP_PAPER_H

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

/* Returns what the paper gets for a marked text (report/table.h), or for the rows of a plain table: a new str that can be
 * encoded in UTF-8. NULL, without an exception, when memory ran out or rich does not work. */
PyObject *clp_paper_paint(PyObject *paper, const char *marked);
PyObject *clp_paper_crop(PyObject *paper, const char *rows);

/* The same for the text of a comparison (diff/diff_text.h). */
PyObject *clp_paper_changes(PyObject *paper, const char *changes);

#endif
