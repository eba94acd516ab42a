/* SPDX-License-Identifier: MIT */
/* How large other processes are, and which of them descend from one. Nothing here allocates, and no
 * descriptor stays open: a helper thread may call it at any moment. */
#ifndef CLP_PROCESSES_H
#define CLP_PROCESSES_H

#include "proc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the process by this mode, which is not CLP_MEMORY_OFF; 0 is this process. 0 or errno; ESRCH
 * when it is gone or only waits to be collected by its parent. *bytes is written on success only. */
int clp_processes_size(uint32_t pid, enum clp_memory mode, uint64_t *bytes);

/* What is resident of all that descends from this process, of 256 processes at most. */
uint64_t clp_processes_resident_below(void);

struct clp_process {
    uint32_t pid, parent;
};

/* Fills list with what descends from the process (children, their children ..), at most `room`; how
 * many they are. */
size_t clp_processes_below(uint32_t pid, struct clp_process *list, size_t room);

/* Finds what clp_processes_below does by a look at every process there is, for kernels that do not tell children
 * by process. */
size_t clp_processes_scan(uint32_t pid, struct clp_process *list, size_t room);

/* The parent in the text of /proc/PID/stat, whose second field may hold anything, brackets too. */
bool clp_processes_parse_parent(const char *text, uint32_t *parent);

#endif
