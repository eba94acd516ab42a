/* SPDX-License-Identifier: MIT */
/* Real processes hold real locks; every test works in a folder of its own. */
#include "os/identity.h"
#include "os/filelock.h"
#include "folder.h"
#include "helpers.h"
#include "os/pages.h"
#include "os/proc.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(identity, .init = test_folder_enter, .fini = test_folder_remove);

static void end(pid_t child)
{
    kill(child, SIGKILL);
    cr_assert_eq(waitpid(child, NULL, 0), child);
}

/* A child that has the file "x" mapped and locked, its descriptor closed, and waits to be killed. It tells
 * whether the lock is still there. */
static pid_t hold(void)
{
    int ready[2];
    char locked;

    cr_assert_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        int file = open("x", O_RDWR | O_CREAT | O_EXCL, 0600);
        bool good = ftruncate(file, 4096) == 0 && clp_filelock_take(file) &&
                    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) != MAP_FAILED;
        close(file);
        locked = clp_filelock_is_held_at("x");
        _exit(good && write(ready[1], &locked, 1) == 1 ? pause() : 1);
    }
    close(ready[1]);
    cr_assert_eq(read(ready[0], &locked, 1), 1, "the child ended early");
    close(ready[0]);
    if (!locked) {
        end(child);
        cr_skip_test("on this file system locks end with their descriptor");
    }
    return child;
}

Test(identity, a_lock_lasts_as_long_as_its_file_is_mapped)
{
    pid_t child = hold();

    cr_expect(clp_filelock_is_held_at("x"));
    int file = open("x", O_RDWR);
    cr_expect(!clp_filelock_take(file));
    end(child);
    cr_expect(!clp_filelock_is_held_at("x"));
    cr_expect(clp_filelock_take(file));
    cr_expect(clp_filelock_is_held_at("x"), "by us");
    close(file);
    cr_expect(!clp_filelock_is_held_at("x"));
    cr_expect(!clp_filelock_is_held_at("missing"));
}

Test(identity, who_may_only_read_cannot_pretend_to_have_it)
{
    pid_t child = hold();

    end(child);
    int reader = open("x", O_RDONLY);
    struct flock whole = {.l_type = F_RDLCK};
    cr_expect(!clp_filelock_take(reader));
    cr_assert_eq(fcntl(reader, F_OFD_SETLK, &whole), 0);
    cr_expect(!clp_filelock_is_held_at("x"));
    close(reader);
}

/* A process seen from another PID namespace has another number, so the lock tells whether it lives. */
Test(identity, a_lock_tells_across_pid_namespaces)
{
    pid_t child = hold();
    struct clp_identity who;

    clp_identity_here(&who);
    who.pid = 1;
    who.pid_namespace++;
    cr_expect_eq(clp_identity_life(&who, "x", true), CLP_LIFE_RUNS);
    cr_expect_eq(clp_identity_life(&who, "x", false), CLP_LIFE_UNKNOWN, "where there are no locks");
    end(child);
    cr_expect_eq(clp_identity_life(&who, "x", true), CLP_LIFE_ENDED);
    cr_expect_eq(clp_identity_life(&who, "x", false), CLP_LIFE_UNKNOWN);
}

/* Numbers are used again, here by this very process. */
Test(identity, a_number_alone_is_no_process)
{
    struct clp_identity who;
    pid_t child = hold();
    char number[16];

    snprintf(number, sizeof number, "%d", (int)child);
    clp_identity_here(&who);
    who.pid = (uint64_t)child;
    who.start = clp_proc_start(number);
    cr_expect_eq(clp_identity_life(&who, "x", false), CLP_LIFE_RUNS);
    who.start--;
    cr_expect_eq(clp_identity_life(&who, "x", false), CLP_LIFE_ENDED, "another one has the number now");
    who.start++;
    end(child);
    cr_expect_eq(clp_identity_life(&who, "x", false), CLP_LIFE_ENDED);
}

Test(identity, before_the_machine_was_started_again_everything_has_ended)
{
    struct clp_identity who;

    cr_assert_eq(system("touch x"), 0);
    clp_identity_here(&who);
    who.boot[0] ^= 1;
    cr_expect_eq(clp_identity_life(&who, "x", true), CLP_LIFE_ENDED);
    cr_expect_eq(clp_identity_life(&who, "x", false), CLP_LIFE_ENDED);
    cr_expect_eq(clp_identity_life(&who, "/proc/self/stat", true), CLP_LIFE_UNKNOWN,
                 "a file system that is not known to be this machine's alone");
}

Test(identity, is_this_process)
{
    struct clp_identity me, again;

    clp_identity_here(&me);
    cr_expect_eq(me.pid, (uint64_t)getpid());
    cr_expect(me.start != 0 && me.pid_namespace != 0 && me.boot[0] != 0 && me.host[0] != 0);
    clp_identity_here(&again);
    cr_expect_eq(memcmp(&me, &again, sizeof me), 0);
    cr_expect_neq(clp_identity_token(), clp_identity_token());
}

Test(identity, a_fork_is_another_one)
{
    uint64_t before = clp_identity_self();

    cr_expect_eq(before, clp_identity_self());
    pid_t child = fork();
    if (child == 0) /* the upper half changes where the number is the parent's */
        _exit(clp_identity_self() >> 32 == before >> 32);
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0);
    cr_expect_eq(before, clp_identity_self());
}

/* ---- the lock of a file of pages ---- */

static bool held_by_another(void)
{
    pid_t child = fork();

    if (child == 0)
        _exit(clp_filelock_is_held_at("pages"));
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WEXITSTATUS(status) != 0;
}

Test(identity, pages_are_locked_from_the_beginning_until_they_are_given_back)
{
    struct clp_pages pages = {0};
    struct clp_mem mem = clp_mem_system();
    struct clp_fault fault;
    size_t one, two;

    end(hold()); /* skips where there are no such locks */
    cr_assert_eq(clp_pages_open(&pages, &mem, "pages", &fault), CLP_OK);
    cr_expect(held_by_another(), "nothing is mapped yet");
    void *first = clp_pages_map(&pages, 1, &one);
    cr_expect(pages.locked && held_by_another());
    void *second = clp_pages_map(&pages, 1, &two);
    clp_pages_unmap(&pages, second, two);
    cr_expect(held_by_another());
    clp_pages_unmap(&pages, first, one);
    cr_expect(!clp_filelock_is_held_at("pages"));
    clp_pages_close(&pages);
    cr_expect_eq(mem.bytes, 0);
}
