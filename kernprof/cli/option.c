/* SPDX-License-Identifier: MIT */
#include "option.h"
#include "option_use.h"
#include "option_value.h"
#include "base/words.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

/* Complains of an unknown option, and suggests the option whose name is most similar. plain: `text` is a key of a
 * config file, which has neither leading dashes nor a --no- form. */
static bool complain_of_unknown(struct clp_option_parser *parser, const char *text, size_t bytes,
                                bool plain)
{
    struct clp_option_use use = {0};
    struct clp_option_use nearest = {0};
    size_t least = SIZE_MAX, dashes = plain ? 0 : strspn(text, "-");
    bool has_number = !plain && clp_option_number_follows(parser);

    while (clp_option_use_next(parser->table, &use)) {
        size_t far = clp_words_slips(text + dashes, bytes - dashes, use.shown + 2, strlen(use.shown + 2));
        if (far != SIZE_MAX) /* if a number follows, an option that takes one wins over another that is as similar */
            far = 2 * far + (has_number && !clp_option_is_number(use.option));
        if (far >= least || use.option->help == NULL ||
            (plain && (use.form == CLP_USE_NEGATIVE || use.option->never_in_file)))
            continue;
        least = far;
        nearest = use;
    }
    clp_buf_add_format(parser->error, "unknown %s '%.*s'", parser->what, (int)bytes, text);
    if (nearest.option != NULL)
        clp_buf_add_format(parser->error, " (did you mean %s?)", nearest.shown + (plain ? 2 : 0));
    else if (!plain && clp_option_is_spelled(parser->others, text))
        clp_buf_add_format(parser->error, "; it is one of %s", parser->others_of);
    return clp_option_point_to_help(parser);
}

static bool complain_of_choice(struct clp_option_parser *parser, const char *text, size_t bytes)
{
    struct clp_option_use use = {0};
    const char *between = "";

    clp_buf_add_format(parser->error, "option '%.*s' could be ", (int)bytes, text);
    while (clp_option_use_next(parser->table, &use)) {
        if (strncmp(use.shown, text, bytes) != 0 || use.option->help == NULL)
            continue;
        clp_buf_add_format(parser->error, "%s%s", between, use.shown);
        between = ", ";
    }
    return clp_option_point_to_help(parser);
}

/* Finds the option spelled text[0..bytes), or the only option that begins with these letters. False after a
 * complaint. */
static bool find_long(struct clp_option_parser *parser, const char *text, size_t bytes,
                      struct clp_option_use *found)
{
    struct clp_option_use use = {0};
    size_t count = 0;

