/* SPDX-License-Identifier: MIT */
#include "option_use.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- spellings ---- */

bool clp_option_has_negative(const struct clp_option *option)
{
    return option->kind == CLP_OPTION_SWITCH || option->kind == CLP_OPTION_MODE ||
           option->kind == CLP_OPTION_BARE;
}

void clp_option_use_spell(struct clp_option_use *use)
{
    const struct clp_option *option = use->option;

    (void)snprintf(use->shown, CLP_OPTION_NAME, "--%s%s", use->form == CLP_USE_NEGATIVE ? "no-" : "",
                   use->form == CLP_USE_ALIAS ? option->alias : option->name);
}

bool clp_option_use_next_form(struct clp_option_use *use)
{
    if (use->form == CLP_USE_NAME && clp_option_has_negative(use->option))
        use->form = CLP_USE_NEGATIVE;
    else if (use->form != CLP_USE_ALIAS && use->option->alias != NULL)
        use->form = CLP_USE_ALIAS;
    else
        return false;
    return true;
}

bool clp_option_use_next(struct clp_option_table table, struct clp_option_use *use)
{
    const struct clp_option *end = table.rows + table.count;

    if (use->option == NULL || !clp_option_use_next_form(use)) {
        use->form = CLP_USE_NAME;
        use->option = use->option == NULL ? table.rows : use->option + 1;
        while (use->option < end && use->option->name == NULL)
            use->option++;
    }
    if (use->option == end)
        return false;
    clp_option_use_spell(use);
    return true;
}

/* ---- slips ---- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The optimal string alignment distance. Both names are shorter than CLP_OPTION_NAME. */
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

/* Up to two slips count as similar, and one when a name has five letters or fewer: two slips make any name of three
 * letters similar to any other. */
size_t clp_option_slips(const char *text, size_t bytes, const char *name)
{
    size_t name_bytes = strlen(name);
    size_t most = smaller(bytes, name_bytes) > 5 ? 2 : 1;

    if (name_bytes >= CLP_OPTION_NAME || smaller(bytes, name_bytes) < 2)
        return SIZE_MAX;
    size_t slips = distance(text, bytes, name, name_bytes);
    return slips <= most ? slips : SIZE_MAX;
}

/* ---- messages ---- */

bool clp_option_point_to_help(struct clp_option_parser *parser)
{
    clp_buf_add_format(parser->error, "; see %s --help", parser->program);
    return false;
}

bool clp_option_complain_of(struct clp_option_parser *parser, const struct clp_option_use *use, const char *what)
{
    clp_buf_add_format(parser->error, "%s '%s' %s", parser->what, use->shown, what);
    return clp_option_point_to_help(parser);
}

bool clp_option_complain_of_value(struct clp_option_parser *parser, const struct clp_option_use *use,
                                  const char *wanted, const char *value)
{
    clp_buf_add_format(parser->error, "%s '%s' needs %s, not '%s'", parser->what, use->shown,
                       wanted, value);
    return clp_option_point_to_help(parser);
}

bool clp_option_is_number(const struct clp_option *option)
{
    return option->kind == CLP_OPTION_NUMBER || option->kind == CLP_OPTION_COUNT ||
           option->kind == CLP_OPTION_SHARE;
}

bool clp_option_complain_of_lack(struct clp_option_parser *parser, const struct clp_option_use *use)
{
    clp_buf_add_format(parser->error, "%s '%s' needs a %s", parser->what, use->shown,
                       clp_option_is_number(use->option) ? "number" : use->option->argument);
    return clp_option_point_to_help(parser);
}
