/* SPDX-License-Identifier: MIT */
#include "option.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CLP_OPTION_NAME 48 /* bytes: more than the longest spelling of any option */

/* An option as the user spelled it: one row may be meant by several names. */
struct use {
    const struct clp_option *option;
    enum { USE_NAME, USE_NEGATIVE, USE_ALIAS } form;
    char shown[CLP_OPTION_NAME];
};

/* ---- messages ---- */

/* Every message ends so; false, for the caller to return. */
static bool point_to_help(struct clp_option_parser *parser)
{
    clp_buf_add_format(parser->error, "; see %s --help", parser->program);
    return false;
}

static bool complain_of(struct clp_option_parser *parser, const struct use *use, const char *what)
{
    clp_buf_add_format(parser->error, "%s '%s' %s", parser->what, use->shown, what);
    return point_to_help(parser);
}

/* The value cannot be used: what would be right, and what was given. */
static bool complain_of_value(struct clp_option_parser *parser, const struct use *use,
                              const char *wanted, const char *value)
{
    clp_buf_add_format(parser->error, "%s '%s' needs %s, not '%s'", parser->what, use->shown,
                       wanted, value);
    return point_to_help(parser);
}

static bool is_number(const struct clp_option *option)
{
    return option->kind == CLP_OPTION_NUMBER || option->kind == CLP_OPTION_COUNT ||
           option->kind == CLP_OPTION_SHARE;
}

static bool complain_of_lack(struct clp_option_parser *parser, const struct use *use)
{
    clp_buf_add_format(parser->error, "%s '%s' needs a %s", parser->what, use->shown,
                       is_number(use->option) ? "number" : use->option->argument);
    return point_to_help(parser);
}

static bool complain_of_memory(struct clp_option_parser *parser)
{
    clp_buf_add_text(parser->error, "out of memory");
    return false;
}

/* ---- values ---- */

static bool is_one_of(const char *value, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcasecmp(value, *words) == 0)
            return true;
    return false;
}

/* NULL is yes. */
static bool read_switch(const char *value, bool *on)
{
    static const char *const yes[] = {"1", "on", "true", "t", "yes", "y", NULL};
    static const char *const no[] = {"0", "off", "false", "f", "no", "n", NULL};

    *on = value == NULL || is_one_of(value, yes);
    return *on || is_one_of(value, no);
}

/* Finite and not negative. */
static bool read_number(const char *value, double *number)
{
    char *end;

    *number = strtod(value, &end);
    return end != value && *end == 0 && *number >= 0 && *number <= 1.7976931348623157e308;
}

static bool needs_value(const struct clp_option *option)
{
    return option->kind == CLP_OPTION_TEXT || option->kind == CLP_OPTION_TARGET ||
           option->kind == CLP_OPTION_LIST || option->kind == CLP_OPTION_MODE || is_number(option);
}

static bool has_negative(const struct clp_option *option)
{
    return option->kind == CLP_OPTION_SWITCH || option->kind == CLP_OPTION_MODE ||
           option->kind == CLP_OPTION_BARE;
}

static bool store_switch(struct clp_option_parser *parser, const struct use *use, const char *value)
{
    const struct clp_option *option = use->option;
    bool on, *field = (bool *)(parser->into + option->field);

    if (value != NULL && use->form == USE_NEGATIVE)
        return complain_of(parser, use, "takes no value");
    if (!read_switch(value, &on))
        return complain_of_value(parser, use, "yes or no", value);
    if (use->form == USE_NEGATIVE)
        on = false;
    *field = on != option->inverted;
    return true;
}

static bool store_number(struct clp_option_parser *parser, const struct use *use, const char *value)
{
    bool period = use->option->kind == CLP_OPTION_PERIOD;
    double number = use->option->bare != 0 ? use->option->bare : 1;

    if (value != NULL && (!read_number(value, &number) || (number == 0 && !period)))
        return complain_of_value(parser, use,
                                 period ? "a number of seconds, 0 or more"
                                        : "a number above 0, such as 1e-3", value);
    *(double *)(parser->into + use->option->field) = number;
    return true;
}

/* No table has so many rows that nine digits would not do. */
/* What the row itself says of the value. */
static bool is_meant(struct clp_option_parser *parser, const struct use *use, const char *value)
{
    struct clp_buf fault;

    clp_buf_init(&fault, parser->error->mem);
    bool good = use->option->check == NULL || use->option->check(value, &fault);
    if (!good)
        complain_of(parser, use, clp_buf_text(&fault));
    clp_buf_clear(&fault);
    return good;
}

