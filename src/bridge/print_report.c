/* SPDX-License-Identifier: MIT */
#include "print_report.h"
#include "os/file.h"
#include "console.h"
#include "paper.h"
#include "report/process_table.h"
#include "report/spread_table.h"
#include "report/table.h"
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#define LONG_REPORT 200 /* functions; a longer report gets advice */

static int complain_of_memory(const struct clp_print_options *print)
{
    clp_console_complain(print->name, "out of memory; the report is not complete");
    return 1;
}

static void add_heading(const struct clp_print_options *print, bool marked, struct clp_buf *text)
{
    if (print->heading != NULL)
        clp_buf_add_format(text, "%s==== %s ====\n\n", marked ? CLP_MARK_HEADING : "", print->heading);
}

/* Makes the report, with the note at its end. False: memory ran out. */
static bool make_text(const struct clp_profile *profile, const struct clp_print_options *print,
                      const struct clp_report_options *options, struct clp_buf *text)
{
    bool whole = clp_report_text(profile, options, text) == CLP_OK;
    clp_buf_add_text(text, print->note != NULL ? print->note : "");
    if (print->processes)
        clp_process_table_add(profile, options->marked, text);
    if (print->ranks)
        clp_rank_table_add(profile, options->marked, text);
    if (print->spread)
        clp_spread_table_add(profile, options->folder, options->marked, text);
    return whole && !text->failed;
}

/* Prints the report on paper (paper.h), and sets *code to the exit code. False, and nothing is printed, when that does
 * not work. */
static bool print_on(PyObject *paper, const struct clp_profile *profile, const struct clp_print_options *print,
                     struct clp_report_options options, int *code)
{
    struct clp_memory_table_options table = print->table;
    struct clp_buf text;

    clp_buf_init(&text, profile->mem);
    table.folder = options.folder;
    options.marked = table.marked = true;
    options.hottest = options.choice.bodies_last = true;
    if (clp_report_suits_files(profile, &options))
        options.tables = CLP_TABLES_FILES;
    add_heading(print, true, &text);
    bool whole = print->mp ? clp_memory_table_text(profile, &table, &text) == CLP_OK
                           : make_text(profile, print, &options, &text);
    bool painted = whole && clp_paper_paint(paper, &text);
    if (painted)
        *code = clp_console_answer(print->name, clp_buf_text(&text));
    else if (!whole)
        *code = complain_of_memory(print);
    else
        clp_console_complain(print->name, CLP_PAPER_NO_COLOURS);
    clp_buf_clear(&text);
    return painted || !whole;
}

/* ---- printing without colours, piece by piece ---- */

struct printing {
    const struct clp_profile *profile;
    const struct clp_print_options *print;
    struct clp_report_options options;
    struct clp_memory_table_options table;
    int descriptor; /* of the file that is written; -1: standard output */
    int error;      /* errno of the first piece that could not be written; 0: none failed */
    bool whole;     /* there was memory enough */
};

static void put_piece(void *data, struct clp_buf *text)
{
    struct printing *printing = data;
    bool done = printing->error != 0 ||
                (printing->descriptor < 0
                     ? clp_console_write(STDOUT_FILENO, clp_buf_text(text), text->used)
                     : clp_file_put(printing->descriptor, clp_buf_text(text), text->used));

    if (!done)
        printing->error = errno;
    clp_buf_cut(text, 0);
}

static bool put_all(void *data, int descriptor)
{
    struct printing *printing = data;
    const struct clp_print_options *print = printing->print;
    struct clp_buf text;

    printing->descriptor = descriptor;
    printing->options.drain = printing->table.drain = (struct clp_drain){put_piece, printing};
    clp_buf_init(&text, printing->profile->mem);
    add_heading(print, false, &text);
    printing->whole =
        print->mp ? clp_memory_table_text(printing->profile, &printing->table, &text) == CLP_OK
                  : make_text(printing->profile, print, &printing->options, &text);
    put_piece(printing, &text);
    clp_buf_clear(&text);
    /* an incomplete report must not replace a file; a terminal has got its pieces already */
    errno = printing->error == 0 && !printing->whole && descriptor >= 0 ? ENOMEM : printing->error;
    return errno == 0;
}

static int print_plain(const struct clp_profile *profile, const struct clp_print_options *print,
                       const struct clp_report_options *options)
{
    struct printing printing = {.profile = profile, .print = print, .options = *options,
                                .table = print->table, .whole = true};
    struct clp_fault fault = {.status = CLP_IO};

    printing.table.folder = options->folder;
    const struct clp_file_writer writer = {put_all, &printing, 0666 & ~profile->denied};
    bool done = print->outfile == NULL
                    ? put_all(&printing, -1) || printing.error == EPIPE
                    : clp_file_write_by(print->outfile, &writer, &fault) == CLP_OK;
    if (print->outfile == NULL)
        fault.os_error = printing.error;
    if (!done)
        clp_console_complain_of_place(print->name, print->outfile, &fault);
    return printing.whole || !done ? !done : complain_of_memory(print);
}

