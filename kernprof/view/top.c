/* SPDX-License-Identifier: MIT */
#include "top.h"
#include "formats/live/live_reader.h"
#include "base/escape.h"
#include "bridge/reading.h"
#include "bridge/console.h"
#include "cli/command_line.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static const char me[] = "clineprof";

#define REFRESH_MILLISECONDS 1000
#define LONGEST_TEXT 1000 /* bytes of a source line; no terminal is wider */

struct request {
    struct clp_command_request line;
    const char *measures;
};

static bool check_measures(const char *value, struct clp_buf *fault)
{
    struct clp_measure_list measures;

    return clp_measure_list_read(&measures, value, fault);
}

#define USUAL_MEASURES "hits,time,self,max,mem,increment"

static const struct clp_option rows[] = {
    {CLP_OPTION_TEXT, 0, "measure", "columns", .argument = "LIST", .standard = USUAL_MEASURES,
     .check = check_measures, .field = offsetof(struct request, measures),
     .help = "show these columns"},
    CLP_COMMAND_HELP(offsetof(struct request, line.help)),
};

static const struct clp_command_line command_line = {
    "clineprof top",
    "usage: clineprof top [--measure LIST] FILE.live\n"
    "\n"
    "Shows the hottest lines of a running program, once a second.\n"
    "\n"
    "  left, right   sort by the next column to the left or right; also < and >\n"
    "  t s x h m i   sort by time, self, max, hits, memory, increment\n"
    "  q             quit\n",
    {rows, sizeof rows / sizeof *rows},
};

/* ---- columns ---- */

static const struct {
    char key;
    enum clp_measure measure;
} keys_of_measures[] = {
    {'h', CLP_MEASURE_hits}, {'t', CLP_MEASURE_time}, {'s', CLP_MEASURE_self},
    {'x', CLP_MEASURE_max},  {'m', CLP_MEASURE_rss},  {'i', CLP_MEASURE_increment},
};

struct row {
    const struct clp_profile_function *function;
    const struct clp_profile_line *line;
};

static double value_of(enum clp_measure measure, const struct row *row)
{
    static const double sizes[] = {
        [CLP_MEASURE_NANOS] = 1e9, [CLP_MEASURE_BYTES] = 1 << 20, [CLP_MEASURE_COUNT] = 1};

    return clp_measure_value(measure, &row->line->measures) / sizes[clp_measure_rows[measure].kind];
}

/* Appends the title with its unit, as wide as the column's numbers. Returns the width. */
static size_t add_column_title(enum clp_measure measure, struct clp_buf *out)
{
    static const struct {
        const char *unit;
        size_t width;
    } kinds[] = {
        [CLP_MEASURE_NANOS] = {" s", 10}, [CLP_MEASURE_BYTES] = {" MiB", 10}, [CLP_MEASURE_COUNT] = {"", 12}};
    const struct clp_measure_row *row = &clp_measure_rows[measure];
    size_t width = strlen(row->title) + strlen(kinds[row->kind].unit);
    size_t before = width + 2 < kinds[row->kind].width ? kinds[row->kind].width - width : 2;

    clp_buf_add_format(out, "%*s%s%s", (int)before, "", row->title, kinds[row->kind].unit);
    return before + width;
}

/* The time of a single execution needs more digits than a sum. */
static int digits_of(enum clp_measure measure)
{
    const struct clp_measure_row *row = &clp_measure_rows[measure];
    bool single = row->merge != CLP_MERGE_SUM;

    return row->kind == CLP_MEASURE_COUNT ? 0 : row->kind == CLP_MEASURE_BYTES ? 1 : single ? 6 : 3;
}

/* ---- one screen ---- */

struct top {
    const char *path;    /* borrowed */
    struct clp_mem *mem; /* borrowed */
    struct clp_measure_list columns;
    size_t widths[CLP_MEASURES]; /* of the columns on the screen, in characters */
    size_t sort; /* index of the column by which lines are sorted */
    struct clp_live_about about;
    struct clp_profile profile; /* content of the live file, read anew for each screen */
    struct row *rows;           /* owned while a screen is drawn */
    size_t row_count;
};

static int compare_rows(const void *left, const void *right, void *measure)
{
    const struct row *a = left, *b = right;
    double one = value_of(*(enum clp_measure *)measure, a), two = value_of(*(enum clp_measure *)measure, b);

    if (one != two)
        return one < two ? 1 : -1;
    return a->line < b->line ? -1 : a->line > b->line; /* keeps rows with equal values in a fixed order */
}

