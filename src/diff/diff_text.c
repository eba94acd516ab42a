/* SPDX-License-Identifier: MIT */
/* Every table is made twice: the first pass only measures the widths of the columns, the second writes the table. */
#include "diff_text.h"
#include "compare.h"
#include "base/number.h"
#include "base/escape.h"
#include "report/table.h"
#include "report/unit.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TICKS_WIDTH 12
#define PERCENT_WIDTH 8
#define MARGIN_WIDTH 9
#define HITS_WIDTH 9
#define LINE_WIDTH 6

/* The cells of a measure. The margin has a column only with a confidence. */
enum { BEFORE, AFTER, CHANGE, MARGIN, PERCENT, CELLS };
#define MOST_CELLS (CLP_MEASURES * CELLS + 2)

static const char text_title[] = "  Line Contents";

/* ---- pieces ---- */

static int side_of(const struct clp_compared_row *row)
{
    return row->has[CLP_NEW] ? CLP_NEW : CLP_OLD;
}

/* Adds "FILE:LINE: NAME: " of a row, from the new side where the row is there. With row NULL it is the function's
 * first line. */
static void add_breach_place(const struct clp_compared_function *function, const struct clp_compared_row *row,
                             const char *folder, struct clp_buf *out)
{
    int side = function->sides[CLP_NEW] != NULL ? CLP_NEW : CLP_OLD;

    if (row != NULL)
        side = side_of(row);
    const struct clp_profile_function *shown = function->sides[side];
    clp_escape_add_text(out, clp_escape_relative(shown->file, folder));
    clp_buf_add_format(out, ":%lld: ",
                       row != NULL ? (long long)row->line[side] : (long long)shown->first_line);
    clp_escape_add_text(out, shown->name);
    clp_buf_add_text(out, ": ");
}

/* Adds a change: "20.1 ms -> 40.3 ms, +20.2 ms (+100.5 %)". */
static void add_change(enum clp_measure measure, const struct clp_change *change, struct clp_buf *out)
{
    enum clp_measure_kind kind = clp_measure_rows[measure].kind;

    clp_amount_add(out, kind, change->before.mean, false);
    clp_buf_add_text(out, " -> ");
    clp_amount_add(out, kind, change->after.mean, false);
    if (change->change == 0)
        return;
    clp_buf_add_text(out, ", ");
    clp_amount_add(out, kind, change->change, true);
    if (isfinite(change->percent))
        clp_buf_add_format(out, " (%+.1f %%)", change->percent);
}

void clp_diff_text_add_breach(const struct clp_breach *breach, const char *folder,
                              struct clp_buf *out)
{
    struct clp_span text = {"", 0};

    if (breach->row != NULL)
        text = clp_source_stripped(breach->row->text[side_of(breach->row)]);
    add_breach_place(breach->function, breach->row, folder, out);
    clp_buf_add_format(out, "%s ", clp_measure_rows[breach->limit->measure].name);
    add_change(breach->limit->measure, &breach->change, out);
    clp_buf_add_text(out, " breaks ");
    clp_escape_add(out, breach->limit->text, breach->limit->bytes);
    if (text.bytes != 0)
        clp_buf_add_text(out, ": ");
    clp_escape_add(out, text.text, text.bytes);
    clp_buf_add_text(out, "\n");
}

/* ---- cells ---- */

struct changes {
    const struct clp_comparison *comparison;
    const struct clp_diff_text_options *options;
    struct clp_buf *out;
    double scalar; /* units of times in a nanosecond; 0: each time has the unit that fits it */
    struct clp_table marks; /* writes the marks of tables */
};

static bool fits_units(const struct changes *changes)
{
    return changes->scalar == 0;
}

static void start_heading(const struct changes *changes, const char *text)
{
    clp_buf_add_text(changes->out, changes->options->marked ? CLP_MARK_HEADING : "");
    clp_buf_add_text(changes->out, text);
}

/* The table of one function. It has columns for the first measure and for the others that changed in the function. */
struct table {
    const struct clp_compared_function *function;
    struct clp_measure_list measures;
    bool hits; /* adds two columns: the hits before and after */
    size_t widths[MOST_CELLS];
    struct clp_number cells[MOST_CELLS]; /* the cells of the current row */
    bool whole;                          /* shows every row */
};

