/* SPDX-License-Identifier: MIT */
#include "recover.h"
#include "os/file.h"
#include "base/escape.h"
#include "formats/lprof/wire.h"
#include "report/choice.h"
#include "bridge/family_files.h"
#include "bridge/reading.h"
#include "bridge/console.h"
#include "bridge/paper.h"
#include "cli/command_line.h"
#include "cli/overwrite.h"
#include "merge.h"
#include <string.h>

static const char me[] = "clineprof";

struct request {
    struct clp_command_request line;
    const char *outfile;
};

static const struct clp_option rows[] = {
    {CLP_OPTION_TEXT, 'o', "outfile", .argument = "FILE", .standard = "the name without .live",
     .field = offsetof(struct request, outfile), .help = "write to FILE"},
    CLP_COMMAND_HELP(offsetof(struct request, line.help)),
};

static const struct clp_command_line command_line = {
    "clineprof recover",
    "usage: clineprof recover [-o FILE] FILE.live\n"
    "\n"
    "Writes a .lprof file from the live file of a run that was killed or still goes on, with\n"
    "the files of its child processes.\n",
    {rows, sizeof rows / sizeof *rows},
};

/* Appends the name of the file to write. False after one line of complaint. */
static bool name_outfile(const struct request *request, struct clp_buf *name)
{
    const char *file = request->line.files[0];

    if (request->outfile != NULL) {
        clp_buf_add_text(name, request->outfile);
    } else if (clp_console_has_ending(file, ".live")) {
        clp_buf_add(name, file, strlen(file) - strlen(".live"));
    } else {
        clp_console_complain_format(me, "%s does not end in .live; name the output with -o", file);
        return false;
    }
    return true;
}

static bool write_profile(const struct clp_profile *profile, const char *path)
{
    struct clp_fault fault = {.status = CLP_NO_MEMORY};
    struct clp_buf bytes;

    clp_buf_init(&bytes, profile->mem);
    bool done = clp_wire_encode(profile, &bytes) == CLP_OK &&
                clp_file_write(path, &(struct clp_file_content){clp_buf_text(&bytes), bytes.used,
                                                                0666 & ~profile->denied}, &fault) == CLP_OK;
    if (!done)
        clp_reading_complain(path, &fault, profile->mem);
    clp_buf_clear(&bytes);
    return done;
}

/* Adds the files of the other processes, if `file` is the live file of a run's first process. False after one line of
 * complaint. */
static bool add_family(char *file, struct clp_profile *profile, struct clp_buf *text)
{
    struct clp_mem *mem = profile->mem;
    struct clp_family_files family;

    clp_family_files_find(&family, file, mem);
    bool leads = clp_family_files_lead(&family, file), done = true;
    if (leads) {
        clp_buf_add_text(text, ", with ");
        clp_family_files_add_count(&family, text);
        clp_profile_clear(profile);
        clp_profile_init(profile, mem);
        done = clp_merge_files(&file, 1, 0, profile);
    }
    clp_family_files_clear(&family);
    return done;
}

/* Reads the live file, and appends what it is worth. False, after one line of complaint, when there is nothing to write. */
static bool read_live(char *file, struct clp_profile *profile, struct clp_buf *text)
{
    struct clp_live_about about;
    struct clp_fault fault;

    if (clp_live_read(file, NULL, profile, &about, &fault) != CLP_OK) {
        clp_reading_complain(file, &fault, profile->mem);
        return false;
    }
    profile->denied |= 0666 & ~clp_file_rights(file);
    clp_reading_describe_live(file, &about, profile, text);
    if (!add_family(file, profile, text))
        return false;
    if (!clp_choice_is_idle(profile))
        return true;
    clp_buf_add_text(text, "; no profile is written");
    clp_console_complain(me, clp_buf_text(text));
    return false;
}

static bool recover(char *file, const char *outfile, struct clp_mem *mem)
{
    struct clp_profile profile;
    struct clp_buf text;

    clp_profile_init(&profile, mem);
    clp_buf_init(&text, mem);
    bool done = read_live(file, &profile, &text) && write_profile(&profile, outfile);
    if (done) {
        clp_file_clean(outfile);
        clp_buf_add_text(&text, "\nWrote profile results to '");
        clp_escape_add_text(&text, outfile);
        clp_buf_add_text(&text, "'\n");
        done = clp_paper_answer(me, &text) == 0;
    }
    clp_buf_clear(&text);
    clp_profile_clear(&profile);
    return done;
}

int clp_recover_main(int argc, char **argv, struct clp_mem *mem)
{
    struct request request = {.outfile = NULL};
    struct clp_buf outfile;
    int code = 2;

    if (!clp_command_line_read(&command_line, argc, argv, &request.line, mem, &code))
        return code;
    clp_buf_init(&outfile, mem);
    if (request.line.file_count == 0)
        clp_console_complain(me, "recover needs a live file; see clineprof recover --help");
    else if (request.line.file_count > 1)
        clp_console_complain(me, "recover takes one file");
    else if (name_outfile(&request, &outfile) &&
             !clp_overwrite_refuse(&(struct clp_overwrite){.program = me, .path = clp_buf_text(&outfile)}))
        code = recover(request.line.files[0], clp_buf_text(&outfile), mem) ? 0 : 1;
    clp_buf_clear(&outfile);
    return code;
}
