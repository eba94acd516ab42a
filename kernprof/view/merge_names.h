/* SPDX-License-Identifier: MIT */
/* The files that the words of a command line stand for. A folder stands for its files *.lprof. A word that is no file,
 * such as 'run-*.lprof' in quotes, is a pattern, as a shell expands it. Both help where a shell cannot: the names of
 * ten thousand files may be longer than a command line can be. */
#ifndef CLP_MERGE_NAMES_H
#define CLP_MERGE_NAMES_H

#include "base/mem.h"
#include <glob.h>
#include <stdbool.h>

struct clp_merge_names {
    struct clp_mem *mem; /* borrowed */
    char **items;        /* the names, each borrowed from the words or from `found` */
    size_t count, room;
    glob_t found;
};

/* Finds the files. A pattern that matches nothing stays as it is. False after one line of complaint. *names is to be
 * cleared in any case, before the words are freed. */
bool clp_merge_names_find(struct clp_merge_names *names, char *const *words, int count, struct clp_mem *mem);
void clp_merge_names_clear(struct clp_merge_names *names);

#endif
