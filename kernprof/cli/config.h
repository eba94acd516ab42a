/* SPDX-License-Identifier: MIT */
/* Defaults from TOML files: clineprof/_boot/config.py finds and reads them, the option table takes them. */
#ifndef CLP_CONFIG_H
#define CLP_CONFIG_H

#include "cpython/compat/compat.h"
#include "option.h"

struct clp_config {
    const char *program; /* for messages */
    const char *table;   /* "kernprof" or "cli" of [tool.clineprof] */
    const char *file;    /* --config; NULL: search */
    bool quiet;          /* without warnings */
};

/* Stores what the files say in the result `into`. Texts in it are borrowed from *keep, a new
 * reference, which is NULL when there are none. False with SystemExit set after one line. */
bool clp_config_read(const struct clp_config *config, struct clp_option_table table, void *into,
                     struct clp_mem *mem, PyObject **keep);

#endif
