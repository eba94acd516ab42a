/* SPDX-License-Identifier: MIT */
#include "emulated.h"
#include "os/proc.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

Test(proc, parses_rollup)
{
    static const char text[] = "55e0-7ffd ---p 00000000 00:00 0     [rollup]\n"
                               "Rss:               18960 kB\nPss:               17418 kB\n"
                               "Pss_Dirty:         12076 kB\nPss_Anon:           3884 kB\n"
                               "Shared_Clean:       1720 kB\nPrivate_Clean:      5164 kB\n"
                               "Private_Dirty:     12076 kB\nAnonymous:          3884 kB\n"
                               "Private_Hugetlb:       8 kB\nSwapPss:              99 kB\n";
    struct clp_resident now = {0};

    cr_assert(clp_proc_parse_rollup(text, CLP_MEMORY_USS, &now));
    cr_assert_eq(now.resident, 18960 * 1024);
    cr_assert_eq(now.shared, (18960 - 3884) * 1024);
    cr_assert_eq(now.counted, (5164 + 12076 + 8) * 1024);
    cr_assert(clp_proc_parse_rollup(text, CLP_MEMORY_PSS, &now));
    cr_assert_eq(now.counted, 17418 * 1024);
}

Test(proc, refuses_what_is_not_rollup)
{
    static const char *const texts[] = {
        "", "\n", "Rss:\n", "Rss: 1 kB\nPss: 1 kB\nPrivate_Clean: 1 kB\n",
        "Rss: 1 kB\nPss: 1 kB\nAnonymous: 1 kB\n", "Rss 1 kB\nPss: 1\nAnonymous: kB\nPrivate_",
        "Rss: 1 kB\nPss: 1 kB\nAnonymous: 1 kB\nPrivate_Clean: x kB\n",
        "Rss: 1 kB\nPss: 1 kB\nAnonymous: 1 kB\nPrivate_Clean: 1 kB",
    };
    struct clp_resident now = {1, 2, 3, 4};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        cr_assert_not(clp_proc_parse_rollup(texts[i], CLP_MEMORY_PSS, &now), "'%s'", texts[i]);
    cr_assert(now.resident == 1 && now.shared == 2 && now.counted == 3);
}

Test(proc, kinds_have_names)
{
    for (unsigned mode = 0; mode < CLP_MEMORY_MODES; mode++)
        cr_expect_eq(clp_memory_named(clp_memory_name((enum clp_memory)mode)), mode);
    cr_expect_eq(clp_memory_named("ANON"), CLP_MEMORY_ANON);
    cr_expect_eq(clp_memory_named("anonymous"), CLP_MEMORY_MODES);
    cr_expect_eq(clp_memory_named(""), CLP_MEMORY_MODES);
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

    cr_assert_eq(clp_proc_open(&proc, CLP_MEMORY_RSS), CLP_OK);
    struct clp_proc_check check = clp_proc_check(&proc, &clock);
    uint64_t room = check.exact ? 0 : check.step * 64; /* held back per processor */
    touch(&proc, sizes); /* the first time, the code itself is paged in */
    touch(&proc, sizes);
    cr_assert_leq(sizes[1] - sizes[0], BLOCK + room);
    cr_assert_geq(sizes[1] - sizes[0] + room, BLOCK);
    cr_assert_leq(sizes[2], sizes[0] + room);
    clp_proc_close(&proc);
}

#define LARGE ((size_t)32 << 20)

/* Anonymous memory counts in every kind, a file's pages in all but one. */
Test(proc, kinds_count_what_they_say)
{
    static const struct { enum clp_memory mode; bool file; } kinds[] = {
        {CLP_MEMORY_RSS, true}, {CLP_MEMORY_ANON, false}, {CLP_MEMORY_USS, true},
        {CLP_MEMORY_PSS, true}};
    char name[] = "/tmp/test_procXXXXXX";
    int file = mkstemp(name);
    const double slack = 4 << 20; /* other tests are forks that share pages, and end */

    cr_assert(file >= 0 && unlink(name) == 0 && ftruncate(file, LARGE) == 0);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct clp_proc proc;
        struct clp_resident now[3];
        cr_assert_eq(clp_proc_open(&proc, kinds[i].mode), CLP_OK);
        char *block =
            mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char *filed = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        cr_assert(block != MAP_FAILED && filed != MAP_FAILED);
        cr_assert_eq(clp_proc_read(&proc, &now[0]), CLP_OK);
        memset(block, 1, LARGE);
        cr_assert_eq(clp_proc_read(&proc, &now[1]), CLP_OK);
        memset(filed, 1, LARGE);
        cr_assert_eq(clp_proc_read(&proc, &now[2]), CLP_OK);
        cr_expect_float_eq((double)now[1].counted - (double)now[0].counted, (double)LARGE, slack);
        cr_expect_float_eq((double)now[2].counted - (double)now[1].counted,
                           kinds[i].file ? (double)LARGE : 0, slack, "%s",
                           clp_memory_name(kinds[i].mode));
        munmap(block, LARGE);
        munmap(filed, LARGE);
        clp_proc_close(&proc);
    }
    close(file);
}

