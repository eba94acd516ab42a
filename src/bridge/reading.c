/* SPDX-License-Identifier: MIT */
#include "reading.h"
#include "profile/source_block.h"
#include "profile/texts.h"
#include "os/file.h"
#include "formats/live/live_peek.h"
#include "formats/pickle/pickle.h"
#include "base/escape.h"
#include "report/choice.h"
#include "formats/lprof/wire_reader.h"
#include "cpython/compat/file_text.h"
#include "console.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char me[] = "clineprof";

#define LARGEST_PROFILE ((size_t)1 << 31)
#define LARGEST_TEXT "a profile of more than 2 GiB is not read"

/* Says what became of the run that has the live file NAME.live, if it began after `start` (seconds since 1970).
 * NULL: there is no such run. */
static const char *fate_of_live(const char *path, double start, struct clp_mem *mem)
{
    static const char *const fates[] = {[CLP_LIFE_RUNS] = "has not ended", [CLP_LIFE_UNKNOWN] = "may not have ended",
                                        [CLP_LIFE_ENDED] = "did not end by itself"};
    struct clp_live_header header;
    const char *fate = NULL;
    struct clp_buf live;

    clp_buf_init(&live, mem);
    clp_buf_add_format(&live, "%s.live", path);
    if (clp_live_peek_at(clp_buf_text(&live), &header, NULL) && header.start > start) {
        header.who.boot[sizeof header.who.boot - 1] = 0;
        fate = fates[clp_identity_life(&header.who, clp_buf_text(&live), header.locked != 0)];
    }
    clp_buf_clear(&live);
    return fate;
}

static bool is_input(const char *path)
{
    return strcmp(path, "-") == 0;
}

bool clp_reading_check_names(char *const *names, int count)
{
    int inputs = 0;

    for (int i = 0; i < count; i++)
        inputs += is_input(names[i]);
    if (inputs > 1)
        clp_console_complain(me, "standard input (-) can be read only once");
    else if (inputs == 1 && isatty(STDIN_FILENO))
        clp_console_complain(me, "standard input is a terminal: name a file, or pipe a profile in");
    else
        return true;
    return false;
}

/* Is it the ending of another tool's file, which holds no times of lines? */
static bool is_others(const char *ending)
{
    return strcmp(ending, ".prof") == 0 || strcmp(ending, ".dat") == 0;
}

/* Is the fault at a byte of the file? */
static bool has_place(const struct clp_fault *fault)
{
    return fault->os_error == 0 && fault->status != CLP_EMPTY && fault->status != CLP_NOT_BEGUN &&
           (fault->status != CLP_TOO_LARGE || fault->offset != 0);
}

void clp_reading_add_fault(const char *path, const struct clp_fault *fault, struct clp_buf *out)
{
    clp_escape_add_text(out, is_input(path) ? "standard input" : path);
    clp_buf_add_format(out, ": %s", clp_fault_text(fault));
    if (has_place(fault))
        clp_buf_add_format(out, " at byte %llu", (unsigned long long)fault->offset);
    if (fault->reason != NULL && fault->os_error == 0)
        clp_buf_add_format(out, ": %s", fault->reason);
    if (fault->found[0] != 0)
        clp_buf_add_format(out, ": %s", fault->found);
    const char *ending = strrchr(path, '.');
    if (fault->status == CLP_NOT_A_PROFILE && ending != NULL && is_others(ending)) {
        clp_buf_add_text(out, strcmp(ending, ".dat") == 0
                                  ? "; if clineprof mem or mprof recorded it, run: clineprof mem plot "
                                  : "; if cProfile made it, run: python3 -m pstats ");
        clp_escape_add_text(out, path);
    }
    const char *fate = fault->os_error == ENOENT ? fate_of_live(path, 0, out->mem) : NULL;
    if (fate == NULL)
        return;
    clp_buf_add_format(out, "; its run %s, what it recorded is in ", fate);
    clp_escape_add_text(out, path);
    clp_buf_add_text(out, ".live");
}

void clp_reading_complain(const char *path, const struct clp_fault *fault, struct clp_mem *mem)
{
    struct clp_buf text;

    clp_buf_init(&text, mem);
    clp_reading_add_fault(path, fault, &text);
    clp_console_complain(me, clp_buf_text(&text));
    clp_buf_clear(&text);
}

void clp_reading_add_left_out(const char *path, const struct clp_profile *profile, struct clp_buf *out)
{
    if (profile->left_out_count == 0)
        return;
    clp_escape_add_text(out, is_input(path) ? "standard input" : path);
    clp_buf_add_format(out, ": %s", clp_buf_text(&profile->left_out));
    if (profile->left_out_count > 1)
        clp_buf_add_format(out, "; %zu more part%s left out", profile->left_out_count - 1,
                           profile->left_out_count == 2 ? " is" : "s are");
}

