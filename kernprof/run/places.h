/* SPDX-License-Identifier: MIT */
/* Files and processes as the Python part sees them, by the same rules as the launcher. Each of these functions
 * returns a new reference, or NULL with an exception set. */
#ifndef CLP_PLACES_H
#define CLP_PLACES_H

#include "cpython/compat/compat.h"

/* write(path, content, rights): as clp_file_write. OSError. */
PyObject *clp_places_write(PyObject *module, PyObject *arguments);

/* rights(*paths): those that all of the files have, as clp_file_rights; private where there are none. */
PyObject *clp_places_rights(PyObject *module, PyObject *paths);

/* own_name(path, rights): makes an empty file with the process's number in its name, which no other file
 * has; its path. OSError. */
PyObject *clp_places_own_name(PyObject *module, PyObject *arguments);

/* rank(): ".rank3", or "" where there is none. */
PyObject *clp_places_rank(PyObject *module, PyObject *nothing);

/* identity(): (pid, start, machine and pid namespace) of this process, texts. */
PyObject *clp_places_identity(PyObject *module, PyObject *nothing);

#endif