/* Adds advice for a pattern that is only the end of a function's name: patterns are compared with whole names. */
static void add_name_meant(struct clp_buf *text, const struct clp_profile *profile, char *const *patterns)
{
    for (; *patterns != NULL; patterns++)
        for (size_t i = 0; i < profile->function_count; i++) {
            const char *dot = strrchr(profile->functions[i].name, '.');
            if (dot == NULL || strcmp(dot + 1, *patterns) != 0)
                continue;
            clp_buf_add_format(text, "; names are whole, as %s, and '*.%s' is any that ends so",
                               profile->functions[i].name, *patterns);
            return;
        }
}

static void say_none(const char *name, const struct clp_profile *profile, const struct clp_choice_options *options)
{
    bool by_function = options->functions != NULL, by_file = options->files != NULL;
    struct clp_buf text;

    clp_buf_init(&text, profile->mem);
    clp_buf_add_format(&text, "%s%s%s matches none of %zu function%s", by_function ? "--function" : "",
                       by_function && by_file ? " with " : "", by_file ? "--file" : "",
                       profile->function_count, clp_buf_plural(profile->function_count));
    if (by_function)
        add_name_meant(&text, profile, options->functions);
    clp_console_complain(name, clp_buf_text(&text));
    clp_buf_clear(&text);
}

void clp_print_if_none_chosen(const char *name, const struct clp_profile *profile,
                              const struct clp_choice_options *options)
{
    struct clp_choice choice;

    if ((options->functions == NULL && options->files == NULL) || profile->function_count == 0 ||
        clp_choice_make(&choice, profile, options, profile->mem) != CLP_OK)
        return;
    if (choice.count == 0)
        say_none(name, profile, options);
    clp_choice_clear(&choice);
}

static void say_if_lacking(const struct clp_print_options *print, const struct clp_profile *profile,
                           const char *option, const char *name, enum clp_measure measure)
{
    const char *lacks = clp_profile_lacks(&profile->meta, measure);

    if (lacks != NULL)
        clp_console_complain_format(print->name, "%s: %s was not measured; that takes a run with %s", option,
                                    name, lacks);
}

/* Says which columns, and which key of --sort-by, have no numbers: nobody shall take these for zeros. */
static void say_if_empty(const struct clp_print_options *print, const struct clp_profile *profile)
{
    const struct clp_columns *columns = &print->options.columns;
    enum clp_measure key = clp_choice_measure(print->options.choice.order);

    for (size_t i = 0; i < columns->count; i++)
        say_if_lacking(print, profile, "--columns", columns->items[i]->name, columns->items[i]->measure);
    say_if_lacking(print, profile, "--sort-by", clp_measure_rows[key].name, key);
}

/* Gives advice on a report that is too long to be read to its end. */
static void say_if_long(const struct clp_print_options *print, const struct clp_profile *profile)
{
    const struct clp_report_options *options = &print->options;
    struct clp_choice choice;

    if (print->outfile != NULL || options->lines != 0 || options->choice.top != 0 ||
        profile->function_count < LONG_REPORT ||
        clp_choice_make(&choice, profile, &options->choice, profile->mem) != CLP_OK)
        return;
    if (choice.count >= LONG_REPORT)
        clp_console_complain_format(print->name, "the report has %zu functions; --lines 10 shows the lines that took "
                                    "most, --top 5 the functions", choice.count);
    clp_choice_clear(&choice);
}

int clp_print_report(const struct clp_profile *profile, const struct clp_print_options *print)
{
    struct clp_report_options options = print->options;
    char folder[PATH_MAX];
    int code = 0;

    options.folder = getcwd(folder, sizeof folder);
    clp_print_if_none_chosen(print->name, profile, &options.choice);
    if (!print->mp)
        say_if_empty(print, profile);
    if (print->mp && !profile->meta.has_memory) {
        clp_console_complain(print->name, "--mp: the profile has no memory; it was made without");
        return 1;
    }
    const struct clp_paper_wish wish = {print->name, print->color, print->rich, print->path};
    PyObject *paper = print->outfile != NULL ? NULL : clp_paper_open(&wish);
    if (options.unit == CLP_UNIT_USUAL)
        options.unit = paper != NULL ? CLP_UNIT_AUTO : clp_report_defaults().unit;
    if (paper == NULL || !print_on(paper, profile, print, options, &code))
        code = print_plain(profile, print, &options);
    Py_XDECREF(paper);
    if (!print->mp)
        say_if_long(print, profile);
    return code;
}