    while (clp_option_use_next(parser->table, &use)) {
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
    struct clp_option_use use;

    if (!find_long(parser, text, bytes, &use))
        return false;
    return clp_option_store_next(parser, &use, text[bytes] == '=' ? text + bytes + 1 : NULL);
}

static const struct clp_option *find_letter(struct clp_option_table table, char letter)
{
    for (size_t i = 0; i < table.count; i++)
        if (table.rows[i].letter == letter)
            return &table.rows[i];
    return NULL;
}

/* In a word of joined letters: is what follows this option's letter its value, not further letters? */
static bool is_value(const struct clp_option *option, const char *rest)
{
    if (option->kind == CLP_OPTION_PERIOD)
        return *rest == 0 || strchr("=.0123456789", *rest) != NULL;
    return clp_option_needs_value(option);
}

/* Parses one word of joined letters, and the next word if it is a value: -lvo FILE, -lvoFILE, -o=FILE. */
static bool parse_letters(struct clp_option_parser *parser, const char *text)
{
    for (const char *at = text + 1; *at != 0 && !parser->ended; at++) {
        struct clp_option_use use = {.option = find_letter(parser->table, *at), .shown = {'-', *at}};
        if (use.option == NULL)
            return complain_of_unknown(parser, at == text + 1 ? text : use.shown,
                                       at == text + 1 ? strlen(text) : 2, false);
        if (is_value(use.option, at + 1)) {
            const char *rest = at[1] == '=' ? at + 2 : at + 1;
            return clp_option_store_next(parser, &use, at[1] == 0 ? NULL : rest);
        }
        if (!clp_option_store(parser, &use, NULL))
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
    struct clp_option_use use = {0};

    if (word[0] != '-' || word[1] == 0)
        return false;
    while (word[1] == '-' && clp_option_use_next(table, &use))
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

bool clp_option_at_option(struct clp_option_parser *parser)
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

bool clp_option_parse_one(struct clp_option_parser *parser)
{
    const char *text = parser->argv[parser->at];

    if (!(text[1] == '-' ? parse_long(parser, text) : parse_letters(parser, text)))
        return false;
    if (!parser->ended)
        parser->at++;
    return true;
}

bool clp_option_parse(struct clp_option_parser *parser)
{
    while (clp_option_at_option(parser))
        if (!clp_option_parse_one(parser))
            return false;
    return true;
}

bool clp_option_parse_all(struct clp_option_parser *parser, char ***words, int *count)
{
    *words = parser->argv + 1;
    *count = 0;
    while (clp_option_parse(parser)) {
        if (parser->at >= parser->argc)
            return true;
        char **place = &(*words)[(*count)++], *word = parser->argv[parser->at];
        parser->argv[parser->at++] = *place;
        *place = word;
    }
    return false;
}

/* ---- results ---- */

static size_t size_of(enum clp_option_kind kind)
{
    switch (kind) {
    case CLP_OPTION_ANSWER:
    case CLP_OPTION_PLAIN:
    case CLP_OPTION_SWITCH:
        return sizeof(bool);
    case CLP_OPTION_MORE:
    case CLP_OPTION_LESS:
        return sizeof(int);
    case CLP_OPTION_LIST:
        return sizeof(struct clp_text_list);
    case CLP_OPTION_NUMBER:
    case CLP_OPTION_PERIOD:
    case CLP_OPTION_SHARE:
        return sizeof(double);
    case CLP_OPTION_COUNT:
        return sizeof(size_t);
    default:
        return sizeof(const char *);
    }
}

bool clp_option_is_default(const struct clp_option *option, const void *result, const void *defaults)
{
    return memcmp((const char *)result + option->field, (const char *)defaults + option->field,
                  size_of(option->kind)) == 0;
}

/* ---- files ---- */

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

/* What kind of value the option needs, in words for a message. NULL when the setting has such a value. */
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
        if (text && option->word_as_number != NULL)
            return NULL;
        /* fall through */
    case CLP_OPTION_PERIOD:
    case CLP_OPTION_SHARE:
        return type == CLP_SETTING_NUMBER || type == CLP_SETTING_WHOLE ? NULL : "a number";
    case CLP_OPTION_LIST:
        return text ? NULL : "texts in quotes";
    default:
        return text ? NULL : "a text in quotes";
    }
}

/* Stores how often an option that counts (-v, -q) is to be taken as given; true is once. */
static bool store_count(struct clp_option_parser *parser, const struct clp_option_use *use,
                        const struct clp_setting *setting)
{
    bool on = false;
    long times = setting->type == CLP_SETTING_BOOL ? clp_option_read_switch(setting->value, &on) && on
                                                   : strtol(setting->value, NULL, 10);

    if (times < -9 || times > 9)
        return clp_option_complain_of_value(parser, use, "a small number", setting->value);
    *(int *)(parser->into + use->option->field) +=
        (int)(use->option->kind == CLP_OPTION_MORE ? times : -times);
    return true;
}

/* Stores a setting. An empty text leaves the default. */
static bool store_setting(struct clp_option_parser *parser, const struct clp_option_use *use,
                          const struct clp_setting *setting)
{
    if (use->option->kind == CLP_OPTION_MORE || use->option->kind == CLP_OPTION_LESS)
        return store_count(parser, use, setting);
    if (use->option->kind == CLP_OPTION_BARE && setting->type == CLP_SETTING_BOOL) {
        bool on = false;
        (void)clp_option_read_switch(setting->value, &on);
        clp_option_set_bare(parser, use, on);
        return true;
    }
    return *setting->value == 0 || clp_option_store(parser, use, setting->value);
}

/* Complains of an unknown key. For `no-NAME` the message suggests `NAME = false`, as files have no --no- forms. */
static bool complain_of_key(struct clp_option_parser *parser, const char *key)
{
    bool negative = strncmp(key, "no", 2) == 0 && (key[2] == '-' || key[2] == '_');
    const struct clp_option *option = negative ? find_key(parser->table, key + 3) : NULL;

    if (option == NULL || !clp_option_has_negative(option))
        return complain_of_unknown(parser, key, strlen(key), true);
    clp_buf_add_format(parser->error, "unknown key '%s' (did you mean %s = false?)", key, option->name);
    return clp_option_point_to_help(parser);
}

bool clp_option_set(struct clp_option_table table, const struct clp_setting *setting, void *into,
                    const char *program, struct clp_buf *error)
{
    struct clp_option_parser parser = {
        .table = table, .into = into, .program = program, .what = "key", .error = error};
    struct clp_option_use use = {.option = find_key(table, setting->key)};

    (void)snprintf(use.shown, sizeof use.shown, "%s", setting->key);
    if (use.option == NULL)
        return complain_of_key(&parser, setting->key);
    if (use.option->never_in_file)
        return clp_option_complain_of(&parser, &use, "can only be an option on the command line");
    const char *wanted = wanted_instead(use.option, setting);
    if (wanted != NULL) {
        bool on = false, flag = setting->type == CLP_SETTING_BOOL && clp_option_read_switch(setting->value, &on);
        return clp_option_complain_of_value(&parser, &use, wanted, !flag ? setting->value : on ? "true" : "false");
    }
    return store_setting(&parser, &use, setting);
}