static void add_sign(struct clp_number *number, double value)
{
    size_t bytes = strlen(number->text), blanks = strspn(number->text, " ");

    if (!(value > 0) || bytes + 1 >= sizeof number->text)
        return;
    memmove(number->text + blanks + 1, number->text + blanks, bytes + 1 - blanks);
    number->text[blanks] = '+';
}

static void set_amount(const struct changes *changes, enum clp_measure measure, double value,
                       struct clp_number *number)
{
    enum clp_measure_kind kind = clp_measure_rows[measure].kind;

    if (kind == CLP_MEASURE_NANOS && fits_units(changes))
        clp_number_set_time(number, value);
    else if (kind == CLP_MEASURE_NANOS)
        clp_number_set_decimal(number, value * changes->scalar, TICKS_WIDTH);
    else if (kind == CLP_MEASURE_BYTES)
        clp_number_set_bytes(number, value);
    else if (value == floor(value) && value >= 0 && value < 1e18)
        clp_number_set_count(number, value, HITS_WIDTH);
    else
        clp_number_set_decimal(number, value, HITS_WIDTH);
}

static void set_percent(unsigned verdicts, double percent, struct clp_number *number)
{
    if (clp_verdict_is(verdicts, CLP_VERDICT_NEW)) {
        memcpy(number->text, "new", sizeof "new");
    } else if (clp_verdict_is(verdicts, CLP_VERDICT_GONE)) {
        memcpy(number->text, "gone", sizeof "gone");
    } else if (isfinite(percent)) {
        clp_number_set_decimal(number, percent, PERCENT_WIDTH - 1);
        add_sign(number, percent);
    }
}

/* Sets the cells of a measure. Where the measure did not change only BEFORE and AFTER are set. Bytes that are zero on
 * both sides, as on most lines, leave all cells empty. */
static void set_cells(const struct changes *changes, const struct clp_compared_row *row,
                      enum clp_measure measure,
                      struct clp_number cells[CELLS])
{
    const struct clp_comparison *comparison = changes->comparison;
    struct clp_change change = clp_comparison_change(comparison, &row->samples, measure);

    if (clp_measure_rows[measure].kind == CLP_MEASURE_BYTES && change.before.mean == 0 &&
        change.after.mean == 0)
        return;
    if (clp_comparison_ran(comparison, &row->samples, CLP_OLD))
        set_amount(changes, measure, change.before.mean, &cells[BEFORE]);
    if (clp_comparison_ran(comparison, &row->samples, CLP_NEW))
        set_amount(changes, measure, change.after.mean, &cells[AFTER]);
    if (!change.changed)
        return;
    set_amount(changes, measure, change.change, &cells[CHANGE]);
    add_sign(&cells[CHANGE], change.change);
    set_amount(changes, measure, change.margin, &cells[MARGIN]);
    set_percent(row->verdicts, change.percent, &cells[PERCENT]);
}

static void set_hits(const struct changes *changes, const struct clp_compared_row *row,
                     struct clp_number cells[2])
{
    struct clp_change hits =
        clp_comparison_change(changes->comparison, &row->samples, CLP_MEASURE_hits);

    if (!hits.changed)
        return;
    if (!clp_verdict_is(row->verdicts, CLP_VERDICT_NEW))
        set_amount(changes, CLP_MEASURE_hits, hits.before.mean, &cells[0]);
    if (!clp_verdict_is(row->verdicts, CLP_VERDICT_GONE))
        set_amount(changes, CLP_MEASURE_hits, hits.after.mean, &cells[1]);
}

static size_t cell_count(const struct table *table)
{
    return table->measures.count * CELLS + (table->hits ? 2 : 0);
}

static void set_row(const struct changes *changes, struct table *table,
                    const struct clp_compared_row *row)
{
    memset(table->cells, 0, cell_count(table) * sizeof *table->cells);
    for (size_t i = 0; i < table->measures.count; i++)
        set_cells(changes, row, table->measures.items[i], &table->cells[i * CELLS]);
    if (table->hits)
        set_hits(changes, row, &table->cells[table->measures.count * CELLS]);
}

/* ---- which rows ---- */

/* Did one of the compared measures of the row change beyond the noise? Hits count only where options name them. */
static bool has_weight(const struct clp_comparison *comparison, const struct clp_compared_row *row)
{
    const struct clp_compare_options *options = &comparison->options;

    for (size_t i = 0; i < options->measures.count; i++)
        if (clp_comparison_change(comparison, &row->samples, options->measures.items[i]).changed)
            return true;
    return false;
}

