/* SPDX-License-Identifier: MIT */
#include "option_value.h"
#include "base/words.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static bool complain_of_memory(struct clp_option_parser *parser)
{
    clp_buf_add_text(parser->error, "out of memory");
    return false;
}

static bool is_one_of(const char *value, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcasecmp(value, *words) == 0)
            return true;
    return false;
}

bool clp_option_read_switch(const char *value, bool *on)
{
    static const char *const yes[] = {"1", "on", "true", "t", "yes", "y", NULL};
    static const char *const no[] = {"0", "off", "false", "f", "no", "n", NULL};

    *on = value == NULL || is_one_of(value, yes);
    return *on || is_one_of(value, no);
}

/* Reads a number that is finite and not negative. False when the value is none. */
static bool read_number(const char *value, double *number)
{
    char *end;

    *number = strtod(value, &end);
    return end != value && *end == 0 && *number >= 0 && *number <= 1.7976931348623157e308;
}

bool clp_option_needs_value(const struct clp_option *option)
{
    return option->kind == CLP_OPTION_TEXT || option->kind == CLP_OPTION_TARGET ||
           option->kind == CLP_OPTION_LIST || option->kind == CLP_OPTION_MODE || clp_option_is_number(option);
}

static bool store_switch(struct clp_option_parser *parser, const struct clp_option_use *use, const char *value)
{
    const struct clp_option *option = use->option;
    bool on, *field = (bool *)(parser->into + option->field);

    if (value != NULL && use->form == CLP_USE_NEGATIVE)
        return clp_option_complain_of(parser, use, "takes no value");
    if (!clp_option_read_switch(value, &on))
        return clp_option_complain_of_value(parser, use, "yes or no", value);
    if (use->form == CLP_USE_NEGATIVE)
        on = false;
    *field = on != option->inverted;
    return true;
}

static bool store_number(struct clp_option_parser *parser, const struct clp_option_use *use, const char *value)
{
    const struct clp_option *option = use->option;
    bool period = option->kind == CLP_OPTION_PERIOD;
    double number = option->bare != 0 ? option->bare : 1;
    bool word = option->word_as_number != NULL && option->word_as_number(value, &number);

    if (!word && value != NULL && (!read_number(value, &number) || (number == 0 && !period)))
        return clp_option_complain_of_value(parser, use,
                                            period                   ? "a number of seconds, 0 or more"
                                            : option->one_of != NULL ? option->one_of
                                                                     : "a number above 0, such as 1e-3", value);
    *(double *)(parser->into + option->field) = number;
    return true;
}

/* Checks a value by the row's list of values and by its check. False after a complaint. */
static bool is_meant(struct clp_option_parser *parser, const struct clp_option_use *use, const char *value)
{
    const struct clp_option *option = use->option;
    bool good = option->one_of == NULL || clp_words_have(option->one_of, value, strlen(value));
    struct clp_buf fault;

    clp_buf_init(&fault, parser->error->mem);
    if (!good)
        clp_words_refuse(&fault, "", option->one_of, value, strlen(value));
    else if (option->check != NULL)
        good = option->check(value, &fault);
    if (!good)
        clp_option_complain_of(parser, use, clp_buf_text(&fault));
    clp_buf_clear(&fault);
    return good;
}

/* Stores a count. At most nine digits are read, which is more than any table has rows and fits every size_t. */
static bool store_size(struct clp_option_parser *parser, const struct clp_option_use *use, const char *value)
{
    size_t digits = strspn(value, "0123456789");

    if (digits == 0 || value[digits] != 0 || digits > 9)
        return clp_option_complain_of_value(parser, use, "a whole number such as 10", value);
    if (!is_meant(parser, use, value))
        return false;
    *(size_t *)(parser->into + use->option->field) = (size_t)strtoul(value, NULL, 10);
    return true;
}

static bool store_share(struct clp_option_parser *parser, const struct clp_option_use *use, const char *value)
{
    double number;

    if (!read_number(value, &number) || number > 100)
        return clp_option_complain_of_value(parser, use, "a percentage from 0 to 100", value);
    *(double *)(parser->into + use->option->field) = number;
    return true;
}

static bool store_text(struct clp_option_parser *parser, const struct clp_option_use *use, const char *value)
{
    if (!is_meant(parser, use, value))
        return false;
    *(const char **)(parser->into + use->option->field) = value;
    return true;
}

static bool store_mode(struct clp_option_parser *parser, const struct clp_option_use *use, const char *value)
{
    bool on = false;

    if (value != NULL && use->form == CLP_USE_NEGATIVE)
        return clp_option_complain_of(parser, use, "takes no value");
    if (use->form == CLP_USE_NEGATIVE || clp_option_read_switch(value, &on))
        value = on ? use->option->word : "off";
    return store_text(parser, use, value);
}

