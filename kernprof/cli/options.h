/* SPDX-License-Identifier: MIT */
/* The command lines of ckernprof and of the viewer (clineprof). Each has one table, from which parsing, --help,
 * config files and docs/options.md all come. A new option is a row of the table and a field of its result. Plain C:
 * the launcher uses the same tables to find --python before any interpreter runs. */
#ifndef CLP_OPTIONS_H
#define CLP_OPTIONS_H

#include "base/buf.h"
#include "base/status.h"
#include "report/memory_table.h"
#include "option.h"
#include "report/report.h"
#include <stdbool.h>

#define CLP_RUN_NAME "ckernprof" /* begins every message of a run */

enum clp_target_kind {
    CLP_TARGET_NONE,   /* no program was named */
    CLP_TARGET_SCRIPT, /* a path */
    CLP_TARGET_MODULE, /* -m */
    CLP_TARGET_CODE,   /* -c */
    CLP_TARGET_STDIN   /* - */
};

/* The options about the report, which both commands have. Strings are borrowed, lists are owned. */
struct clp_show_options {
    double unit;              /* -u, seconds, or a word of report/unit.h; default CLP_UNIT_USUAL */
    const char *color;        /* --color: auto, always or never; NULL: auto */
    bool rich;                /* -r */
    bool skip_zero;           /* -z */
    bool summarize;           /* --summarize */
    bool self;                /* --self */
    const char *columns;      /* --columns; NULL: the usual ones */
    const char *widths;       /* --widths; NULL: the usual ones */
    const char *sort_by;      /* --sort-by; NULL: order of selection */
    size_t top;               /* --top, how many functions; 0: all */
    size_t lines;             /* --lines, how many lines in one table; 0: all lines, in a table for each function */
    struct clp_text_list functions, files; /* --function, --file */
    const char *by_file;      /* --by-file: "yes" or "no"; NULL: as it suits */
    const char *gc;           /* --gc: "yes" or "no"; NULL: as it suits */
    double min_percent;       /* --min-percent, 0 to 100 */
    bool mp;                  /* --mp */
    size_t precision;         /* --precision, digits after the point */
};

/* What ckernprof was asked to do. Strings are borrowed from argv, lists are owned. */
struct clp_run_options {
    bool line_by_line;    /* -l */
    const char *only_ranks; /* --only-ranks, numbers with commas between them; NULL: all ranks are profiled */
    bool builtin;         /* -b; -l implies it */
    const char *setup;    /* -s; NULL: none */
    struct clp_text_list prof_mod; /* -p, cut at commas; run/target_selection.c finds the code */
    struct clp_text_list include, exclude;
    bool no_preimports;   /* --no-preimports */
    bool prof_imports;    /* --prof-imports */
    int verbosity;        /* -v less -q, counted */
    struct clp_show_options show;
    double output_interval; /* -i, seconds; 0: off */
    bool by_statement;    /* --by-statement */
    bool child_processes; /* --prof-child-procs */
    bool threads;         /* --threads */
    const char *memory;   /* --memory, a name in CLP_MEMORY_TABLE; NULL: rss */
    const char *source;   /* --source: functions, files or none; NULL: functions */
    double timeline;      /* --timeline, seconds; 0: off */
    bool include_children; /* -C */
    double pdb_mmem;      /* --pdb-mmem, MiB; 0: off */
    bool cpu;             /* --cpu */
    bool native;          /* --native */
    bool nvtx;            /* --nvtx */
    bool torch_names;     /* --torch-names */
    bool io;              /* --io */
    const char *counters; /* --counters: names of faults and switches; NULL: none */
    bool tensors;         /* --tensors */
    bool cuda;            /* --cuda */
    bool line_log;        /* --line-log */
    const char *heap;     /* --heap: "python" or "native" allocators; NULL: off */
    double heap_interval; /* --heap-interval, bytes; 1: every block */
    const char *leaks;    /* --leaks, the text that says what ends an epoch; NULL: no leak verdicts */
    const char *fail_on_leak; /* --fail-on-leak, a size; "": the usual limit; NULL: leaks do not fail the run */
    bool help, version, page; /* -h, -V, --help-page */
    const char *outfile;  /* -o; NULL: <basename>.lprof in the working directory */
    const char *tracer;   /* --tracer; NULL: auto */
    bool light;           /* --light: hits are counted, and times are sampled */
    const char *clock;    /* --clock: exact or light, another name of --light; NULL: exact */
    const char *config;   /* --config; NULL: search */
    bool no_config;       /* --no-config; wins over --config */
    const char *python;   /* --python; NULL: search */
    const char *module, *code; /* the values of -m and -c; NULL when not given */
    enum clp_target_kind target_kind;
    const char *target;   /* the script's path, the module's name, the code or "-"; NULL: no program was named */
    char **program_argv;  /* borrowed: argv, from the word that holds the target on. The word is more than the target
                           * when the module is joined to its option (-mMODULE) */
    int program_argc;     /* how many words program_argv has, the target's included */
};

