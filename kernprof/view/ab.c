/* SPDX-License-Identifier: MIT */
/* Reads the command line, which has options of this command, of `clineprof diff` and of ckernprof.
 * src/clineprof/_ab/rounds.py runs the programs, and diff.c compares the profiles. */
#include "ab.h"
#include "cpython/compat/compat.h"
#include "bridge/console.h"
#include "bridge/values.h"
#include "cli/command_line.h"
#include "cli/first_path.h"
#include "cli/option.h"
#include "cli/options.h"
#include "diff.h"
#include "diff/significance.h"
#include "diff_result.h"
#include "cli/overwrite.h"
#include <stdlib.h>
#include <string.h>

static const char me[] = "clineprof ab";

#define RUNS 10
#define CONFIDENCE 99.9 /* percent */

struct request {
    struct clp_diff_request diff; /* the first member, as the rows of diff's table say where its fields are */
    size_t runs;
    const char *keep; /* NULL: not given */
};

/* What the command line asks for. */
struct ab {
    struct request request;
    struct clp_run_options run;
    PyObject *options, *words; /* owned lists: ckernprof's options; the words behind all options */
};

static bool check_runs(const char *value, struct clp_buf *fault)
{
    if (strtoul(value, NULL, 10) >= CLP_SIGNIFICANCE_RUNS)
        return true;
    clp_buf_add_format(fault, "needs %d or more, not '%s'", CLP_SIGNIFICANCE_RUNS, value);
    return false;
}

#define FIELD(name) offsetof(struct request, name)

static const struct clp_option own_rows[] = {
    {CLP_OPTION_COUNT, 'n', "runs", .argument = "N", .standard = "10", .check = check_runs, .field = FIELD(runs),
     .help = "how often each program runs"},
    {CLP_OPTION_TEXT, 0, "keep", .argument = "FOLDER", .standard = "", .field = FIELD(keep),
     .help = "keep the profiles of all runs in FOLDER"},
};

static const char usage[] =
    "usage: clineprof ab [options] old.py new.py\n"
    "       clineprof ab [options] old.py [args ...] -- new.py [args ...]\n"
    "\n"
    "Runs two programs in turn, several times each, and prints which lines differ for certain.\n"
    "All options of ckernprof that stand before the programs are passed to it. Without -l or -p\n"
    "all functions of the programs are profiled. Exit status: that of clineprof diff, or of a\n"
    "run that failed.\n";

/* ---- the command line ---- */

#define OWN_ROWS (sizeof own_rows / sizeof *own_rows)
#define ROWS_MOST 32

/* Fills `rows` with the options of this command and those of diff. */
static struct clp_option_table own_table(struct clp_option rows[ROWS_MOST])
{
    struct clp_option_table diff = clp_diff_options_table();
    size_t count = diff.count < ROWS_MOST - OWN_ROWS ? diff.count : ROWS_MOST - OWN_ROWS;

    memcpy(rows, own_rows, sizeof own_rows);
    memcpy(rows + OWN_ROWS, diff.rows, count * sizeof *rows);
    for (size_t i = OWN_ROWS; i < OWN_ROWS + count; i++)
        if (rows[i].name != NULL && strcmp(rows[i].name, "confidence") == 0)
            rows[i].standard = "99.9";
    return (struct clp_option_table){rows, OWN_ROWS + count};
}

static bool append_words(PyObject *list, char **words, int count)
{
    for (int i = 0; i < count; i++)
        if (!clp_list_append(list, PyUnicode_DecodeFSDefault(words[i])))
            return false;
    return true;
}

/* Is the word -m MODULE or -c CODE, which begins a program? */
static bool begins_program(const char *word)
{
    return word[0] == '-' && (word[1] == 'm' || word[1] == 'c');
}

/* Reads one option at own->at, by the table that has it. */
static bool read_option(struct ab *ab, struct clp_option_parser *own, struct clp_option_parser *run)
{
    const char *word = own->argv[own->at];
    bool is_own = clp_option_is_spelled(own->table, word) || !clp_option_is_spelled(run->table, word);
    struct clp_option_parser *parser = is_own ? own : run;
    int from = own->at;

    parser->at = from;
    if (!clp_option_parse_one(parser))
        return false;
    own->at = parser->at;
    return is_own || append_words(ab->options, own->argv + from, own->at - from);
}

/* Reads the options up to the first program. False with one line in `error`, or with an exception set. */
static bool read_options(struct ab *ab, int argc, char **argv, struct clp_buf *error)
{
    struct clp_option rows[ROWS_MOST];
    struct clp_option_parser own = clp_option_start(own_table(rows), argc, argv, &ab->request, error);
    struct clp_option_parser run = clp_option_start(clp_run_options_table(), argc, argv, &ab->run, error);

    own.program = me;
    run.program = CLP_RUN_NAME;
    while (clp_option_at_option(&own) && !ab->request.diff.help && !begins_program(argv[own.at]))
        if (!read_option(ab, &own, &run))
            return false;
    return append_words(ab->words, argv + own.at, argc - own.at);
}

