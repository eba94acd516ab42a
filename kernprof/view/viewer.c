/* SPDX-License-Identifier: MIT */
/* The viewer: reads profiles, adds them up, prints the report. */
#include "viewer.h"
#include "ab.h"
#include "byprocess.h"
#include "callers.h"
#include "cli/commands.h"
#include "cli/config.h"
#include "diff.h"
#include "export.h"
#include "cli/first_path.h"
#include "folding.h"
#include "merge.h"
#include "cli/option.h"
#include "base/words.h"
#include "cli/options.h"
#include "bridge/reading.h"
#include "cli/overwrite.h"
#include "recover.h"
#include "bridge/print_report.h"
#include "top.h"
#include "bridge/console.h"
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static const char me[] = "clineprof";

static bool is_text(const struct clp_view_options *options)
{
    return strcmp(options->format, "text") == 0;
}

/* Is the report of a single file wanted, whose lines are only read? Such a file is read in place, which takes little
 * more memory than the file itself. */
static bool only_reads(const struct clp_view_options *options)
{
    return is_text(options) && options->file_count == 1 && !options->read_sources &&
           !options->by_statement && options->process.count == 0 && !options->spread && options->by == NULL;
}

/* Reads the files. Notes about live files go to standard output, above the report, if the report goes there; else to
 * standard error. False after one line of complaint. */
static bool read_all(const struct clp_view_options *options, struct clp_profile *sum)
{
    bool report = is_text(options) && options->outfile == NULL;

    if (only_reads(options))
        return clp_merge_file_in_place(options->files[0], report ? 1 : 2, sum);
    if (!clp_merge_files(options->files, options->file_count, report ? 1 : 2, sum))
        return false;
    if (options->read_sources && clp_reading_add_sources(sum) != CLP_OK)
        clp_console_complain(me, clp_status_text(CLP_NO_MEMORY)); /* some functions are then shown without source */
    return true;
}

static struct clp_report_options report_options(const struct clp_view_options *view)
{
    struct clp_report_options options = clp_report_defaults();

    clp_report_options_set(&options, &view->show);
    if (view->sort && view->show.sort_by == NULL)
        options.choice.order = CLP_CHOICE_BY_time;
    options.choice.raw_times = view->raw_times;
    options.no_memory = view->no_memory;
    options.footer_details = view->verbose;
    options.footer |= view->by_statement || view->verbose;
    return options;
}

/* heading: a line above the report; or NULL */
static int print_report(const struct clp_view_options *view, const struct clp_profile *profile, const char *heading)
{
    struct clp_print_options show = {.name = me, .outfile = view->outfile, .color = view->show.color, .rich = view->show.rich,
                                     .options = report_options(view)};
    struct clp_buf note;

    clp_buf_init(&note, profile->mem);
    if (!view->read_sources)
        clp_reading_note_sources(profile, &note);
    show.processes = view->processes;
    show.ranks = view->ranks;
    show.spread = view->spread;
    show.heading = heading;
    show.note = clp_buf_text(&note);
    show.mp = view->show.mp;
    clp_memory_table_options_set(&show.table, &view->show);
    int code = clp_print_report(profile, &show);
    clp_buf_clear(&note);
    return code;
}

/* Writes a format other than the report. The profile is first reduced to the functions and lines that the options
 * choose, in the order of --sort-by. Returns the exit code. */
static int make_export(const struct clp_view_options *view, struct clp_profile *profile)
{
    struct clp_report_options options = report_options(view);

    clp_print_if_none_chosen(me, profile, &options.choice);
    if (clp_choice_reduce(profile, &options.choice) == CLP_OK)
        return clp_export(profile, view) ? 0 : 1;
    clp_console_complain(me, clp_status_text(CLP_NO_MEMORY));
    return 1;
}

/* Shows the sum of some processes (--by). */
static int view_part(const void *data, struct clp_profile *part, const char *heading)
{
    const struct clp_view_options *options = data;

    if (options->by_statement)
        clp_folding_fold(part);
    return print_report(options, part, heading);
}

static int view(const struct clp_view_options *options, struct clp_mem *mem)
{
    struct clp_profile profile;

    clp_profile_init(&profile, mem);
    int code = read_all(options, &profile) ? 0 : 1;
    if (code == 0 && options->process.count != 0)
        code = clp_byprocess_pick(&profile, options->process.items) ? 0 : 1;
    if (code == 0 && options->by == NULL && options->by_statement)
        clp_folding_fold(&profile);
    if (code == 0 && options->by != NULL)
        code = clp_byprocess_each(&profile, options->by, view_part, options);
    else if (code == 0)
        code = is_text(options) ? print_report(options, &profile, NULL) : make_export(options, &profile);
    clp_profile_clear(&profile);
    return code;
}

/* Is there a file to show? False after one line of complaint, also when standard input is named twice or is a
 * terminal. */
