/* SPDX-License-Identifier: MIT */
#include "recover.h"
#include "os/file.h"
#include "base/escape.h"
#include "formats/lprof/wire.h"
#include "bridge/reading.h"
#include "bridge/console.h"
#include "cli/overwrite.h"
#include <string.h>

static const char me[] = "clineprof";

static const char help[] =
    "usage: clineprof recover [-o OUTFILE] FILE.live\n"
    "\n"
    "Writes a .lprof file from the live file of a run that was killed or still goes on.\n"
    "\n"
    "  -o, --outfile OUTFILE  write to OUTFILE (default: the name without .live)\n"
    "  -h, --help             print this help\n";

struct request {
    const char *file, *outfile;
    bool help;
};

/* Reads the command line. False with one line in `error`. */
static bool parse(int argc, char **argv, struct request *request, struct clp_buf *error)
{
    for (int i = 2; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
            request->help = true;
        else if (strcmp(word, "-o") == 0 || strcmp(word, "--outfile") == 0)
            request->outfile = argv[++i]; /* the last element is NULL */
        else if (strncmp(word, "--outfile=", 10) == 0)
            request->outfile = word + 10;
        else if (word[0] == '-' && word[1] != 0)
            clp_buf_add_format(error, "recover knows no option %s", word);
        else if (request->file != NULL)
            clp_buf_add_text(error, "recover takes one file");
        else
            request->file = word;
        if (error->used != 0)
            return false;
        if (i >= argc || (request->outfile != NULL && request->outfile[0] == 0)) {
            clp_buf_add_text(error, "-o needs a file's name");
            return false;
        }
    }
    return true;
}

static bool name_outfile(const struct request *request, struct clp_buf *name,
                         struct clp_buf *error)
{
    size_t bytes = strlen(request->file);

    if (request->outfile != NULL) {
        clp_buf_add_text(name, request->outfile);
        return true;
    }
    if (bytes <= strlen(".live") || strcmp(request->file + bytes - strlen(".live"), ".live") != 0) {
        clp_buf_add_format(error, "%s does not end in .live; name the output with -o", request->file);
        return false;
    }
    clp_buf_add(name, request->file, bytes - strlen(".live"));
    return true;
}

static bool write_profile(const struct clp_profile *profile, const char *path, unsigned rights)
{
    struct clp_fault fault = {.status = CLP_NO_MEMORY};
    struct clp_buf bytes;

    clp_buf_init(&bytes, profile->mem);
    bool done = clp_wire_encode(profile, &bytes) == CLP_OK &&
                clp_file_write(path, &(struct clp_file_content){clp_buf_text(&bytes), bytes.used, rights},
                               &fault) == CLP_OK;
    if (!done)
        clp_reading_complain(path, &fault, profile->mem);
    clp_buf_clear(&bytes);
    return done;
}

static bool recover(const char *file, const char *outfile, struct clp_mem *mem)
{
    struct clp_live_about about;
    struct clp_profile profile;
    struct clp_fault fault;
    struct clp_buf text;

    clp_profile_init(&profile, mem);
    clp_buf_init(&text, mem);
    bool done = clp_live_read(file, NULL, &profile, &about, &fault) == CLP_OK;
    if (!done)
        clp_reading_complain(file, &fault, mem);
    done = done && write_profile(&profile, outfile, clp_file_rights(file));
    if (done)
        clp_file_clean(outfile);
    if (done) {
        clp_reading_describe_live(file, &about, &text);
        clp_buf_add_text(&text, "\nWrote profile results to '");
        clp_escape_add_text(&text, outfile);
        clp_buf_add_text(&text, "'\n");
        done = clp_console_answer(me, clp_buf_text(&text)) == 0;
    }
    clp_buf_clear(&text);
    clp_profile_clear(&profile);
    return done;
}

static int refuse(const struct clp_buf *error)
{
    clp_console_complain(me, clp_buf_text(error));
    return 2;
}

int clp_recover_main(int argc, char **argv, struct clp_mem *mem)
{
    struct request request = {0};
    struct clp_buf error, outfile;
    int code = 0;

    clp_buf_init(&error, mem);
    clp_buf_init(&outfile, mem);
    if (!parse(argc, argv, &request, &error)) {
        code = refuse(&error);
    } else if (request.help) {
        code = clp_console_answer(me, help);
    } else if (request.file == NULL) {
        clp_buf_add_text(&error, "recover needs a live file; see clineprof recover --help");
        code = refuse(&error);
    } else if (!name_outfile(&request, &outfile, &error)) {
        code = refuse(&error);
    } else if (clp_overwrite_refuse(&(struct clp_overwrite){.program = me, .path = clp_buf_text(&outfile)})) {
        code = 2;
    } else {
        code = recover(request.file, clp_buf_text(&outfile), mem) ? 0 : 1;
    }
    clp_buf_clear(&error);
    clp_buf_clear(&outfile);
    return code;
}