static bool take_rows(struct top *top)
{
    size_t count = 0;

    for (size_t i = 0; i < top->profile.function_count; i++)
        count += top->profile.functions[i].line_count;
    top->rows = clp_mem_alloc(top->mem, count, sizeof *top->rows);
    top->row_count = 0;
    if (top->rows == NULL)
        return count == 0;
    for (size_t i = 0; i < top->profile.function_count; i++) {
        const struct clp_profile_function *function = &top->profile.functions[i];
        for (size_t j = 0; j < function->line_count; j++)
            top->rows[top->row_count++] = (struct row){function, &function->lines[j]};
    }
    qsort_r(top->rows, count, sizeof *top->rows, compare_rows, &top->columns.items[top->sort]);
    return true;
}

static void add_title(struct top *top, struct clp_buf *out)
{
    clp_escape_add_text(out, top->path);
    clp_buf_add_format(out, "  process %llu %s  %.1f s  ",
                       (unsigned long long)top->about.pid,
                       top->about.running ? "is running"
                       : top->about.unknown ? "may be running elsewhere" : "has ended",
                       (double)top->profile.meta.wall * 1e-9);
    clp_buf_add_text(out, "q quits, < > change the column\x1b[K\r\n");
    for (size_t i = 0; i < top->columns.count; i++) {
        clp_buf_add_text(out, i == top->sort ? "\x1b[7m" : "");
        top->widths[i] = add_column_title(top->columns.items[i], out);
        clp_buf_add_text(out, "\x1b[m");
    }
    clp_buf_add_text(out, "  Line\x1b[K\r\n");
}

static void add_row(const struct top *top, const struct row *row, struct clp_buf *out)
{
    const char *slash = strrchr(row->function->file, '/');
    const char *file = slash != NULL ? slash + 1 : row->function->file;
    struct clp_source_walk walk = {.text = {row->function->source, row->function->source_bytes}};
    struct clp_span text = clp_source_line_at(&walk, row->function->first_line, row->line->line);

    for (size_t i = 0; i < top->columns.count; i++) {
        enum clp_measure measure = top->columns.items[i];
        clp_buf_add_format(out, "%*.*f", (int)top->widths[i], digits_of(measure), value_of(measure, row));
    }
    clp_buf_add_text(out, row->line->running ? " >" : "  ");
    clp_escape_add_text(out, file);
    clp_buf_add_format(out, ":%d ", (int)row->line->line);
    clp_escape_add_text(out, row->function->name);
    clp_buf_add_text(out, "  ");
    clp_escape_add(out, text.text, text.bytes < LONGEST_TEXT ? text.bytes : LONGEST_TEXT);
    clp_buf_add_text(out, "\x1b[K\r\n");
}

static size_t screen_rows(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0)
        return size.ws_row;
    return 24;
}

static bool draw(struct top *top)
{
    size_t room = screen_rows();
    struct clp_buf out;

    if (!take_rows(top))
        return false;
    clp_buf_init(&out, top->mem);
    clp_buf_add_text(&out, "\x1b[H");
    add_title(top, &out);
    for (size_t i = 0; i < top->row_count && i + 3 < room; i++)
        add_row(top, &top->rows[i], &out);
    clp_buf_add_text(&out, "\x1b[J");
    bool done = !out.failed;
    if (done)
        (void)clp_console_write(STDOUT_FILENO, clp_buf_text(&out), out.used);
    clp_buf_clear(&out);
    clp_mem_free(top->mem, top->rows, top->row_count, sizeof *top->rows);
    return done;
}

/* ---- the terminal ---- */

/* Switches to the terminal's alternate screen, hides the cursor and stops wrapping long lines; give_back undoes that.
 * */
static const char take[] = "\x1b[?1049h\x1b[?25l\x1b[?7l";
static const char give_back[] = "\x1b[?7h\x1b[?25h\x1b[?1049l";

static volatile sig_atomic_t told_to_end;

static void note_end(int number)
{
    (void)number;
    told_to_end = 1;
}

/* Prepares the terminal: keys arrive one by one and are not echoed; Ctrl-C is a key, not a signal. *before gets the
 * settings to restore. False when standard output is no terminal. */
static bool take_terminal(struct termios *before)
{
    struct sigaction action = {.sa_handler = note_end};
    struct termios raw;

    if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, before) != 0)
        return false;
    raw = *before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) != 0)
        return false;
    (void)clp_console_write(STDOUT_FILENO, take, sizeof take - 1);
    return true;
}

static void give_terminal_back(const struct termios *before)
{
    (void)clp_console_write(STDOUT_FILENO, give_back, sizeof give_back - 1);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, before);
}

/* Nothing changes if the measure is not shown. */
static void sort_by(struct top *top, enum clp_measure measure)
{
    for (size_t i = 0; i < top->columns.count; i++)
        if (top->columns.items[i] == measure)
            top->sort = i;
}

