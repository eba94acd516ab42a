/* SPDX-License-Identifier: MIT */
/* The commands of the viewer, `clineprof COMMAND ..`. The first word of a command line is a command when it has the
 * name of one; a file of that name is shown as ./NAME. Plain C: the launcher uses this table, too. */
#ifndef CLP_COMMANDS_H
#define CLP_COMMANDS_H

#include <stdbool.h>
#include <string.h>

#define CLP_COMMAND_AB "ab"
#define CLP_COMMAND_ATTACH "attach"
#define CLP_COMMAND_CALLERS "callers"
#define CLP_COMMAND_DIFF "diff"
#define CLP_COMMAND_DUMP "dump"
#define CLP_COMMAND_HOOK "hook"
#define CLP_COMMAND_LSP "lsp"
#define CLP_COMMAND_MEM "mem"
#define CLP_COMMAND_MERGE "merge"
#define CLP_COMMAND_RECOVER "recover"
#define CLP_COMMAND_TOP "top"
#define CLP_COMMAND_TORCH "torch"

static inline bool clp_command_is(int argc, char **argv, const char *command)
{
    return argc > 1 && strcmp(argv[1], command) == 0;
}

#define CLP_COMMANDS 12

/* The name of command `number`, counted from 0; NULL from CLP_COMMANDS on. */
static inline const char *clp_command_name(size_t number)
{
    static const char *const names[CLP_COMMANDS] = {
        CLP_COMMAND_DIFF,   CLP_COMMAND_AB,   CLP_COMMAND_CALLERS, CLP_COMMAND_MERGE, CLP_COMMAND_TOP,
        CLP_COMMAND_ATTACH, CLP_COMMAND_DUMP, CLP_COMMAND_RECOVER, CLP_COMMAND_MEM,   CLP_COMMAND_HOOK,
        CLP_COMMAND_LSP,    CLP_COMMAND_TORCH};

    return number < CLP_COMMANDS ? names[number] : NULL;
}

static inline bool clp_command_is_any(int argc, char **argv)
{
    size_t number = 0;

    while (number < CLP_COMMANDS && !clp_command_is(argc, argv, clp_command_name(number)))
        number++;
    return number < CLP_COMMANDS;
}

#endif
