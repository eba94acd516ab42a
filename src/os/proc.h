/* SPDX-License-Identifier: MIT */
/* The process's own memory as the kernel counts it. The file under /proc is kept open and read with
 * pread, without allocating: statm in 0.25 microseconds; smaps_rollup, for which the kernel walks
 * the page tables, in 5 and, with 512 MiB resident, in 1,000. */
#ifndef CLP_PROC_H
#define CLP_PROC_H

#include "clock.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What of the process's memory is looked at, and the name of that in options and files.
 *   rss    what is resident
 *   anon   without what is of files or shared memory
 *   uss    what no other process has
 *   pss    the same, and of what several have, each its part
 *   tree   what is resident of it and of all that descends from it: here of it alone, for the others see
 *          processes.h */
#define CLP_MEMORY_TABLE(X) \
    X(OFF, "off")           \
    X(RSS, "rss")           \
    X(ANON, "anon")         \
    X(USS, "uss")           \
    X(PSS, "pss")           \
    X(TREE, "tree")

#define CLP_MEMORY_NAME(mode, name) CLP_MEMORY_##mode,
enum clp_memory { CLP_MEMORY_TABLE(CLP_MEMORY_NAME) CLP_MEMORY_MODES };
#undef CLP_MEMORY_NAME

/* CLP_MEMORY_MODES where there is none of the name. */
enum clp_memory clp_memory_named(const char *name);
const char *clp_memory_name(enum clp_memory mode);

struct clp_proc {
    int file; /* -1 when closed */
    enum clp_memory mode;
    uint64_t page_bytes;
};

struct clp_resident {
    uint64_t resident; /* bytes */
    uint64_t shared;   /* bytes of it that are file or shared memory */
    uint64_t counted;  /* bytes by the mode that the file was opened for */
};

/* What the self-check found. */
struct clp_proc_check {
    bool exact;           /* every touched page was seen at once */
    uint64_t step;        /* bytes by which the counter moves, when not exact */
    uint64_t change_ticks; /* the quickest way to change it: touching a page, or giving one back */
    uint64_t release_ticks; /* of a page that is given back with many others */
};

/* CLP_IO when /proc is not there; proc is then closed. */
clp_status clp_proc_open(struct clp_proc *proc, enum clp_memory mode);
void clp_proc_close(struct clp_proc *proc);

/* Reads the sizes now. CLP_IO leaves *now as it was. Never allocates. */
clp_status clp_proc_read(const struct clp_proc *proc, struct clp_resident *now);

/* Touches a few dozen fresh pages one at a time and looks whether the counter follows. Kernels 6.2
 * to 6.16-rc5 keep changes back per processor and do not. */
struct clp_proc_check clp_proc_check(const struct clp_proc *proc, const struct clp_clock *clock);

/* The quickest of some changes now, as change_ticks: 40 microseconds, in the midst of a program whose
 * memory is then what it was. UINT64_MAX: there is no memory for it. */
uint64_t clp_proc_quickest_change(const struct clp_proc *proc, const struct clp_clock *clock);

/* clp_proc_check by what `read` says of memory in place of the kernel, for tests. */
typedef clp_status clp_proc_reading(const struct clp_proc *proc, struct clp_resident *now);
struct clp_proc_check clp_proc_check_by(clp_proc_reading *read, const struct clp_proc *proc,
                                        const struct clp_clock *clock);

/* Bytes of a huge page, as large allocations may get them here: one page fault for all of it. 0 where
 * there are none; 2 MiB where the system does not tell. */
uint64_t clp_proc_huge_page(void);

/* The most that any other page fault for memory without a file brings in: a page, or several where the
 * kernel is told to. */
uint64_t clp_proc_fault_bytes(void);

/* Is there a process of that number that has this file mapped to write to it? Where the system will
 * not tell, a process of that number is taken for the one. */
bool clp_proc_maps(uint64_t pid, const char *path);

/* Ticks of the system from the start of the machine to that of the process: "self", or a number in the pid
 * namespace that /proc shows. 0 when unknown. */
uint64_t clp_proc_start(const char *process);

/* What clp_proc_start tells, from the text of /proc/PID/stat; 0 when it is not that. */
uint64_t clp_proc_parse_start(const char *text);

/* Seconds since 1970 when this process began, to a hundredth; 0 when unknown. */
double clp_proc_began(void);

/* A text that names this start of the machine; "" when unknown. */
void clp_proc_boot(char *text, size_t room);

/* Parses the text of statm, "size resident shared ..", in pages. False when it is not that. */
bool clp_proc_parse(const char *text, uint64_t *resident_pages, uint64_t *shared_pages);

/* Parses the text of smaps_rollup into all but the mode's `counted`, and what that is by the mode.
 * False, and *now as it was, when it is not that. */
bool clp_proc_parse_rollup(const char *text, enum clp_memory mode, struct clp_resident *now);

#endif
