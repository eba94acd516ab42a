/* SPDX-License-Identifier: MIT */
/* One table per command. A row says how an option is spelled, what follows it, what --help says of
 * it and which field of the result it sets; everything below the tables works for any row. */
#include "options.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CLP_OPTION_NAME 48 /* bytes: more than the longest spelling of any option */

enum option_kind {
    CLP_OPTION_ANSWER, /* bool; nothing behind it is read: --help, --version */
    CLP_OPTION_COUNT,  /* int, one more each time */
    CLP_OPTION_SWITCH, /* bool: --name, --no-name, --name=yes */
    CLP_OPTION_TEXT,   /* const char *, not empty */
    CLP_OPTION_NUMBER, /* double, finite and above zero */
    CLP_OPTION_TARGET  /* a text, the last option: what follows belongs to the program */
};

struct option {
    enum option_kind kind;
    char letter;      /* 0: long form only */
    bool inverted;    /* the field is true when the switch is off; --help shows the --no- form */
    const char *name; /* without dashes; NULL: short form only */
    const char *argument;
    const char *help;
    size_t field; /* offset in the result */
};

#define RUN(field) offsetof(struct clp_run_options, field)
#define VIEW(field) offsetof(struct clp_view_options, field)

static const struct option run_table[] = {
    {CLP_OPTION_SWITCH, 'l', false, "line-by-line", NULL,
     "profile line by line; implies -b", RUN(line_by_line)},
    {CLP_OPTION_SWITCH, 'b', false, "builtin", NULL,
     "put 'profile' among the builtins", RUN(builtin)},
    {CLP_OPTION_TEXT, 'o', false, "outfile", "FILE",
     "where the profile goes (default: <script>.lprof here)", RUN(outfile)},
    {CLP_OPTION_COUNT, 'v', false, "view", NULL,
     "print the report at the end; twice: say more", RUN(view)},
    {CLP_OPTION_NUMBER, 'u', false, "unit", "UNIT",
     "unit of the report's times, in seconds (default: 1e-6)", RUN(unit)},
    {CLP_OPTION_SWITCH, 'z', false, "skip-zero", NULL,
     "leave functions that never ran out of the report", RUN(skip_zero)},
    {CLP_OPTION_TEXT, 0, false, "tracer", "NAME",
     "auto (default), probe, monitoring or settrace", RUN(tracer)},
    {CLP_OPTION_SWITCH, 0, true, "memory", NULL,
     "do not read memory: time only", RUN(no_memory)},
    {CLP_OPTION_TEXT, 0, false, "python", "PATH",
     "the interpreter that runs the program", RUN(python)},
    {CLP_OPTION_TARGET, 'm', false, NULL, "MODULE",
     "run a module, as python -m does; ends the options", RUN(target)},
    {CLP_OPTION_ANSWER, 'V', false, "version", NULL, "print the version", RUN(version)},
    {CLP_OPTION_ANSWER, 'h', false, "help", NULL, "print this", RUN(help)},
};

static const struct option view_table[] = {
    {CLP_OPTION_NUMBER, 'u', false, "unit", "UNIT",
     "unit of the times, in seconds (default: 1e-6)", VIEW(unit)},
    {CLP_OPTION_SWITCH, 'z', false, "skip-zero", NULL,
     "leave functions that never ran out", VIEW(skip_zero)},
    {CLP_OPTION_SWITCH, 't', false, "sort", NULL,
     "by ascending total time: the slowest stands last", VIEW(sort)},
    {CLP_OPTION_SWITCH, 'm', false, "summarize", NULL,
     "a line per function at the end", VIEW(summarize)},
    {CLP_OPTION_SWITCH, 0, true, "memory", NULL,
     "leave the memory columns out", VIEW(no_memory)},
    {CLP_OPTION_SWITCH, 0, false, "raw-times", NULL,
     "times as the clock saw them, the profiler's cost left in", VIEW(raw_times)},
    {CLP_OPTION_ANSWER, 'V', false, "version", NULL, "print the version", VIEW(version)},
    {CLP_OPTION_ANSWER, 'h', false, "help", NULL, "print this", VIEW(help)},
};

#define ROWS(table) (sizeof(table) / sizeof(table)[0])

struct parser {
    const struct option *rows;
    size_t row_count;
    int argc;
    char **argv;
    int at;               /* the element of argv at hand */
    bool ended;           /* the option at hand was the last */
    char *into;           /* the result */
    const char *program;  /* whose --help messages point to */
    struct clp_buf *error;
};