void clp_option_set_bare(struct clp_option_parser *parser, const struct clp_option_use *use, bool on)
{
    *(const char **)(parser->into + use->option->field) = on ? use->option->word : use->option->no_word;
}

/* Stores the value of a CLP_OPTION_BARE. The value must be joined with "=", as the next word may be the program. */
static bool store_bare(struct clp_option_parser *parser, const struct clp_option_use *use, const char *value)
{
    bool on = use->form != CLP_USE_NEGATIVE;

    if (value != NULL && !on)
        return clp_option_complain_of(parser, use, "takes no value");
    if (value != NULL && !(use->option->switches && clp_option_read_switch(value, &on)))
        return store_text(parser, use, value);
    clp_option_set_bare(parser, use, on);
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

/* Does the text name a file, or with ".py:" something in a file? */
static bool names_file(const char *text, size_t bytes)
{
    char path[PATH_MAX];
    char *colon;

    if (bytes >= sizeof path)
        return false;
    memcpy(path, text, bytes);
    path[bytes] = 0;
    colon = strstr(path, ".py:");
    if (colon != NULL && strchr(colon, ',') != NULL)
        return false; /* another text follows */
    if (colon != NULL)
        colon[3] = 0;
    return access(path, F_OK) == 0;
}

/* The size of the first text in a value with commas. It ends at the first comma, or further on where it then names a
 * file whose name has commas. */
static size_t first_bytes(const char *value)
{
    size_t first = strcspn(value, ","), found = first;

    for (size_t bytes = first; value[bytes] != 0;) {
        bytes += 1 + strcspn(value + bytes + 1, ",");
        if (names_file(value, bytes))
            found = bytes;
    }
    return found;
}

static bool store_list(struct clp_option_parser *parser, const struct clp_option_use *use, const char *value)
{
    struct clp_text_list *list = (struct clp_text_list *)(parser->into + use->option->field);
    struct clp_mem *mem = parser->error->mem;

    if (*value == 0 && use->option->split)
        clp_text_list_clear(list, mem);
    while (*value != 0) {
        size_t bytes = use->option->split ? first_bytes(value) : strlen(value);
        if (bytes != 0 && !add_text(list, value, bytes, mem))
            return complain_of_memory(parser);
        value += bytes + (value[bytes] == ',');
    }
    return true;
}

bool clp_option_store(struct clp_option_parser *parser, const struct clp_option_use *use, const char *value)
{
    const struct clp_option *option = use->option;
    char *field = parser->into + option->field;

    parser->ended = option->kind == CLP_OPTION_ANSWER || option->kind == CLP_OPTION_TARGET;
    if (value != NULL && *value == 0 && clp_option_needs_value(option) && !option->split &&
        use->form != CLP_USE_NEGATIVE)
        return clp_option_complain_of_lack(parser, use);
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
        return clp_option_complain_of(parser, use, "takes no value");
    if (option->kind == CLP_OPTION_MORE || option->kind == CLP_OPTION_LESS)
        *(int *)field += option->kind == CLP_OPTION_MORE ? 1 : -1;
    else
        *(bool *)field = true;
    if (option->kind == CLP_OPTION_ANSWER)
        parser->at = parser->argc;
    return true;
}

static const char *next_word(const struct clp_option_parser *parser)
{
    return parser->at + 1 < parser->argc ? parser->argv[parser->at + 1] : NULL;
}

bool clp_option_number_follows(const struct clp_option_parser *parser)
{
    const char *word = next_word(parser);
    double number;

    return word != NULL && read_number(word, &number);
}

/* Stores the next word if it is a number, as in `-i 2`; otherwise the option stands alone. A script whose name is a
 * number can be given behind "--". */
static bool store_period(struct clp_option_parser *parser, const struct clp_option_use *use)
{
    const char *value = next_word(parser);
    double number;

    if (value == NULL || !read_number(value, &number))
        return clp_option_store(parser, use, NULL);
    parser->at++;
    return clp_option_store(parser, use, value);
}

bool clp_option_store_next(struct clp_option_parser *parser, const struct clp_option_use *use, const char *value)
{
    if (value == NULL && use->option->kind == CLP_OPTION_PERIOD)
        return store_period(parser, use);
    if (value != NULL || !clp_option_needs_value(use->option) || use->form == CLP_USE_NEGATIVE)
        return clp_option_store(parser, use, value);
    value = next_word(parser);
    if (value == NULL)
        return clp_option_complain_of_lack(parser, use);
    if (!clp_option_is_number(use->option) && value[0] == '-' && value[1] != 0)
        return clp_option_complain_of_lack(parser, use);
    parser->at++;
    return clp_option_store(parser, use, value);
}
