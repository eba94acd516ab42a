/* SPDX-License-Identifier: MIT */
#include "os/io.h"
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static const char text[] = "rchar: 11\nwchar: 18446744073709551615\nsyscr: 1\nsyscw: 2\nread_bytes: 0\nwrite_bytes: 4096\n"
                           "cancelled_write_bytes: 5\n";

Test(io, parses)
{
    struct clp_io io;

    cr_assert(clp_io_parse(text, &io));
    cr_expect_eq(io.read, 11);
    cr_expect_eq(io.written, UINT64_MAX);
    cr_expect_eq(io.disk_read, 0);
    cr_expect_eq(io.disk_written, 4096);
    cr_expect_eq(io.text, sizeof text - 1);
}

Test(io, refuses_what_is_not_that)
{
    static const char *const texts[] = {"", "rchar: 1\n", "rchar: x\nwchar: 1\nread_bytes: 1\nwrite_bytes: 1\n",
                                        "wchar: 1\nrchar: 1\nread_bytes: 1\nwrite_bytes: 1\n",
                                        "rchar: 1\nwchar: 1\nread_bytes: 1\ncancelled_write_bytes: 1\n"};
    struct clp_io io = {.read = 7};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        cr_expect_not(clp_io_parse(texts[i], &io), "'%s'", texts[i]);
    cr_expect_eq(io.read, 7);
}

static void read_exactly(struct clp_io_file *file)
{
    struct clp_io before, after;
    char bytes[1000];

    if (!clp_io_read(file, &before))
        cr_skip_test("/proc/thread-self/io cannot be read");
    int zero = open("/dev/zero", O_RDONLY);
    cr_assert_eq(read(zero, bytes, sizeof bytes), 1000);
    close(zero);
    cr_assert(clp_io_read(file, &after));
    cr_expect_eq(after.read - before.read, 1000 + before.text);
}

static void *read_in_thread(void *file)
{
    read_exactly(file);
    return NULL;
}

/* The descriptor stays one, and goes from thread to thread. */
Test(io, counts_the_thread_that_calls)
{
    struct clp_io_file file = {.file = -1};
    pthread_t thread;

    read_exactly(&file);
    int first = file.file;
    cr_assert_eq(pthread_create(&thread, NULL, read_in_thread, &file), 0);
    pthread_join(thread, NULL);
    read_exactly(&file);
    cr_expect_eq(file.file, first);
    clp_io_close(&file);
    cr_expect_eq(file.file, -1);
    cr_expect_eq(fcntl(first, F_GETFD), -1);
}

/* A program may close what it has not opened, and then gets the number for a file of its own. */
Test(io, leaves_another_file_under_its_number_alone)
{
    struct clp_io_file file = {.file = -1};
    struct clp_io io;

    read_exactly(&file);
    int number = file.file;
    int mine = open("/dev/zero", O_RDONLY);
    cr_assert_eq(dup2(mine, number), number);
    cr_assert(clp_io_read(&file, &io));
    cr_expect_neq(file.file, number);
    clp_io_close(&file);
    cr_expect_neq(fcntl(number, F_GETFD), -1);
    close(mine);
    close(number);
}
