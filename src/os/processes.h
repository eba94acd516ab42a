/* SPDX-License-Identifier: MIT */
/* Sizes of other processes, and the descendants of a process. Nothing here allocates, and no descriptor stays
 * open, so a helper may call it at any moment. */
#ifndef CLP_PROCESSES_H
#define CLP_PROCESSES_H

#include "proc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sets *bytes to the size of the process by this mode, which is not CLP_MEMORY_OFF. pid 0 is this process.
 * Returns 0 or errno, ESRCH when the process is gone or a zombie; *bytes is then unchanged. */
int clp_processes_size(uint32_t pid, enum clp_memory mode, uint64_t *bytes);

/* Resident bytes of this process's descendants, of 256 at most. */
uint64_t clp_processes_resident_below(void);

/* Processor time in seconds of this process's descendants that still run, of 256 at most, and of what these have waited
 * for. */
double clp_processes_time_below(void);

struct clp_process {
    uint32_t pid, parent;
};

/* Fills list with the descendants of the process (children, their children ..), at most `room` of them.
 * Returns how many. pid 0 is this process. */
size_t clp_processes_below(uint32_t pid, struct clp_process *list, size_t room);

/* As clp_processes_below, but looks at every process, for kernels that do not list a process's children. */
size_t clp_processes_scan(uint32_t pid, struct clp_process *list, size_t room);

/* Clock ticks (_SC_CLK_TCK) of processor time that a process and the processes that it has waited for took, by the text
 * of /proc/PID/stat. 0 when it is not that. */
uint64_t clp_processes_parse_time(const char *text);

/* The parent in the text of /proc/PID/stat, whose second field may hold anything, brackets too. */
bool clp_processes_parse_parent(const char *text, uint32_t *parent);

#endif
