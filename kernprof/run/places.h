/* SPDX-License-Identifier: MIT */
/* Names and rights of files, and the identity of the process, for Python code: the same rules as in ckernprof. Each of
 * these functions returns a new reference, or NULL with an exception set. */
#ifndef CLP_PLACES_H
#define CLP_PLACES_H

#include "cpython/compat/compat.h"

/* write(path, content, rights): writes a file as clp_file_write does. Raises OSError. */
PyObject *clp_places_write(PyObject *module, PyObject *arguments);

/* probe(path): raises OSError if write() would (clp_file_probe). */
PyObject *clp_places_probe(PyObject *module, PyObject *arguments);

/* refuses(program, path, kind): returns the bool of clp_overwrite_refuse for this value of -o. `kind` is what may be
 * replaced, "profile" or "recording". */
PyObject *clp_places_refuses(PyObject *module, PyObject *arguments);

/* put_aside(name, content): writes a file in the temporary folder (clp_file_write_temporary), whose name ends with
 * `name`. Returns its path. Raises OSError. */
PyObject *clp_places_put_aside(PyObject *module, PyObject *arguments);

/* rights(*paths): the rights that all of these files have (clp_file_rights), an int. CLP_FILE_PRIVATE without paths. */
PyObject *clp_places_rights(PyObject *module, PyObject *paths);

/* own_name(path, rights): returns `path` with the process's number in the file's name, and a second number if that name
 * exists. Makes an empty file there, so that no other process takes the name; if that fails, only returns the path. */
PyObject *clp_places_own_name(PyObject *module, PyObject *arguments);

/* rank(): ".rank3" in a process that mpirun, srun or torchrun has started (clp_naming_add_rank), else "". */
PyObject *clp_places_rank(PyObject *module, PyObject *nothing);

/* identity(): (pid, start, machine and pid namespace) of this process, three str. */
PyObject *clp_places_identity(PyObject *module, PyObject *nothing);

#endif
