/* SPDX-License-Identifier: MIT */
/* Identifies a process. Its pid alone does not: pids are reused, each container (pid namespace) has its own,
 * and so has each machine that writes to a shared folder. */
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
    char boot[40];          /* names one start of one machine (clp_proc_boot) */
    char host[64];          /* the machine's name, for people; containers may share one */
    char rank[16];          /* among the processes that mpirun, srun or torchrun has started; "": none */
    uint64_t restart;       /* how often torchrun has started this rank again */
};

/* Fills in the identity of this process. */
void clp_identity_here(struct clp_identity *me);

/* The rank of this process, digits; NULL: it has none. Borrowed from the environment. */
const char *clp_identity_rank(void);

/* How often torchrun has started this process again, digits; "0": not, or there is no torchrun. */
const char *clp_identity_restart(void);

/* Was the process started on this machine, after the machine's last start? If so, its clocks are ours. */
bool clp_identity_same_boot(const struct clp_identity *whose);

enum clp_life { CLP_LIFE_ENDED, CLP_LIFE_RUNS, CLP_LIFE_UNKNOWN };

/* Does the process still have this file of its own mapped? `locked`: it locked the file (filelock.h).
 * CLP_LIFE_UNKNOWN: it is a process of another machine, or of another pid namespace without a lock. */
enum clp_life clp_identity_life(const struct clp_identity *whose, const char *path, bool locked);

/* The effective user id: the owner of files that this process makes. */
uint32_t clp_identity_user(void);

/* A number for this process. It is different in a forked child, even where the child has its parent's pid, as
 * process 1 of a new pid namespace may. */
uint64_t clp_identity_self(void);

/* Has in_child() called in the child of each fork from now on, at once, while it has one thread. */
void clp_identity_at_fork(void (*in_child)(void));

/* A random number for names of files: no other run on any machine has it. */
uint64_t clp_identity_token(void);

#endif
