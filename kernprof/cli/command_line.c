/* SPDX-License-Identifier: MIT */
#include "command_line.h"
#include "option.h"
#include "option_help.h"
#include "bridge/console.h"

static const char me[] = "clineprof";

int clp_command_line_help(const struct clp_command_line *line, struct clp_mem *mem)
{
    struct clp_buf text;

    clp_buf_init(&text, mem);
    clp_buf_add_format(&text, "%s\noptions:\n", line->usage);
    clp_option_help(line->table, &text);
    int code = clp_console_answer(me, clp_buf_text(&text));
    clp_buf_clear(&text);
    return code;
}

bool clp_command_line_read(const struct clp_command_line *line, int argc, char **argv,
                           struct clp_command_request *request, struct clp_mem *mem, int *code)
{
    struct clp_buf error;

    clp_buf_init(&error, mem);
    struct clp_option_parser parser = clp_option_start(line->table, argc - 1, argv + 1, request, &error);
    parser.program = line->program;
    bool good = clp_option_parse_all(&parser, &request->files, &request->file_count);
    if (!good) {
        clp_console_complain(me, clp_buf_text(&error));
        *code = 2;
    } else if (request->help) {
        *code = clp_command_line_help(line, mem);
    }
    clp_buf_clear(&error);
    return good && !request->help;
}
