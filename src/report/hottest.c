/* SPDX-License-Identifier: MIT */
#include "hottest.h"
#include "ranking.h"
#include "base/escape.h"
#include "formats/lprof/wire_rows.h"

/* The line with the largest value of a measure, and what the sentence tells of all lines. */
struct most {
    const struct clp_profile_function *function; /* NULL: no line has any */
    int32_t line;
    double value;
    double all; /* the sum of the lines' values */
};

struct findings {
    struct most growth, waiting;
    double resident; /* bytes: the largest resident size after any line */
};

static void note(struct most *most, const struct clp_profile_function *function, int32_t line, double value)
{
    most->all += value;
    if (value <= most->value)
        return;
    most->function = function;
    most->line = line;
    most->value = value;
}

static struct findings find(const struct clp_hottest *hottest)
{
    struct findings found = {0};
    struct most inclusive = {0}; /* for files of programs that do not tell what a line added by itself */
    struct clp_wire_rows rows;

    for (size_t i = 0; i < hottest->choice->count; i++) {
        const struct clp_profile_function *function = &hottest->profile->functions[hottest->choice->places[i]];
        for (clp_wire_rows_start(&rows, hottest->profile, function); rows.at != NULL; clp_wire_rows_next(&rows)) {
            const struct clp_measures *measures = &rows.at->measures;
            double own = (double)measures->self_increment, whole = (double)clp_measures_increment(measures);
            note(&found.growth, function, rows.at->line, own > 0 ? own : 0);
            note(&inclusive, function, rows.at->line, whole > 0 ? whole : 0);
            note(&found.waiting, function, rows.at->line, (double)measures->await);
            found.resident = (double)measures->rss > found.resident ? (double)measures->rss : found.resident;
        }
    }
    if (found.growth.function == NULL)
        found.growth = inclusive;
    return found;
}

/* Adds "at FILE:LINE in FUNCTION". */
static void add_place(const struct clp_hottest *hottest, const struct most *most, struct clp_buf *out)
{
    clp_buf_add_text(out, "at ");
    clp_escape_add_file(out, most->function->file, hottest->folder);
    clp_buf_add_format(out, ":%d in ", (int)most->line);
    clp_escape_add_text(out, most->function->name);
}

static void start_sentence(const struct clp_table *table, const char *text)
{
    clp_buf_add_text(table->out, table->marked ? CLP_MARK_HEADING : "");
    clp_buf_add_text(table->out, text);
}

static void add_memory(const struct clp_hottest *hottest, const struct findings *found,
                       const struct clp_table *table)
{
    struct clp_buf *out = table->out;

    start_sentence(table, "Memory: at most ");
    clp_number_add_bytes(out, found->resident);
    if (found->growth.value < CLP_WHOLE_LEAST_MOVED) {
        clp_buf_add_text(out, "; no line added 64 KiB or more\n");
        return;
    }
    clp_buf_add_text(out, "; most was added ");
    add_place(hottest, &found->growth, out);
    clp_buf_add_text(out, ": ");
    clp_number_add_bytes(out, found->growth.value);
    clp_buf_add_text(out, "\n");
}

static void add_waiting(const struct clp_hottest *hottest, const struct findings *found,
                       const struct clp_table *table)
{
    struct clp_buf *out = table->out;

    start_sentence(table, "Suspended (await): ");
    clp_number_add_time(out, found->waiting.all);
    clp_buf_add_text(out, " in all; most ");
    add_place(hottest, &found->waiting, out);
    clp_buf_add_text(out, ": ");
    clp_number_add_time(out, found->waiting.value);
    clp_buf_add_text(out, "\n");
}

static clp_status add_lines(const struct clp_hottest *hottest, struct clp_table *table)
{
    bool has_self = table->whole.self != 0;
    struct clp_choice_options options = *hottest->options;
    struct clp_columns columns;
    size_t bytes;

    options.order = has_self ? CLP_CHOICE_BY_self : CLP_CHOICE_BY_time;
    (void)clp_columns_parse(&columns, has_self ? "self,share" : "time,percent", &bytes);
    struct clp_ranking ranking = {hottest->profile, hottest->choice, &options, CLP_HOTTEST_LINES, hottest->folder,
                                  false};
    struct clp_table own = *table;
    own.columns = &columns;
    own.rows = NULL;
    own.count = own.room = 0;
    clp_status status = clp_ranking_add(&ranking, &own);
    clp_table_clear(&own);
    return status;
}

clp_status clp_hottest_add(const struct clp_hottest *hottest, struct clp_table *table)
{
    struct clp_buf *out = table->out;
    struct findings found = find(hottest);
    bool memory = hottest->memory && found.resident != 0, waiting = found.waiting.function != NULL;

    if (table->whole.time == 0)
        return CLP_OK;
    clp_status status = hottest->lines ? add_lines(hottest, table) : CLP_OK;
    if (memory)
        add_memory(hottest, &found, table);
    if (waiting)
        add_waiting(hottest, &found, table);
    if (memory || waiting)
        clp_buf_add_text(out, "\n");
    return status;
}
