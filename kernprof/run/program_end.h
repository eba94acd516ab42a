/* SPDX-License-Identifier: MIT */
/* How the user's program ended, and the exit code of the process. */
#ifndef CLP_PROGRAM_END_H
#define CLP_PROGRAM_END_H

#include <stdbool.h>

#define CLP_INTERRUPTED 130 /* as an exit code: the program was interrupted, and the process ends by SIGINT */

/* How a program ended. */
struct clp_program_end {
    int code;           /* python's exit code: 0, 1, 2 (no such file), or CLP_INTERRUPTED; -1: the code is in
                           SystemExit, which is set */
    bool started;       /* some of the program's code has run; a missing or broken file has none */
    bool refused_words; /* the program ended by sys.exit(2), as argparse does for wrong arguments */
    bool lacks_profile; /* the program ended by a NameError for `profile` */
    char exception[64]; /* name of the type of the exception that ended the program; "" for none and for SystemExit */
};

/* Fills the fields about the exception from the one that is set, which stays set. */
void clp_program_end_describe(struct clp_program_end *end);

/* Makes the process end by SIGINT after the interpreter has finalised, as python does when the program was interrupted:
 * if the main script now ends, or if it calls sys.exit(CLP_INTERRUPTED). */
void clp_program_end_tell_interrupted(void);

/* Makes the process exit with this code. If the program has failed, the process keeps the program's own code. */
void clp_program_end_exit_with(int code);

#endif
