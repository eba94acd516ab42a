/* SPDX-License-Identifier: MIT */
/* The live file of a run (formats/live/live.h), from its start to its end, and what a fork does with it. */
#ifndef CLP_LIVERUN_H
#define CLP_LIVERUN_H

#include "base/buf.h"
#include "formats/live/live.h"
#include "cpython/compat/compat.h"
#include "naming.h"
#include "saver.h"

struct clp_liverun {
    struct clp_live *live; /* borrowed; NULL: there is no live file */
    struct clp_buf path;
    struct clp_saver saver;
    uint64_t process; /* whose file it is, clp_identity_self */
    unsigned forks;   /* of that process */
    bool ended;       /* what was counted has been written, or stays in the file */
};

struct clp_liverun_wish {
    const char *program;  /* for messages */
    bool quiet;           /* of what an earlier run has left */
    struct clp_buf *outfile; /* absolute; the live file lies beside it. Whoever has that file alone writes
                                here: where another process does, this becomes a name of our own */
    bool own_name;        /* .. in any case */
    const char *command;  /* the program's command line, for readers */
    double save_interval; /* seconds; 0: no saves while the program runs */
    unsigned rights;      /* of the files that are made, before the umask */
    struct clp_run_id family; /* the run that this process belongs to; token 0: none */
    bool is_member;           /* it joined that run: its file is called OUTFILE.FAMILY.PID.live */
};

/* Has the one who makes this live file not come to writing its header, whose first bytes are written last? */
bool clp_liverun_is_begun(int file);

/* Is there a place for files beside the outfile? Not beside a pipe or a device. */
bool clp_liverun_has_place(const char *outfile);

/* Once in a process, before anything is selected. What cannot be had is complained about in one
 * line, and the run goes on without. `run`, the profiler, which is borrowed, and the outfile's name must
 * live as long as the process. */
void clp_liverun_begin(struct clp_liverun *run, PyObject *profiler,
                       const struct clp_liverun_wish *wish);

/* In the child of a fork, with the interpreter at work: it gets a live file of its own. What cannot be
 * had is complained about in one line, and the child's numbers are lost. */
void clp_liverun_fork(struct clp_liverun *run, PyObject *profiler,
                      const struct clp_liverun_wish *wish);

/* No saves any more; before the profile is written. */
void clp_liverun_stop_saves(struct clp_liverun *run, const char *program);

/* Takes the live file away when the profile is safely written; else it stays, and its name is
 * told. In a fork, which has no part in its parent's file, nothing happens. */
void clp_liverun_end(struct clp_liverun *run, const char *program, bool written);

#endif
