/* SPDX-License-Identifier: MIT */
#include "os/processes.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK ((size_t)8 << 20)

Test(processes, parses_the_processor_time)
{
    cr_expect_eq(clp_processes_parse_time("7 (a) b) 1 (c) S 1 7 7 0 -1 64 1 2 3 4 5 60 700 8000 20 0 1 0 4711"), 8765);
    cr_expect_eq(clp_processes_parse_time("7 (a) S 1 7 7 0 -1 64 1 2 3 4 5 60 700"), 0);
    cr_expect_eq(clp_processes_parse_time(""), 0);
}

Test(processes, parses_the_parent)
{
    uint32_t parent = 0;

    cr_assert(clp_processes_parse_parent("12 (sh) S 7 12 12 0", &parent));
    cr_assert_eq(parent, 7);
    cr_assert(clp_processes_parse_parent("12 (a) S 3 (b) R 9 1", &parent));
    cr_assert_eq(parent, 9);
    cr_assert_not(clp_processes_parse_parent("", &parent));
    cr_assert_not(clp_processes_parse_parent("12 sh S 7", &parent));
    cr_assert_not(clp_processes_parse_parent("12 (sh) S x", &parent));
    cr_assert_not(clp_processes_parse_parent("12 (sh)", &parent));
}

/* A child that has BLOCK bytes and a child of its own; both wait to be killed. */
static pid_t start_family(pid_t *grandchild)
{
    int ready[2];

    cr_assert_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        memset(mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1,
               BLOCK);
        pid_t inner = fork();
        if (inner != 0)
            (void)!write(ready[1], &inner, sizeof inner);
        for (;;)
            pause();
    }
    cr_assert_eq(read(ready[0], grandchild, sizeof *grandchild), sizeof *grandchild);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void end_family(pid_t child, pid_t grandchild)
{
    kill(grandchild, SIGKILL);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

Test(processes, sizes_of_this_one_and_another)
{
    pid_t grandchild;
    pid_t child = start_family(&grandchild);
    uint64_t own = 0, others = 0, bytes = 0;

    cr_assert_eq(clp_processes_size(0, CLP_MEMORY_RSS, &own), 0);
    cr_assert_eq(clp_processes_size((uint32_t)child, CLP_MEMORY_RSS, &others), 0);
    cr_assert_gt(own, 1 << 18);
    cr_assert_geq(others, BLOCK);
    cr_assert_lt(others, 4 * BLOCK + own);
    for (int mode = CLP_MEMORY_ANON; mode < CLP_MEMORY_MODES; mode++) {
        cr_assert_eq(clp_processes_size((uint32_t)child, (enum clp_memory)mode, &bytes), 0);
        cr_assert_leq(bytes, others);
        cr_assert(mode != CLP_MEMORY_ANON || bytes >= BLOCK);
    }
    kill(child, SIGKILL);
    siginfo_t about;
    waitid(P_PID, (id_t)child, &about, WEXITED | WNOWAIT); /* it still waits to be collected */
    cr_assert_eq(clp_processes_size((uint32_t)child, CLP_MEMORY_RSS, &bytes), ESRCH);
    cr_assert_eq(clp_processes_size((uint32_t)child, CLP_MEMORY_PSS, &bytes), ESRCH);
    end_family(child, grandchild);
    cr_assert_eq(clp_processes_size(INT_MAX, CLP_MEMORY_RSS, &bytes), ESRCH);
}

static bool has(const struct clp_process *list, size_t count, pid_t pid, pid_t parent)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].pid == (uint32_t)pid && list[i].parent == (uint32_t)parent)
            return true;
    return false;
}

static void check_family(size_t (*find)(uint32_t pid, struct clp_process *list, size_t room))
{
    struct clp_process list[64];
    pid_t grandchild;
    pid_t child = start_family(&grandchild);

    size_t count = find(0, list, 64);
    cr_assert_eq(count, 2);
    cr_assert(has(list, count, grandchild, child));
    cr_assert_eq(list[0].pid, (uint32_t)child);
    cr_assert_eq(find((uint32_t)getpid(), list, 64), 2);
    cr_assert_eq(find(0, list, 1), 1);
    cr_assert_eq(find((uint32_t)grandchild, list, 64), 0);
    end_family(child, grandchild);
    cr_assert_eq(find((uint32_t)child, list, 64), 0);
}

Test(processes, finds_children_and_theirs)
{
    check_family(clp_processes_below);
}

Test(processes, a_scan_finds_the_same)
{
    check_family(clp_processes_scan);
}