/* Is the row worth showing? In a function that is new or gone every line that ran is new or gone too, so only lines
 * with a change beyond the noise are shown. */
static bool matters(const struct changes *changes, const struct table *table,
                    const struct clp_compared_row *row)
{
    bool both = table->function->sides[CLP_OLD] != NULL && table->function->sides[CLP_NEW] != NULL;

    if (table->whole)
        return true;
    return both ? row->verdicts != 0
                : has_weight(changes->comparison, row);
}

/* Returns the index of the row that names the function: the first def or class, otherwise the first row. A module has
 * no such row: the result is row_count. */
static size_t find_head(const struct clp_compared_function *function)
{
    const struct clp_profile_function *side = function->sides[CLP_NEW];

    if (strcmp(side != NULL ? side->name : function->sides[CLP_OLD]->name, "<module>") == 0)
        return function->row_count;
    for (size_t i = 0; i < function->row_count; i++)
        if (clp_source_is_def(function->rows[i].text[side_of(&function->rows[i])]))
            return i;
    return 0;
}

/* Returns the index of the next shown row from `at` on; row_count when there is none. */
static size_t find_shown(const struct changes *changes, const struct table *table, size_t head,
                         size_t at)
{
    const struct clp_compared_function *function = table->function;

    while (at < function->row_count && at != head &&
           !matters(changes, table, &function->rows[at]))
        at++;
    return at;
}

/* ---- a table ---- */

static bool is_changed_in(const struct changes *changes, const struct table *table,
                          enum clp_measure measure)
{
    const struct clp_compared_function *function = table->function;

    for (size_t i = 0; i < function->row_count; i++)
        if (clp_comparison_change(changes->comparison, &function->rows[i].samples, measure).changed)
            return true;
    return false;
}

static bool is_known(const struct clp_comparison *comparison, enum clp_measure measure)
{
    return comparison->known[CLP_OLD][measure] && comparison->known[CLP_NEW][measure];
}

/* Chooses the columns: the first known measure always, other measures where one of the function's lines changed, hits
 * where a line has more or fewer of them. */
static void choose_columns(const struct changes *changes, struct table *table)
{
    const struct clp_compare_options *options = &changes->comparison->options;

    for (size_t i = 0; i < options->measures.count; i++) {
        enum clp_measure measure = options->measures.items[i];
        if (measure == CLP_MEASURE_hits || !is_known(changes->comparison, measure))
            continue;
        if (table->measures.count == 0 || is_changed_in(changes, table, measure))
            table->measures.items[table->measures.count++] = measure;
    }
    for (size_t i = 0; i < table->function->row_count && !table->hits; i++) {
        unsigned verdicts = table->function->rows[i].verdicts;
        table->hits = clp_verdict_is(verdicts, CLP_VERDICT_MORE) ||
                      clp_verdict_is(verdicts, CLP_VERDICT_FEWER);
    }
}

/* In a marked table each title names its measure, because a terminal may show the changes alone. */
static void set_title(const struct changes *changes, const struct table *table, size_t cell, char title[32])
{
    static const char *const titles[2][CELLS] = {{" before", " after", "Change", "+-", "%"},
                                                 {" before", " after", " change", " +-", " %"}};
    bool marked = changes->options->marked, of_hits = cell >= table->measures.count * CELLS;
    enum clp_measure measure = of_hits ? CLP_MEASURE_hits : table->measures.items[cell / CELLS];
    size_t place = cell % CELLS;

    (void)snprintf(title, 32, "%s%s", place <= AFTER || marked ? clp_measure_rows[measure].title : "",
                   titles[marked][place]);
}

static char letter_of(const struct table *table, size_t cell)
{
    static const char letters[] = {
        [CLP_MEASURE_COUNT] = 'c', [CLP_MEASURE_NANOS] = 't', [CLP_MEASURE_BYTES] = 'b'};

    if (cell >= table->measures.count * CELLS)
        return 'c';
    size_t place = cell % CELLS;
    enum clp_measure measure = table->measures.items[cell / CELLS];
    return place == CHANGE || place == PERCENT ? 'd' : letters[clp_measure_rows[measure].kind];
}

