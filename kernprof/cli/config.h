/* SPDX-License-Identifier: MIT */
/* Default values of options, from TOML files. clineprof/_boot/config.py finds and reads the files; the option table
 * says which keys there are. */
#ifndef CLP_CONFIG_H
#define CLP_CONFIG_H

#include "cpython/compat/compat.h"
#include "option.h"

struct clp_config {
    const char *program; /* its name begins every message */
    const char *table;   /* "kernprof" or "cli": the table of [tool.clineprof] */
    const char *file;    /* the file of --config; NULL: the usual files are looked for */
    bool quiet;          /* no warnings */
};

/* Reads the config files and stores their settings in `into`, the result of the option table. Texts in `into` are
 * borrowed from *keep, which the caller owns. False with SystemExit set, after one line of complaint; *keep may be
 * NULL then. */
bool clp_config_read(const struct clp_config *config, struct clp_option_table table, void *into,
                     struct clp_mem *mem, PyObject **keep);

#endif