static bool has_files(const struct clp_view_options *options)
{
    if (options->file_count != 0)
        return clp_reading_check_names(options->files, options->file_count);
    clp_console_complain(me, "no profile to show; see clineprof --help");
    return false;
}

/* Prints the answer to --help, --help-page or --version, and sets the exit code. False when none of them was given. */
static bool answer(const struct clp_view_options *options, struct clp_buf *text, int *code)
{
    if (options->help)
        clp_view_options_help(me, text);
    else if (options->page)
        clp_view_options_page(me, text);
    else if (options->version)
        clp_options_version(me, text);
    else
        return false;
    *code = clp_console_answer(me, clp_buf_text(text));
    return true;
}

static bool refuse_outfile(const struct clp_view_options *options)
{
    if (options->by != NULL && (!is_text(options) || options->outfile != NULL)) {
        clp_console_complain(me, "--by prints reports as text; --process makes other formats, and files, of some processes");
        return true;
    }
    bool sums = strcmp(options->format, "lprof") == 0;
    bool refused = clp_overwrite_refuse(&(struct clp_overwrite){
        .program = me, .path = options->outfile, .files = options->files, .file_count = options->file_count,
        .sums = sums});
    if (!refused && (sums || is_text(options)))
        clp_overwrite_note_ending(me, options->outfile, sums ? CLP_OVERWRITE_PROFILE : CLP_OVERWRITE_TEXT, NULL);
    return refused;
}

static bool is_program(const char *name)
{
    return clp_console_has_ending(name, ".py") || clp_console_has_ending(name, ".pyw");
}

/* The first word that is named as a Python program is; NULL when there is none. */
static const char *find_program(char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (is_program(words[i]))
            return words[i];
    return NULL;
}

/* Refuses to show a program: true, after a message, unless `name` is NULL. The command that it names selects the whole
 * program, which need not have a mark. */
static bool refuse_program(const char *name)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf words;

    if (name == NULL)
        return false;
    clp_buf_init(&words, &mem);
    clp_buf_add_text(&words, "-l -v -p ");
    clp_console_add_quoted(&words, name);
    clp_buf_add_text(&words, " ");
    clp_console_add_quoted(&words, name);
    clp_console_complain_format(me, "'%s' is a program, and %s shows profiles; to profile the program run: "
                                    "ckernprof %s, or: python3 -m clineprof.kernprof %s",
                                name, me, clp_buf_text(&words), clp_buf_text(&words));
    clp_buf_clear(&words);
    return true;
}

/* Complains of wrong options. If the first name is a program, says that programs are profiled with ckernprof: the
 * option may be ckernprof's or the program's. */
static void complain_of_options(const char *first, const char *text)
{
    if (first == NULL || !is_program(first) || !refuse_program(first))
        clp_console_complain(me, text);
}

/* The first word that is no option; NULL when there is none. To be called before parsing, which moves words. */
static const char *first_name(const struct clp_command_words *words)
{
    for (int i = 1; i < words->count; i++)
        if (words->items[i][0] != '-')
            return words->items[i];
    return NULL;
}

/* The command (or --help, --version) that the user probably meant by the word; NULL when it is similar to none. */
static const char *meant_by(const char *word)
{
    if (strcmp(word, "help") == 0 || strcmp(word, "version") == 0)
        return word[0] == 'h' ? "--help" : "--version";
    for (size_t i = 0; i < CLP_COMMANDS; i++)
        if (clp_words_slips(word, strlen(word), clp_command_name(i), strlen(clp_command_name(i))) != SIZE_MAX)
            return clp_command_name(i);
    return NULL;
}

/* The ending that makes the word the name of an existing profile; NULL when there is none. */
static const char *ending_of(const char *word)
{
    static const char *const endings[] = {".lprof", ".py.lprof", ".lprof.live", ".py.lprof.live"};
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (snprintf(path, sizeof path, "%s%s", word, endings[i]) < PATH_MAX && access(path, F_OK) == 0)
            return endings[i];
    return NULL;
}

/* Refuses a first word that is no file and does not look like one, as it was probably meant as a command. True after
 * one line of complaint. */
static bool refuse_command(const struct clp_command_words *words)
{
    const char *word = words->count > 1 ? words->items[1] : "-";
    const char *meant = meant_by(word);

    if (strpbrk(word, "-./") != NULL || access(word, F_OK) == 0)
        return false;
    if (meant != NULL)
        clp_console_complain_format(me, "there is no file '%s'; did you mean %s %s?", word, me, meant);
    else if (ending_of(word) != NULL)
        clp_console_complain_format(me, "there is no file '%s'; did you mean %s%s?", word, word, ending_of(word));
    else
        clp_console_complain_format(me, "there is no file '%s', and no command of that name; %s --help lists the "
                                      "commands", word, me);
    return true;
}

