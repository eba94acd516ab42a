/* SPDX-License-Identifier: MIT */
/* The viewer: reads profiles, sums them, prints the report. */
#include "../src/core/report.h"
#include "../src/core/version.h"
#include "commands.h"
#include "config.h"
#include "export.h"
#include "options.h"
#include "program.h"
#include "reading.h"
#include "recover.h"
#include "run.h"
#include "top.h"
#include "words.h"
#include <limits.h>
#include <unistd.h>

static const char me[] = "clineprof";

static bool is_text(const struct clp_view_options *options)
{
    return strcmp(options->format, "text") == 0;
}

/* What is worth knowing of a file that is still written stands above its report. */
static bool read_one(const struct clp_view_options *options, const char *path,
                     struct clp_profile *profile, struct clp_fault *fault)
{
    bool report = is_text(options) && options->outfile == NULL;
    struct clp_buf notes;

    clp_buf_init(&notes, profile->mem);
    clp_status status = clp_reading_file(path, profile, &notes, fault);
    if (notes.used != 0)
        clp_words_print(report ? 1 : 2, clp_buf_text(&notes));
    clp_buf_clear(&notes);
    return status == CLP_OK;
}

/* Adds each file to the sum; false when one was complained about. */
static bool read_all(const struct clp_view_options *options, struct clp_profile *sum)
{
    struct clp_profile one;
    struct clp_fault fault;
    bool done = true;

    for (int i = 0; i < options->file_count && done; i++) {
        clp_profile_init(&one, sum->mem);
        done = read_one(options, options->files[i], &one, &fault);
        if (done)
            done = (fault.status = clp_profile_merge(sum, &one)) == CLP_OK;
        if (!done)
            clp_reading_complain(options->files[i], &fault, sum->mem);
        clp_profile_clear(&one);
    }
    if (done && options->read_sources && clp_reading_add_sources(sum) != CLP_OK)
        clp_words_complain(me, clp_status_text(CLP_NO_MEMORY)); /* shown without */
    return done;
}

static bool print_report(const struct clp_view_options *view, const struct clp_profile *profile)
{
    struct clp_report_options options = clp_report_defaults();
    char folder[PATH_MAX];
    struct clp_buf text;

    clp_buf_init(&text, profile->mem);
    options.unit = view->unit;
    options.skip_zero = view->skip_zero;
    options.order = view->sort ? CLP_REPORT_BY_TIME : CLP_REPORT_BY_ORDER;
    clp_report_options_set(&options, view->columns, view->self, view->sort_by);
    options.summarize = view->summarize;
    options.no_memory = view->no_memory;
    options.raw_times = view->raw_times;
    options.folder = getcwd(folder, sizeof folder);
    text.failed |= clp_report_text(profile, &options, &text) != CLP_OK;
    if (!view->read_sources)
        clp_reading_note_sources(profile, &text);
    bool coloured = view->rich && view->outfile == NULL && !text.failed &&
                    clp_words_print_rich(me, clp_buf_text(&text), NULL);
    bool done = coloured || clp_export_put(view, &text);
    clp_buf_clear(&text);
    return done;
}

static int view(const struct clp_view_options *options, struct clp_mem *mem)
{
    struct clp_profile profile;

    clp_profile_init(&profile, mem);
    bool done = read_all(options, &profile) &&
                (is_text(options) ? print_report(options, &profile) : clp_export(&profile, options));
    clp_profile_clear(&profile);
    return done ? 0 : 1;
}

/* --help and the like. True when that was all. */
static bool answer(const struct clp_view_options *options, struct clp_buf *text)
{
    if (options->help)
        clp_view_options_help(me, text);
    else if (options->page)
        clp_view_options_page(me, text);
    else if (options->version)
        clp_buf_add_format(text, "%s %s\n", me, CLP_VERSION);
    else
        return false;
    clp_words_print(1, clp_buf_text(text));
    return true;
}

static int main_of(const struct clp_words *words, struct clp_view_options *options,
                   struct clp_mem *mem)
{
    struct clp_buf text;
    int code = 2;

    clp_buf_init(&text, mem);
    if (!clp_view_options_parse(words->count, words->items, options, &text))
        clp_words_complain(me, clp_buf_text(&text));
    else if (answer(options, &text))
        code = 0;
    else if (options->file_count == 0)
        clp_words_complain(me, "no profile to show; see clineprof --help");
    else
        code = view(options, mem);
    clp_buf_clear(&text);
    return code;
}

/* The defaults and what config files say. What is wrong with the command line is told later. False
 * with SystemExit set. */
static bool configure(PyObject *list, struct clp_view_options *options, struct clp_mem *mem,
                      PyObject **keep)
{
    struct clp_config config = {.program = me, .table = "cli"};
    struct clp_view_options line;
    struct clp_words words; /* a copy, which parsing puts in order */
    struct clp_buf error;
    bool done = true;

    clp_view_options_init(options);
    clp_view_options_init(&line);
    if (!clp_program_leave_folder() || !clp_words_init(&words, list))
        return false;
    clp_buf_init(&error, mem);
    if (clp_view_options_parse(words.count, words.items, &line, &error) && line.file_count != 0 &&
        !line.no_config) {
        config.file = line.config;
        done = clp_config_read(&config, clp_view_options_table(), options, mem, keep);
    }
    clp_buf_clear(&error);
    clp_words_clear(&words);
    return done;
}

PyObject *clp_view_main(PyObject *list)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_view_options options;
    struct clp_words words;
    PyObject *keep = NULL;
    int code;

    if (!clp_words_init(&words, list))
        return NULL;
    if (clp_command_is(words.count, words.items, CLP_COMMAND_RECOVER))
        code = clp_recover_main(words.count, words.items, &mem);
    else if (clp_command_is(words.count, words.items, CLP_COMMAND_TOP))
        code = clp_top_main(words.count, words.items, &mem);
    else if (configure(list, &options, &mem, &keep))
        code = main_of(&words, &options, &mem);
    else
        return NULL;
    clp_words_clear(&words);
    Py_XDECREF(keep);
    return clp_words_exit(code);
}