static bool store_size(struct clp_option_parser *parser, const struct use *use, const char *value)
{
    size_t digits = strspn(value, "0123456789");

    if (digits == 0 || value[digits] != 0 || digits > 9)
        return complain_of_value(parser, use, "a whole number such as 10", value);
    if (!is_meant(parser, use, value))
        return false;
    *(size_t *)(parser->into + use->option->field) = (size_t)strtoul(value, NULL, 10);
    return true;
}

static bool store_share(struct clp_option_parser *parser, const struct use *use, const char *value)
{
    double number;

    if (!read_number(value, &number) || number > 100)
        return complain_of_value(parser, use, "a percentage from 0 to 100", value);
    *(double *)(parser->into + use->option->field) = number;
    return true;
}

static bool store_text(struct clp_option_parser *parser, const struct use *use, const char *value)
{
    if (!is_meant(parser, use, value))
        return false;
    *(const char **)(parser->into + use->option->field) = value;
    return true;
}

static bool store_mode(struct clp_option_parser *parser, const struct use *use, const char *value)
{
    bool on = false;

    if (value != NULL && use->form == USE_NEGATIVE)
        return complain_of(parser, use, "takes no value");
    if (use->form == USE_NEGATIVE || read_switch(value, &on))
        value = on ? use->option->word : "off";
    return store_text(parser, use, value);
}

static void set_bare(struct clp_option_parser *parser, const struct use *use, bool on)
{
    *(const char **)(parser->into + use->option->field) = on ? use->option->word : NULL;
}

/* A value only with "=": what follows may be the program. */
static bool store_bare(struct clp_option_parser *parser, const struct use *use, const char *value)
{
    bool on = use->form != USE_NEGATIVE;

    if (value != NULL && !on)
        return complain_of(parser, use, "takes no value");
    if (value != NULL && !(use->option->switches && read_switch(value, &on)))
        return store_text(parser, use, value);
    set_bare(parser, use, on);
    return true;
}

static bool add_text(struct clp_text_list *list, const char *text, size_t bytes,
                     struct clp_mem *mem)
{
    size_t room = list->items != NULL ? list->count + 1 : 0;
    void *items = list->items;

    if (clp_mem_grow(mem, &items, &room, list->count + 2, sizeof *list->items) != CLP_OK)
        return false;
    list->items = items;
    list->items[list->count] = clp_mem_copy_text(mem, text, bytes);
    if (list->items[list->count] == NULL)
        return false;
    list->count++;
    return true;
}

void clp_text_list_clear(struct clp_text_list *list, struct clp_mem *mem)
{
    for (size_t i = 0; i < list->count; i++)
        clp_mem_free_text(mem, list->items[i]);
    clp_mem_free(mem, list->items, list->items != NULL ? list->count + 1 : 0, sizeof *list->items);
    *list = (struct clp_text_list){0};
}

void clp_option_replace_lists(struct clp_option_table table, void *into, const void *given,
                              struct clp_mem *mem)
{
    for (size_t i = 0; i < table.count; i++) {
        size_t field = table.rows[i].field;
        if (table.rows[i].kind == CLP_OPTION_LIST &&
            ((const struct clp_text_list *)((const char *)given + field))->count != 0)
            clp_text_list_clear((struct clp_text_list *)((char *)into + field), mem);
    }
}

static bool store_list(struct clp_option_parser *parser, const struct use *use, const char *value)
{
    struct clp_text_list *list = (struct clp_text_list *)(parser->into + use->option->field);
    struct clp_mem *mem = parser->error->mem;

    if (*value == 0 && use->option->split)
        clp_text_list_clear(list, mem);
    while (*value != 0) {
        size_t bytes = use->option->split ? strcspn(value, ",") : strlen(value);
        if (bytes != 0 && !add_text(list, value, bytes, mem))
            return complain_of_memory(parser);
        value += bytes + (value[bytes] == ',');
    }
    return true;
}