/* An option as the user spelled it: one row may be meant by several names. */
struct use {
    const struct option *option;
    bool negative; /* the --no- form */
    char shown[CLP_OPTION_NAME];
};

/* ---- messages ---- */

/* Every message ends so; false, for the caller to return. */
static bool point_to_help(struct parser *parser)
{
    clp_buf_add_format(parser->error, "; see %s --help", parser->program);
    return false;
}

static bool complain_of(struct parser *parser, const struct use *use, const char *what)
{
    clp_buf_add_format(parser->error, "option '%s' %s", use->shown, what);
    return point_to_help(parser);
}

/* The value cannot be used: what would be right, and what was given. */
static bool complain_of_value(struct parser *parser, const struct use *use, const char *wanted,
                              const char *value)
{
    clp_buf_add_format(parser->error, "option '%s' needs %s, not '%s'", use->shown, wanted, value);
    return point_to_help(parser);
}

static bool complain_of_lack(struct parser *parser, const struct use *use)
{
    clp_buf_add_format(parser->error, "option '%s' needs a %s", use->shown, use->option->argument);
    return point_to_help(parser);
}

/* ---- values ---- */

static bool is_one_of(const char *value, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcasecmp(value, *words) == 0)
            return true;
    return false;
}

static bool read_switch(const char *value, bool *on)
{
    static const char *const yes[] = {"1", "on", "true", "t", "yes", "y", NULL};
    static const char *const no[] = {"0", "off", "false", "f", "no", "n", NULL};

    *on = value == NULL || is_one_of(value, yes);
    return *on || is_one_of(value, no);
}

static bool read_number(const char *value, double *number)
{
    char *end;

    *number = strtod(value, &end);
    return end != value && *end == 0 && *number > 0 && *number <= 1.7976931348623157e308;
}

static bool takes_value(const struct option *option)
{
    return option->kind == CLP_OPTION_TEXT || option->kind == CLP_OPTION_NUMBER ||
           option->kind == CLP_OPTION_TARGET;
}

static bool store_switch(struct parser *parser, const struct use *use, const char *value)
{
    bool on, *field = (bool *)(parser->into + use->option->field);

    if (value != NULL && use->negative)
        return complain_of(parser, use, "takes no value");
    if (!read_switch(value, &on))
        return complain_of_value(parser, use, "yes or no", value);
    if (use->negative)
        on = false;
    *field = on != use->option->inverted;
    return true;
}

static bool store_number(struct parser *parser, const struct use *use, const char *value)
{
    double number;

    if (!read_number(value, &number))
        return complain_of_value(parser, use, "a number above 0, such as 1e-3", value);
    *(double *)(parser->into + use->option->field) = number;
    return true;
}

/* Value is NULL where none was given; an option that takes one always has it. */
static bool store(struct parser *parser, const struct use *use, const char *value)
{
    const struct option *option = use->option;
    char *field = parser->into + option->field;

    if (takes_value(option) && *value == 0)
        return complain_of_lack(parser, use);
    if (option->kind == CLP_OPTION_SWITCH)
        return store_switch(parser, use, value);
    if (option->kind == CLP_OPTION_NUMBER)
        return store_number(parser, use, value);
    if (!takes_value(option) && value != NULL)
        return complain_of(parser, use, "takes no value");
    if (option->kind == CLP_OPTION_COUNT)
        ++*(int *)field;
    else if (option->kind == CLP_OPTION_ANSWER)
        *(bool *)field = true;
    else
        *(const char **)field = value;
    parser->ended = option->kind == CLP_OPTION_ANSWER || option->kind == CLP_OPTION_TARGET;
    return true;
}

/* Stores the value, or the next element when the option needs one and has none with it. What
 * starts with a dash is taken for a forgotten value: --outfile=-x says it is meant. */
static bool store_next(struct parser *parser, const struct use *use, const char *value)
{
    if (value != NULL || !takes_value(use->option))
        return store(parser, use, value);
    if (parser->at + 1 >= parser->argc)
        return complain_of_lack(parser, use);
    value = parser->argv[++parser->at];
    if (use->option->kind != CLP_OPTION_NUMBER && value[0] == '-' && value[1] != 0)
        return complain_of_lack(parser, use);
    return store(parser, use, value);
}

/* ---- names ---- */

static void spell(const struct option *option, bool negative, char name[CLP_OPTION_NAME])
{
    snprintf(name, CLP_OPTION_NAME, "--%s%s", negative ? "no-" : "", option->name);
}