struct clp_view_options {
    struct clp_show_options show;
    bool sort;                /* -t */
    bool by_statement;        /* --by-statement */
    bool no_memory;           /* --no-memory */
    bool raw_times;           /* --raw-times */
    bool read_sources;        /* --read-sources */
    bool processes;           /* --processes */
    bool ranks;               /* --ranks */
    bool spread;              /* --spread */
    const char *by;           /* --by; NULL: all together */
    struct clp_text_list process; /* --process */
    const char *format;       /* --format; "text": the report */
    const char *outfile;      /* -o; NULL: standard output */
    const char *config;       /* -c; NULL: search */
    bool verbose;             /* -v */
    bool no_config;           /* --no-config */
    bool help, version, page;
    char **files;             /* borrowed: argv + 1, where parsing has moved the names of the files */
    int file_count;
};

/* Set the defaults. The settings of config files are stored next (clp_option_set), then the command line is
 * parsed. */
void clp_run_options_init(struct clp_run_options *options);
void clp_view_options_init(struct clp_view_options *options);

/* Sets the options of a report by those of the command line, which parsing has checked. The lists are borrowed. */
void clp_report_options_set(struct clp_report_options *report, const struct clp_show_options *show);

/* Sets the options of --mp's table by those of the command line, which parsing has checked. The lists are
 * borrowed. */
void clp_memory_table_options_set(struct clp_memory_table_options *table,
                                  const struct clp_show_options *show);

/* The values that --color takes. */
#define CLP_OPTIONS_COLORS "auto, always or never"

/* Reads a number of bytes: "4096", "100k", "1.5M", "2G" (steps of 1024). False when the text is none. */
bool clp_options_bytes(const char *text, int64_t *bytes);

/* Is memory switched off (--no-memory, --memory off)? */
bool clp_run_options_no_memory(const struct clp_run_options *options);

/* Are hits to be counted and times to be sampled, in whatever words that was asked for? */
bool clp_run_options_light(const struct clp_run_options *options);

/* Is a tracer asked for by name that is not `light`? */
bool clp_run_options_other_tracer(const struct clp_run_options *options);

/* Is the program a text without a file, from -c or standard input? */
bool clp_run_options_is_text(const struct clp_run_options *options);

/* Appends the options that are set and have no effect without -l, each with a space before it: " -p --threads".
 * `gates`: appends only those whose answer is the exit status. */
void clp_run_options_add_for_lines(const struct clp_run_options *options, bool gates, struct clp_buf *out);

/* Frees the lists; `mem` is the allocator of the `error` they were parsed with. */
void clp_run_options_clear(struct clp_run_options *options, struct clp_mem *mem);
void clp_view_options_clear(struct clp_view_options *options, struct clp_mem *mem);

/* Parses argv[1..argc). Option parsing ends at the script, behind -m MODULE or -c CODE, or at "--". False with one
 * line in `error`, for a program that exits 2. The line has no line end, and does not begin with the program's
 * name, which the caller prints before it. */
bool clp_run_options_parse(int argc, char **argv, struct clp_run_options *options,
                           struct clp_buf *error);

/* Parses the viewer's argv[1..argc). Options may stand between the names of files, as with argparse. Elements of
 * argv are exchanged, so that the names of files come first, from argv[1] on. Fails as clp_run_options_parse. */
bool clp_view_options_parse(int argc, char **argv, struct clp_view_options *options,
                            struct clp_buf *error);

/* The tables of options, for the settings of config files. */
struct clp_option_table clp_run_options_table(void);
struct clp_option_table clp_view_options_table(void);

/* Append what --help prints (help), and the options as a Markdown table for docs/options.md (page). */
void clp_run_options_help(const char *program, struct clp_buf *out);
void clp_run_options_page(const char *program, struct clp_buf *out);
void clp_view_options_help(const char *program, struct clp_buf *out);
void clp_view_options_page(const char *program, struct clp_buf *out);

/* Appends what --version prints. */
void clp_options_version(const char *program, struct clp_buf *out);

#endif
