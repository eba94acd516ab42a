/* SPDX-License-Identifier: MIT */
#include "proc.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCK ((size_t)4 << 20)

static uint64_t resident(const struct clp_proc *proc)
{
    struct clp_resident now = {0};

    cr_assert_eq(clp_proc_read(proc, &now), CLP_OK);
    return now.resident;
}

Test(proc, parses_statm)
{
    uint64_t pages = 0, shared = 0;

    cr_assert(clp_proc_parse("3200 1425 900 3 0 410 0\n", &pages, &shared));
    cr_assert_eq(pages, 1425);
    cr_assert_eq(shared, 900);
    cr_assert(clp_proc_parse("0 0 0", &pages, &shared));
    cr_assert_eq(pages, 0);
    cr_assert(clp_proc_parse("1 18446744073709551615 2 ", &pages, &shared));
    cr_assert_eq(pages, UINT64_MAX);
}

Test(proc, refuses_what_is_not_statm)
{
    static const char *const texts[] = {
        "", " ", "\n", "1", "1 ", "1 2", "1 2 ", "1 2 x", "x 2 3", "1 x 3", " 1 2 3", "1  2 3",
        "1\t2\t3", "-1 2 3", "1 -2 3", "1 2 -3", "+1 2 3", "1,2,3", "1.5 2 3", "Name:\tpython",
    };
    uint64_t pages, shared;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        cr_assert_not(clp_proc_parse(texts[i], &pages, &shared), "'%s'", texts[i]);
}

/* Touches BLOCK fresh bytes; the resident size before, with them, and after they are gone. */
static void touch(const struct clp_proc *proc, uint64_t sizes[3])
{
    char *block = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    cr_assert_neq(block, MAP_FAILED);
    sizes[0] = resident(proc);
    memset(block, 1, BLOCK);
    sizes[1] = resident(proc);
    munmap(block, BLOCK);
    sizes[2] = resident(proc);
}

Test(proc, sees_memory_come_and_go)
{
    struct clp_clock clock = clp_clock_start();
    struct clp_proc proc;
    uint64_t sizes[3];

    cr_assert_eq(clp_proc_open(&proc), CLP_OK);
    struct clp_proc_check check = clp_proc_check(&proc, &clock);
    uint64_t room = check.exact ? 0 : check.step * 64; /* held back per processor */
    touch(&proc, sizes); /* the first time, the code itself is paged in */
    touch(&proc, sizes);
    cr_assert_leq(sizes[1] - sizes[0], BLOCK + room);
    cr_assert_geq(sizes[1] - sizes[0] + room, BLOCK);
    cr_assert_leq(sizes[2], sizes[0] + room);
    cr_assert_geq(clp_proc_peak() + room + (1 << 20), sizes[1]); /* counted more roughly */
    clp_proc_close(&proc);
}

Test(proc, the_check_is_consistent)
{
    struct clp_clock clock = clp_clock_start();
    struct clp_proc proc;

    cr_assert_eq(clp_proc_open(&proc), CLP_OK);
    struct clp_proc_check check = clp_proc_check(&proc, &clock);
    cr_assert_gt(check.change_ticks, 0);
    cr_assert_eq(check.step % proc.page_bytes, 0);
    cr_assert(!check.exact || check.step == proc.page_bytes);
    clp_proc_close(&proc);
}

Test(proc, reading_leaves_errno_and_memory_alone)
{
    struct clp_proc proc;

    cr_assert_eq(clp_proc_open(&proc), CLP_OK);
    errno = ERANGE;
    uint64_t first = resident(&proc);
    for (int i = 0; i < 10000; i++)
        (void)resident(&proc);
    cr_assert_eq(errno, ERANGE);
    cr_assert_leq(resident(&proc), first + 256 * 1024, "10,000 reads took memory");
    clp_proc_close(&proc);
}

Test(proc, a_failed_read_changes_nothing)
{
    struct clp_proc proc;
    struct clp_resident now = {.resident = 1, .shared = 2};

    cr_assert_eq(clp_proc_open(&proc), CLP_OK);
    clp_proc_close(&proc);
    clp_proc_close(&proc); /* twice does no harm */
    errno = ERANGE;
    cr_assert_eq(clp_proc_read(&proc, &now), CLP_IO);
    cr_assert_eq(errno, ERANGE);
    cr_assert_eq(now.resident, 1);
    cr_assert_eq(now.shared, 2);
}
