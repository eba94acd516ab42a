/* SPDX-License-Identifier: MIT */
#include "merge.h"
#include "base/escape.h"
#include "export.h"
#include "merge_names.h"
#include "formats/lprof/dedupe_processes.h"
#include "cli/command_line.h"
#include "cli/progress.h"
#include "bridge/family_files.h"
#include "bridge/reading.h"
#include "bridge/console.h"
#include "bridge/paper.h"
#include "cli/overwrite.h"
#include <string.h>
#include <sys/stat.h>

static const char me[] = "clineprof";
static const char usual_outfile[] = "merged.lprof";

/* ---- files ---- */

struct merging {
    struct clp_progress progress;
    struct clp_dedupe once;
    struct clp_profile *sum;
    struct clp_family_files family; /* of the only file that is named */
    bool leads; /* that file is the first process's, and is read with its family */
    int notes_to;
    bool in_place;
};

/* Is it the file of a child process that is read because the file of the first process was named? */
static bool is_childs(const struct merging *merging, const char *path)
{
    return merging->leads && strcmp(path, merging->family.items[0]) != 0;
}

/* Says to what run a file belongs whose note was just made. */
static void add_family(const struct merging *merging, struct clp_buf *note)
{
    const struct clp_family_files *family = &merging->family;

    if (family->count < 2 || family->first.used == 0)
        return;
    if (merging->leads) {
        clp_buf_add_text(note, ", with ");
        clp_family_files_add_count(family, note);
    } else {
        clp_buf_add_format(note, "; it is one of %zu files of a run", family->count);
    }
    clp_family_files_add_command(family->items[0], note);
}

/* Reads one file, and prints the note about it. False after one line of complaint. */
static bool read_file(struct merging *merging, const char *path, struct clp_profile *one)
{
    struct clp_fault fault;
    struct clp_buf notes;

    clp_buf_init(&notes, one->mem);
    bool done = clp_reading_file(path, merging->in_place, one, &notes, &fault) == CLP_OK;
    if (!done || notes.used != 0 || one->left_out_count != 0)
        clp_progress_clear(&merging->progress);
    if (done && !merging->once.round)
        clp_reading_say_left_out(path, one);
    if (!done && !(merging->once.round && is_childs(merging, path))) /* that was told in the first round */
        clp_reading_complain(path, &fault, one->mem);
    else if (notes.used != 0 && !merging->once.round && merging->notes_to > 0 && !is_childs(merging, path)) {
        bool above_report = merging->notes_to == 1;
        add_family(merging, &notes);
        clp_buf_add_text(&notes, above_report ? "; > marks lines that were being executed\n\n" : "\n");
        if (above_report)
            (void)clp_paper_answer(me, &notes);
        else
            clp_console_print(merging->notes_to, clp_buf_text(&notes));
    }
    clp_buf_clear(&notes);
    return done;
}

/* Adds one file to the sum. False after one line of complaint. A child's file that cannot be read is left out, after
 * the complaint. */
static bool merge_file(struct merging *merging, const char *path)
{
    struct clp_profile one;

    clp_profile_init(&one, merging->sum->mem);
    bool read = read_file(merging, path, &one), done = read || is_childs(merging, path);
    merging->sum->left_out_count += read ? one.left_out_count : 1;
    if (read && !clp_dedupe_merge(&merging->once, merging->sum, &one, path)) {
        clp_console_complain(me, clp_buf_text(&merging->once.complaint));
        done = false;
    }
    clp_profile_clear(&one);
    return done;
}

static bool merge_each(struct merging *merging, char *const *files, int count)
{
    bool done = true;

    for (int i = 0; i < count && done; i++) {
        clp_progress_say(&merging->progress, "reading", i + 1, count);
        done = merge_file(merging, files[i]);
    }
    return done;
}

/* Makes the sum anew, in a second round (dedupe_processes.h). False after one line of complaint. */
static bool merge_again(struct merging *merging, char *const *files, int count)
{
    struct clp_mem *mem = merging->sum->mem;

    for (int i = 0; i < count; i++) {
        if (strcmp(files[i], "-") != 0)
            continue;
        clp_console_complain(me, "standard input and the other files have processes in common; save standard input "
                               "to a file, which can be read twice");
        return false;
    }
    clp_dedupe_begin_again(&merging->once);
    clp_profile_clear(merging->sum);
    clp_profile_init(merging->sum, mem);
    return merge_each(merging, files, count);
}

/* Tells of functions that are in the sum more than once, because their source text differs from file to file. */
static void say_variants(const struct clp_profile *sum)
{
    struct clp_buf text;

    if (sum->variant_count == 0)
        return;
    const struct clp_profile_function *first = &sum->functions[sum->variant_place];
    clp_buf_init(&text, sum->mem);
    if (sum->variant_count == 1)
        clp_buf_add_text(&text, "a function's source differs from file to file and is kept apart: ");
    else
        clp_buf_add_format(&text, "the source of %zu functions differs from file to file and is "
                                  "kept apart; the first is ", sum->variant_count);
    clp_escape_add_text(&text, first->name);
    clp_buf_add_text(&text, ", ");
    clp_escape_add_text(&text, first->file);
    clp_buf_add_format(&text, ":%d", (int)first->first_line);
    clp_console_complain(me, clp_buf_text(&text));
    clp_buf_clear(&text);
}

