/* SPDX-License-Identifier: MIT */
#include "merge.h"
#include "../src/core/shown.h"
#include "export.h"
#include "option.h"
#include "progress.h"
#include "reading.h"
#include "words.h"
#include <string.h>
#include <sys/stat.h>

static const char me[] = "clineprof";
static const char usual_outfile[] = "merged.lprof";

/* ---- files ---- */

static clp_status merge_file(const char *path, int notes_to, struct clp_progress *progress,
                             struct clp_profile *sum, struct clp_fault *fault)
{
    struct clp_buf notes;

    clp_buf_init(&notes, sum->mem);
    clp_status status = clp_reading_merge(path, sum, &notes, fault);
    if (status == CLP_OK && notes.used != 0) {
        clp_progress_clear(progress);
        clp_words_print(notes_to, clp_buf_text(&notes));
    }
    clp_buf_clear(&notes);
    return status;
}

/* Functions whose texts differ from file to file are in the sum more than once. */
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
    clp_shown_add(&text, first->name, strlen(first->name));
    clp_buf_add_text(&text, ", ");
    clp_shown_add(&text, first->file, strlen(first->file));
    clp_buf_add_format(&text, ":%d", (int)first->first_line);
    clp_words_complain(me, clp_buf_text(&text));
    clp_buf_clear(&text);
}

bool clp_merge_files(char *const *files, int count, int notes, struct clp_profile *sum)
{
    struct clp_progress progress = clp_progress_start();
    struct clp_fault fault = {.status = CLP_OK};

    for (int i = 0; i < count && fault.status == CLP_OK; i++) {
        clp_progress_say(&progress, "reading", i + 1, count);
        if (merge_file(files[i], notes, &progress, sum, &fault) == CLP_OK)
            continue;
        clp_progress_clear(&progress);
        clp_reading_complain(files[i], &fault, sum->mem);
    }
    clp_progress_clear(&progress);
    if (fault.status == CLP_OK)
        say_variants(sum);
    return fault.status == CLP_OK;
}

/* ---- the command ---- */

struct request {
    const char *outfile;
    bool help;
    char **files; /* in argv, which is put in order for it */
    int file_count;
};

static const struct clp_option rows[] = {
    {CLP_OPTION_TEXT, 'o', "outfile", .argument = "FILE", .standard = usual_outfile,
     .field = offsetof(struct request, outfile), .help = "where the sum goes; - is standard output"},
    {CLP_OPTION_ANSWER, 'h', "help", .standard = "", .field = offsetof(struct request, help),
     .help = "print this"},
};

static const struct clp_option_table table = {rows, sizeof rows / sizeof *rows};

static int print_help(struct clp_buf *out)
{
    clp_buf_add_text(out, "usage: clineprof merge [-o FILE] profile.lprof ...\n"
                          "\n"
                          "Adds profiles up and writes the sum. A function whose source differs from "
                          "file to\nfile is kept apart, as NAME (2).\n\noptions:\n");
    clp_option_help(table, out);
    return clp_words_answer(me, clp_buf_text(out));
}

static bool parse(int argc, char **argv, struct request *request, struct clp_buf *error)
{
    struct clp_option_parser parser = clp_option_start(table, argc, argv, request, error);

    parser.program = "clineprof merge";
    request->files = argv + 1;
    while (clp_option_parse(&parser)) {
        if (parser.at >= argc || request->help)
            return true;
        char **place = &argv[1 + request->file_count++], *file = argv[parser.at];
        argv[parser.at++] = *place;
        *place = file;
    }
    return false;
}

static bool same_file(const char *one, const char *other)
{
    struct stat a, b;

    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* `merge *.lprof` a second time would count the first sum again. */
static bool has_sum(const struct request *request)
{
    for (int i = 0; i < request->file_count; i++)
        if (same_file(request->files[i], usual_outfile))
            return true;
    return false;
}

static int say_written(const struct request *request, const char *outfile, struct clp_mem *mem)
{
    struct clp_buf text;

    clp_buf_init(&text, mem);
    clp_buf_add_format(&text, "Wrote the sum of %d profile%s to '%s'\n", request->file_count,
                       request->file_count == 1 ? "" : "s", outfile);
    int code = clp_words_answer(me, clp_buf_text(&text));
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
    if (clp_merge_files(request->files, request->file_count, 2, &sum) && clp_export(&sum, &as))
        code = to_stdout ? 0 : say_written(request, outfile, mem);
    clp_profile_clear(&sum);
    return code;
}

int clp_merge_main(int argc, char **argv, struct clp_mem *mem)
{
    struct request request = {0};
    struct clp_buf text;
    int code = 2;

    clp_buf_init(&text, mem);
    if (!parse(argc - 1, argv + 1, &request, &text)) {
        clp_words_complain(me, clp_buf_text(&text));
    } else if (request.help) {
        code = print_help(&text);
    } else if (request.file_count == 0) {
        clp_words_complain(me, "no profile to merge; see clineprof merge --help");
    } else if (request.outfile == NULL && has_sum(&request)) {
        clp_words_complain_format(me, "%s is one of the files and would be counted again; say with "
                                      "-o where the sum goes", usual_outfile);
    } else if (clp_reading_check_names(request.files, request.file_count)) {
        code = merge(&request, mem);
    }
    clp_buf_clear(&text);
    return code;
}
