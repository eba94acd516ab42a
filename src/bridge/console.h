/* SPDX-License-Identifier: MIT */
/* A command line from Python as C sees one, and ways out of it. */
#ifndef CLP_CONSOLE_H
#define CLP_CONSOLE_H

#include "base/buf.h"
#include "os/file.h"
#include "cpython/compat/compat.h"

struct clp_command_words {
    int count;
    char **items;    /* borrowed from `bytes`; items[count] is NULL */
    PyObject *bytes; /* owned list of bytes in the file system's encoding */
};

/* False with an exception set. */
bool clp_command_words_init(struct clp_command_words *words, PyObject *list);
void clp_command_words_clear(struct clp_command_words *words);

/* Writes to file descriptor 1 or 2 all of it, after what the program's sys.stdout and sys.stderr
 * still hold back; whoever made the bytes sees to it that a terminal takes no harm (escape.h). False when
 * not all of them could be written, as where it was closed from the start; errno then says why. */
bool clp_console_write(int descriptor, const char *bytes, size_t count);

/* Writes lines as clp_console_write does, and makes them harmless. Errors are ignored: there is nobody to tell. */
void clp_console_print(int descriptor, const char *text);

/* Puts what a command makes into a file, or on standard output (NULL). False after one line of
 * complaint; that nobody reads standard output any more is none. */
bool clp_console_put(const char *name, const char *outfile, const struct clp_file_content *content);

/* The complaint: that nothing can be written there; NULL: to standard output. */
void clp_console_complain_of_place(const char *name, const char *outfile,
                                   const struct clp_fault *fault);

/* A text on standard output, harmless by itself. The exit code: 1 when that failed, which has been told. */
int clp_console_answer(const char *name, const char *text);

/* One line to stderr, as "NAME: text", made harmless. */
void clp_console_complain(const char *name, const char *text);

/* clp_console_complain with a text that is made of a format. */
void clp_console_complain_format(const char *name, const char *format, ...) CLP_PRINTF_LIKE(2, 3);

/* clp_console_complain of the exception that is set, and clears it; `otherwise` where it has no words. */
void clp_console_complain_of_exception(const char *name, const char *otherwise);

/* Does the word go on before this ending? */
bool clp_console_has_ending(const char *word, const char *ending);

/* Appends one word as a shell would take it. */
void clp_console_add_quoted(struct clp_buf *out, const char *word);

/* Appends a str as clp_console_add_quoted does, in UTF-8; bytes that are no UTF-8 are shown as \udcNN. False with an
 * exception set. */
bool clp_console_add_quoted_text(struct clp_buf *out, PyObject *text);

/* quoted(text): as clp_console_add_quoted_text, a new str. NULL with an exception set. */
PyObject *clp_console_quoted(PyObject *module, PyObject *text);

/* Raises SystemExit(code); NULL. */
PyObject *clp_console_exit(int code);

#endif