static void set_widths(const struct changes *changes, struct table *table, size_t head)
{
    const struct clp_compared_function *function = table->function;
    size_t count = cell_count(table);
    char title[32];

    for (size_t i = 0; i < count; i++) {
        set_title(changes, table, i, title);
        size_t least = i >= table->measures.count * CELLS ? HITS_WIDTH
                     : i % CELLS == PERCENT ? PERCENT_WIDTH
                     : i % CELLS == MARGIN ? MARGIN_WIDTH : TICKS_WIDTH;
        table->widths[i] = strlen(title) > least ? strlen(title) : least;
    }
    for (size_t i = find_shown(changes, table, head, 0); i < function->row_count;
         i = find_shown(changes, table, head, i + 1)) {
        set_row(changes, table, &function->rows[i]);
        for (size_t j = 0; j < count; j++) {
            size_t bytes = strlen(table->cells[j].text);
            if (bytes > table->widths[j])
                table->widths[j] = bytes;
        }
    }
}

/* Returns the blanks before a cell: more before the first column of a measure than within its columns. */
static size_t gap_before(const struct table *table, size_t cell)
{
    bool first = cell % CELLS == 0 && cell <= table->measures.count * CELLS;

    return first && cell != 0 ? 3 : 1;
}

static bool is_shown(const struct changes *changes, const struct table *table, size_t cell)
{
    bool is_margin = cell < table->measures.count * CELLS && cell % CELLS == MARGIN;

    return !is_margin || changes->comparison->options.confidence != 0;
}

static size_t width_of(const struct table *table, size_t cell)
{
    return table->widths[cell] + gap_before(table, cell);
}

static void add_header(struct changes *changes, const struct table *table)
{
    const struct clp_table *marks = &changes->marks;
    size_t whole = 2 * LINE_WIDTH + 1 + strlen(text_title);
    char title[32];

    clp_table_start_titles(marks);
    clp_table_add_title(marks, 'o', LINE_WIDTH, "Old #");
    clp_table_add_title(marks, 'o', LINE_WIDTH + 1, "New #");
    for (size_t i = 0; i < cell_count(table); i++) {
        if (!is_shown(changes, table, i))
            continue;
        set_title(changes, table, i, title);
        clp_table_add_title(marks, letter_of(table, i), width_of(table, i), title);
        whole += width_of(table, i);
    }
    clp_table_end_titles(marks, 's', text_title, whole);
}

static void add_line_number(const struct changes *changes, size_t width, bool has, int64_t line)
{
    char number[CLP_NUMBER_BYTES] = "";

    if (has)
        (void)snprintf(number, sizeof number, "%lld", (long long)line);
    clp_table_add_cell(&changes->marks, width, number);
}

static void add_row(struct changes *changes, struct table *table,
                    const struct clp_compared_row *row)
{
    const struct clp_table *marks = &changes->marks;
    const char mark[] = {' ', clp_comparison_mark(table->function, row), 0};

    set_row(changes, table, row);
    clp_table_start_row(marks, NULL);
    add_line_number(changes, LINE_WIDTH, row->has[CLP_OLD], row->line[CLP_OLD]);
    add_line_number(changes, LINE_WIDTH + 1, row->has[CLP_NEW], row->line[CLP_NEW]);
    for (size_t i = 0; i < cell_count(table); i++)
        if (is_shown(changes, table, i))
            clp_table_add_cell(marks, width_of(table, i), table->cells[i].text);
    clp_table_add_source(marks, mark, row->text[side_of(row)]);
}

/* Adds the shown rows. Several rows between two shown rows become one "..." row; a single one is shown. */
static void add_rows(struct changes *changes, struct table *table, size_t head)
{
    const struct clp_compared_function *function = table->function;
    size_t next = 0;

    while (next < function->row_count) {
        size_t shown = find_shown(changes, table, head, next);
        if (shown - next > 1)
            clp_buf_add_text(changes->out, changes->options->marked ? CLP_MARK_FOLDED "   ...\n" : "   ...\n");
        else if (shown - next == 1)
            add_row(changes, table, &function->rows[next]);
        if (shown < function->row_count)
            add_row(changes, table, &function->rows[shown]);
        next = shown + 1;
    }
}

