/* SPDX-License-Identifier: MIT */
/* How a program ended, and with which code the process ends. */
#ifndef CLP_PROGRAM_END_H
#define CLP_PROGRAM_END_H

#include <stdbool.h>

/* How a program ended. */
struct clp_program_end {
    int code;           /* the exit code that python would have now: 0, 1, 2 (no such file), or 130 when the
                           program was interrupted and the interpreter will end by SIGINT; -1 with SystemExit set */
    bool started;       /* did any of its code run? A missing or broken file has none */
    bool refused_words; /* it left by sys.exit(2), as argparse does */
    bool lacks_profile; /* it asked for a `profile` that is not there */
    char exception[64]; /* the type of what ended it; "" where nothing did, and for SystemExit */
};

/* Notes what messages say of the exception that is set, and stays so. */
void clp_program_end_describe(struct clp_program_end *end);

/* Has the interpreter end by SIGINT after finalising, as it does when code that it ran itself was interrupted. */
void clp_program_end_tell_interrupted(void);

/* The process ends with this code, unless the program has failed, whose own code it then has. */
void clp_program_end_exit_with(int code);

#endif