static bool merge_all(struct merging *merging, char *const *files, int count)
{
    clp_dedupe_init(&merging->once, count > 1, merging->sum->mem);
    bool done = merge_each(merging, files, count) &&
                (!merging->once.again || merge_again(merging, files, count));

    clp_progress_clear(&merging->progress);
    clp_dedupe_clear(&merging->once);
    if (done)
        say_variants(merging->sum);
    return done;
}

/* only: the only file that is named; "" when there are several. The family is to be cleared. */
static struct merging begin(const char *only, int notes, struct clp_profile *sum)
{
    struct merging merging = {.progress = clp_progress_start(), .sum = sum, .notes_to = notes};

    clp_family_files_find(&merging.family, only, sum->mem);
    merging.leads = clp_family_files_lead(&merging.family, only);
    return merging;
}

bool clp_merge_files(char *const *files, int count, int notes, struct clp_profile *sum)
{
    struct merging merging = begin(count == 1 ? files[0] : "", notes, sum);
    bool done = merging.leads ? merge_all(&merging, merging.family.items, (int)merging.family.count)
                              : merge_all(&merging, files, count);

    clp_family_files_clear(&merging.family);
    return done;
}

bool clp_merge_file_in_place(const char *file, int notes, struct clp_profile *profile)
{
    struct merging merging = begin(file, notes, profile);

    merging.in_place = !merging.leads;
    bool done = merging.leads ? merge_all(&merging, merging.family.items, (int)merging.family.count)
                              : read_file(&merging, file, profile);
    clp_progress_clear(&merging.progress);
    clp_family_files_clear(&merging.family);
    return done;
}

/* ---- the command ---- */

struct request {
    struct clp_command_request line;
    const char *outfile;
};

static const struct clp_option rows[] = {
    {CLP_OPTION_TEXT, 'o', "outfile", .argument = "FILE", .standard = usual_outfile,
     .field = offsetof(struct request, outfile), .help = "write the sum to FILE; - is standard output"},
    CLP_COMMAND_HELP(offsetof(struct request, line.help)),
};

static const struct clp_command_line command_line = {
    "clineprof merge",
    "usage: clineprof merge [-o FILE] profile.lprof ...\n"
    "\n"
    "Adds profiles up and writes the sum. A folder stands for its files *.lprof. A function\n"
    "whose source differs from file to file is kept apart, as NAME (2).\n",
    {rows, sizeof rows / sizeof *rows},
};

static bool same_file(const char *one, const char *other)
{
    struct stat a, b;

    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Is the default output one of the files to add? So it is when `merge *.lprof` runs a second time, which would count
 * everything twice. */
static bool has_sum(const struct clp_command_request *line)
{
    for (int i = 0; i < line->file_count; i++)
        if (same_file(line->files[i], usual_outfile))
            return true;
    return false;
}

static int say_written(int count, const char *outfile, struct clp_mem *mem)
{
    struct clp_buf text;

    clp_buf_init(&text, mem);
    clp_buf_add_format(&text, "Wrote the sum of %d profile%s to '", count, clp_buf_plural((uint64_t)count));
    clp_escape_add_text(&text, outfile);
    clp_buf_add_text(&text, "'\n");
    int code = clp_console_answer(me, clp_buf_text(&text));
    clp_buf_clear(&text);
    return code;
}

static int merge(const struct request *request, struct clp_mem *mem)
{
    const char *outfile = request->outfile != NULL ? request->outfile : usual_outfile;
    bool to_stdout = strcmp(outfile, "-") == 0;
    struct clp_view_options as = {.format = "lprof", .outfile = to_stdout ? NULL : outfile};
    struct clp_profile sum;
    int code = 1;

    clp_profile_init(&sum, mem);
    if (clp_merge_files(request->line.files, request->line.file_count, 2, &sum) && clp_export(&sum, &as))
        code = to_stdout ? 0 : say_written(request->line.file_count, outfile, mem);
    clp_profile_clear(&sum);
    return code;
}

static int check_and_merge(const struct request *request, struct clp_mem *mem)
{
    const struct clp_command_request *line = &request->line;

    if (line->file_count == 0)
        clp_console_complain(me, "no profile to merge; see clineprof merge --help");
    else if (request->outfile == NULL && has_sum(line))
        clp_console_complain_format(me, "%s is one of the files to add, and the sum is written there; name another "
                                      "output with -o", usual_outfile);
    else if (clp_reading_check_names(line->files, line->file_count) &&
             !clp_overwrite_refuse(&(struct clp_overwrite){
                 .program = me, .path = request->outfile, .files = line->files,
                 .file_count = line->file_count, .sums = true})) {
        clp_overwrite_note_ending(me, request->outfile, CLP_OVERWRITE_PROFILE, NULL);
        return merge(request, mem);
    }
    return 2;
}

int clp_merge_main(int argc, char **argv, struct clp_mem *mem)
{
    struct request request = {.outfile = NULL};
    struct clp_command_request *line = &request.line;
    struct clp_merge_names names;
    int code = 2;

    if (!clp_command_line_read(&command_line, argc, argv, line, mem, &code))
        return code;
    code = 1;
    if (clp_merge_names_find(&names, line->files, line->file_count, mem)) {
        line->files = names.items;
        line->file_count = (int)names.count;
        code = check_and_merge(&request, mem);
    }
    clp_merge_names_clear(&names);
    return code;
}