static int main_of(const struct clp_command_words *words, struct clp_view_options *options,
                   struct clp_mem *mem)
{
    const char *first = first_name(words);
    struct clp_buf text;
    int code = 2;

    clp_buf_init(&text, mem);
    if (!clp_view_options_parse(words->count, words->items, options, &text))
        complain_of_options(first, clp_buf_text(&text));
    else if (!answer(options, &text, &code) &&
             !refuse_program(find_program(options->files, options->file_count)) &&
             has_files(options) && !refuse_outfile(options))
        code = refuse_command(words) ? 1 : view(options, mem);
    clp_buf_clear(&text);
    return code;
}

/* Stores the settings of config files in *options, which holds the defaults. A fault in the command line is told later,
 * by main_of. False with SystemExit or another exception set. */
static bool configure(PyObject *list, struct clp_view_options *options, struct clp_mem *mem,
                      PyObject **keep)
{
    struct clp_config config = {.program = me, .table = "cli"};
    struct clp_view_options line;
    struct clp_command_words words; /* a copy, because parsing moves words */
    struct clp_buf error;
    bool done = true;

    clp_view_options_init(&line);
    if (!clp_first_path_leave() || !clp_command_words_init(&words, list))
        return false;
    clp_buf_init(&error, mem);
    if (clp_view_options_parse(words.count, words.items, &line, &error) && line.file_count != 0 &&
        !line.no_config) {
        config.file = line.config;
        done = clp_config_read(&config, clp_view_options_table(), options, mem, keep);
    }
    clp_option_replace_lists(clp_view_options_table(), options, &line, mem);
    clp_buf_clear(&error);
    clp_view_options_clear(&line, mem);
    clp_command_words_clear(&words);
    return done;
}

/* The commands that are written in Python, and their modules. */
static const struct python_command {
    const char *name, *module;
} python_commands[] = {
    {CLP_COMMAND_ATTACH, "clineprof._attach.command"}, {CLP_COMMAND_DUMP, "clineprof._attach.command"},
    {CLP_COMMAND_MEM, "clineprof._mem.command"},       {CLP_COMMAND_HOOK, "clineprof._children.hook"},
    {CLP_COMMAND_LSP, "clineprof._lsp.command"},       {CLP_COMMAND_TORCH, "clineprof._torch.command"},
};

/* The module of the command that the words begin with; NULL if it is none of those. */
static const char *python_module(const struct clp_command_words *words)
{
    for (size_t i = 0; i < sizeof python_commands / sizeof *python_commands; i++)
        if (clp_command_is(words->count, words->items, python_commands[i].name))
            return python_commands[i].module;
    return NULL;
}

/* Runs a command that is written in Python: main(words) of the module `name`, where `words` is the whole command line.
 * Returns the exit code; -1 with an exception set. */
static int run_in_python(const char *name, PyObject *words)
{
    PyObject *module = clp_first_path_leave() ? PyImport_ImportModule(name) : NULL;
    PyObject *code = module != NULL ? PyObject_CallMethod(module, "main", "O", words) : NULL;
    int value = code != NULL ? (int)PyLong_AsLong(code) : -1;

    Py_XDECREF(module);
    Py_XDECREF(code);
    return value;
}

PyObject *clp_viewer_main(PyObject *list)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_view_options options;
    struct clp_command_words words;
    PyObject *keep = NULL;
    int code;

    clp_view_options_init(&options);
    if (!clp_command_words_init(&words, list))
        return NULL;
    if (clp_command_is(words.count, words.items, CLP_COMMAND_RECOVER))
        code = clp_recover_main(words.count, words.items, &mem);
    else if (clp_command_is(words.count, words.items, CLP_COMMAND_TOP))
        code = clp_top_main(words.count, words.items, &mem);
    else if (clp_command_is(words.count, words.items, CLP_COMMAND_DIFF))
        code = clp_diff_main(words.count, words.items, &mem);
    else if (clp_command_is(words.count, words.items, CLP_COMMAND_CALLERS))
        code = clp_callers_main(words.count, words.items, &mem);
    else if (clp_command_is(words.count, words.items, CLP_COMMAND_AB))
        code = clp_ab_main(words.count, words.items, &mem);
    else if (clp_command_is(words.count, words.items, CLP_COMMAND_MERGE))
        code = clp_merge_main(words.count, words.items, &mem);
    else if (python_module(&words) != NULL)
        code = run_in_python(python_module(&words), list);
    else if (configure(list, &options, &mem, &keep))
        code = main_of(&words, &options, &mem);
    else
        code = -1; /* an exception is set */
    clp_view_options_clear(&options, &mem);
    clp_command_words_clear(&words);
    Py_XDECREF(keep);
    return code < 0 ? NULL : clp_console_exit(code);
}
