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