/* Steps through all long spellings: true with the one behind *use, from {0} to the last. */
static bool next_spelling(const struct parser *parser, struct use *use)
{
    const struct option *end = parser->rows + parser->row_count;

    if (use->option != NULL && use->option->kind == CLP_OPTION_SWITCH && !use->negative) {
        use->negative = true;
    } else {
        use->negative = false;
        use->option = use->option == NULL ? parser->rows : use->option + 1;
        while (use->option < end && use->option->name == NULL)
            use->option++;
    }
    if (use->option == end)
        return false;
    spell(use->option, use->negative, use->shown);
    return true;
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;

    return least < c ? least : c;
}

/* How many characters must be changed, added or taken out (Levenshtein). b is a spelling. */
static size_t distance(const char *a, size_t a_bytes, const char *b)
{
    size_t row[CLP_OPTION_NAME], b_bytes = strlen(b);

    for (size_t j = 0; j <= b_bytes; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_bytes; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_bytes; j++) {
            size_t changed = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = smallest(changed, row[j] + 1, row[j - 1] + 1);
        }
    }
    return row[b_bytes];
}

/* Says what may have been meant where that is at most two slips away. */
static bool complain_of_unknown(struct parser *parser, const char *text, size_t bytes)
{
    struct use use = {0};
    char nearest[CLP_OPTION_NAME] = "";
    size_t least = 3;

    while (next_spelling(parser, &use)) {
        size_t far = distance(text, bytes, use.shown);
        if (far < least) {
            least = far;
            memcpy(nearest, use.shown, sizeof nearest);
        }
    }
    clp_buf_add_format(parser->error, "unknown option '%.*s'", (int)bytes, text);
    if (nearest[0] != 0)
        clp_buf_add_format(parser->error, " (did you mean %s?)", nearest);
    return point_to_help(parser);
}

static bool complain_of_choice(struct parser *parser, const char *text, size_t bytes)
{
    struct use use = {0};
    const char *between = "";

    clp_buf_add_format(parser->error, "option '%.*s' could be ", (int)bytes, text);
    while (next_spelling(parser, &use)) {
        if (strncmp(use.shown, text, bytes) != 0)
            continue;
        clp_buf_add_format(parser->error, "%s%s", between, use.shown);
        between = ", ";
    }
    return point_to_help(parser);
}

/* The option spelled text[0..bytes), or the only one that begins so. */
static bool find_long(struct parser *parser, const char *text, size_t bytes, struct use *found)
{
    struct use use = {0};
    size_t count = 0;

    while (next_spelling(parser, &use)) {
        if (strncmp(use.shown, text, bytes) != 0)
            continue;
        *found = use;
        count++;
        if (use.shown[bytes] == 0)
            return true;
    }
    if (count == 0)
        return complain_of_unknown(parser, text, bytes);
    return count == 1 || complain_of_choice(parser, text, bytes);
}

static bool parse_long(struct parser *parser, const char *text)
{
    size_t bytes = strcspn(text, "=");
    struct use use;

    if (!find_long(parser, text, bytes, &use))
        return false;
    return store_next(parser, &use, text[bytes] == '=' ? text + bytes + 1 : NULL);
}

static const struct option *find_letter(const struct parser *parser, char letter)
{
    for (size_t i = 0; i < parser->row_count; i++)
        if (parser->rows[i].letter == letter)
            return &parser->rows[i];
    return NULL;
}

/* -lvo FILE, -lvoFILE, -o=FILE */
static bool parse_letters(struct parser *parser, const char *text)
{
    for (const char *at = text + 1; *at != 0 && !parser->ended; at++) {
        struct use use = {.option = find_letter(parser, *at), .shown = {'-', *at}};
        if (use.option == NULL)
            return complain_of_unknown(parser, at == text + 1 ? text : use.shown,
                                       at == text + 1 ? strlen(text) : 2);
        if (takes_value(use.option)) {
            const char *rest = at[1] == '=' ? at + 2 : at + 1;
            return store_next(parser, &use, at[1] == 0 ? NULL : rest);
        }
        if (!store(parser, &use, NULL))
            return false;
    }
    return true;
}

/* ---- command lines ---- */

static struct parser start_parser(int argc, char **argv, void *into, struct clp_buf *error)
{
    const char *path = argc > 0 && argv[0] != NULL ? argv[0] : "clineprof";
    const char *slash = strrchr(path, '/');

    return (struct parser){
        .argc = argc,
        .argv = argv,
        .at = 1,
        .into = into,
        .program = slash == NULL ? path : slash + 1,
        .error = error,
    };
}