/* Value is NULL where none was given; an option that needs one always has it. */
static bool store(struct clp_option_parser *parser, const struct use *use, const char *value)
{
    const struct clp_option *option = use->option;
    char *field = parser->into + option->field;

    parser->ended = option->kind == CLP_OPTION_ANSWER || option->kind == CLP_OPTION_TARGET;
    if (value != NULL && *value == 0 && needs_value(option) && !option->split &&
        use->form != USE_NEGATIVE)
        return complain_of_lack(parser, use);
    switch (option->kind) {
    case CLP_OPTION_SWITCH:
        return store_switch(parser, use, value);
    case CLP_OPTION_MODE:
        return store_mode(parser, use, value);
    case CLP_OPTION_NUMBER:
    case CLP_OPTION_PERIOD:
        return store_number(parser, use, value);
    case CLP_OPTION_COUNT:
        return store_size(parser, use, value);
    case CLP_OPTION_SHARE:
        return store_share(parser, use, value);
    case CLP_OPTION_LIST:
        return store_list(parser, use, value);
    case CLP_OPTION_TEXT:
        return store_text(parser, use, value);
    case CLP_OPTION_BARE:
        return store_bare(parser, use, value);
    case CLP_OPTION_TARGET:
        *(const char **)field = value;
        return true;
    default:
        break;
    }
    if (value != NULL)
        return complain_of(parser, use, "takes no value");
    if (option->kind == CLP_OPTION_MORE || option->kind == CLP_OPTION_LESS)
        *(int *)field += option->kind == CLP_OPTION_MORE ? 1 : -1;
    else
        *(bool *)field = true;
    return true;
}

static const char *next_word(const struct clp_option_parser *parser)
{
    return parser->at + 1 < parser->argc ? parser->argv[parser->at + 1] : NULL;
}

/* -i 2: a number that follows is the option's; a script of that name goes behind "--". */
static bool store_period(struct clp_option_parser *parser, const struct use *use)
{
    const char *value = next_word(parser);
    double number;

    if (value == NULL || !read_number(value, &number))
        return store(parser, use, NULL);
    parser->at++;
    return store(parser, use, value);
}

/* Stores the value, or the next element when the option needs one and has none with it. What
 * starts with a dash is taken for a forgotten value: --outfile=-x says it is meant. */
static bool store_next(struct clp_option_parser *parser, const struct use *use, const char *value)
{
    if (value == NULL && use->option->kind == CLP_OPTION_PERIOD)
        return store_period(parser, use);
    if (value != NULL || !needs_value(use->option) || use->form == USE_NEGATIVE)
        return store(parser, use, value);
    value = next_word(parser);
    if (value == NULL)
        return complain_of_lack(parser, use);
    if (!is_number(use->option) && value[0] == '-' && value[1] != 0)
        return complain_of_lack(parser, use);
    parser->at++;
    return store(parser, use, value);
}

/* ---- names ---- */

static void spell(struct use *use)
{
    const struct clp_option *option = use->option;

    (void)snprintf(use->shown, CLP_OPTION_NAME, "--%s%s", use->form == USE_NEGATIVE ? "no-" : "",
                   use->form == USE_ALIAS ? option->alias : option->name);
}

/* Moves to the row's next spelling; false when it has no more. */
static bool next_form(struct use *use)
{
    if (use->form == USE_NAME && has_negative(use->option))
        use->form = USE_NEGATIVE;
    else if (use->form != USE_ALIAS && use->option->alias != NULL)
        use->form = USE_ALIAS;
    else
        return false;
    return true;
}

