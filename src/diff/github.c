/* SPDX-License-Identifier: MIT */
#include "github.h"
#include "diff_text.h"
#include "base/escape.h"
#include <math.h>
#include <string.h>

#define USUAL_TOP 50

/* ---- annotations ---- */

static void add_message(struct clp_buf *out, const char *text)
{
    for (; *text != 0; text++) {
        if (*text == '%')
            clp_buf_add_text(out, "%25");
        else if (*text == '\r')
            clp_buf_add_text(out, "%0D");
        else if (*text == '\n')
            clp_buf_add_text(out, "%0A");
        else
            clp_buf_add(out, text, 1);
    }
}

static void add_property(struct clp_buf *out, const char *text)
{
    for (; *text != 0; text++) {
        char one[] = {*text, 0};
        if (*text == ':')
            clp_buf_add_text(out, "%3A");
        else if (*text == ',')
            clp_buf_add_text(out, "%2C");
        else
            add_message(out, one);
    }
}

/* Text of the program; with what a terminal obeys made visible. */
static void add_shown_property(struct clp_buf *out, const char *text)
{
    struct clp_buf shown;

    clp_buf_init(&shown, out->mem);
    clp_escape_add_text(&shown, text);
    out->failed |= shown.failed;
    add_property(out, clp_buf_text(&shown));
    clp_buf_clear(&shown);
}

static void add_head(struct clp_buf *out, const char *level, const char *folder,
                     const struct clp_compared_function *function,
                     const struct clp_compared_row *row)
{
    const struct clp_profile_function *one = function->sides[CLP_NEW];

    clp_buf_add_format(out, "::%s ", level);
    if (one != NULL && (row == NULL || row->has[CLP_NEW])) {
        clp_buf_add_text(out, "file=");
        add_shown_property(out, clp_escape_relative(one->file, folder));
        clp_buf_add_format(out, ",line=%lld,",
                           row != NULL ? (long long)row->line[CLP_NEW] : (long long)one->first_line);
    }
    clp_buf_add_text(out, "title=");
    add_shown_property(out, (one != NULL ? one : function->sides[CLP_OLD])->name);
}

/* Takes the text and frees it. */
static void add_tail(struct clp_buf *out, struct clp_buf *text)
{
    clp_buf_add_text(out, "::");
    out->failed |= text->failed;
    add_message(out, clp_buf_text(text));
    clp_buf_add_text(out, "\n");
    clp_buf_clear(text);
}

static void add_text_of(struct clp_buf *out, const struct clp_compared_row *row)
{
    struct clp_span text = clp_diff_text_of(row);

    if (text.bytes != 0)
        clp_buf_add_text(out, ": ");
    clp_escape_add(out, text.text, text.bytes);
}

void clp_github_add_breach(const struct clp_breach *breach, const char *folder,
                           struct clp_buf *out)
{
    struct clp_buf text;

    clp_buf_init(&text, out->mem);
    clp_diff_text_add_breach(breach, folder, &text);
    while (text.used != 0 && text.bytes[text.used - 1] == '\n')
        text.bytes[--text.used] = 0;
    add_head(out, "error", folder, breach->function, breach->row);
    clp_buf_add_text(out, " ");
    add_property(out, clp_measure_name(breach->limit->measure));
    add_tail(out, &text);
}

static void add_warning(const struct clp_comparison *comparison, const char *folder,
                        const struct clp_compared_function *function,
                        const struct clp_compared_row *row, struct clp_buf *out)
{
    const char *between = "";
    struct clp_buf text;

    clp_buf_init(&text, out->mem);
    for (size_t i = 0; i < comparison->options.measure_count; i++) {
        enum clp_measure measure = comparison->options.measures[i];
        struct clp_change change = clp_comparison_change(comparison, &row->samples, measure);
        if (!change.changed || !comparison->known[CLP_OLD][measure] ||
            !comparison->known[CLP_NEW][measure])
            continue;
        clp_buf_add_format(&text, "%s%s ", between, clp_measure_name(measure));
        clp_diff_text_add_change(measure, &change, &text);
        between = "; ";
    }
    add_text_of(&text, row);
    add_head(out, "warning", folder, function, row);
    clp_buf_add_text(out, clp_verdict_is(row->verdicts, CLP_VERDICT_SLOWER)  ? " slower"
                          : clp_verdict_is(row->verdicts, CLP_VERDICT_GROWN) ? " grown"
                                                                             : " new");
    add_tail(out, &text);
}

/* A new line is worth a warning when it takes more than the noise. */
static bool is_worse(const struct clp_comparison *comparison, const struct clp_compared_row *row)
{
    if (!row->has[CLP_NEW])
        return false;
    if (!clp_verdict_is(row->verdicts, CLP_VERDICT_NEW))
        return clp_verdict_is(row->verdicts, CLP_VERDICT_SLOWER) ||
               clp_verdict_is(row->verdicts, CLP_VERDICT_GROWN);
    enum clp_measure first = comparison->options.measures[0];
    return clp_comparison_change(comparison, &row->samples, first).changed;
}

clp_status clp_github_add_warnings(const struct clp_comparison *comparison, const char *folder,
                                   struct clp_buf *out)
{
    struct clp_comparison_list list;