/* True while parser->at stands at an option; steps over the "--" that ends them. */
static bool at_option(struct parser *parser)
{
    if (parser->ended || parser->at >= parser->argc)
        return false;
    const char *text = parser->argv[parser->at];
    if (strcmp(text, "--") != 0)
        return text[0] == '-' && text[1] != 0;
    parser->at++;
    parser->ended = true;
    return false;
}

/* Parses the options up to the first element that is none. */
static bool parse_options(struct parser *parser)
{
    while (at_option(parser)) {
        const char *text = parser->argv[parser->at];
        if (!(text[1] == '-' ? parse_long(parser, text) : parse_letters(parser, text)))
            return false;
        if (!parser->ended)
            parser->at++;
    }
    return true;
}

bool clp_run_options_parse(int argc, char **argv, struct clp_run_options *options,
                           struct clp_buf *error)
{
    *options = (struct clp_run_options){.unit = 1e-6};
    struct parser parser = start_parser(argc, argv, options, error);
    parser.rows = run_table;
    parser.row_count = ROWS(run_table);
    if (!parse_options(&parser))
        return false;
    options->builtin = options->builtin || options->line_by_line;
    if (options->help || options->version || parser.at >= argc)
        return true;
    options->target_kind = options->target != NULL ? CLP_TARGET_MODULE : CLP_TARGET_SCRIPT;
    if (options->target == NULL)
        options->target = argv[parser.at];
    options->program_argv = argv + parser.at;
    options->program_argc = argc - parser.at;
    return true;
}

/* Moves a file's name behind those already found, by an exchange, so that every element of argv
 * stays there for whoever has to free it. */
static void keep_file(struct parser *parser, struct clp_view_options *options)
{
    char **place = &parser->argv[1 + options->file_count++];
    char *file = parser->argv[parser->at];

    parser->argv[parser->at++] = *place;
    *place = file;
}

bool clp_view_options_parse(int argc, char **argv, struct clp_view_options *options,
                            struct clp_buf *error)
{
    *options = (struct clp_view_options){.unit = 1e-6};
    struct parser parser = start_parser(argc, argv, options, error);
    parser.rows = view_table;
    parser.row_count = ROWS(view_table);
    if (argc > 1)
        options->files = argv + 1;
    while (parse_options(&parser)) {
        if (parser.at >= argc || options->help || options->version)
            return true;
        keep_file(&parser, options);
    }
    return false;
}

/* ---- help ---- */

static void spell_row(const struct option *option, char left[2 * CLP_OPTION_NAME])
{
    char name[CLP_OPTION_NAME] = "", letter[] = {'-', option->letter, 0};

    if (option->name != NULL)
        spell(option, option->inverted, name);
    snprintf(left, 2 * CLP_OPTION_NAME, "  %s%s%s%s%s", option->letter != 0 ? letter : "  ",
             name[0] == 0 ? "" : option->letter != 0 ? ", " : "  ", name,
             option->argument != NULL ? " " : "", option->argument != NULL ? option->argument : "");
}

static void add_rows(struct clp_buf *out, const struct option *rows, size_t count)
{
    char left[2 * CLP_OPTION_NAME];
    size_t width = 0;

    for (size_t i = 0; i < count; i++) {
        spell_row(&rows[i], left);
        width = strlen(left) > width ? strlen(left) : width;
    }
    for (size_t i = 0; i < count; i++) {
        spell_row(&rows[i], left);
        clp_buf_add_format(out, "%-*s  %s\n", (int)width, left, rows[i].help);
    }
}

static const char closing[] = "\nLong switches take =yes or =no and have a --no- form; "
                              "short ones can be joined.\n";

void clp_run_options_help(const char *program, struct clp_buf *out)
{
    clp_buf_add_format(out, "usage: %s [options] script [args ...]\n", program);
    clp_buf_add_format(out, "       %s [options] -m module [args ...]\n", program);
    clp_buf_add_text(out, "\nRuns a Python program and records the time and the memory of every "
                          "line.\n\noptions:\n");
    add_rows(out, run_table, ROWS(run_table));
    clp_buf_add_text(out, closing);
}

void clp_view_options_help(const char *program, struct clp_buf *out)
{
    clp_buf_add_format(out, "usage: %s [options] profile.lprof [profile.lprof ...]\n", program);
    clp_buf_add_text(out, "\nPrints the report of a profile, or of several, summed.\n\noptions:\n");
    add_rows(out, view_table, ROWS(view_table));
    clp_buf_add_text(out, closing);
}
