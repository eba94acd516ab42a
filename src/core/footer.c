/* SPDX-License-Identifier: MIT */
#include "footer.h"
#include "shown.h"
#include <string.h>

struct footer {
    const struct clp_profile_meta *meta;
    const struct clp_footer_options *options;
    struct clp_buf *out;
    bool parts; /* has something been said behind who it was? */
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
    clp_buf_add_format(out, "%llu events", (unsigned long long)meta->events);
    if (meta->overhead == 0)
        return;
    clp_buf_add_format(out, " cost about %.2g s, ", (double)meta->overhead * 1e-9);
    if (meta->overhead_error != 0)
        clp_buf_add_format(out, "give or take %.1g s, ", (double)meta->overhead_error * 1e-9);
    clp_buf_add_format(out, "%s the lines", footer->options->raw_times ? "left in" : "taken off");
}

static void add_memory(struct footer *footer)
{
    const struct clp_profile_meta *meta = footer->meta;

    if (!footer->options->memory || !meta->has_memory || meta->reads == 0)
        return;
    struct clp_buf *out = next_part(footer);
    clp_buf_add_format(out, "resident memory read %llu times, ", (unsigned long long)meta->reads);
    if (!meta->inexact_memory)
        clp_buf_add_text(out, "exact to the page");
    else if (meta->memory_step != 0)
        clp_buf_add_format(out, "in steps of %llu bytes", (unsigned long long)meta->memory_step);
    else
        clp_buf_add_text(out, "not exact to the page");
    if (meta->own_bytes != 0)
        clp_buf_add_format(out, ", own %.3f MiB left out",
                           (double)meta->own_bytes / (1024 * 1024));
}

bool clp_footer_add(const struct clp_profile_meta *meta, const struct clp_footer_options *options,
                    struct clp_buf *out)
{
    struct footer footer = {.meta = meta, .options = options, .out = out};
    size_t start = out->used;

    clp_buf_add_text(out, "Profiled by clineprof");
    if (meta->tracer != NULL) {
        clp_buf_add_text(out, ", tracer ");
        clp_shown_add(out, meta->tracer, strlen(meta->tracer));
    }
    add_cost(&footer);
    add_memory(&footer);
    clp_buf_add_text(out, ".\n");
    if (meta->tracer != NULL || footer.parts)
        return true;
    clp_buf_cut(out, start);
    return false;
}