    if (clp_comparison_list_make(&list, comparison, false) != CLP_OK)
        return CLP_NO_MEMORY;
    for (size_t i = 0; i < list.count; i++) {
        const struct clp_compared_function *function = &comparison->functions[list.places[i]];
        for (size_t j = 0; j < function->row_count; j++)
            if (is_worse(comparison, &function->rows[j]))
                add_warning(comparison, folder, function, &function->rows[j], out);
    }
    clp_comparison_list_clear(&list, comparison->mem);
    return out->failed ? CLP_NO_MEMORY : CLP_OK;
}

/* ---- Markdown ---- */

/* Punctuation as character references: no markup, no link, no end of a cell. */
static void add_markdown(struct clp_buf *out, const char *text, size_t bytes)
{
    struct clp_buf shown;

    clp_buf_init(&shown, out->mem);
    clp_escape_add(&shown, text, bytes);
    out->failed |= shown.failed;
    for (const char *at = clp_buf_text(&shown); *at != 0; at++) {
        unsigned char c = (unsigned char)*at;
        bool plain = c >= 0x80 || c == ' ' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                     (c >= 'a' && c <= 'z');
        if (plain)
            clp_buf_add(out, at, 1);
        else
            clp_buf_add_format(out, "&#%d;", c);
    }
    clp_buf_clear(&shown);
}

static void add_markdown_text(struct clp_buf *out, const char *text)
{
    add_markdown(out, text, strlen(text));
}

static void add_cells(struct clp_buf *out, enum clp_measure measure,
                      const struct clp_change *change)
{
    enum clp_measure_kind kind = clp_measure_kind_of(measure);

    clp_measure_add_amount(out, kind, change->before.mean, false);
    clp_buf_add_text(out, " | ");
    clp_measure_add_amount(out, kind, change->after.mean, false);
    clp_buf_add_text(out, " | ");
    clp_measure_add_amount(out, kind, change->change, true);
    if (isfinite(change->percent))
        clp_buf_add_format(out, " (%+.1f %%)", change->percent);
    clp_buf_add_text(out, " |");
}

static void add_function(const struct clp_comparison *comparison, const char *folder,
                         const struct clp_compared_function *function, struct clp_buf *out)
{
    struct clp_change total =
        clp_comparison_change(comparison, &function->samples, CLP_MEASURE_TOTAL);
    const struct clp_profile_function *one = function->sides[CLP_NEW];
    const char *between = "";

    if (one == NULL)
        one = function->sides[CLP_OLD];
    clp_buf_add_text(out, "| <code>");
    add_markdown_text(out, one->name);
    clp_buf_add_text(out, "</code> | ");
    add_markdown_text(out, clp_escape_relative(one->file, folder));
    clp_buf_add_format(out, ":%d | ", (int)one->first_line);
    add_cells(out, CLP_MEASURE_TOTAL, &total);
    clp_buf_add_text(out, " ");
    for (unsigned i = 0; i < CLP_VERDICTS; i++) {
        if (!clp_verdict_is(function->verdicts, (enum clp_verdict)i))
            continue;
        clp_buf_add_format(out, "%s%s", between, clp_verdict_text((enum clp_verdict)i));
        between = ", ";
    }
    clp_buf_add_text(out, function->verdicts == 0 ? "changed within |\n" : " |\n");
}

clp_status clp_github_add_summary(const struct clp_comparison *comparison, const char *folder,
                                  size_t top, struct clp_buf *out)
{
    struct clp_comparison_list list;

    if (clp_comparison_list_make(&list, comparison, false) != CLP_OK)
        return CLP_NO_MEMORY;
    top = top != 0 ? top : USUAL_TOP;
    clp_buf_add_text(out, "### clineprof diff\n\n");
    clp_diff_text_add_summary(comparison, out);
    if (list.count != 0)
        clp_buf_add_text(out, "\n| function | place | before | after | change | |\n"
                              "|---|---|---:|---:|---:|---|\n");
    for (size_t i = 0; i < list.count && i < top; i++)
        add_function(comparison, folder, &comparison->functions[list.places[i]], out);
    if (list.count > top)
        clp_buf_add_format(out, "\n%zu more function%s changed.\n", list.count - top,
                           clp_buf_plural(list.count - top));
    clp_buf_add_text(out, "\n");
    clp_comparison_list_clear(&list, comparison->mem);
    return out->failed ? CLP_NO_MEMORY : CLP_OK;
}

void clp_github_add_breach_head(struct clp_buf *out)
{
    clp_buf_add_text(out, "| limit | place | before | after | change | line |\n"
                          "|---|---|---:|---:|---:|---|\n");
}

void clp_github_add_breach_row(const struct clp_breach *breach, const char *folder,
                               struct clp_buf *out)
{
    struct clp_span text = {"", 0};
    struct clp_buf place;

    if (breach->row != NULL)
        text = clp_diff_text_of(breach->row);
    clp_buf_init(&place, out->mem);
    clp_diff_text_add_place(breach->function, breach->row, folder, &place);
    clp_buf_add_text(out, "| ");
    add_markdown(out, breach->limit->text, breach->limit->bytes);
    clp_buf_add_text(out, " | ");
    add_markdown(out, clp_buf_text(&place), place.used > 2 ? place.used - 2 : 0);
    clp_buf_add_text(out, " | ");
    add_cells(out, breach->limit->measure, &breach->change);
    clp_buf_add_text(out, " <code>");
    add_markdown(out, text.text, text.bytes);
    clp_buf_add_text(out, "</code> |\n");
    clp_buf_clear(&place);
}