/* Steps through all long spellings: true with the one behind *use, from {0} to the last. */
static bool next_spelling(struct clp_option_table table, struct use *use)
{
    const struct clp_option *end = table.rows + table.count;

    if (use->option == NULL || !next_form(use)) {
        use->form = USE_NAME;
        use->option = use->option == NULL ? table.rows : use->option + 1;
        while (use->option < end && use->option->name == NULL)
            use->option++;
    }
    if (use->option == end)
        return false;
    spell(use);
    return true;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* (optimal string alignment) */
static size_t distance(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    size_t rows[3][CLP_OPTION_NAME] = {{0}};

    for (size_t j = 0; j <= b_bytes; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_bytes; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_bytes; j++) {
            row[j] = smaller(above[j - 1] + (a[i - 1] != b[j - 1]), smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_bytes % 3][b_bytes];
}

/* Two slips, but in short names one: with two, any name of three letters is like any other. */
size_t clp_option_slips(const char *text, size_t bytes, const char *name)
{
    size_t name_bytes = strlen(name);
    size_t most = smaller(bytes, name_bytes) > 5 ? 2 : 1;

    if (name_bytes >= CLP_OPTION_NAME || smaller(bytes, name_bytes) < 2)
        return SIZE_MAX;
    size_t slips = distance(text, bytes, name, name_bytes);
    return slips <= most ? slips : SIZE_MAX;
}

/* Says what may have been meant where that is few slips away. A file's keys (plain) have
 * neither dashes before them nor a --no- form. */
static bool complain_of_unknown(struct clp_option_parser *parser, const char *text, size_t bytes,
                                bool plain)
{
    struct use use = {0};
    struct use nearest = {0};
    size_t least = SIZE_MAX, dashes = plain ? 0 : strspn(text, "-");
    double number;
    bool has_number = !plain && next_word(parser) != NULL && read_number(next_word(parser), &number);

    while (next_spelling(parser->table, &use)) {
        size_t far = clp_option_slips(text + dashes, bytes - dashes, use.shown + 2);
        if (far != SIZE_MAX) /* of two that are as near, the one that takes what follows */
            far = 2 * far + (has_number && !is_number(use.option));
        if (far >= least || use.option->help == NULL ||
            (plain && (use.form == USE_NEGATIVE || use.option->never_in_file)))
            continue;
        least = far;
        nearest = use;
    }
    clp_buf_add_format(parser->error, "unknown %s '%.*s'", parser->what, (int)bytes, text);
    if (nearest.option != NULL)
        clp_buf_add_format(parser->error, " (did you mean %s?)", nearest.shown + (plain ? 2 : 0));
    else if (!plain && clp_option_is_spelled(parser->others, text))
        clp_buf_add_format(parser->error, "; it is one of %s", parser->others_of);
    return point_to_help(parser);
}

static bool complain_of_choice(struct clp_option_parser *parser, const char *text, size_t bytes)
{
    struct use use = {0};
    const char *between = "";

    clp_buf_add_format(parser->error, "option '%.*s' could be ", (int)bytes, text);
    while (next_spelling(parser->table, &use)) {
        if (strncmp(use.shown, text, bytes) != 0 || use.option->help == NULL)
            continue;
        clp_buf_add_format(parser->error, "%s%s", between, use.shown);
        between = ", ";
    }
    return point_to_help(parser);
}

/* The option spelled text[0..bytes), or the only one that begins so. */
static bool find_long(struct clp_option_parser *parser, const char *text, size_t bytes,
                      struct use *found)
{
    struct use use = {0};
    size_t count = 0;

    while (next_spelling(parser->table, &use)) {
        if (strncmp(use.shown, text, bytes) != 0)
            continue;
        if (use.shown[bytes] == 0) {
            *found = use;
            return true;
        }
        if (use.option->help == NULL)
            continue;
        *found = use;
        count++;
    }
    if (count == 0)
        return complain_of_unknown(parser, text, bytes, false);
    return count == 1 || complain_of_choice(parser, text, bytes);
}

static bool parse_long(struct clp_option_parser *parser, const char *text)
{
    size_t bytes = strcspn(text, "=");
    struct use use;

    if (!find_long(parser, text, bytes, &use))
        return false;
    return store_next(parser, &use, text[bytes] == '=' ? text + bytes + 1 : NULL);
}

static const struct clp_option *find_letter(struct clp_option_table table, char letter)
{
    for (size_t i = 0; i < table.count; i++)
        if (table.rows[i].letter == letter)
            return &table.rows[i];
    return NULL;
}

/* Does the rest of a word of letters belong to the one before it? */
static bool is_value(const struct clp_option *option, const char *rest)
{
    if (option->kind == CLP_OPTION_PERIOD)
        return *rest == 0 || strchr("=.0123456789", *rest) != NULL;
    return needs_value(option);
}

/* -lvo FILE, -lvoFILE, -o=FILE */
static bool parse_letters(struct clp_option_parser *parser, const char *text)
{
    for (const char *at = text + 1; *at != 0 && !parser->ended; at++) {
        struct use use = {.option = find_letter(parser->table, *at), .shown = {'-', *at}};
        if (use.option == NULL)
            return complain_of_unknown(parser, at == text + 1 ? text : use.shown,
                                       at == text + 1 ? strlen(text) : 2, false);
        if (is_value(use.option, at + 1)) {
            const char *rest = at[1] == '=' ? at + 2 : at + 1;
            return store_next(parser, &use, at[1] == 0 ? NULL : rest);
        }
        if (!store(parser, &use, NULL))
            return false;
    }
    return true;
}

static bool answers(const struct clp_option *option)
{
    return option->kind == CLP_OPTION_ANSWER;
}

bool clp_option_is_spelled(struct clp_option_table table, const char *word)
{
    size_t bytes = strcspn(word, "=");
    struct use use = {0};

    if (word[0] != '-' || word[1] == 0)
        return false;
    while (word[1] == '-' && next_spelling(table, &use))
        if (strlen(use.shown) == bytes && strncmp(use.shown, word, bytes) == 0)
            return !answers(use.option);
    for (const char *at = word + 1; word[1] != '-' && *at != 0; at++) {
        const struct clp_option *option = find_letter(table, *at);
        if (option == NULL || answers(option))
            return false;
        if (is_value(option, at + 1))
            return true;
    }
    return word[1] != '-';
}

/* ---- command lines ---- */

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

struct clp_option_parser clp_option_start(struct clp_option_table table, int argc, char **argv,
                                          void *into, struct clp_buf *error)
{
    return (struct clp_option_parser){
        .table = table,
        .argc = argc,
        .argv = argv,
        .at = 1,
        .into = into,
        .program = argc > 0 && argv[0] != NULL ? name_of(argv[0]) : "clineprof",
        .what = "option",
        .error = error,
    };
}

/* True while parser->at stands at an option; steps over the "--" that ends them. */
static bool at_option(struct clp_option_parser *parser)
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

bool clp_option_parse(struct clp_option_parser *parser)
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

/* ---- files ---- */

static bool is_key(const char *name, const char *key)
{
    if (name == NULL)
        return false;
    while (*name != 0 && (*name == *key || (*name == '-' && *key == '_')))
        name++, key++;
    return *name == *key;
}

static const struct clp_option *find_key(struct clp_option_table table, const char *key)
{
    for (size_t i = 0; i < table.count; i++) {
        const struct clp_option *option = &table.rows[i];
        if (option->help != NULL && (is_key(option->name, key) || is_key(option->alias, key)))
            return option;
    }
    return NULL;
}

bool clp_option_knows(struct clp_option_table table, const char *key)
{
    return find_key(table, key) != NULL;
}

/* What a key's value must be; NULL when this type will do. */
static const char *wanted_instead(const struct clp_option *option, const struct clp_setting *setting)
{
    enum clp_setting_type type = setting->type;
    bool flag = type == CLP_SETTING_BOOL, text = type == CLP_SETTING_TEXT;

    if (setting->in_list && option->kind != CLP_OPTION_LIST)
        return "a single value";
    switch (option->kind) {
    case CLP_OPTION_SWITCH:
        return flag ? NULL : "true or false";
    case CLP_OPTION_MODE:
    case CLP_OPTION_BARE:
        return flag || text ? NULL : "a text in quotes";
    case CLP_OPTION_MORE:
    case CLP_OPTION_LESS:
        return flag || type == CLP_SETTING_WHOLE ? NULL : "a whole number";
    case CLP_OPTION_COUNT:
        return type == CLP_SETTING_WHOLE ? NULL : "a whole number";
    case CLP_OPTION_NUMBER:
    case CLP_OPTION_PERIOD:
    case CLP_OPTION_SHARE:
        return type == CLP_SETTING_NUMBER || type == CLP_SETTING_WHOLE ? NULL : "a number";
    case CLP_OPTION_LIST:
        return text ? NULL : "texts in quotes";
    default:
        return text ? NULL : "a text in quotes";
    }
}

/* A count is given as a number of times. */
static bool store_count(struct clp_option_parser *parser, const struct use *use,
                        const struct clp_setting *setting)
{
    bool on = false;
    long times = setting->type == CLP_SETTING_BOOL ? read_switch(setting->value, &on) && on
                                                   : strtol(setting->value, NULL, 10);

    if (times < -9 || times > 9)
        return complain_of_value(parser, use, "a small number", setting->value);
    *(int *)(parser->into + use->option->field) +=
        (int)(use->option->kind == CLP_OPTION_MORE ? times : -times);
    return true;
}

/* An empty text says "the default", which is what is there. */
static bool store_setting(struct clp_option_parser *parser, const struct use *use,
                          const struct clp_setting *setting)
{
    if (use->option->kind == CLP_OPTION_MORE || use->option->kind == CLP_OPTION_LESS)
        return store_count(parser, use, setting);
    if (use->option->kind == CLP_OPTION_BARE && setting->type == CLP_SETTING_BOOL) {
        bool on = false;
        (void)read_switch(setting->value, &on);
        set_bare(parser, use, on);
        return true;
    }
    return *setting->value == 0 || store(parser, use, setting->value);
}

bool clp_option_set(struct clp_option_table table, const struct clp_setting *setting, void *into,
                    const char *program, struct clp_buf *error)
{
    struct clp_option_parser parser = {
        .table = table, .into = into, .program = program, .what = "key", .error = error};
    struct use use = {.option = find_key(table, setting->key)};

    (void)snprintf(use.shown, sizeof use.shown, "%s", setting->key);
    if (use.option == NULL)
        return complain_of_unknown(&parser, setting->key, strlen(setting->key), true);
    if (use.option->never_in_file)
        return complain_of(&parser, &use, "can only be an option on the command line");
    const char *wanted = wanted_instead(use.option, setting);
    if (wanted != NULL)
        return complain_of_value(&parser, &use, wanted, setting->value);
    return store_setting(&parser, &use, setting);
}

/* ---- help ---- */

/* The form that does something: that of a switch which is on by default is its --no- form. */
static struct use main_use(const struct clp_option *option)
{
    bool negative = option->inverted && option->kind == CLP_OPTION_SWITCH;
    struct use use = {.option = option, .form = negative ? USE_NEGATIVE : USE_NAME};

    if (option->name != NULL)
        spell(&use);
    return use;
}

/* Between an option and its argument, which may begin with the "=" that joins them. */
static const char *space_before(const char *argument)
{
    return argument == NULL || strncmp(argument, "[=", 2) == 0 ? "" : " ";
}

static void spell_row(const struct clp_option *option, char left[2 * CLP_OPTION_NAME])
{
    struct use use = main_use(option);
    char letter[] = {'-', option->letter, 0};
    bool bare = option->argument == NULL;

    (void)snprintf(left, 2 * CLP_OPTION_NAME, "  %s%s%s%s%s", option->letter != 0 ? letter : "  ",
                   option->name == NULL ? "" : option->letter != 0 ? ", " : "  ", use.shown,
                   space_before(option->argument), bare ? "" : option->argument);
}

void clp_option_help(struct clp_option_table table, struct clp_buf *out)
{
    char left[2 * CLP_OPTION_NAME];
    size_t width = 0;

    for (size_t i = 0; i < table.count; i++) {
        spell_row(&table.rows[i], left);
        if (table.rows[i].help != NULL && strlen(left) > width)
            width = strlen(left);
    }
    for (size_t i = 0; i < table.count; i++) {
        const struct clp_option *option = &table.rows[i];
        if (option->help == NULL)
            continue;
        spell_row(option, left);
        clp_buf_add_format(out, "%-*s  %s", (int)width, left, option->help);
        if (option->standard != NULL && *option->standard != 0)
            clp_buf_add_format(out, " (default: %s)", option->standard);
        clp_buf_add_text(out, "\n");
    }
}

static void add_page_name(struct clp_buf *out, const char *between, const char *shown,
                          const char *argument)
{
    clp_buf_add_format(out, "%s`%s%s%s`", between, shown, space_before(argument),
                       argument != NULL ? argument : "");
}

static void add_page_row(struct clp_buf *out, const struct clp_option *option)
{
    struct use first = main_use(option), use = {.option = option};
    char letter[] = {'-', option->letter, 0};

    clp_buf_add_text(out, "| ");
    if (option->letter != 0)
        add_page_name(out, "", letter, option->argument);
    if (option->name != NULL)
        add_page_name(out, option->letter != 0 ? ", " : "", first.shown, option->argument);
    for (bool more = option->name != NULL; more; more = next_form(&use)) {
        spell(&use);
        if (use.form != first.form)
            add_page_name(out, ", ", use.shown,
                          use.form == USE_NEGATIVE ? NULL : option->argument);
    }
    const char *standard = option->standard != NULL ? option->standard : "no";
    const char *quote = *standard != 0 ? "`" : "";
    clp_buf_add_format(out, " | %s%s%s | %s |\n", quote, standard, quote, option->help);
}

void clp_option_page(struct clp_option_table table, struct clp_buf *out)
{
    clp_buf_add_text(out, "| option | default | |\n|---|---|---|\n");
    for (size_t i = 0; i < table.count; i++) {
        if (table.rows[i].help != NULL)
            add_page_row(out, &table.rows[i]);
    }
}
