/* SPDX-License-Identifier: MIT */
#include "footer.h"
#include "base/number.h"
#include "base/escape.h"
#include <string.h>

struct footer {
    const struct clp_profile_meta *meta;
    const struct clp_footer_options *options;
    struct clp_buf *out;
    bool parts; /* has a part been added behind the tracer's name? The next then needs a ";" before it, else a ":" */
};

static struct clp_buf *next_part(struct footer *footer)
{
    clp_buf_add_text(footer->out, footer->parts ? "; " : ": ");
    footer->parts = true;
    return footer->out;
}

static void add_cost(struct footer *footer)
{
    const struct clp_profile_meta *meta = footer->meta;

    if (meta->events == 0)
        return;
    struct clp_buf *out = next_part(footer);
    clp_buf_add_format(out, "%llu event%s", (unsigned long long)meta->events, clp_buf_plural(meta->events));
    if (meta->overhead == 0)
        return;
    clp_buf_add_format(out, " cost%s about %.2g s, ", meta->events == 1 ? "s" : "", (double)meta->overhead * 1e-9);
    if (meta->overhead_error != 0)
        clp_buf_add_format(out, "give or take %.1g s, ", (double)meta->overhead_error * 1e-9);
    clp_buf_add_format(out, "%s the lines", footer->options->raw_times ? "left in" : "taken off");
}

/* Adds "resident memory" and the like for a name that --memory takes. */
static void add_memory_kind(struct clp_buf *out, const char *name)
{
    static const char *const kinds[][2] = {
        {"rss", "resident memory"},
        {"anon", "anonymous memory"},
        {"uss", "memory of its own (uss, slow)"},
        {"pss", "proportional memory (pss, slow)"},
        {"tree", "resident memory with that of child processes (slow)"},
        {"mixed", "memory, of different kinds,"},
    };

    name = name != NULL ? name : "rss";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i][0], name) == 0)
            name = kinds[i][1];
    clp_escape_add_text(out, name);
}

/* Adds the memory that other threads grew and released while a line ran: no line of the tables has it. */
static void add_other_threads(const struct clp_profile_meta *meta, struct clp_buf *out)
{
    if (meta->others_grown == 0 && meta->others_released == 0)
        return;
    clp_buf_add_text(out, "Other threads, while a line ran: grown ");
    clp_number_add_bytes(out, (double)meta->others_grown);
    clp_buf_add_text(out, ", released ");
    clp_number_add_bytes(out, (double)meta->others_released);
    clp_buf_add_text(out, " (no line's).\n");
}

static bool tells_of_memory(const struct footer *footer)
{
    return footer->options->memory && footer->meta->has_memory && footer->meta->reads != 0;
}

static void add_memory(struct footer *footer)
{
    const struct clp_profile_meta *meta = footer->meta;

    if (!tells_of_memory(footer))
        return;
    struct clp_buf *out = next_part(footer);
    add_memory_kind(out, meta->memory);
    clp_buf_add_format(out, " read %llu time%s, ", (unsigned long long)meta->reads,
                       clp_buf_plural(meta->reads));
    if (!meta->inexact_memory)
        clp_buf_add_text(out, "exact to the page");
    else if (meta->memory_step != 0)
        clp_buf_add_format(out, "in steps of %llu bytes", (unsigned long long)meta->memory_step);
    else
        clp_buf_add_text(out, "not exact to the page");
    if (meta->own_bytes == 0)
        return;
    clp_buf_add_text(out, ", own ");
    clp_number_add_bytes(out, (double)meta->own_bytes);
    clp_buf_add_text(out, " left out");
}

/* Adds how the numbers were measured: the tracer, its events, the reads of memory. */
static void add_details(struct footer *footer)
{
    const char *tracer = footer->meta->tracer;

    if (tracer != NULL) {
        clp_buf_add_text(footer->out, ", tracer ");
        clp_escape_add_text(footer->out, tracer);
    }
    add_cost(footer);
    add_memory(footer);
    clp_buf_add_text(footer->out, ".");
}

/* Adds what a reader has to know: whether the times include the profiler's cost, and what is unusual about memory. */
static void add_sentences(const struct footer *footer)
{
    const struct clp_profile_meta *meta = footer->meta;
    struct clp_buf *out = footer->out;

    clp_buf_add_text(out, ".");
    if (meta->events != 0 && meta->overhead != 0)
        clp_buf_add_format(out, " Counting itself took about %.2g s, which the times above %s.",
                           (double)meta->overhead * 1e-9,
                           footer->options->raw_times ? "include" : "leave out");
    if (clp_profile_is_light(meta))
        clp_buf_add_text(out, strcmp(meta->tracer, CLP_TRACER_LIGHT) == 0
                                  ? " Hits are exact; times are estimates from samples (--light)."
                                  : " Some times are estimates from samples (--light).");
    if (!tells_of_memory(footer))
        return;
    bool usual = meta->memory == NULL || strcmp(meta->memory, "rss") == 0;
    if (!usual) {
        clp_buf_add_text(out, " Memory is ");
        add_memory_kind(out, meta->memory);
        clp_buf_add_text(out, ".");
    }
    if (meta->inexact_memory && meta->memory_step != 0)
        clp_buf_add_format(out, " Memory is counted in steps of %llu bytes.",
                           (unsigned long long)meta->memory_step);
    else if (meta->inexact_memory)
        clp_buf_add_text(out, " Memory is not exact to the page.");
}

bool clp_footer_add(const struct clp_profile_meta *meta, const struct clp_footer_options *options,
                    struct clp_buf *out)
{
    struct footer footer = {.meta = meta, .options = options, .out = out};

    if (meta->tracer == NULL && meta->events == 0 && !tells_of_memory(&footer))
        return false;
    if (options->memory)
        add_other_threads(meta, out);
    clp_buf_add_text(out, "Profiled by clineprof");
    if (options->details)
        add_details(&footer);
    else
        add_sentences(&footer);
    clp_buf_add_text(out, "\n");
    return true;
}