void clp_reading_say_left_out(const char *path, const struct clp_profile *profile)
{
    struct clp_buf text;

    clp_buf_init(&text, profile->mem);
    clp_reading_add_left_out(path, profile, &text);
    if (text.used != 0)
        clp_console_complain(me, clp_buf_text(&text));
    clp_buf_clear(&text);
}

/* A child process (about->parent) leaves its live file in any case. */
static const char *fate_of(const struct clp_live_about *about, bool idle)
{
    if (about->running)
        return "is still running";
    if (about->unknown)
        return "may still be running where it began";
    if (about->parent != 0)
        return idle ? "ended before it counted anything" : "has ended";
    return idle ? "was killed before it counted anything" : "did not end by itself";
}

void clp_reading_describe_live(const char *path, const struct clp_live_about *about,
                               const struct clp_profile *profile, struct clp_buf *out)
{
    bool idle = clp_choice_is_idle(profile);

    clp_escape_add_text(out, path);
    clp_buf_add_format(out, ": process %llu %s", (unsigned long long)about->pid, fate_of(about, idle));
    if (about->unknown) {
        clp_buf_add_text(out, " (on '");
        clp_escape_add_text(out, about->host);
        clp_buf_add_text(out, "')");
    }
    if (idle && (about->running || about->unknown))
        clp_buf_add_text(out, "; it has counted nothing so far");
    if (about->incomplete)
        clp_buf_add_text(out, "; the file could not grow, later functions are missing");
    if (!idle && clp_profile_is_light(&profile->meta))
        clp_buf_add_text(out, "; hits are exact, but for one of each body that ran just then (--light)");
}

static clp_status read_live(const char *path, struct clp_profile *profile, struct clp_buf *notes,
                            struct clp_fault *fault)
{
    struct clp_live_about about;

    clp_status status = clp_live_read(path, NULL, profile, &about, fault);
    if (status == CLP_OK && notes != NULL)
        clp_reading_describe_live(path, &about, profile, notes);
    return status;
}

/* Says when a profile is older than its reader may think: the run that was to replace it was killed, or still
 * runs. */
static void say_if_older(const char *path, const struct clp_profile *profile)
{
    const char *fate = fate_of_live(path, profile->meta.start, profile->mem);

    if (fate != NULL)
        clp_console_complain_format(me, "%s: a later run %s, what it recorded is in %s.live", path, fate, path);
}

static clp_status decode(struct clp_buf *bytes, bool in_place, struct clp_profile *profile,
                         struct clp_fault *fault)
{
    if (clp_pickle_is(clp_buf_text(bytes), bytes->used))
        return clp_pickle_decode(clp_buf_text(bytes), bytes->used, profile, fault);
    return in_place ? clp_wire_decode_in_place(bytes, profile, fault)
                    : clp_wire_decode(clp_buf_text(bytes), bytes->used, profile, fault);
}

/* Reads a live file, which may have no header, or any other profile. */
static clp_status read_bytes(const char *path, struct clp_buf *bytes, bool in_place, struct clp_profile *profile,
                             struct clp_buf *notes, struct clp_fault *fault)
{
    clp_status status = CLP_NOT_A_PROFILE;

    if (clp_live_is(clp_buf_text(bytes), bytes->used) || clp_console_has_ending(path, ".live"))
        status = read_live(path, profile, notes, fault);
    return status == CLP_NOT_A_PROFILE ? decode(bytes, in_place, profile, fault) : status;
}

clp_status clp_reading_file(const char *path, bool in_place, struct clp_profile *profile,
                            struct clp_buf *notes, struct clp_fault *fault)
{
    struct clp_buf bytes;
    clp_status status;

    if (is_input(path))
        path = "/dev/stdin";
    *fault = (struct clp_fault){0};
    clp_buf_init(&bytes, profile->mem);
    status = clp_file_read(path, LARGEST_PROFILE, &bytes, fault);
    if (status == CLP_OK)
        status = read_bytes(path, &bytes, in_place, profile, notes, fault);
    else if (status == CLP_TOO_LARGE)
        fault->reason = LARGEST_TEXT;
    clp_buf_clear(&bytes);
    if (status == CLP_OK && notes != NULL)
        say_if_older(path, profile);
    profile->denied |= 0666 & ~clp_file_rights(path);
    fault->status = status;
    return status;
}

/* ---- source that a profile lacks ---- */

/* May the function's text be in a file? Names such as "<string>" are not files. */
static bool may_have_source(const struct clp_profile_function *function)
{
    return function->source == NULL && !function->source_changed && function->file[0] != '<';
}

