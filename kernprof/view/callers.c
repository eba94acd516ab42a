/* SPDX-License-Identifier: MIT */
#include "callers.h"
#include "base/escape.h"
#include "base/words.h"
#include "bridge/console.h"
#include "bridge/paper.h"
#include "bridge/reading.h"
#include "cli/command_line.h"
#include "cli/options.h"
#include "merge.h"
#include "report/call_table.h"
#include "report/choice.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

static const char me[] = "clineprof";

struct request {
    struct clp_command_request line;
    const char *color; /* NULL: not given */
};

static const struct clp_option rows[] = {
    {CLP_OPTION_TEXT, 0, "color", "colour", .argument = "WHEN", .standard = "auto",
     .one_of = CLP_OPTIONS_COLORS, .field = offsetof(struct request, color), .help = "colours: auto, always, never"},
    CLP_COMMAND_HELP(offsetof(struct request, line.help)),
};

static const struct clp_command_line command_line = {
    "clineprof callers",
    "usage: clineprof callers [options] FUNCTION profile.lprof ...\n"
    "\n"
    "Prints who calls a function, from which lines, and which functions its own lines\n"
    "call. FUNCTION is a name, or a pattern such as '*.close'.\n",
    {rows, sizeof rows / sizeof *rows},
};

/* Returns the name most similar to `name` among the functions, with or without their classes; NULL if none is. */
static const char *similar_name(const struct clp_profile *profile, const char *name)
{
    size_t least = SIZE_MAX;
    const char *found = NULL;

    for (size_t i = 0; i < profile->function_count; i++) {
        const char *whole = profile->functions[i].name, *dot = strrchr(whole, '.');
        size_t slips = clp_words_slips(name, strlen(name), whole, strlen(whole));
        size_t last = dot != NULL ? clp_words_slips(name, strlen(name), dot + 1, strlen(dot + 1)) : SIZE_MAX;
        slips = last < slips ? last : slips;
        if (slips < least) {
            least = slips;
            found = whole;
        }
    }
    return found;
}

static void complain_of_name(const struct clp_profile *profile, const char *name)
{
    const char *similar = similar_name(profile, name);

    if (similar != NULL)
        clp_console_complain_format(me, "the profile has no function '%s'; did you mean '%s'?", name, similar);
    else
        clp_console_complain_format(me, "the profile has no function '%s'; clineprof -m lists the functions", name);
}

/* What is printed. */
struct answer {
    const struct clp_profile *profile;
    struct clp_choice choice;
    struct clp_call_edge *edges;
    size_t edge_count;
    char folder[PATH_MAX];
};

/* Appends the tables of the functions that match. */
static void write_tables(const void *data, bool marked, struct clp_buf *out)
{
    const struct answer *answer = data;
    const struct clp_call_table calls = {answer->profile, answer->edges, answer->edge_count,
                                         *answer->folder != 0 ? answer->folder : NULL, marked};

    for (size_t i = 0; !out->failed && i < answer->choice.count; i++) {
        clp_buf_add_text(out, i != 0 ? "\n" : "");
        clp_call_table_add(&calls, answer->choice.places[i], out);
    }
    if (answer->profile->calls_cut != 0)
        clp_buf_add_format(out, "\nOf %llu more calls the profile does not know who was called: they have more "
                                "contexts than it keeps.\n", (unsigned long long)answer->profile->calls_cut);
}

static int print_tables(const struct answer *answer, const char *color)
{
    const struct clp_paper_wish wish = {.name = me, .color = color};
    struct clp_buf text;
    int code = 1;

    clp_buf_init(&text, answer->profile->mem);
    clp_paper_write(&wish, write_tables, answer, &text);
    if (text.failed)
        clp_console_complain(me, clp_status_text(CLP_NO_MEMORY));
    else
        code = clp_console_answer(me, clp_buf_text(&text));
    clp_buf_clear(&text);
    return code;
}

/* Prints the callers of the functions that `name` matches. Returns the exit code. */
static int answer(const struct clp_profile *profile, char *name, const char *color)
{
    char *names[] = {name, NULL};
    const struct clp_choice_options options = {.functions = names};
    struct answer answer = {.profile = profile};
    int code = 1;

    if (getcwd(answer.folder, sizeof answer.folder) == NULL)
        answer.folder[0] = 0;
    if (clp_choice_make(&answer.choice, profile, &options, profile->mem) != CLP_OK ||
        clp_call_edges(profile, &answer.edges, &answer.edge_count) != CLP_OK)
        clp_console_complain(me, clp_status_text(CLP_NO_MEMORY));
    else if (answer.choice.count == 0)
        complain_of_name(profile, name);
    else
        code = print_tables(&answer, color);
    clp_mem_free(profile->mem, answer.edges, answer.edge_count, sizeof *answer.edges);
    clp_choice_clear(&answer.choice);
    return code;
}

static int print_callers(const struct request *request, struct clp_mem *mem)
{
    const struct clp_command_request *line = &request->line;
    struct clp_profile sum;
    int code = 1;

    clp_profile_init(&sum, mem);
    if (!clp_merge_files(line->files + 1, line->file_count - 1, 2, &sum))
        code = 1; /* after a complaint */
    else if (sum.call_count == 0)
        clp_console_complain(me, "this profile has no calls: nothing selected ran, or an older clineprof or another "
                                 "tool recorded it");
    else
        code = answer(&sum, line->files[0], request->color);
    clp_profile_clear(&sum);
    return code;
}

int clp_callers_main(int argc, char **argv, struct clp_mem *mem)
{
    struct request request = {.line = {.help = false}};
    int code = 2;

    if (!clp_command_line_read(&command_line, argc, argv, &request.line, mem, &code))
        return code;
    if (request.line.file_count < 2)
        clp_console_complain(me, "callers needs a function and a profile; see clineprof callers --help");
    else if (clp_reading_check_names(request.line.files + 1, request.line.file_count - 1))
        code = print_callers(&request, mem);
    return code;
}