static void add_table(struct changes *changes, struct table *table)
{
    size_t head = find_head(table->function);

    if (find_shown(changes, table, table->function->row_count, 0) == table->function->row_count)
        return;
    choose_columns(changes, table);
    set_widths(changes, table, head);
    clp_buf_add_text(changes->out, "\n");
    add_header(changes, table);
    add_rows(changes, table, head);
}

/* ---- a function ---- */

static void add_verdicts(struct clp_buf *out, unsigned verdicts)
{
    const char *between = "  (";

    for (unsigned i = 0; i < CLP_VERDICTS; i++) {
        if (!clp_verdict_is(verdicts, (enum clp_verdict)i))
            continue;
        clp_buf_add_format(out, "%s%s", between, clp_verdict_text((enum clp_verdict)i));
        between = ", ";
    }
    if (verdicts != 0)
        clp_buf_add_text(out, ")");
}

static void add_seconds(const struct changes *changes, double nanos)
{
    if (fits_units(changes))
        clp_number_add_time(changes->out, nanos);
    else
        clp_buf_add_format(changes->out, "%g s", nanos * 1e-9);
}

static void add_total(struct changes *changes, const struct clp_compared_function *function)
{
    struct clp_change total = clp_comparison_change(changes->comparison, &function->samples,
                                                    CLP_MEASURE_total);
    struct clp_buf *out = changes->out;

    start_heading(changes, "Total time: ");
    if (function->sides[CLP_OLD] != NULL)
        add_seconds(changes, total.before.mean);
    if (function->sides[CLP_OLD] != NULL && function->sides[CLP_NEW] != NULL)
        clp_buf_add_text(out, " -> ");
    if (function->sides[CLP_NEW] != NULL)
        add_seconds(changes, total.after.mean);
    if (total.changed && isfinite(total.percent) && function->sides[CLP_NEW] != NULL) {
        clp_buf_add_text(out, total.change > 0 ? ", +" : ", ");
        add_seconds(changes, total.change);
        clp_buf_add_format(out, ", %+.1f %%", total.percent);
    }
    add_verdicts(out, function->verdicts);
    clp_buf_add_text(out, "\n");
}

/* Adds "BEFORE -> AFTER", or one text where both are equal or one is NULL. */
static void add_texts(struct clp_buf *out, const char *before, const char *after)
{
    const char *first = before != NULL ? before : after;

    clp_escape_add_text(out, first);
    if (before == NULL || after == NULL || strcmp(before, after) == 0)
        return;
    clp_buf_add_text(out, " -> ");
    clp_escape_add_text(out, after);
}

static void add_place(struct changes *changes, const struct clp_compared_function *function)
{
    const struct clp_profile_function *before = function->sides[CLP_OLD];
    const struct clp_profile_function *after = function->sides[CLP_NEW];
    const struct clp_profile_function *one = after != NULL ? after : before;
    const char *folder = changes->options->folder;
    struct clp_buf *out = changes->out;

    start_heading(changes, "File: ");
    add_texts(out, before != NULL ? clp_escape_relative(before->file, folder) : NULL,
              after != NULL ? clp_escape_relative(after->file, folder) : NULL);
    clp_buf_add_text(out, "\n");
    start_heading(changes, "Function: ");
    clp_escape_add_text(out, one->name);
    if (before != NULL && before->first_line != one->first_line)
        clp_buf_add_format(out, " at line %d -> %d\n", (int)before->first_line,
                           (int)one->first_line);
    else
        clp_buf_add_format(out, " at line %d\n", (int)one->first_line);
}

#define MOST_CALLERS 5 /* without --all */

/* Adds "main at prog.py:12", the line on the new side if it is there. */
static void add_caller(const struct changes *changes, const struct clp_compared_call *call)
{
    struct clp_buf *out = changes->out;

    if (call->caller == NULL) {
        clp_buf_add_text(out, "code that is not selected");
        return;
    }
    int side = call->caller->sides[CLP_NEW] != NULL ? CLP_NEW : CLP_OLD;
    if (call->row != NULL)
        side = side_of(call->row);
    const struct clp_profile_function *caller = call->caller->sides[side];
    clp_escape_add_text(out, caller->name);
    clp_buf_add_text(out, " at ");
    clp_escape_add_text(out, clp_escape_relative(caller->file, changes->options->folder));
    if (call->row != NULL)
        clp_buf_add_format(out, ":%lld", (long long)call->row->line[side]);
}

