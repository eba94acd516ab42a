/* SPDX-License-Identifier: MIT */
/* The process's own memory as the kernel counts it. /proc/self/statm is kept open and read with
 * pread: 0.25 microseconds, no allocation. */
#ifndef CLP_PROC_H
#define CLP_PROC_H

#include "clock.h"
#include "status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clp_proc {
    int file; /* of /proc/self/statm; -1 when closed */
    uint64_t page_bytes;
};

struct clp_resident {
    uint64_t resident; /* bytes */
    uint64_t shared;   /* bytes of it that are file or shared memory */
};

/* What the self-check found. */
struct clp_proc_check {
    bool exact;           /* every touched page was seen at once */
    uint64_t step;        /* bytes by which the counter moves, when not exact */
    uint64_t change_ticks; /* the quickest way to change it: touching a page, or giving one back */
};

/* CLP_IO when /proc is not there; proc is then closed. */
clp_status clp_proc_open(struct clp_proc *proc);
void clp_proc_close(struct clp_proc *proc);

/* Reads both sizes now. CLP_IO leaves *now as it was. Never allocates. */
clp_status clp_proc_read(const struct clp_proc *proc, struct clp_resident *now);

/* The largest resident size the process ever had, in bytes; 0 when unknown. */
uint64_t clp_proc_peak(void);

/* Touches a few dozen fresh pages one at a time and looks whether the counter follows. Kernels 6.2
 * to 6.16-rc5 keep changes back per processor and do not. */
struct clp_proc_check clp_proc_check(const struct clp_proc *proc, const struct clp_clock *clock);

/* Is there a process of that number that has this file mapped to write to it? Where the system will
 * not tell, a process of that number is taken for the one. */
bool clp_proc_maps(uint64_t pid, const char *path);

/* A text that names this start of the machine; "" when unknown. */
void clp_proc_boot(char *text, size_t room);

/* Parses the text of statm, "size resident shared ..", in pages. False when it is not that. */
bool clp_proc_parse(const char *text, uint64_t *resident_pages, uint64_t *shared_pages);

#endif
