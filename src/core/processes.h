/* SPDX-License-Identifier: MIT */
/* How large other processes are, and which of them descend from one. Nothing here allocates, and no
 * descriptor stays open: a helper thread may call it at any moment. */
#ifndef CLP_PROCESSES_H
#define CLP_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum clp_size_kind {
    CLP_SIZE_RSS, /* resident: what mprof and ps show */
    CLP_SIZE_PSS, /* shared pages divided among those who have them */
    CLP_SIZE_USS  /* private pages only */
};

/* Bytes of the process, 0 being this one. PSS and USS take the kernel a millisecond for each half
 * gigabyte. 0 or errno; ESRCH when it is gone or only waits to be collected by its parent. *bytes is
 * written on success only. */
int clp_processes_size(uint32_t pid, enum clp_size_kind kind, uint64_t *bytes);

struct clp_process {
    uint32_t pid, parent;
};

/* Fills list with what descends from the process (children, their children ..), at most `room`; how
 * many they are. */
size_t clp_processes_below(uint32_t pid, struct clp_process *list, size_t room);

/* The same from a look at every process there is, for kernels that do not tell children by process. */
size_t clp_processes_scan(uint32_t pid, struct clp_process *list, size_t room);

/* ---- texts of the system, as pure functions ---- */

/* The parent in the text of /proc/PID/stat, whose second field may hold anything, brackets too. */
bool clp_processes_parse_parent(const char *text, uint32_t *parent);

/* A size in the text of smaps_rollup, in bytes. */
bool clp_processes_parse_rollup(const char *text, enum clp_size_kind kind, uint64_t *bytes);

#endif
