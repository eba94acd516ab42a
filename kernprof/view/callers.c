/* SPDX-License-Identifier: MIT */
#include "callers.h"
#include "base/escape.h"
#include "bridge/console.h"
#include "bridge/reading.h"
#include "cli/command_line.h"
#include "cli/option_use.h"
#include "merge.h"
#include "report/call_table.h"
#include "report/choice.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

static const char me[] = "clineprof";

struct request {
    struct clp_command_request line;
};

static const struct clp_option rows[] = {
    CLP_COMMAND_HELP(offsetof(struct request, line.help)),
};

static const struct clp_command_line command_line = {
    "clineprof callers",
    "usage: clineprof callers FUNCTION profile.lprof ...\n"
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
        size_t slips = clp_option_slips(name, strlen(name), whole);
        if (dot != NULL && clp_option_slips(name, strlen(name), dot + 1) < slips)
            slips = clp_option_slips(name, strlen(name), dot + 1);
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

/* Appends the tables of the functions that match. False after one line of complaint. */
static bool add_tables(const struct clp_profile *profile, char *const *names, struct clp_buf *out)
{
    const struct clp_choice_options options = {.functions = names};
    struct clp_call_edge *edges = NULL;
    struct clp_choice choice;
    char folder[PATH_MAX];
    size_t count = 0;

    if (clp_choice_make(&choice, profile, &options, profile->mem) != CLP_OK ||
        clp_call_edges(profile, &edges, &count) != CLP_OK)
        out->failed = true;
    else if (choice.count == 0)
        complain_of_name(profile, names[0]);
    for (size_t i = 0; !out->failed && i < choice.count; i++) {
        clp_buf_add_text(out, i != 0 ? "\n" : "");
        clp_call_table_add(profile, edges, count, choice.places[i], getcwd(folder, sizeof folder), out);
    }
    if (profile->calls_cut != 0 && out->used != 0)
        clp_buf_add_format(out, "\nOf %llu more calls the profile does not know who was called: they have more contexts "
                                "than it keeps.\n", (unsigned long long)profile->calls_cut);
    clp_mem_free(profile->mem, edges, count, sizeof *edges);
    clp_choice_clear(&choice);
    if (out->failed)
        clp_console_complain(me, clp_status_text(CLP_NO_MEMORY));
    return out->used != 0 && !out->failed;
}

static int print_callers(const struct clp_command_request *line, struct clp_mem *mem)
{
    char *names[] = {line->files[0], NULL};
    struct clp_profile sum;
    struct clp_buf text;
    int code = 1;

    clp_profile_init(&sum, mem);
    clp_buf_init(&text, mem);
    if (!clp_merge_files(line->files + 1, line->file_count - 1, 2, &sum))
        code = 1; /* after a complaint */
    else if (sum.call_count == 0)
        clp_console_complain(me, "this profile has no calls: nothing selected ran, or an older clineprof or another tool "
                                 "recorded it");
    else if (add_tables(&sum, names, &text))
        code = clp_console_answer(me, clp_buf_text(&text));
    clp_buf_clear(&text);
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
        code = print_callers(&request.line, mem);
    return code;
}
