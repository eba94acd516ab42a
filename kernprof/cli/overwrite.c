/* SPDX-License-Identifier: MIT */
#include "overwrite.h"
#include "formats/live/live_reader.h"
#include "formats/pickle/pickle.h"
#include "formats/lprof/wire_reader.h"
#include "base/words.h"
#include "bridge/console.h"
#include "os/file.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first bytes of a file. */
struct start {
    struct stat about;
    char bytes[64];
    size_t count;
};

/* Reads the first bytes of a file; none when reading fails. False when the path is no regular file or cannot be
 * opened. */
static bool look(const char *path, struct start *start)
{
    int file = clp_file_open_to_look(path, true);
    bool plain = file >= 0 && fstat(file, &start->about) == 0 && S_ISREG(start->about.st_mode);
    ssize_t count = plain ? pread(file, start->bytes, sizeof start->bytes, 0) : -1;

    if (file >= 0)
        close(file);
    start->count = count > 0 ? (size_t)count : 0;
    return plain;
}

static bool is_program(const char *path, const struct start *start)
{
    return clp_console_has_ending(path, ".py") || clp_console_has_ending(path, ".pyw") ||
           (start->count >= 2 && memcmp(start->bytes, "#!", 2) == 0);
}

/* Is the file a profile of cProfile? That is a marshalled dict whose keys are tuples of three, or an empty dict.
 * marshal may set the highest bit of a type's letter (its FLAG_REF), which is ignored. */
static bool is_calls(const struct start *start)
{
    const char *bytes = start->bytes;

    return start->count >= 2 && (bytes[0] & 0x7f) == '{' &&
           (bytes[1] == '0' || (start->count >= 3 && (bytes[1] & 0x7f) == ')' && bytes[2] == 3));
}

/* Is the file a profile? Files of other programs may be pickles, too, so line_profiler's must have the ending .lprof
 * as well. */
static bool is_profile(const char *path, const struct start *start)
{
    return clp_wire_is(start->bytes, start->count) || is_calls(start) ||
           (clp_console_has_ending(path, ".lprof") && clp_pickle_is(start->bytes, start->count));
}

/* Is the file a recording of memory, as mprof writes it? Each of its lines begins with one of these words. */
static bool is_recording(const struct start *start)
{
    static const char *const words[] = {"CMDLINE ", "MEM ", "CHLD ", "FUNC "};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (start->count >= strlen(words[i]) && memcmp(start->bytes, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

static bool is_read(const struct clp_overwrite *wish, const struct start *start)
{
    struct stat about;

    for (int i = 0; i < wish->file_count; i++) {
        const char *file = strcmp(wish->files[i], "-") == 0 ? "/dev/stdin" : wish->files[i];
        if (stat(file, &about) == 0 && about.st_dev == start->about.st_dev && about.st_ino == start->about.st_ino)
            return true;
    }
    return false;
}

bool clp_overwrite_refuse(const struct clp_overwrite *wish)
{
    const char *what = NULL;
    struct start start;

    if (wish->path == NULL || !look(wish->path, &start))
        return false;
    if (is_program(wish->path, &start))
        what = "a program";
    else if (clp_live_is(start.bytes, start.count))
        what = "the live file of a run";
    else if (is_read(wish, &start) && !(wish->sums && clp_wire_is(start.bytes, start.count)))
        what = "one of the files to read";
    else if (wish->only == CLP_OVERWRITE_PROFILES && start.count != 0 && !is_profile(wish->path, &start))
        what = "not a profile";
    else if (wish->only == CLP_OVERWRITE_RECORDINGS && start.count != 0 && !is_recording(&start))
        what = "not a recording of memory";
    if (what != NULL)
        clp_console_complain_format(wish->program, "'%s' is %s, and -o would write over it; give -o another name",
                                    wish->path, what);
    return what != NULL;
}

void clp_overwrite_note_ending(const char *program, const char *path, enum clp_overwrite_content content,
                               const char *formats)
{
    static const char *const endings[][2] = {{".html", "html"}, {".htm", "html"}, {".json", "json"}, {".csv", "csv"},
                                             {".md", "md"},     {".svg", "flamegraph"}};

    for (size_t i = 0; path != NULL && i < sizeof endings / sizeof *endings; i++) {
        const char *format = endings[i][1];
        if (!clp_console_has_ending(path, endings[i][0]) ||
            (formats != NULL && !clp_words_have(formats, format, strlen(format))))
            continue;
        if (content == CLP_OVERWRITE_PROFILE)
            clp_console_complain_format(program, "'%s' gets a profile, whatever its ending; clineprof --format %s makes "
                                                 "such a file of a profile", path, format);
        else if (content == CLP_OVERWRITE_CALLS)
            clp_console_complain_format(program, "'%s' gets a profile for pstats, whatever its ending", path);
        else
            clp_console_complain_format(program, "'%s' gets text, whatever its ending; --format %s makes such a file",
                                        path, format);
        return;
    }
}
