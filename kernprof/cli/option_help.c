/* SPDX-License-Identifier: MIT */
#include "option_help.h"
#include "option_use.h"
#include <stdio.h>
#include <string.h>

/* The form to show first. A switch that is on by default shows its --no- form, the one that changes something. */
static struct clp_option_use main_use(const struct clp_option *option)
{
    bool negative = option->inverted && option->kind == CLP_OPTION_SWITCH;
    struct clp_option_use use = {.option = option, .form = negative ? CLP_USE_NEGATIVE : CLP_USE_NAME};

    if (option->name != NULL)
        clp_option_use_spell(&use);
    return use;
}

/* What stands between an option and its argument: nothing when the argument begins with "[=". */
static const char *space_before(const char *argument)
{
    return argument == NULL || strncmp(argument, "[=", 2) == 0 ? "" : " ";
}

static void spell_row(const struct clp_option *option, char left[2 * CLP_OPTION_NAME])
{
    struct clp_option_use use = main_use(option);
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
        if (option->kind != CLP_OPTION_MODE)
            continue;
        (void)snprintf(left, sizeof left, "      --no-%s", option->name);
        clp_buf_add_format(out, "%-*s  same as --%s off\n", (int)width, left, option->name);
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
    struct clp_option_use first = main_use(option), use = {.option = option};
    char letter[] = {'-', option->letter, 0};

    clp_buf_add_text(out, "| ");
    if (option->letter != 0)
        add_page_name(out, "", letter, option->argument);
    if (option->name != NULL)
        add_page_name(out, option->letter != 0 ? ", " : "", first.shown, option->argument);
    for (bool more = option->name != NULL; more; more = clp_option_use_next_form(&use)) {
        clp_option_use_spell(&use);
        if (use.form != first.form)
            add_page_name(out, ", ", use.shown,
                          use.form == CLP_USE_NEGATIVE ? NULL : option->argument);
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
