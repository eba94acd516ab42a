/* SPDX-License-Identifier: MIT */
/* A command line from Python as an array of C strings, and what commands write to the terminal. */
#ifndef CLP_CONSOLE_H
#define CLP_CONSOLE_H

#include "base/buf.h"
#include "os/file.h"
#include "cpython/compat/compat.h"

/* The words of a command line. */
struct clp_command_words {
    int count;
    char **items;    /* borrowed from `bytes`; items[count] is NULL */
    PyObject *bytes; /* owned list of bytes in the file system's encoding */
};

/* Encodes a list of str. On failure there is nothing to clear, and an exception is set. */
bool clp_command_words_init(struct clp_command_words *words, PyObject *list);
void clp_command_words_clear(struct clp_command_words *words);

/* Writes all bytes to file descriptor 1 or 2, after flushing the program's sys.stdout and sys.stderr. The bytes
 * must be harmless to a terminal (escape.h). False when not all of them could be written, also where the
 * descriptor was closed when the interpreter started; errno then says why. */
bool clp_console_write(int descriptor, const char *bytes, size_t count);

/* Writes lines as clp_console_write does, after escaping them. Errors are ignored: there is nobody to tell. */
void clp_console_print(int descriptor, const char *text);

/* Puts the output of a command into a file, or on standard output if `outfile` is NULL. False when that failed;
 * one line on stderr has told why. It is no failure when nobody reads standard output any more (EPIPE). */
bool clp_console_put(const char *name, const char *outfile, const struct clp_file_content *content);

/* Says on stderr that nothing can be written to `outfile`; NULL: to standard output. */
void clp_console_complain_of_place(const char *name, const char *outfile,
                                   const struct clp_fault *fault);

/* Puts a text, which must be harmless to a terminal, on standard output. Returns the exit code: 1 when that
 * failed, which stderr has been told. */
int clp_console_answer(const char *name, const char *text);

/* Writes one line to stderr, "NAME: text", escaped. */
void clp_console_complain(const char *name, const char *text);

/* Does what clp_console_complain does, with a printf format. Longer texts than two paths with some words are
 * cut off. */
void clp_console_complain_format(const char *name, const char *format, ...) CLP_PRINTF_LIKE(2, 3);

/* Clears the exception that is set, and writes one line to stderr, "NAME: " and its text; `otherwise` where it has
 * no text. */
void clp_console_complain_of_exception(const char *name, const char *otherwise);

/* Does the word end in `ending`, with something before it? */
bool clp_console_has_ending(const char *word, const char *ending);

/* Appends a word, quoted where a shell needs that to read it as one word. */
void clp_console_add_quoted(struct clp_buf *out, const char *word);

/* Appends a str as clp_console_add_quoted does, in UTF-8; a character that has no UTF-8 becomes \udcNN. False
 * with an exception set. */
bool clp_console_add_quoted_text(struct clp_buf *out, PyObject *text);

/* The Python function quoted(text): what clp_console_add_quoted_text appends, as a new str. NULL with an
 * exception set. */
PyObject *clp_console_quoted(PyObject *module, PyObject *text);

/* Raises SystemExit(code). Returns NULL. */
PyObject *clp_console_exit(int code);

#endif