static void add_call(const struct changes *changes, const struct clp_compared_call *call)
{
    const struct clp_comparison *comparison = changes->comparison;
    struct clp_change calls = clp_comparison_change(comparison, &call->samples, CLP_MEASURE_hits);
    struct clp_change time = clp_comparison_change(comparison, &call->samples, CLP_MEASURE_time);
    struct clp_buf *out = changes->out;

    clp_buf_add_text(out, "Called from ");
    add_caller(changes, call);
    clp_buf_add_text(out, ": ");
    if (calls.change != 0) {
        clp_amount_add(out, CLP_MEASURE_COUNT, calls.before.mean, false);
        clp_buf_add_text(out, " -> ");
    }
    clp_amount_add(out, CLP_MEASURE_COUNT, calls.after.mean, false);
    clp_buf_add_text(out, calls.before.mean == 1 && calls.after.mean == 1 ? " call" : " calls");
    if (time.changed) {
        clp_buf_add_text(out, ", ");
        add_change(CLP_MEASURE_time, &time, out);
    }
    clp_buf_add_text(out, "\n");
}

/* Adds a line for each caller that explains the function's change; with --all for every caller. */
static void add_calls(const struct changes *changes, const struct clp_compared_function *function)
{
    size_t shown = 0;

    for (size_t i = 0; i < function->call_count; i++) {
        if (!changes->options->all && !function->calls[i].explains)
            continue;
        if (shown++ < MOST_CALLERS || changes->options->all)
            add_call(changes, &function->calls[i]);
    }
    if (shown > MOST_CALLERS && !changes->options->all)
        clp_buf_add_format(changes->out, "Called from %zu more lines that changed\n", shown - MOST_CALLERS);
}

static void add_function(struct changes *changes, const struct clp_compared_function *function)
{
    struct table table = {.function = function, .whole = changes->options->all};

    add_total(changes, function);
    add_place(changes, function);
    add_table(changes, &table);
    add_calls(changes, function);
    clp_buf_add_text(changes->out, "\n");
}

/* ---- the whole ---- */

static void add_counts(struct clp_buf *out, const size_t counts[CLP_VERDICTS], const char **between)
{
    for (unsigned i = 0; i < CLP_VERDICTS; i++) {
        if (counts[i] == 0)
            continue;
        clp_buf_add_format(out, "%s%zu %s", *between, counts[i],
                           clp_verdict_text((enum clp_verdict)i));
        *between = ", ";
    }
}

static void add_floor(const struct clp_comparison *comparison, struct clp_buf *out)
{
    const struct clp_compare_options *options = &comparison->options;

    clp_buf_add_text(out, "Noise floor: ");
    clp_amount_add_round(out, CLP_MEASURE_NANOS, options->time_floor);
    clp_buf_add_text(out, ", ");
    clp_amount_add_round(out, CLP_MEASURE_NANOS, options->hit_floor);
    clp_buf_add_text(out, " per hit");
    if (is_known(comparison, CLP_MEASURE_increment)) {
        clp_buf_add_text(out, ", ");
        clp_amount_add_round(out, CLP_MEASURE_BYTES, options->bytes_floor);
    }
    clp_buf_add_text(out, "\n");
}

/* Adds how large a change must be to be found, for the function that took most time. On a busy machine a change
 * may hide in the spread of the runs. */
static void add_least(const struct clp_comparison *comparison, struct clp_buf *out)
{
    const struct clp_compared_function *longest = NULL;
    double before = 0;

    for (size_t i = 0; i < comparison->function_count; i++) {
        const struct clp_compared_function *function = &comparison->functions[i];
        double mean = clp_comparison_change(comparison, &function->samples, CLP_MEASURE_total).before.mean;
        if (mean > before && function->sides[CLP_NEW] != NULL) {
            before = mean;
            longest = function;
        }
    }
    if (longest == NULL)
        return;
    double least = clp_comparison_least(comparison, &longest->samples, CLP_MEASURE_total);
    clp_buf_add_text(out, "A change of ");
    clp_escape_add_text(out, longest->sides[CLP_NEW]->name);
    clp_buf_add_text(out, " by less than ");
    clp_number_add_time(out, least);
    if (least < before)
        clp_buf_add_format(out, least < 0.0995 * before ? " (%.1f %%)" : " (%.0f %%)", 100 * least / before);
    clp_buf_add_text(out, " may be missed\n");
}

