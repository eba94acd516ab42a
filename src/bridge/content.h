/* SPDX-License-Identifier: MIT */
/* Profiles for Python, with the content of a .lprof file, which keeps all that a profile has. */
#ifndef CLP_CONTENT_H
#define CLP_CONTENT_H

#include "profile/profile.h"
#include "cpython/compat/compat.h"

/* The bytes of a .lprof file. A new reference; NULL with an exception set. */
PyObject *clp_content_of(const struct clp_profile *profile);

/* Makes the dict of clp_load_dict with one more key, "content": the bytes of a .lprof file. A new reference; NULL with
 * an exception set. */
PyObject *clp_content_dict(const struct clp_profile *profile);

/* Reads the content into an initialised, empty profile. False with ValueError or MemoryError set. As all
 * functions here that read content or files, it gives a RuntimeWarning where parts were left out (wire_reader.h). */
bool clp_content_read(const char *bytes, Py_ssize_t count, struct clp_profile *profile);

/* The Python function load(*paths): the sum of the files, as a dict of clp_content_dict. OSError when a file
 * cannot be read, ValueError when it is no profile. */
PyObject *clp_content_of_files(PyObject *module, PyObject *paths);

/* The Python function sum(*paths): the sum of the files as the bytes of a .lprof file. Raises what load raises. */
PyObject *clp_content_sum(PyObject *module, PyObject *paths);

/* The Python function hottest(data, count): for the bytes of a .lprof file, the table of the `count` lines with
 * the most time of their own, as a str; "" where nothing ran. ValueError when the bytes are no profile. */
PyObject *clp_content_hottest(PyObject *module, PyObject *arguments);

/* The Python function merge(*contents): the sum of profiles, each process once (dedupe_processes.h), as the content of a
 * .lprof file. ValueError when one of them is no profile, or cannot be taken apart. */
PyObject *clp_content_merge(PyObject *module, PyObject *contents);

/* The Python function total(contents, name=None): the sum of profiles, as a dict of clp_content_dict. name(file)
 * returns another name for a file, or None. */
PyObject *clp_content_total(PyObject *module, PyObject *arguments);

/* The Python function with_texts(content, texts): the content with the texts of functions that have none, cut from those of
 * their files. texts: a dict {file: bytes}. ValueError when the content is no profile. */
PyObject *clp_content_with_texts(PyObject *module, PyObject *arguments);

/* The Python function with_devices(content, rows, outside_time, outside_launches): the content with what devices did
 * for its lines, and for no line, in place of what it had, and without logs of lines. rows: a list of (place of the
 * function, line, time, wait, launches), times in nanoseconds. ValueError when the content is no profile. */
PyObject *clp_content_with_devices(PyObject *module, PyObject *arguments);

/* The Python function rendered(content, format, ..), with the arguments of Profiler.render. */
PyObject *clp_content_rendered(PyObject *module, PyObject *arguments, PyObject *keywords);

#endif