void clp_reading_note_sources(const struct clp_profile *profile, struct clp_buf *out)
{
    for (size_t i = 0; i < profile->function_count; i++) {
        if (!may_have_source(&profile->functions[i]))
            continue;
        clp_buf_add_text(out, "Source that is not in the profile was not read from the files it "
                              "names; --read-sources reads it.\n");
        return;
    }
}

/* Orders functions by file and line, so that one file's text is in memory at a time. */
static int compare_functions(const void *left, const void *right)
{
    const struct clp_profile_function *a = *(struct clp_profile_function *const *)left;
    const struct clp_profile_function *b = *(struct clp_profile_function *const *)right;
    int files = strcmp(a->file, b->file);

    if (files != 0)
        return files;
    return a->first_line < b->first_line ? -1 : a->first_line > b->first_line;
}

/* The bytes of the function's file, a new reference; NULL, without an exception, where there are none. */
static PyObject *read_text(const struct clp_profile_function *function)
{
    PyObject *name = PyUnicode_DecodeUTF8(function->file, (Py_ssize_t)strlen(function->file), NULL);
    PyObject *text = name != NULL ? clp_file_text_read(name) : NULL;

    PyErr_Clear();
    Py_XDECREF(name);
    return text;
}

/* How often the text of a file may be gone through. A foreign profile may name one long block again and again. */
#define MOST_WALKS 64

/* The function's block; empty where the text there does not fit the function. */
static struct clp_span find_block(const struct clp_profile_function *function,
                                  struct clp_source_walk *walk, size_t *bytes_left)
{
    int32_t last = function->line_count == 0 ? 0 : function->lines[function->line_count - 1].line;
    int32_t rows;
    struct clp_span none = {NULL, 0};

    if (function->first_line < 1 || *bytes_left == 0)
        return none;
    clp_source_walk_to(walk, function->first_line);
    bool fits = clp_source_block_of(walk->rest, function->name, &rows);
    struct clp_span block = clp_source_lines(walk->rest, 1, rows);
    *bytes_left -= block.bytes < *bytes_left ? block.bytes : *bytes_left;
    fits = fits && last - function->first_line < rows &&
           (last == 0 || function->lines[0].line >= function->first_line);
    return fits ? block : none;
}

struct addition {
    PyObject *text; /* owned bytes of `file`, or NULL */
    const char *file;
    struct clp_source_walk walk;
    size_t bytes_left, left_out;
};

static void go_to_file(struct addition *addition, const struct clp_profile_function *function)
{
    if (addition->file != NULL && strcmp(addition->file, function->file) == 0)
        return;
    Py_XDECREF(addition->text);
    addition->text = read_text(function);
    addition->file = function->file;
    addition->walk = (struct clp_source_walk){.line = 0};
    if (addition->text != NULL)
        addition->walk.text = (struct clp_span){PyBytes_AS_STRING(addition->text),
                                                (size_t)PyBytes_GET_SIZE(addition->text)};
    addition->bytes_left = MOST_WALKS * addition->walk.text.bytes;
}

static clp_status add_source(struct addition *addition, struct clp_profile *profile,
                             struct clp_profile_function *function)
{
    go_to_file(addition, function);
    struct clp_span block = find_block(function, &addition->walk, &addition->bytes_left);
    addition->left_out += block.bytes == 0;
    return clp_profile_set_source(profile, function, block.text, block.bytes);
}

clp_status clp_reading_add_sources(struct clp_profile *profile)
{
    struct clp_profile_function **wanted =
        clp_mem_alloc(profile->mem, profile->function_count, sizeof *wanted);
    struct addition addition = {0};
    clp_status status = CLP_OK;
    size_t count = 0;

    if (wanted == NULL)
        return profile->function_count == 0 ? CLP_OK : CLP_NO_MEMORY;
    for (size_t i = 0; i < profile->function_count; i++) {
        if (may_have_source(&profile->functions[i]))
            wanted[count++] = &profile->functions[i];
    }
    qsort(wanted, count, sizeof *wanted, compare_functions);
    for (size_t i = 0; i < count && status == CLP_OK; i++)
        status = add_source(&addition, profile, wanted[i]);
    if (addition.left_out != 0)
        clp_console_complain_format(me, "no source for %zu of %zu function%s that lack%s it: their files "
                                      "cannot be read, or have something else there",
                                    addition.left_out, count, clp_buf_plural(count), count == 1 ? "s" : "");
    Py_XDECREF(addition.text);
    clp_mem_free(profile->mem, wanted, profile->function_count, sizeof *wanted);
    return status;
}