/* Adds how sure the verdicts are. */
static void add_confidence(const struct clp_comparison *comparison, struct clp_buf *out)
{
    double confidence = comparison->options.confidence;

    if (confidence == 0)
        return;
    clp_buf_add_format(out, "Confidence: %.6g %% that chance made none of these changes (Welch's t test of %zu "
                            "number%s, with Holm's correction)\n",
                       100 * confidence, comparison->tests, clp_buf_plural(comparison->tests));
    if (comparison->tests != 0)
        clp_buf_add_text(out, "+-: the true change is within this margin, with the same confidence for each line\n");
    add_least(comparison, out);
}

/* Adds two lines: "Functions: 12 slower, 3 new" and so on, and the same counts for lines. */
static void add_summary(const struct clp_comparison *comparison, struct clp_buf *out)
{
    struct clp_comparison_tally tally = clp_comparison_count(comparison);
    const char *between = "";

    clp_buf_add_text(out, "Functions: ");
    add_counts(out, tally.functions, &between);
    if (tally.within != 0) {
        clp_buf_add_format(out, "%s%zu changed within", between, tally.within);
        between = ", ";
    }
    if (tally.unchanged != 0 || *between == 0)
        clp_buf_add_format(out, "%s%zu unchanged", between, tally.unchanged);
    clp_buf_add_text(out, "\n");
    between = "Lines: ";
    add_counts(out, tally.lines, &between);
    if (*between == ',')
        clp_buf_add_text(out, "\n");
}

/* ---- the last sentence ---- */

#define BOTH_WAYS_OF_TIME (1u << CLP_VERDICT_SLOWER | 1u << CLP_VERDICT_FASTER)
#define BOTH_WAYS_OF_MEMORY (1u << CLP_VERDICT_GROWN | 1u << CLP_VERDICT_SHRUNK)

/* Returns the function with one of the verdicts that changed most in itself: callers change with what they call. Of
 * equal ones it is the first, which changed most with its callees. */
static const struct clp_compared_function *most_with(const struct changes *changes,
                                                     const struct clp_comparison_list *list, unsigned verdicts,
                                                     enum clp_measure own)
{
    const struct clp_compared_function *most = NULL;
    double largest = -1;

    for (size_t i = 0; i < list->count; i++) {
        const struct clp_compared_function *function = &changes->comparison->functions[list->places[i]];
        if ((function->verdicts & verdicts) == 0)
            continue;
        double change = fabs(clp_comparison_change(changes->comparison, &function->samples, own).change);
        if (change > largest) {
            largest = change;
            most = function;
        }
    }
    return most;
}

/* Adds "104 times faster", or "12 % slower" where the times differ by less than a factor of two. */
static void add_speed(const struct changes *changes, const struct clp_compared_function *function)
{
    struct clp_change total =
        clp_comparison_change(changes->comparison, &function->samples, CLP_MEASURE_total);
    double before = total.before.mean, after = total.after.mean;
    double ratio = before > after ? before / after : after / before;

    if (isfinite(ratio) && ratio >= 2)
        clp_buf_add_format(changes->out, ratio < 9.95 ? "%.1f times " : "%.0f times ", ratio);
    else if (isfinite(ratio))
        clp_buf_add_format(changes->out, "%.0f %% ", fabs(total.percent));
    clp_buf_add_text(changes->out, after < before ? "faster" : "slower");
}

static void add_size(const struct changes *changes, const struct clp_compared_function *function)
{
    struct clp_change growth =
        clp_comparison_change(changes->comparison, &function->samples, CLP_MEASURE_increment);

    clp_number_add_bytes(changes->out, fabs(growth.change));
    clp_buf_add_text(changes->out, growth.change < 0 ? " smaller" : " larger");
}

/* With a confidence, a change that was not found may hide in the spread of the runs. */
static const char *for_certain(const struct changes *changes)
{
    return changes->comparison->options.confidence != 0 ? " for certain" : "";
}

/* Adds how many functions besides the one that the sentence is about got slower. */
static void add_others(const struct changes *changes, size_t count, bool has_one)
{
    struct clp_buf *out = changes->out;
    const char *other = has_one ? " other" : "";

    if (count == has_one)
        clp_buf_add_format(out, "; nothing%s got slower%s.\n", has_one ? " else" : "", for_certain(changes));
    else
        clp_buf_add_format(out, "; %zu%s function%s got slower.\n", count - has_one, other,
                           clp_buf_plural(count - has_one));
}

