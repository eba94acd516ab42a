/* SPDX-License-Identifier: MIT */
/* Protects files that -o must not write over, and tells of names that promise something else than is written. */
#ifndef CLP_OVERWRITE_H
#define CLP_OVERWRITE_H

#include <stdbool.h>

/* Which kind of file a command may replace or add to. It may do so with every empty file. */
enum clp_overwrite_kind {
    CLP_OVERWRITE_ALL,
    CLP_OVERWRITE_PROFILES,
    CLP_OVERWRITE_RECORDINGS /* of memory over time, in mprof's format */
};

struct clp_overwrite {
    const char *program;  /* its name begins the complaint */
    const char *path;     /* the value of -o; NULL: standard output */
    char *const *files;   /* the files that the command reads; "-" is standard input */
    int file_count;
    bool sums;            /* the command writes a .lprof file, so it may replace one that it has read */
    enum clp_overwrite_kind only;
};

/* Returns true, after one line of complaint, when `path` must not be written: when it is a program, the live file of a
 * run, a file that the command reads, or not of the kind `only`. */
bool clp_overwrite_refuse(const struct clp_overwrite *wish);

/* What a command writes into the file of -o. */
enum clp_overwrite_content { CLP_OVERWRITE_PROFILE, CLP_OVERWRITE_CALLS /* for pstats */, CLP_OVERWRITE_TEXT };

/* Says so when the path, which may be NULL, has the ending of another format, such as .html. `formats` is the list of
 * the command's formats; NULL: those of the viewer. */
void clp_overwrite_note_ending(const char *program, const char *path, enum clp_overwrite_content content,
                               const char *formats);

#endif
