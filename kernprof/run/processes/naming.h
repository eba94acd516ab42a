/* SPDX-License-Identifier: MIT */
/* What a run's profile is called, so that no two processes ever write the same file:
 *
 *   x.py.lprof         a run by itself
 *   x.py.rank3.lprof   one of several that mpirun, srun or torchrun has started
 *   x.py-4711.lprof    while another process makes the name above: this one's number is added */
#ifndef CLP_NAMING_H
#define CLP_NAMING_H

#include "base/buf.h"
#include <stdbool.h>
#include <stdint.h>

/* "3", by the variables that launchers set: borrowed from the environment; NULL: there is no rank. */
const char *clp_naming_rank(void);

/* ".rank3", and ".rank3.restart1" when torchrun has started it again; nothing without a rank. */
void clp_naming_add_rank(struct clp_buf *name);

/* -o FILE: with {rank}, {restart}, {host} and {pid} filled in. A rank that FILE does not ask for is put
 * before its last ending. */
void clp_naming_add_pattern(struct clp_buf *name, const char *pattern);

/* Makes x.lprof x-4711.lprof, or x-4711-2.lprof and so on, a name that no file has, nor a live file. After a
 * thousand of them it is a random one. */
void clp_naming_make_own(struct clp_buf *name);

/* The path as it is seen from the working directory. */
const char *clp_naming_seen_from_here(const char *path);

/* A lock on the folder of this path, by which those exclude each other who look for files there and then
 * change them. A descriptor to be closed; -1: somebody else has it, for two seconds when `patient`; or
 * there is no right to it; or the file system, NFS for one, has no such locks. */
int clp_naming_lock(const char *path, bool patient);

/* What is at a path, to be compared later. */
struct clp_naming_mark {
    uint64_t inode;
    int64_t seconds, nanos; /* of its last change */
};

struct clp_naming_mark clp_naming_look(const char *path);

/* Has somebody written there since? */
bool clp_naming_has_changed(const struct clp_naming_mark *mark, const char *path);

/* Identifies one run of several processes. It is part of the names of their files, by which they know each
 * other's. */
struct clp_run_id {
    uint64_t pid;   /* of the process that it began with, for people */
    uint64_t token; /* 0: there is no such program */
};

struct clp_run_id clp_run_id_new(void);

/* "4711-9f3c2a1b5d7e", and back; false: it is none. */
void clp_run_id_add(struct clp_buf *out, struct clp_run_id id);
bool clp_run_id_parse(const char *text, struct clp_run_id *id);

#endif