/* Adds one sentence on the function that changed most, and whether others got slower. */
static void add_sentence(const struct changes *changes, const struct clp_comparison_list *list)
{
    const struct clp_comparison *comparison = changes->comparison;
    const struct clp_compared_function *most = most_with(changes, list, BOTH_WAYS_OF_TIME, CLP_MEASURE_self);
    size_t slower = clp_comparison_count(comparison).functions[CLP_VERDICT_SLOWER];

    if (most == NULL)
        most = most_with(changes, list, BOTH_WAYS_OF_MEMORY, CLP_MEASURE_self_increment);
    start_heading(changes, "");
    if (most == NULL) {
        clp_buf_add_format(changes->out, "Nothing got faster, slower, larger or smaller%s.\n", for_certain(changes));
        return;
    }
    bool time = (most->verdicts & BOTH_WAYS_OF_TIME) != 0, memory = (most->verdicts & BOTH_WAYS_OF_MEMORY) != 0;
    clp_escape_add_text(changes->out, most->sides[CLP_NEW]->name);
    clp_buf_add_text(changes->out, " is ");
    if (time)
        add_speed(changes, most);
    clp_buf_add_text(changes->out, time && memory ? ", " : "");
    if (memory)
        add_size(changes, most);
    add_others(changes, slower, clp_verdict_is(most->verdicts, CLP_VERDICT_SLOWER));
}

static size_t count_shown(const struct changes *changes, const struct clp_comparison_list *list)
{
    size_t top = changes->options->top;

    return top != 0 && top < list->count ? top : list->count;
}

/* Adds what stands below all tables. */
static void add_end(const struct changes *changes, const struct clp_comparison_list *list)
{
    const struct clp_comparison *comparison = changes->comparison;

    add_summary(comparison, changes->out);
    if (count_shown(changes, list) < list->count)
        clp_buf_add_format(changes->out, "Shown: %zu of %zu functions, those that changed most.\n",
                           count_shown(changes, list), list->count);
    if (comparison->lost != 0)
        clp_buf_add_format(changes->out,
                           "Texts differ within a side: %zu line%s that only some have %s left "
                           "out.\n", comparison->lost, clp_buf_plural(comparison->lost),
                           comparison->lost == 1 ? "is" : "are");
    if (comparison->calls.missing)
        clp_buf_add_text(changes->out, "Calls are not compared: only one side has them, the other was made by an older "
                                       "clineprof.\n");
    add_floor(comparison, changes->out);
    add_confidence(comparison, changes->out);
    add_sentence(changes, list);
}

/* Adds the tables, if they are wanted, and what stands below them. */
static clp_status add_changes(struct changes *changes, bool tables)
{
    struct clp_comparison_list list;
    clp_status status =
        clp_comparison_list_make(&list, changes->comparison, changes->options->all);

    if (status != CLP_OK)
        return status;
    if (tables) {
        if (!fits_units(changes))
            clp_buf_add_format(changes->out, "Timer unit: %g s\n", changes->options->unit);
        clp_buf_add_text(changes->out, "\n");
        for (size_t i = count_shown(changes, &list); i-- > 0;)
            add_function(changes, &changes->comparison->functions[list.places[i]]);
    }
    add_end(changes, &list);
    clp_comparison_list_clear(&list, changes->comparison->mem);
    return changes->out->failed ? CLP_NO_MEMORY : CLP_OK;
}

static struct changes start_changes(const struct clp_comparison *comparison,
                                    const struct clp_diff_text_options *options, struct clp_buf *out)
{
    return (struct changes){comparison, options, out, options->unit == CLP_UNIT_AUTO ? 0 : 1e-9 / options->unit,
                            {.out = out, .marked = options->marked}};
}

clp_status clp_diff_text_add(const struct clp_comparison *comparison,
                             const struct clp_diff_text_options *options, struct clp_buf *out)
{
    struct changes changes = start_changes(comparison, options, out);

    return add_changes(&changes, true);
}

clp_status clp_diff_text_add_end(const struct clp_comparison *comparison,
                                 const struct clp_diff_text_options *options, struct clp_buf *out)
{
    struct changes changes = start_changes(comparison, options, out);

    return add_changes(&changes, false);
}