/* ---- the command ---- */

static void print_help(struct clp_mem *mem)
{
    struct clp_option rows[ROWS_MOST];
    struct clp_command_line line = {me, usage, own_table(rows)};

    (void)clp_command_line_help(&line, mem);
}

/* The object that runs the programs. New, or NULL with an exception set. */
static PyObject *make_rounds(const struct ab *ab)
{
    bool selects = ab->run.line_by_line || ab->run.prof_mod.count != 0;
    PyObject *module = clp_first_path_leave() ? PyImport_ImportModule("clineprof._ab.rounds") : NULL;
    PyObject *keep = ab->request.keep != NULL ? PyUnicode_DecodeFSDefault(ab->request.keep) : Py_NewRef(Py_None);
    PyObject *rounds = module == NULL || keep == NULL
                           ? NULL : PyObject_CallMethod(module, "Rounds", "OOOnO", ab->options,
                                                        selects ? Py_True : Py_False, ab->words,
                                                        (Py_ssize_t)ab->request.runs, keep);

    Py_XDECREF(module);
    Py_XDECREF(keep);
    return rounds;
}

/* The words of a list that is an attribute. False with an exception set. */
static bool get_words(PyObject *object, const char *name, struct clp_command_words *words)
{
    PyObject *list = PyObject_GetAttrString(object, name);
    bool done = list != NULL && clp_command_words_init(words, list);

    Py_XDECREF(list);
    return done;
}

/* Compares the profiles. Returns the exit code; -1 with an exception set. */
static int compare(struct ab *ab, PyObject *rounds, struct clp_mem *mem)
{
    struct clp_diff_request *request = &ab->request.diff;
    struct clp_command_words files = {0}, titles = {0};
    int code = -1;

    if (get_words(rounds, "files", &files) && get_words(rounds, "titles", &titles)) {
        request->files = files.items;
        for (int side = 0; side < 2; side++) {
            request->counts[side] = ab->request.runs;
            request->titles[side] = titles.items[side];
        }
        code = clp_diff_compare(request, mem);
    }
    clp_command_words_clear(&files);
    clp_command_words_clear(&titles);
    return code;
}

/* Calls a method that returns an exit code; -1 with an exception set. `code`, if it is not negative, is passed. */
static int call(PyObject *rounds, const char *name, int code)
{
    PyObject *answer = code < 0 ? PyObject_CallMethod(rounds, name, NULL)
                                : PyObject_CallMethod(rounds, name, "i", code);
    int value = answer != NULL ? (int)PyLong_AsLong(answer) : -1;

    Py_XDECREF(answer);
    return value;
}

/* Runs the programs and compares them. Returns as `compare` does. */
static int run(struct ab *ab, struct clp_mem *mem)
{
    PyObject *rounds = make_rounds(ab);
    int code = rounds != NULL ? call(rounds, "run", -1) : -1;

    if (code == 0)
        code = compare(ab, rounds, mem);
    if (code >= 0)
        code = call(rounds, "end", code);
    Py_XDECREF(rounds);
    return code;
}

static bool refuse_outfile(const struct clp_diff_request *request)
{
    return clp_overwrite_refuse(&(struct clp_overwrite){.program = me, .path = request->outfile});
}

/* Reads the command line and does what it says. Returns as `compare` does. */
static int main_of(struct ab *ab, int argc, char **argv, struct clp_buf *error)
{
    struct clp_diff_request *request = &ab->request.diff;

    bool good = read_options(ab, argc, argv, error);
    if (PyErr_Occurred())
        return -1;
    if (good && request->help) {
        print_help(error->mem);
        return CLP_DIFF_PASSED;
    }
    if (!good || !clp_diff_check(request, error)) {
        clp_console_complain(me, clp_buf_text(error));
        return CLP_DIFF_USAGE;
    }
    return refuse_outfile(request) ? CLP_DIFF_USAGE : run(ab, error->mem);
}

int clp_ab_main(int argc, char **argv, struct clp_mem *mem)
{
    struct ab ab = {.request = {.diff = clp_diff_defaults(), .runs = RUNS}, .options = PyList_New(0),
                    .words = PyList_New(0)};
    struct clp_buf error;
    int code = -1;

    ab.request.diff.confidence = CONFIDENCE;
    ab.request.diff.renamed = true;
    clp_run_options_init(&ab.run);
    clp_buf_init(&error, mem);
    if (ab.options != NULL && ab.words != NULL)
        code = main_of(&ab, argc - 1, argv + 1, &error);
    clp_buf_clear(&error);
    clp_run_options_clear(&ab.run, mem);
    Py_XDECREF(ab.options);
    Py_XDECREF(ab.words);
    return code;
}
