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

static const struct clp_option rows[] = {CLP_COMMAND_HELP(offsetof(struct clp_command_request, help))};

static const struct clp_command_line command_line = {
    "clineprof top",
    "usage: clineprof top FILE.live\n"
    "\n"
    "Shows the hottest lines of a running program, once a second.\n"
    "\n"
    "  left, right   sort by the next column to the left or right; also < and >\n"
    "  t s x h m i   sort by time, self, max, hits, memory, increment\n"
    "  q             quit\n",
    {rows, sizeof rows / sizeof *rows},
};

/* ---- columns ---- */

struct row {
    const struct clp_profile_function *function;
    const struct clp_profile_line *line;
};

static const struct column {
    const char *title;
    char key;
    int width, digits;
    enum clp_measure measure;
    double size; /* of the unit shown */
} columns[] = {
    {"Hits", 'h', 12, 0, CLP_MEASURE_hits, 1},
    {"Time s", 't', 10, 3, CLP_MEASURE_time, 1e9},
    {"Self s", 's', 10, 3, CLP_MEASURE_self, 1e9},
    {"Max s", 'x', 10, 6, CLP_MEASURE_max, 1e9},
    {"Mem MiB", 'm', 10, 1, CLP_MEASURE_rss, 1 << 20},
    {"Incr MiB", 'i', 10, 1, CLP_MEASURE_increment, 1 << 20},
};

static double value_of(const struct column *column, const struct row *row)
{
    return clp_measure_value(column->measure, &row->line->measures) / column->size;
}

#define COLUMNS (sizeof columns / sizeof *columns)
#define BY_TIME 1

/* ---- one screen ---- */

struct top {
    const char *path;    /* borrowed */
    struct clp_mem *mem; /* borrowed */
    size_t sort; /* index of the column by which lines are sorted */
    struct clp_live_about about;
    struct clp_profile profile; /* content of the live file, read anew for each screen */
    struct row *rows;           /* owned while a screen is drawn */
    size_t row_count;
};

static int compare_rows(const void *left, const void *right, void *column)
{
    const struct row *a = left, *b = right;
    double one = value_of(column, a), two = value_of(column, b);

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
    struct column column = columns[top->sort];
    qsort_r(top->rows, count, sizeof *top->rows, compare_rows, &column);
    return true;
}

static void add_title(const struct top *top, struct clp_buf *out)
{
    clp_escape_add_text(out, top->path);
    clp_buf_add_format(out, "  process %llu %s  %.1f s  ",
                       (unsigned long long)top->about.pid,
                       top->about.running ? "is running"
                       : top->about.unknown ? "may be running elsewhere" : "has ended",
                       (double)top->profile.meta.wall * 1e-9);
    clp_buf_add_text(out, "q quits, < > change the column\x1b[K\r\n");
    for (size_t i = 0; i < COLUMNS; i++) {
        clp_buf_add_text(out, i == top->sort ? "\x1b[7m" : "");
        clp_buf_add_format(out, "%*s", columns[i].width, columns[i].title);
        clp_buf_add_text(out, "\x1b[m");
    }
    clp_buf_add_text(out, "  Line\x1b[K\r\n");
}

static void add_row(const struct row *row, struct clp_buf *out)
{
    const char *slash = strrchr(row->function->file, '/');
    const char *file = slash != NULL ? slash + 1 : row->function->file;
    struct clp_source_walk walk = {.text = {row->function->source, row->function->source_bytes}};
    struct clp_span text = clp_source_line_at(&walk, row->function->first_line, row->line->line);

    for (size_t i = 0; i < COLUMNS; i++)
        clp_buf_add_format(out, "%*.*f", columns[i].width, columns[i].digits, value_of(&columns[i], row));
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
        add_row(&top->rows[i], &out);
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

/* Handles keys. False for the key that quits. The arrow keys right and left arrive as ESC [ C and ESC [ D. */
static bool take_key(struct top *top, const char *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool arrow = i >= 2 && keys[i - 2] == '\x1b' && keys[i - 1] == '[';
        if (keys[i] == 'q' || keys[i] == 3)
            return false;
        if (keys[i] == '>' || (arrow && keys[i] == 'C'))
            top->sort = (top->sort + 1) % COLUMNS;
        if (keys[i] == '<' || (arrow && keys[i] == 'D'))
            top->sort = (top->sort + COLUMNS - 1) % COLUMNS;
        for (size_t j = 0; j < COLUMNS; j++) {
            if (keys[i] == columns[j].key)
                top->sort = j;
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

static int run(const char *path, struct clp_mem *mem)
{
    struct top top = {.path = path, .mem = mem, .sort = BY_TIME};
    struct termios before;
    struct clp_fault fault = {0};
    struct clp_profile profile;
    struct clp_live_about about;

    clp_profile_init(&profile, mem);
    bool good = clp_live_read(path, NULL, &profile, &about, &fault) == CLP_OK;
    clp_profile_clear(&profile);
    if (!good) {
        const char *ending = strrchr(path, '.');
        if (fault.status == CLP_NOT_A_PROFILE && ending != NULL && strcmp(ending, ".lprof") == 0)
            clp_console_complain_format(me, "%s is not the live file of a run; clineprof %s shows a finished profile",
                                        path, path);
        else
            clp_reading_complain(path, &fault, mem);
        return 1;
    }
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
    struct clp_command_request line = {.help = false};
    int code = 2;

    if (!clp_command_line_read(&command_line, argc, argv, &line, mem, &code))
        return code;
    if (line.file_count == 1)
        return run(line.files[0], mem);
    clp_console_complain(me, "top takes one live file; see clineprof top --help");
    return code;
}