/* Handles keys. False for the key that quits. The arrow keys right and left arrive as ESC [ C and ESC [ D. */
static bool take_key(struct top *top, const char *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool arrow = i >= 2 && keys[i - 2] == '\x1b' && keys[i - 1] == '[';
        if (keys[i] == 'q' || keys[i] == 3)
            return false;
        if (keys[i] == '>' || (arrow && keys[i] == 'C'))
            top->sort = (top->sort + 1) % top->columns.count;
        if (keys[i] == '<' || (arrow && keys[i] == 'D'))
            top->sort = (top->sort + top->columns.count - 1) % top->columns.count;
        for (size_t j = 0; j < sizeof keys_of_measures / sizeof *keys_of_measures; j++) {
            if (keys[i] == keys_of_measures[j].key)
                sort_by(top, keys_of_measures[j].measure);
        }
    }
    return true;
}

static bool wait_for_key(struct top *top)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char keys[64];

    if (poll(&input, 1, REFRESH_MILLISECONDS) <= 0)
        return !told_to_end;
    ssize_t count = read(STDIN_FILENO, keys, sizeof keys);
    return count > 0 && take_key(top, keys, (size_t)count);
}

/* ---- the command ---- */

/* Shows a screen each second, until a key quits. False when the file cannot be read any more; *fault says why. */
static bool show(struct top *top, struct clp_fault *fault)
{
    do {
        clp_profile_init(&top->profile, top->mem);
        bool done =
            clp_live_read(top->path, NULL, &top->profile, &top->about, fault) == CLP_OK;
        if (done && !draw(top)) {
            fault->status = CLP_NO_MEMORY;
            done = false;
        }
        clp_profile_clear(&top->profile);
        if (!done)
            return false;
    } while (wait_for_key(top));
    return true;
}

/* Complains, and returns true, when the file has no numbers for a column. A live file has none of live blocks. */
static bool complain_of_unknown(const struct top *top, const struct clp_profile *profile)
{
    for (size_t i = 0; i < top->columns.count; i++) {
        const struct clp_measure_row *row = &clp_measure_rows[top->columns.items[i]];
        if (row->needs == CLP_NEEDS_TIMES || (row->needs == CLP_NEEDS_MEMORY && profile->meta.has_memory))
            continue;
        clp_console_complain_format(me, "top cannot show %s: %s", row->name,
                                    row->needs == CLP_NEEDS_MEMORY
                                        ? "the run does not measure memory (--no-memory)"
                                        : "live blocks are only in the profile that the run writes at its end");
        return true;
    }
    return false;
}

/* Can the file be read, and has it numbers for the columns that the user `asked` for? False after one line of
 * complaint. */
static bool check_file(const struct top *top, bool asked)
{
    struct clp_fault fault = {0};
    struct clp_profile profile;
    struct clp_live_about about;
    const char *ending = strrchr(top->path, '.');

    clp_profile_init(&profile, top->mem);
    bool read = clp_live_read(top->path, NULL, &profile, &about, &fault) == CLP_OK;
    bool good = read && !(asked && complain_of_unknown(top, &profile));
    clp_profile_clear(&profile);
    if (!read && fault.status == CLP_NOT_A_PROFILE && ending != NULL && strcmp(ending, ".lprof") == 0)
        clp_console_complain_format(me, "%s is not the live file of a run; clineprof %s shows a finished profile",
                                    top->path, top->path);
    else if (!read)
        clp_reading_complain(top->path, &fault, top->mem);
    return good;
}

static int run(const struct request *request, struct clp_mem *mem)
{
    const char *path = request->line.files[0];
    struct top top = {.path = path, .mem = mem};
    struct termios before;
    struct clp_fault fault = {0};
    bool good;

    (void)clp_measure_list_read(&top.columns, request->measures, NULL);
    sort_by(&top, CLP_MEASURE_time);
    if (!check_file(&top, strcmp(request->measures, USUAL_MEASURES) != 0))
        return 1;
    if (!take_terminal(&before)) {
        clp_console_complain(me, "top needs a terminal; clineprof FILE.live prints the table once");
        return 2;
    }
    good = show(&top, &fault);
    give_terminal_back(&before);
    if (good)
        return 0;
    if (fault.os_error != ENOENT) { /* a run that ends by itself removes its live file */
        clp_reading_complain(path, &fault, mem);
        return 1;
    }
    clp_console_complain(me, "the run has ended by itself; what it profiled is in its profile");
    return 0;
}

int clp_top_main(int argc, char **argv, struct clp_mem *mem)
{
    struct request request = {.measures = USUAL_MEASURES};
    int code = 2;

    if (!clp_command_line_read(&command_line, argc, argv, &request.line, mem, &code))
        return code;
    if (request.line.file_count == 1)
        return run(&request, mem);
    clp_console_complain(me, "top takes one live file; see clineprof top --help");
    return code;
}
