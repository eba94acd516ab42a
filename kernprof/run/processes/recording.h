/* SPDX-License-Identifier: MIT */
/* The recording of a process, for ckernprof (session.h) or for clineprof.profile (api_recording.c): the profiler, the
 * files, and the run of several processes that the process may take part in. */
#ifndef CLP_RECORDING_H
#define CLP_RECORDING_H

#include "liverun.h"

/* The name of a process that only forks others (multiprocessing's forkserver) and ends after them. It has nothing more
 * to record once the others have begun, so nobody waits for its end. */
#define CLP_RECORDING_SERVER "multiprocessing.forkserver"

/* A recording is never cleared; it lives until the process ends. */
struct clp_recording {
    const char *program;      /* its name begins every message */
    bool quiet;               /* only errors are printed */
    int standard_error;       /* a descriptor of the real standard error, when -qqq has silenced it; else -1 */
    PyObject *profiler;       /* owned: a Profiler, or without -l a cProfile.Profile */
    struct clp_buf outfile;   /* absolute path; with -o - no such file is written, but the live file is named by it */
    unsigned rights;          /* of the files that are made, before the umask */
    struct clp_liverun live;
    struct clp_run_id family; /* names the run of several processes; token 0: the run has one process */
    bool is_first;            /* the run began with this process */
    bool is_elsewhere;        /* the live file is in the temporary folder, as the outfile's folder did not take it */
    struct clp_buf family_at; /* what the names of the others' files begin with, if not with the outfile: they began
                               * before this process had one, or the live file is elsewhere; else empty */
    unsigned forks;           /* how often this process has forked, in a run of several processes */
    struct clp_buf summed;    /* names, each ended by 0, of other processes' files whose counts the profile holds */
    bool leaves_running;      /* processes that still run at the end are not added; they write files of their own */
};

/* Initialises a recording without a profiler. Its buffers use `mem`. */
void clp_recording_init(struct clp_recording *recording, const char *program, struct clp_mem *mem);

/* The path that the names of the family's files begin with. Borrowed. */
const char *clp_recording_family_at(const struct clp_recording *recording);

/* Does the live file lie beside the outfile? Then no other process writes the outfile. */
bool clp_recording_has_name(const struct clp_recording *recording);

struct clp_recording_wish {
    const char *command;  /* the program's command line, for readers */
    bool own_name;        /* the outfile gets a name of its own (struct clp_liverun_wish) */
    double save_interval; /* seconds; 0: no saves while the program runs */
    bool is_server;       /* the live file names the process CLP_RECORDING_SERVER */
};

/* Begins the live file of the profiler (clp_liverun_begin) beside recording->outfile, which may get another name; or in the
 * temporary folder. */
void clp_recording_begin(struct clp_recording *recording, const struct clp_recording_wish *wish);

/* Gives the child of a fork a live file of its own (clp_liverun_fork). Does nothing if the process has one already. */
void clp_recording_fork(struct clp_recording *recording);

/* Prints "DOING 'PATH': WHY" to the real standard error, even with -qqq. To be called only after the program: standard
 * error stays restored. */
void clp_recording_complain(const struct clp_recording *recording, const char *doing, const char *path,
                            const struct clp_fault *fault);

#endif
