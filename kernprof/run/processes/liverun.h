/* SPDX-License-Identifier: MIT */
/* The live file of a run (formats/live/live.h), from its start to its end and across forks. */
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
    uint64_t process; /* clp_identity_self of the process that the file belongs to */
    unsigned forks;   /* how often that process has forked */
    bool ended;       /* clp_liverun_end was called; a child that is forked later gets no live file */
};

struct clp_liverun_wish {
    const char *program;  /* its name begins every message */
    bool quiet;           /* no message about the live file of an earlier run */
    struct clp_buf *outfile; /* absolute path. The live file is OUTFILE.live; only the process that has OUTFILE.live
                                may write OUTFILE. When another process has it, *outfile gets a name of its own */
    bool own_name;        /* *outfile gets a name of its own in any case */
    const char *command;  /* the program's command line, for readers */
    double save_interval; /* seconds; 0: no saves while the program runs */
    unsigned rights;      /* of the files that are made, before the umask */
    struct clp_buf *elsewhere; /* empty; gets the path of the live file without ".live" if the file had to be made in the
                                  temporary folder. NULL: it may not be made there */
    struct clp_run_id family; /* the run that this process belongs to; token 0: none */
    bool is_member;           /* the process has joined that run: its live file is OUTFILE.FAMILY.PID.live */
};

/* Is this open file a live file that has no header yet? A header's first bytes are written last, so they are 0 while
 * the file is being made, and stay 0 when its process is killed meanwhile. */
bool clp_liverun_has_no_header(int file);

/* Can files be made beside the outfile? Not if it is a pipe or a device. */
bool clp_liverun_has_place(const char *outfile);

/* Makes the live file, and starts the saves. To be called once in a process, before anything is selected. If the file
 * cannot be made, one line says why; it is then in the temporary folder, or run->live stays NULL and the run goes on without
 * it. `run`, the profiler
 * (borrowed) and the outfile's name must live as long as the process. */
void clp_liverun_begin(struct clp_liverun *run, PyObject *profiler,
                       const struct clp_liverun_wish *wish);

/* Gives the child of a fork a live file of its own. To be called in the child, when the interpreter works again. If the
 * file cannot be made, one line says why, run->live becomes NULL and the child's counts are lost. */
void clp_liverun_fork(struct clp_liverun *run, PyObject *profiler,
                      const struct clp_liverun_wish *wish);

/* Stops the saves. To be called before the profile is written. Tells if the last save has failed. */
void clp_liverun_stop_saves(struct clp_liverun *run, const char *program);

/* Counts on in memory; the live file stays as it is. For a process that goes on after its run, and for the child of a
 * fork, whose parent has the file. */
void clp_liverun_leave(struct clp_liverun *run);

/* Removes the live file if the profile has been written. If not, the live file stays, and a message names it. Does
 * nothing in a fork to which the file does not belong. */
void clp_liverun_end(struct clp_liverun *run, const char *program, bool written);

#endif
