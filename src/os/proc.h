/* SPDX-License-Identifier: MIT */
/* The process's own memory as the kernel counts it. The file under /proc is kept open and read with pread,
 * without allocating. A read of statm takes 0.25 microseconds. A read of smaps_rollup takes 5, and 1,000 with
 * 512 MiB resident, because the kernel walks the page tables. */
#ifndef CLP_PROC_H
#define CLP_PROC_H

#include "clock.h"
#include "base/buf.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which memory of the process is counted, and its name in options and files.
 *   rss    resident memory
 *   anon   resident memory without files and shared memory
 *   uss    resident memory that no other process has mapped
 *   pss    uss, and an equal part of each page that several processes have mapped
 *   tree   resident memory of the process and its descendants; here of the process alone (for the others see
 *          processes.h) */
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

/* CLP_MEMORY_MODES: there is no mode of this name. Upper and lower case are the same. */
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
    size_t text;       /* how many bytes were read to find this out */
};

/* What the self-check found. */
struct clp_proc_check {
    bool exact;           /* every touched page was seen at once */
    uint64_t step;        /* bytes by which the counter moves, when not exact */
    uint64_t change_ticks; /* the quickest change of one page: touching it, or giving it back */
    double release_ticks; /* for each page, when many are given back at once; it can be less than a tick */
};

/* The file under /proc that tells this kind of memory. */
const char *clp_proc_file(enum clp_memory mode);

/* CLP_IO when /proc is not there; proc is then closed. */
clp_status clp_proc_open(struct clp_proc *proc, enum clp_memory mode);
void clp_proc_close(struct clp_proc *proc);

/* Reads the sizes now. CLP_IO leaves *now as it was. Never allocates. */
clp_status clp_proc_read(const struct clp_proc *proc, struct clp_resident *now);

/* Touches a few dozen fresh pages one at a time and looks whether the counter follows. On kernels 6.2 to
 * 6.16-rc5 it does not: they collect changes for each processor. */
struct clp_proc_check clp_proc_check(const struct clp_proc *proc, const struct clp_clock *clock);

/* Measures the ticks again while the program runs, and keeps what is quicker: the machine may have been slow at the
 * start. Takes 0.2 ms; the program's memory is then as before. */
void clp_proc_check_again(const struct clp_proc *proc, const struct clp_clock *clock,
                          struct clp_proc_check *check);

/* For tests: clp_proc_check with sizes from `read` instead of the kernel. */
typedef clp_status clp_proc_reading(const struct clp_proc *proc, struct clp_resident *now);
struct clp_proc_check clp_proc_check_by(clp_proc_reading *read, const struct clp_proc *proc,
                                        const struct clp_clock *clock);

/* Bytes of a huge page, which large allocations may get: one page fault brings in all of it. 0 where there
 * are none; 2 MiB where the system does not tell. */
uint64_t clp_proc_huge_page(void);

/* The most bytes that any other page fault for memory without a file brings in: a page, or several where huge
 * pages of smaller sizes are enabled. */
uint64_t clp_proc_fault_bytes(void);

/* Does the process of this number have the file mapped as shared and writable? True as well where the process
 * exists and the system does not tell. */
bool clp_proc_maps(uint64_t pid, const char *path);

/* Appends the path of the first file whose name ends so and that the process has mapped as shared and writable. A
 * process with a file system of its own has the file below /proc/PID/root. Returns 0 or errno, ENOENT when there is no
 * such file, and ESRCH when there is no such process. */
int clp_proc_add_mapped(uint64_t pid, const char *ending, struct clp_buf *path);

/* Clock ticks (_SC_CLK_TCK) from the start of the machine to the start of the process. `process` is "self",
 * or a number in the pid namespace that /proc shows. 0 when unknown. */
uint64_t clp_proc_start(const char *process);

/* Parses what clp_proc_start returns from the text of /proc/PID/stat; 0 when it is not that. */
uint64_t clp_proc_parse_start(const char *text);

/* Has the process of this number ended, or is it about to end, as it was killed? False for one that runs. */
bool clp_proc_is_ending(uint64_t pid);

/* Parses what clp_proc_is_ending returns from the text of /proc/PID/stat; true when it is not that, as there is no such
 * process then. */
bool clp_proc_parse_ending(const char *text);

/* Seconds since 1970 when this process began, to a hundredth; 0 when unknown. */
double clp_proc_began(void);

/* A text that names this start of the machine; "" when unknown. */
void clp_proc_boot(char *text, size_t room);

/* Parses the text of statm, "size resident shared ..", in pages. False when it is not that. */
bool clp_proc_parse(const char *text, uint64_t *resident_pages, uint64_t *shared_pages);

/* Parses the text of smaps_rollup; `counted` is by the mode. False when it is not that; *now is then as it
 * was. */
bool clp_proc_parse_rollup(const char *text, enum clp_memory mode, struct clp_resident *now);

#endif
