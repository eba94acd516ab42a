/* SPDX-License-Identifier: MIT */
/* Which process of which machine somebody is. A number alone does not tell: numbers are used again, each
 * container (pid namespace) has its own, and so has each machine that writes to a shared folder. */
#ifndef CLP_IDENTITY_H
#define CLP_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Texts are ended by 0. */
struct clp_identity {
    uint64_t pid;           /* in its own pid namespace */
    uint64_t start;         /* clock ticks from the start of the machine to that of the process; 0: not known */
    uint64_t pid_namespace; /* 0: not known */
    char boot[40];          /* which start of which machine, clp_proc_boot */
    char host[64];          /* its name, for people; containers may share one */
};

/* Of this process, now. */
void clp_identity_here(struct clp_identity *me);

/* Is it of this machine, not started anew since then? Its clocks are then the same as here. */
bool clp_identity_same_boot(const struct clp_identity *whose);

enum clp_life { CLP_LIFE_ENDED, CLP_LIFE_RUNS, CLP_LIFE_UNKNOWN };

/* Does the process still have this file of its own mapped? `locked`: it took the lock of filelock.h on it.
 * Unknown is what runs on another machine, or in another pid namespace where there are no locks. */
enum clp_life clp_identity_life(const struct clp_identity *whose, const char *path, bool locked);

/* The effective user id: the owner of files that this process makes. */
uint32_t clp_identity_user(void);

/* Changes in a fork even where the child has its parent's number, as process 1 of a new pid namespace may. */
uint64_t clp_identity_self(void);

/* A number that no other run on any machine has: for names of files. */
uint64_t clp_identity_token(void);

#endif
