/* SPDX-License-Identifier: MIT */
#include "top.h"
#include "formats/live/live_reader.h"
#include "base/escape.h"
#include "bridge/console.h"
#include "bridge/paper.h"
#include "bridge/reading.h"
#include "cli/command_line.h"
#include "cli/options.h"
#include "os/proc.h"
#include "report/leak_report.h"
#include "report/ranking.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static const char me[] = "clineprof";

#define REFRESH_MILLISECONDS 1000

struct request {
    struct clp_command_request line;
    const char *measures, *color; /* NULL: not given */
};

static bool check_measures(const char *value, struct clp_buf *fault)
{
    struct clp_measure_list measures;

    return clp_measure_list_read(&measures, value, fault);
}

static const struct clp_option rows[] = {
    {CLP_OPTION_TEXT, 0, "measure", "columns", .argument = "LIST", .standard = "hits,time,self,max,mem,increment",
     .check = check_measures, .field = offsetof(struct request, measures),
     .help = "show these columns"},
    {CLP_OPTION_TEXT, 0, "color", "colour", .argument = "WHEN", .standard = "auto", .one_of = CLP_OPTIONS_COLORS,
     .field = offsetof(struct request, color), .help = "colours: auto, always, never"},
    CLP_COMMAND_HELP(offsetof(struct request, line.help)),
};

static const struct clp_command_line command_line = {
    "clineprof top",
    "usage: clineprof top [options] FILE.live|PID\n"
    "\n"
    "Shows the hottest lines of a running program, once a second, and with --leaks the lines\n"
    "that leak so far. The program is profiled by ckernprof, by clineprof.profile or by\n"
    "clineprof attach.\n"
    "\n"
    "  left, right   sort by the next column to the left or right; also < and >\n"
    "  t s x h m i   sort by time, self, max, hits, memory, increment\n"
    "  q             quit\n",
    {rows, sizeof rows / sizeof *rows},
};

static const struct {
    char key;
    enum clp_measure measure;
} keys_of_measures[] = {
    {'h', CLP_MEASURE_hits}, {'t', CLP_MEASURE_time}, {'s', CLP_MEASURE_self},
    {'x', CLP_MEASURE_max},  {'m', CLP_MEASURE_rss},  {'i', CLP_MEASURE_increment},
};

/* ---- one screen ---- */

struct top {
    const char *path;    /* borrowed */
    struct clp_mem *mem; /* borrowed */
    PyObject *paper;     /* borrowed */
    struct clp_columns columns;
    size_t sort; /* index of the column by which lines are sorted */
    char folder[PATH_MAX];
    struct clp_live_about about;
    struct clp_profile profile; /* content of the live file, read anew for each screen */
};

static void add_title(const struct top *top, struct clp_buf *out)
{
    clp_buf_add_text(out, CLP_MARK_HEADING);
    clp_escape_add_text(out, clp_escape_relative(top->path, top->folder));
    clp_buf_add_format(out, ": process %llu %s, ", (unsigned long long)top->about.pid,
                       top->about.running ? "is running"
                       : top->about.unknown ? "may be running elsewhere" : "has ended");
    clp_number_add_time(out, (double)top->profile.meta.wall);
    clp_buf_add_text(out, "\nq quits; < and > change the column\n");
    if (clp_profile_count_leaks(&top->profile) == 0)
        return;
    clp_leak_report_names(&top->profile, top->folder, out); /* those of the last look */
    clp_buf_add_text(out, "\n");
}

/* Appends the table of the `most` lines with the largest values in the column. */
static clp_status add_table(const struct top *top, size_t most, struct clp_buf *out)
{
    const struct clp_column *sorted_by = top->columns.items[top->sort];
    const struct clp_choice_options options = {
        .order = clp_choice_order_named(clp_measure_rows[sorted_by->measure].name)};
    const struct clp_column_scale scale = {0};
    const struct clp_widths widths = {0};
    struct clp_table table = {.out = out, .columns = &top->columns, .scale = &scale, .widths_least = &widths,
                              .meta = &top->profile.meta,
                              .marked = true, .sorted_by = sorted_by, .whole = clp_whole_of(&top->profile, false)};
    struct clp_choice choice;
    clp_status status = clp_choice_make(&choice, &top->profile, &options, top->mem);

    if (status != CLP_OK)
        return status;
    const struct clp_ranking ranking = {&top->profile, &choice, &options, most, top->folder, .bare = true};
    status = clp_ranking_add(&ranking, &table);
    clp_table_clear(&table);
    clp_choice_clear(&choice);
    return status;
}

static struct winsize screen_size(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
        return (struct winsize){.ws_row = 24, .ws_col = 80};
    return size;
}

/* The size is asked for each screen: the window may have changed. False: memory ran out, or the paper failed. */
static bool draw(const struct top *top)
{
    const struct winsize size = screen_size();
    struct clp_buf out;

    clp_buf_init(&out, top->mem);
    add_title(top, &out);
    bool done = add_table(top, size.ws_row, &out) == CLP_OK && !out.failed &&
                clp_paper_paint_screen(top->paper, &out, size.ws_col, size.ws_row);
    if (done)
        (void)clp_console_write(STDOUT_FILENO, clp_buf_text(&out), out.used);
    clp_buf_clear(&out);
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

/* A signal ends the wait for a key. */
static void note_resize(int number)
{
    (void)number;
}

/* Prepares the terminal: keys arrive one by one and are not echoed; Ctrl-C is a key, not a signal. *before gets the
 * settings to restore. False when standard output is no terminal. */
static bool take_terminal(struct termios *before)
{
    const struct sigaction action = {.sa_handler = note_end}, resize = {.sa_handler = note_resize};
    struct termios raw;

    if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, before) != 0)
        return false;
    raw = *before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGWINCH, &resize, NULL);
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
        if (top->columns.items[i]->measure == measure && top->columns.items[i]->form == CLP_COLUMN_AMOUNT)
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

