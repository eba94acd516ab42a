/* SPDX-License-Identifier: MIT */
/* The command lines of ckernprof and of the viewer: one table each, from which parsing and --help
 * both come. Plain C: the launcher uses the same table to find --python before any interpreter
 * runs. A new option is a row. */
#ifndef CLP_OPTIONS_H
#define CLP_OPTIONS_H

#include "../src/core/buf.h"
#include "../src/core/status.h"
#include <stdbool.h>

enum clp_target_kind {
    CLP_TARGET_NONE,   /* no program was named */
    CLP_TARGET_SCRIPT, /* a path */
    CLP_TARGET_MODULE  /* -m */
};

/* What ckernprof was asked to do. Strings are borrowed from argv. */
struct clp_run_options {
    bool line_by_line;    /* -l */
    bool builtin;         /* -b; -l implies it */
    int view;             /* -v, counted */
    bool skip_zero;       /* -z */
    bool no_memory;       /* --no-memory */
    bool help, version;   /* -h, -V */
    double unit;          /* -u, seconds; default 1e-6 */
    const char *outfile;  /* -o; NULL: <basename>.lprof in the working directory */
    const char *tracer;   /* --tracer; NULL: auto */
    const char *python;   /* --python; NULL: search */
    enum clp_target_kind target_kind;
    const char *target;   /* the script's path or the module's name */
    char **program_argv;  /* borrowed: argv from the element that holds the target on. With the
                           * module joined to its option (-mMODULE) [0] is not just the target */
    int program_argc;
};

struct clp_view_options {
    double unit;              /* -u */
    bool skip_zero;           /* -z */
    bool sort;                /* -t */
    bool summarize;           /* -m */
    bool no_memory;           /* --no-memory */
    bool raw_times;           /* --raw-times */
    bool help, version;
    char **files;             /* borrowed: in argv, which is put in order for it */
    int file_count;
};

/* Parses argv[1..argc). False and one line in `error` (without a line end, and without the
 * program's name, which the caller puts before it) when it cannot: the program then exits 2.
 * Option parsing ends at the script, at -m MODULE, or at "--". */
bool clp_run_options_parse(int argc, char **argv, struct clp_run_options *options,
                           struct clp_buf *error);
void clp_run_options_help(const char *program, struct clp_buf *out);

/* The same for the viewer. Options may stand between the files, as argparse lets them; the files'
 * names are exchanged to the front of argv[1..). */
bool clp_view_options_parse(int argc, char **argv, struct clp_view_options *options,
                            struct clp_buf *error);
void clp_view_options_help(const char *program, struct clp_buf *out);

#endif
