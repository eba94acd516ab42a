/* SPDX-License-Identifier: MIT */
/* What the viewer can do besides printing files: `clineprof COMMAND ..`. Plain C, for the launcher,
 * too. A file of such a name is shown as ./NAME. */
#ifndef CLP_COMMANDS_H
#define CLP_COMMANDS_H

#include <stdbool.h>
#include <string.h>

#define CLP_COMMAND_DIFF "diff"
#define CLP_COMMAND_HOOK "hook"
#define CLP_COMMAND_MEM "mem"
#define CLP_COMMAND_MERGE "merge"
#define CLP_COMMAND_RECOVER "recover"
#define CLP_COMMAND_TOP "top"

static inline bool clp_command_is(int argc, char **argv, const char *command)
{
    return argc > 1 && strcmp(argv[1], command) == 0;
}

static inline bool clp_command_is_any(int argc, char **argv)
{
    return clp_command_is(argc, argv, CLP_COMMAND_DIFF) ||
           clp_command_is(argc, argv, CLP_COMMAND_HOOK) ||
           clp_command_is(argc, argv, CLP_COMMAND_MEM) ||
           clp_command_is(argc, argv, CLP_COMMAND_MERGE) ||
           clp_command_is(argc, argv, CLP_COMMAND_RECOVER) ||
           clp_command_is(argc, argv, CLP_COMMAND_TOP);
}

#endif