/* Has the live file numbers for the measure? If not, it says why. */
static bool has(const struct clp_profile_meta *meta, enum clp_measure measure)
{
    const char *name = clp_measure_rows[measure].name, *lacks = clp_profile_lacks(meta, measure);

    if (clp_measure_rows[measure].needs >= CLP_NEEDS_HEAP)
        clp_console_complain_format(me, "top cannot show %s: live blocks are only in the profile that the run writes at "
                                        "its end", name);
    else if (lacks != NULL)
        clp_console_complain_format(me, "top cannot show %s: the run does not measure it; that takes %s", name, lacks);
    else
        return true;
    return false;
}

/* Sets the columns. Complains, and returns false, when the file has no numbers for one that the user asks for. A live
 * file has none of live blocks. */
static bool choose_columns(struct top *top, const char *measures, const struct clp_profile *profile)
{
    bool has_memory = profile->meta.has_memory;
    const char *usual = has_memory ? "hits,time,self,share,max,mem,increment"
                                   : "hits,time,self,share,max";
    size_t bytes;

    (void)clp_columns_parse(&top->columns, measures != NULL ? measures : usual, &bytes);
    sort_by(top, CLP_MEASURE_self);
    for (size_t i = 0; i < top->columns.count; i++)
        if (!has(&profile->meta, top->columns.items[i]->measure))
            return false;
    return true;
}

/* Can the file be read, and has it numbers for the columns? False after one line of complaint. */
static bool check_file(struct top *top, const char *measures)
{
    struct clp_fault fault = {0};
    struct clp_profile profile;
    struct clp_live_about about;
    const char *ending = strrchr(top->path, '.');

    clp_profile_init(&profile, top->mem);
    bool read = clp_live_read(top->path, NULL, &profile, &about, &fault) == CLP_OK;
    bool good = read && choose_columns(top, measures, &profile);
    clp_profile_clear(&profile);
    if (!read && fault.status == CLP_NOT_A_PROFILE && ending != NULL && strcmp(ending, ".lprof") == 0)
        clp_console_complain_format(me, "%s is not the live file of a run; clineprof %s shows a finished profile",
                                    top->path, top->path);
    else if (!read)
        clp_reading_complain(top->path, &fault, top->mem);
    return good;
}

static int complain_of_terminal(void)
{
    clp_console_complain(me, "top needs a terminal; clineprof FILE.live prints the table once");
    return 2;
}

static int run(struct top *top)
{
    struct termios before;
    struct clp_fault fault = {0};

    if (!take_terminal(&before))
        return complain_of_terminal();
    bool good = show(top, &fault);
    give_terminal_back(&before);
    if (good)
        return 0;
    if (fault.os_error != ENOENT) { /* a run that ends by itself removes its live file */
        clp_reading_complain(top->path, &fault, top->mem);
        return 1;
    }
    clp_console_complain(me, "the run has ended by itself; what it profiled is in its profile");
    return 0;
}

/* The number of a process, if the word is one and no file has this name; else 0. */
static uint64_t process_named(const char *word)
{
    bool is_number = strlen(word) < 10 && word[strspn(word, "0123456789")] == 0 && access(word, F_OK) != 0;

    return is_number ? strtoul(word, NULL, 10) : 0;
}

/* Finds the live file of the process. False after one line of complaint. */
static bool find_live(uint64_t pid, struct clp_buf *path)
{
    int error = clp_proc_add_mapped(pid, ".live", path);

    if (error == ENOENT)
        clp_console_complain_format(me, "nothing is counted in process %llu now; clineprof attach %llu begins",
                                    (unsigned long long)pid, (unsigned long long)pid);
    else if (error == ESRCH)
        clp_console_complain_format(me, "there is no process %llu", (unsigned long long)pid);
    else if (error != 0)
        clp_console_complain_format(me, "cannot look into process %llu: %s", (unsigned long long)pid, strerror(error));
    return error == 0;
}

static int check_and_run(const struct request *request, const char *path, struct clp_mem *mem)
{
    const struct clp_paper_wish wish = {.name = me, .color = request->color};
    struct top top = {.path = path, .mem = mem};

    if (!check_file(&top, request->measures))
        return 1;
    if (getcwd(top.folder, sizeof top.folder) == NULL)
        top.folder[0] = 0;
    top.paper = isatty(STDOUT_FILENO) ? clp_paper_open(&wish) : NULL;
    int code = top.paper != NULL ? run(&top) : complain_of_terminal();
    Py_XDECREF(top.paper);
    return code;
}

static int run_on(const struct request *request, struct clp_mem *mem)
{
    const char *word = request->line.files[0];
    uint64_t pid = process_named(word);
    struct clp_buf path;
    int code = 1;

    clp_buf_init(&path, mem);
    if (pid == 0 || find_live(pid, &path))
        code = check_and_run(request, pid == 0 ? word : clp_buf_text(&path), mem);
    clp_buf_clear(&path);
    return code;
}

int clp_top_main(int argc, char **argv, struct clp_mem *mem)
{
    struct request request = {.measures = NULL};
    int code = 2;

    if (!clp_command_line_read(&command_line, argc, argv, &request.line, mem, &code))
        return code;
    if (request.line.file_count == 1)
        return run_on(&request, mem);
    clp_console_complain(me, "top takes one live file, or the number of a process; see clineprof top --help");
    return code;
}