/* Kernels that keep changes back, as they look from here: in steps, late, or not at all. */
static uint64_t fake_step;

static clp_status read_in_steps(const struct clp_proc *proc, struct clp_resident *now)
{
    if (clp_proc_read(proc, now) != CLP_OK)
        return CLP_IO;
    now->counted = fake_step != 0 ? now->counted / fake_step * fake_step : 0;
    return CLP_OK;
}

Test(proc, an_inexact_counter_is_recognised)
{
    struct clp_clock clock = clp_clock_start();
    struct clp_proc proc;

    cr_assert_eq(clp_proc_open(&proc, CLP_MEMORY_RSS), CLP_OK);
    for (uint64_t pages = 4; pages <= 32; pages *= 2) {
        fake_step = pages * proc.page_bytes;
        struct clp_proc_check check = clp_proc_check_by(read_in_steps, &proc, &clock);
        cr_expect_not(check.exact);
        cr_expect_eq(check.step, fake_step, "%lu", (unsigned long)check.step);
    }
    fake_step = 0; /* it never moves: coarser than all that is touched */
    struct clp_proc_check check = clp_proc_check_by(read_in_steps, &proc, &clock);
    cr_expect(!check.exact && check.step >= 48 * proc.page_bytes);
    clp_proc_close(&proc);
}

/* With pss each process that begins to share a page, or ends, changes the counter of the others by part of a page. */
static clp_status read_shared(const struct clp_proc *proc, struct clp_resident *now)
{
    static uint64_t reads;

    if (clp_proc_read(proc, now) != CLP_OK)
        return CLP_IO;
    now->counted += reads++ / 21 * 2048;
    return CLP_OK;
}

Test(proc, an_exact_counter_is_recognised_although_others_change_it_now_and_then)
{
    struct clp_clock clock = clp_clock_start();
    struct clp_proc proc;

    cr_assert_eq(clp_proc_open(&proc, CLP_MEMORY_RSS), CLP_OK);
    bool exact = clp_proc_check(&proc, &clock).exact;
    cr_expect_eq(clp_proc_check_by(read_shared, &proc, &clock).exact, exact);
    clp_proc_close(&proc);
}

Test(proc, a_page_fault_is_a_page_at_least)
{
    struct clp_proc proc;

    cr_assert_eq(clp_proc_open(&proc, CLP_MEMORY_RSS), CLP_OK);
    uint64_t huge = clp_proc_huge_page();
    cr_expect_geq(clp_proc_fault_bytes(), proc.page_bytes);
    cr_expect(huge == 0 || clp_proc_fault_bytes() < huge);
    clp_proc_close(&proc);
}

Test(proc, the_check_is_consistent)
{
    struct clp_clock clock = clp_clock_start();
    struct clp_proc proc;

    cr_assert_eq(clp_proc_open(&proc, CLP_MEMORY_RSS), CLP_OK);
    struct clp_proc_check check = clp_proc_check(&proc, &clock);
    cr_assert_eq(check.step % proc.page_bytes, 0);
    cr_assert(!check.exact || check.step == proc.page_bytes);
    clp_proc_close(&proc);
}

/* Where a tick is 40 ns long, many pages are released in one. So parts of ticks are told. */
Test(proc, the_check_finds_what_changes_take)
{
    struct clp_clock clock = clp_clock_start();
    struct clp_proc proc;
    bool parts = false;

    test_skip_if_emulated();
    cr_assert_eq(clp_proc_open(&proc, CLP_MEMORY_RSS), CLP_OK);
    for (int i = 0; i < 16; i++) {
        struct clp_proc_check check =
            clp_proc_check_by(i % 2 != 0 ? read_in_steps : clp_proc_read, &proc, &clock);
        cr_expect(check.change_ticks > 0 && check.release_ticks > 0);
        parts = parts || check.release_ticks != (double)(uint64_t)check.release_ticks;
    }
    cr_expect(parts);
    clp_proc_close(&proc);
}

/* Pages of addresses in use. */
static long addresses(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;

    cr_assert_not_null(file);
    cr_assert_eq(fscanf(file, "%ld", &pages), 1);
    fclose(file);
    return pages;
}

