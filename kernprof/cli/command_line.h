/* SPDX-License-Identifier: MIT */
/* Reads the command line of a command of the viewer, `clineprof COMMAND [options] FILE ..`. The command's table
 * describes its options; --help is answered here. */
#ifndef CLP_COMMAND_LINE_H
#define CLP_COMMAND_LINE_H

#include "option_table.h"

struct clp_command_line {
    const char *program; /* messages point to the --help of this program, such as "clineprof merge" */
    const char *usage;   /* the text of --help above the options */
    struct clp_option_table table;
};

/* The first member of the struct that holds a command's options. */
struct clp_command_request {
    bool help;
    char **files; /* borrowed: points into argv, where parsing has moved the names of the files together */
    int file_count;
};

/* The row of --help in a command's table. `place` is the offset of its field. */
#define CLP_COMMAND_HELP(place) \
    {CLP_OPTION_ANSWER, 'h', "help", .standard = "", .field = (place), .help = "print this help"}

/* Reads argv[2] and the words behind it. `request` is the first member of the struct that the table's rows describe.
 * True when the command is to run. False after --help was answered, or after one line of complaint; *code is then the
 * exit code. */
bool clp_command_line_read(const struct clp_command_line *line, int argc, char **argv,
                           struct clp_command_request *request, struct clp_mem *mem, int *code);

/* Prints the help. Returns the exit code. */
int clp_command_line_help(const struct clp_command_line *line, struct clp_mem *mem);

#endif
