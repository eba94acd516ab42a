/* SPDX-License-Identifier: MIT */
/* The command line of a command of the viewer, `clineprof COMMAND [options] FILE ..`: options by a table, and
 * --help. */
#ifndef CLP_COMMAND_LINE_H
#define CLP_COMMAND_LINE_H

#include "option_table.h"

struct clp_command_line {
    const char *program; /* "clineprof merge": messages point to its --help */
    const char *usage;   /* what --help says above the options, which it ends with */
    struct clp_option_table table;
};

/* What a command is asked to do begins with this. */
struct clp_command_request {
    bool help;
    char **files; /* borrowed: in argv, which is put in order for it */
    int file_count;
};

/* The row of --help, with the place of its field. */
#define CLP_COMMAND_HELP(place) \
    {CLP_OPTION_ANSWER, 'h', "help", .standard = "", .field = (place), .help = "print this"}

/* Reads argv[2..) into the request, the beginning of the table's result. True when the command is to run; else it
 * has answered --help or complained in one line, and *code is the exit code. */
bool clp_command_line_read(const struct clp_command_line *line, int argc, char **argv,
                           struct clp_command_request *request, struct clp_mem *mem, int *code);

/* Prints what --help says. The exit code. */
int clp_command_line_help(const struct clp_command_line *line, struct clp_mem *mem);

#endif
