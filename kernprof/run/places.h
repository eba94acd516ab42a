/* SPDX-License-Identifier: MIT */
/* Names and rights of files, and the identity of the process, for Python code: the same rules as in ckernprof. Each of
 * these functions returns a new reference, or NULL with an exception set. */
#ifndef CLP_PLACES_H
#define CLP_PLACES_H

#include "cpython/compat/compat.h"

/* write(path, content, rights): writes a file as clp_file_write does. Raises OSError. */
PyObject *clp_places_write(PyObject *module, PyObject *arguments);

/* refuses(program, path, kind): clp_overwrite_refuse for -o, with the `kind` "profile" or "recording" of what may be
 * there: a bool. */
PyObject *clp_places_refuses(PyObject *module, PyObject *arguments);

/* put_aside(name, content): as clp_file_write_temporary, with this name behind the fresh word; the path. OSError. */
PyObject *clp_places_put_aside(PyObject *module, PyObject *arguments);

/* rights(*paths): those that all of the files have, as clp_file_rights; private where there are none. */
PyObject *clp_places_rights(PyObject *module, PyObject *paths);

/* own_name(path, rights): a path with the process's number in the file's name, which no other file has. An empty
 * file keeps it; where none can be made, nothing does. */
PyObject *clp_places_own_name(PyObject *module, PyObject *arguments);

/* rank(): ".rank3" in a process that mpirun, srun or torchrun has started (clp_naming_add_rank), else "". */
PyObject *clp_places_rank(PyObject *module, PyObject *nothing);

/* identity(): (pid, start, machine and pid namespace) of this process, three str. */
PyObject *clp_places_identity(PyObject *module, PyObject *nothing);

#endif