Test(proc, trying_again_changes_nothing)
{
    struct clp_clock clock = clp_clock_start();
    struct clp_proc proc;
    struct clp_proc_check check = {0};

    test_skip_if_emulated();
#ifdef __SANITIZE_ADDRESS__
    cr_skip_test("the sanitizer's own memory grows");
#endif
    cr_assert_eq(clp_proc_open(&proc, CLP_MEMORY_RSS), CLP_OK);
    clp_proc_check_again(&proc, &clock, &check); /* its own code comes into memory */
    long mapped = addresses();
    uint64_t before = resident(&proc);
    errno = ERANGE;
    for (int i = 0; i < 50; i++) {
        check = (struct clp_proc_check){.change_ticks = UINT64_MAX, .release_ticks = 1e18};
        clp_proc_check_again(&proc, &clock, &check);
        cr_assert(check.change_ticks < 1e9 && check.release_ticks < 1e9, "a slow start is not mended");
    }
    cr_expect_eq(errno, ERANGE);
    cr_expect_lt(resident(&proc) - before + proc.page_bytes, 3 * proc.page_bytes);
    cr_expect_eq(addresses(), mapped);
    clp_proc_close(&proc);
}

Test(proc, what_was_quicker_is_kept)
{
    struct clp_proc_check quick = {.change_ticks = 1, .release_ticks = 1e-9};
    struct clp_clock clock = clp_clock_start();
    struct clp_proc proc;

    cr_assert_eq(clp_proc_open(&proc, CLP_MEMORY_RSS), CLP_OK);
    clp_proc_check_again(&proc, &clock, &quick);
    cr_expect(quick.change_ticks == 1 && quick.release_ticks == 1e-9);
    clp_proc_close(&proc);
}

Test(proc, reading_leaves_errno_and_memory_alone)
{
    struct clp_proc proc;

#ifdef __SANITIZE_ADDRESS__
    cr_skip_test("the sanitizer's own memory grows");
#endif
    cr_assert_eq(clp_proc_open(&proc, CLP_MEMORY_RSS), CLP_OK);
    errno = ERANGE;
    uint64_t first = resident(&proc);
    for (int i = 0; i < 10000; i++)
        (void)resident(&proc);
    cr_assert_eq(errno, ERANGE);
    cr_assert_leq(resident(&proc), first + 256 * 1024, "10,000 reads took memory");
    clp_proc_close(&proc);
}

static double wall(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

Test(proc, the_start_stands_behind_any_name)
{
    cr_expect_eq(clp_proc_parse_start("7 (a) b) 1 (c) S 1 7 7 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 4711 99 1"),
                 4711);
    cr_expect_eq(clp_proc_parse_start("7 (a) S 1 7"), 0);
    cr_expect_eq(clp_proc_parse_start(""), 0);
}

Test(proc, a_process_that_was_killed_is_ending)
{
    const char *runs = "7 (a) b) 1 (c) S 1 7 7 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 4711 99 1 9 1 1 0 0 0 2 4 4096";
    const char *killed = "7 (a) R 1 7 7 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 4711 99 1 9 1 1 0 0 0 258 4 4096";
    const char *exits = "7 (a) R 1 7 7 0 -1 68 1 2 3 4 5 6 7 8 20 0 1 0 4711 99 1 9 1 1 0 0 0 2 4 4096";

    cr_expect(!clp_proc_parse_ending(runs));
    cr_expect(clp_proc_parse_ending(killed));
    cr_expect(clp_proc_parse_ending(exits));
    cr_expect(clp_proc_parse_ending(""));
    cr_expect(!clp_proc_is_ending((uint64_t)getpid()));
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    siginfo_t info;
    cr_assert_eq(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    cr_expect(clp_proc_is_ending((uint64_t)child), "a process that nobody has waited for");
    cr_assert_eq(waitpid(child, NULL, 0), child);
    cr_expect(clp_proc_is_ending((uint64_t)child), "a process that is gone");
}

Test(proc, knows_when_the_process_began)
{
    double before = wall(), began;
    int ends[2];

    test_skip_if_emulated();
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        began = clp_proc_began();
        _exit(write(ends[1], &began, sizeof began) != sizeof began);
    }
    cr_assert_eq(read(ends[0], &began, sizeof began), (ssize_t)sizeof began);
    cr_assert_eq(waitpid(child, NULL, 0), child);
    cr_expect(began > before - 0.02 && began < wall() + 0.02, "%f is not from %f on", began, before);
}

Test(proc, a_failed_read_changes_nothing)
{
    struct clp_proc proc;
    struct clp_resident now = {.resident = 1, .shared = 2, .counted = 3};

    cr_assert_eq(clp_proc_open(&proc, CLP_MEMORY_RSS), CLP_OK);
    clp_proc_close(&proc);
    clp_proc_close(&proc); /* twice does no harm */
    errno = ERANGE;
    cr_assert_eq(clp_proc_read(&proc, &now), CLP_IO);
    cr_assert_eq(errno, ERANGE);
    cr_assert_eq(now.resident, 1);
    cr_assert_eq(now.shared, 2);
    cr_assert_eq(now.counted, 3);
    cr_assert_eq(clp_proc_open(&proc, CLP_MEMORY_USS), CLP_OK);
    clp_proc_close(&proc);
    cr_assert_eq(clp_proc_read(&proc, &now), CLP_IO);
    cr_assert_eq(now.counted, 3);
}
