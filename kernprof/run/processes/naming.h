/* SPDX-License-Identifier: MIT */
/* Names the profile of a run, so that no two processes ever write the same file:
 *
 *   x.py.lprof         the profile of a single process
 *   x.py.rank3.lprof   the profile of one of several processes that mpirun, srun or torchrun has started
 *   x.py-4711.lprof    with the process's number, while another process uses the name above
 *
 * Live files are named in liverun.c, those of forked children included. */
#ifndef CLP_NAMING_H
#define CLP_NAMING_H

#include "base/buf.h"
#include <stdbool.h>
#include <stdint.h>

/* Appends ".rank3", or ".rank3.restart1" when torchrun has started the process again; nothing without a rank. */
void clp_naming_add_rank(struct clp_buf *name);

/* Appends the value of -o, with {rank}, {restart}, {host} and {pid} replaced. If this process has a rank and the value
 * has no {rank}, ".rank3" is inserted before the last ending of the whole name. */
void clp_naming_add_pattern(struct clp_buf *name, const char *pattern);

/* Changes the name x.lprof to x-4711.lprof with this process's number, or to x-4711-2.lprof and so on, so that neither
 * a file of that name nor its live file exists. After a thousand names a random number is added. */
void clp_naming_make_own(struct clp_buf *name);

/* Sets `name` to that of the file at `path`, in the temporary folder, with this process's number: clp_naming_make_own. */
void clp_naming_make_temporary(struct clp_buf *name, const char *folder, const char *path);

/* The path relative to the working directory if it lies below; else the path as it is. Points into `path`. */
const char *clp_naming_seen_from_here(const char *path);

/* Locks the folder of this path against other processes of clineprof that look for files in it and then change them.
 * Returns a descriptor, which is to be closed; -1 when another process has the lock (with `patient` after waiting two
 * seconds for it), when the folder may not be opened, or when the file system (NFS for one) has no such locks. */
int clp_naming_lock(const char *path, bool patient);

/* Describes the file at a path, to find out later whether it was written. */
struct clp_naming_mark {
    uint64_t inode;         /* 0: no regular file is there */
    int64_t seconds, nanos; /* time of the last change */
};

struct clp_naming_mark clp_naming_look(const char *path);

/* Has a file been written at the path since the mark was taken? */
bool clp_naming_has_changed(const struct clp_naming_mark *mark, const char *path);

/* Identifies a run of several processes. It is part of the names of their files, so that they find each other's. */
struct clp_run_id {
    uint64_t pid;   /* number of the first process, for people */
    uint64_t token; /* a random number; 0: this is no run of several processes */
};

struct clp_run_id clp_run_id_new(void);

/* Appends an id as text, "4711-9f3c2a1b5d7e". */
void clp_run_id_add(struct clp_buf *out, struct clp_run_id id);

/* Reads an id from text. False when the text is none; *id is then unchanged. */
bool clp_run_id_parse(const char *text, struct clp_run_id *id);

#endif
