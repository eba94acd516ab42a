/* SPDX-License-Identifier: MIT */
/* Every test works in a folder of its own, which the end of the test removes. */
#include "os/file.h"
#include "folder.h"
#include "helpers.h"
#include "os/pages.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static struct test_mem test;
static struct clp_buf buf;
static struct clp_fault fault;

static void set_up(void)
{
    clp_buf_init(&buf, test_mem_init(&test, 0));
    test_folder_enter();
    umask(022);
}

static void tear_down(void)
{
    clp_buf_clear(&buf);
    test_mem_check_empty(&test);
    test_folder_remove();
}

TestSuite(file, .init = set_up, .fini = tear_down);

/* ---- helpers ---- */

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

static void check_holds(const char *path, const char *text)
{
    char bytes[256] = {0};
    FILE *file = fopen(path, "r");

    cr_assert_not_null(file, "%s is not there", path);
    bytes[fread(bytes, 1, sizeof bytes - 1, file)] = 0;
    fclose(file);
    cr_assert_str_eq(bytes, text);
}

static int count_entries(const char *path)
{
    DIR *entries = opendir(path);
    int count = -2; /* . and .. */

    cr_assert_not_null(entries);
    while (readdir(entries) != NULL)
        count++;
    closedir(entries);
    return count;
}

static mode_t mode_of(const char *path)
{
    struct stat about;

    cr_assert_eq(lstat(path, &about), 0);
    return about.st_mode & 0777;
}

static clp_status write_bytes(const char *path, const char *bytes, size_t count)
{
    return clp_file_write(path, &(struct clp_file_content){bytes, count, 0666}, &fault);
}

static clp_status write_text(const char *path, const char *text)
{
    return write_bytes(path, text, strlen(text));
}

/* Both the write and the probe before it must say the same. */
static void check_refused(const char *path, int os_error)
{
    cr_expect_eq(clp_file_probe(path, &fault), CLP_IO, "probe of %s", path);
    cr_expect_eq(fault.os_error, os_error, "%s: %s", path, strerror(fault.os_error));
    cr_expect_eq(write_text(path, "new"), CLP_IO, "write to %s", path);
    cr_expect_eq(fault.status, CLP_IO);
    cr_expect_eq(fault.os_error, os_error, "%s: %s", path, strerror(fault.os_error));
}

static bool cleans_before_renaming;

/* In place of the C library's: another run may clean up at the last moment, when all is written. */
int rename(const char *from, const char *to)
{
    if (cleans_before_renaming)
        clp_file_clean(to);
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

/* ---- opening ---- */

Test(file, what_is_opened_for_writing_is_not_standard_error)
{
    int input = dup(0), error = dup(2);

    close(0);
    close(2);
    int fd = clp_file_open("a", O_WRONLY | O_CREAT, 0600), next = open("/", O_RDONLY);
    bool lost = write(2, "rubbish", 7) < 0;
    close(next);
    dup2(input, 0);
    dup2(error, 2);
    cr_expect_gt(fd, 2);
    cr_expect_eq(next, 0, "the numbers below are free again");
    cr_expect(lost);
    cr_expect_eq(clp_file_open("b/c", O_WRONLY, 0), -1);
    cr_expect_eq(errno, ENOENT);
}

/* ---- reading ---- */

Test(file, reads_all_and_appends)
{
    put("a", "text");
    clp_buf_add_text(&buf, "before ");
    cr_assert_eq(clp_file_read("a", 100, &buf, &fault), CLP_OK);
    cr_assert_str_eq(clp_buf_text(&buf), "before text");
}

Test(file, reads_an_empty_file)
{
    put("a", "");
    cr_assert_eq(clp_file_read("a", 0, &buf, &fault), CLP_OK);
    cr_assert_eq(buf.used, 0);
}

Test(file, reads_files_larger_than_its_chunk)
{
    FILE *file = fopen("a", "w");

    for (int i = 0; i < 100000; i++)
        fprintf(file, "%06d\n", i);
    fclose(file);
    cr_assert_eq(clp_file_read("a", 700000, &buf, &fault), CLP_OK);
    cr_assert_eq(buf.used, 700000);
    for (int i = 0; i < 100000; i++)
        cr_assert_eq(atoi(buf.bytes + 7 * i), i);
}

Test(file, reads_no_more_than_the_limit)
{
    put("a", "12345");
    cr_assert_eq(clp_file_read("a", 5, &buf, &fault), CLP_OK);
    cr_assert_eq(clp_file_read("a", 4, &buf, &fault), CLP_TOO_LARGE);
    cr_assert_eq(clp_file_read("/dev/zero", 1000000, &buf, &fault), CLP_TOO_LARGE);
    cr_assert_eq(fault.status, CLP_TOO_LARGE);
}

Test(file, says_why_it_cannot_read)
{
    cr_assert_eq(clp_file_read("missing", 100, &buf, &fault), CLP_IO);
    cr_assert_eq(fault.os_error, ENOENT);
    cr_assert_eq(clp_file_read(".", 100, &buf, &fault), CLP_IO);
    cr_assert_eq(fault.os_error, EISDIR);
    put("a", "text");
    test.fail_at = test.calls + 1;
    cr_assert_eq(clp_file_read("a", 100, &buf, &fault), CLP_NO_MEMORY);
    cr_assert_eq(fault.status, CLP_NO_MEMORY);
}

/* ---- writing ---- */

Test(file, writes_a_new_file_as_the_umask_says)
{
    umask(027);
    cr_assert_eq(write_text("a", "new"), CLP_OK);
    check_holds("a", "new");
    cr_assert_eq(mode_of("a"), 0640);
    cr_assert_eq(count_entries("."), 1);
}

Test(file, replaces_a_file_and_keeps_its_permissions)
{
    put("a", "a longer text than the new one");
    cr_assert_eq(chmod("a", 0604), 0);
    cr_assert_eq(write_text("a", "new"), CLP_OK);
    check_holds("a", "new");
    cr_assert_eq(mode_of("a"), 0604);
    cr_assert_eq(count_entries("."), 1);
}

Test(file, has_no_more_rights_than_it_is_given)
{
    const struct clp_file_content content = {"new", 3, 0640};

    umask(0);
    cr_assert_eq(clp_file_write("a", &content, &fault), CLP_OK);
    cr_expect_eq(mode_of("a"), 0640);
    cr_assert_eq(chmod("a", 0606), 0);
    cr_assert_eq(clp_file_write("a", &content, &fault), CLP_OK);
    cr_expect_eq(mode_of("a"), 0600, "what the file that was there had, and what it is given");
}

Test(file, what_is_made_of_a_file_has_its_rights)
{
    static const mode_t modes[][2] = {{0644, 0644}, {0755, 0644}, {0600, 0600}, {0400, 0600}, {0464, 0664}};

    put("a", "");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        cr_assert_eq(chmod("a", modes[i][0]), 0);
        cr_expect_eq(clp_file_rights("a"), modes[i][1], "of mode %o", modes[i][0]);
    }
    cr_expect_eq(clp_file_rights("missing"), 0600);
    cr_expect_eq(clp_file_rights("/dev/null"), 0600);
    cr_expect_eq(clp_file_rights(NULL), 0600);
}

/* As teams have them: what is made in it has the folder's group, not ours. */
static void make_team(void)
{
    if (geteuid() != 0)
        cr_skip_test("a folder of another group needs root");
    cr_assert_eq(mkdir("team", 0700), 0);
    cr_assert_eq(chown("team", 0, NOBODY), 0);
    cr_assert_eq(chmod("team", 02775), 0);
    umask(0);
}

Test(file, a_folders_own_group_gets_what_everybody_has)
{
    static const mode_t modes[][2] = {{0640, 0600}, {0660, 0600}, {0644, 0644}, {0664, 0644}, {0666, 0666}};

    make_team();
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        const struct clp_file_content content = {"new", 3, modes[i][0]};
        cr_assert_eq(clp_file_write("team/a", &content, &fault), CLP_OK);
        cr_expect_eq(mode_of("team/a"), modes[i][1], "%o: %o", modes[i][0], mode_of("team/a"));
        cr_assert_eq(unlink("team/a"), 0);
    }
}

Test(file, nor_may_it_read_along)
{
    struct clp_pages pages = {.rights = 0640};
    struct clp_mem mem = clp_mem_system();

    make_team();
    cr_assert_eq(clp_pages_open(&pages, &mem, "team/a.live", &fault), CLP_OK);
    cr_expect_eq(mode_of("team/a.live"), 0600);
    clp_pages_close(&pages);
    cr_assert_eq(clp_pages_open(&pages, &mem, "b.live", &fault), CLP_OK);
    cr_expect_eq(mode_of("b.live"), 0640);
    clp_pages_close(&pages);
}

/* What a writer that was killed leaves; its lock went with it. */
static void leave_temporary(void)
{
    pid_t child = fork();

    if (child == 0) {
        char large[100000] = {0};
        struct rlimit limit = {50000, 50000};
        signal(SIGXFSZ, SIG_DFL); /* kills it in the middle of the file */
        setrlimit(RLIMIT_FSIZE, &limit);
        (void)write_bytes("a", large, sizeof large);
        _exit(1);
    }
    cr_assert_eq(waitpid(child, NULL, 0), child);
}

Test(file, what_a_killed_writer_left_is_cleaned)
{
    leave_temporary();
    cr_assert_eq(count_entries("."), 1, "half a file");
    clp_file_clean("b");
    cr_expect_eq(count_entries("."), 1, "of another path");
    clp_file_clean("a");
    cr_expect_eq(count_entries("."), 0);
}

Test(file, what_is_about_to_be_renamed_is_not_cleaned)
{
    cleans_before_renaming = true;
    cr_expect_eq(write_text("a", "new"), CLP_OK, "%s", strerror(fault.os_error));
    cleans_before_renaming = false;
    check_holds("a", "new");
}

/* A reader that has the old file open keeps it: the new one was renamed over it. */
Test(file, replaces_at_once)
{
    char old[8] = {0};

    put("a", "old");
    FILE *reader = fopen("a", "r");
    cr_assert_eq(write_text("a", "new"), CLP_OK);
    cr_assert_eq(fread(old, 1, sizeof old, reader), 3);
    cr_assert_str_eq(old, "old");
    fclose(reader);
}

Test(file, writes_zero_bytes)
{
    cr_assert_eq(write_bytes("a", "\0b\0", 3), CLP_OK);
    cr_assert_eq(clp_file_read("a", 3, &buf, &fault), CLP_OK);
    cr_assert_eq(memcmp(buf.bytes, "\0b\0", 3), 0);
    cr_assert_eq(write_bytes("a", NULL, 0), CLP_OK);
    check_holds("a", "");
}

Test(file, follows_links_and_leaves_them)
{
    cr_assert_eq(mkdir("there", 0755), 0);
    put("there/real", "old");
    cr_assert_eq(symlink("real", "there/second"), 0);
    cr_assert_eq(symlink("there/second", "first"), 0);
    cr_assert_eq(symlink("there/not_yet", "dangling"), 0);
    cr_assert_eq(write_text("first", "new"), CLP_OK);
    cr_assert_eq(write_text("dangling", "fresh"), CLP_OK);
    check_holds("there/real", "new");
    check_holds("there/not_yet", "fresh");
    struct stat about;
    cr_assert(lstat("first", &about) == 0 && S_ISLNK(about.st_mode));
    cr_assert(lstat("there/second", &about) == 0 && S_ISLNK(about.st_mode));
    cr_assert(lstat("dangling", &about) == 0 && S_ISLNK(about.st_mode));
    cr_assert_eq(count_entries("there"), 3);
}

Test(file, an_absolute_link_is_followed)
{
    char target[PATH_MAX];

    snprintf(target, sizeof target, "%s/real", test_folder);
    cr_assert_eq(mkdir("links", 0755), 0);
    cr_assert_eq(symlink(target, "links/link"), 0);
    cr_assert_eq(write_text("links/link", "new"), CLP_OK);
    check_holds("real", "new");
}

Test(file, refuses_with_the_systems_reason)
{
    char name[300];

    cr_assert_eq(mkdir("there", 0755), 0);
    put("plain", "old");
    cr_assert_eq(symlink("loop", "loop"), 0);
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = 0;
    check_refused("", ENOENT);
    check_refused("missing/a", ENOENT);
    check_refused("missing/", ENOENT);
    check_refused("there", EISDIR);
    check_refused("there/", EISDIR);
    check_refused("plain/a", ENOTDIR);
    check_refused("loop", ELOOP);
    check_refused(name, ENAMETOOLONG);
    check_holds("plain", "old");
    cr_assert_eq(count_entries("."), 3);
    cr_assert_eq(count_entries("there"), 0);
}

/* Root may write everywhere, so a test is somebody else for a moment: to be refused, and wherever
 * it writes outside its folder, so that no fault in what it tests can replace a device. */
static bool become_nobody(void)
{
    bool was_root = geteuid() == 0;

    cr_assert(!was_root || seteuid(NOBODY) == 0);
    return was_root;
}

static void become_again(bool root)
{
    cr_assert(!root || seteuid(0) == 0);
}

static void check_refused_to_nobody(const char *path, int os_error)
{
    bool was_root = become_nobody();

    check_refused(path, os_error);
    become_again(was_root);
}

Test(file, refuses_where_permission_is_missing)
{
    cr_assert_eq(chmod(test_folder, 0755), 0);
    cr_assert_eq(mkdir("closed", 0555), 0);
    put("closed.lprof", "old");
    cr_assert_eq(chmod("closed.lprof", 0444), 0);
    check_refused_to_nobody("closed/a", EACCES);
    check_refused_to_nobody("closed.lprof", EACCES);
    check_holds("closed.lprof", "old");
}

Test(file, refuses_where_no_file_can_be_made)
{
    cr_assert_eq(clp_file_probe("/proc/self/a.lprof", &fault), CLP_IO);
    cr_assert_neq(fault.os_error, 0);
    cr_assert_eq(write_text("/proc/self/a.lprof", "new"), CLP_IO);
}

Test(file, probing_leaves_nothing)
{
    put("a", "old");
    cr_assert_eq(clp_file_probe("a", &fault), CLP_OK);
    cr_assert_eq(clp_file_probe("b", &fault), CLP_OK);
    check_holds("a", "old");
    cr_assert_eq(count_entries("."), 1);
}

/* The system takes half of it, then no more. */
Test(file, a_failed_write_leaves_the_old_file)
{
    struct rlimit before, limit;
    char *large = calloc(100000, 1);

    put("a", "old");
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 50000;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    clp_status status = write_bytes("a", large, 100000);
    int os_error = fault.os_error;
    setenv("TMPDIR", test_folder, 1);
    clp_status second = clp_file_write_temporary("b-XXXXXX.lprof", large, 100000, &buf, &fault);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    cr_assert_eq(status, CLP_IO);
    cr_assert_eq(os_error, EFBIG);
    cr_assert_eq(second, CLP_IO);
    cr_assert_eq(fault.os_error, EFBIG);
    check_holds("a", "old");
    cr_assert_eq(count_entries("."), 1, "a temporary file was left");
    free(large);
}

/* ---- other users ---- */

Test(file, another_users_link_or_pipe_is_refused)
{
    if (geteuid() != 0)
        cr_skip_test("links of other users need root");
    put("mine", "precious");
    cr_assert_eq(symlink("mine", "link"), 0);
    cr_assert_eq(lchown("link", NOBODY, NOBODY), 0);
    cr_assert_eq(symlink("link", "own"), 0);
    cr_assert_eq(mkfifo("pipe", 0666), 0);
    cr_assert_eq(chown("pipe", NOBODY, NOBODY), 0);
    int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    static const char *const paths[] = {"link", "own", "pipe"};
    for (size_t i = 0; i < 3; i++) {
        cr_expect_eq(write_text(paths[i], "new"), CLP_IO);
        cr_expect_eq(fault.os_error, EPERM);
        cr_expect(strstr(clp_fault_text(&fault), "another user's") != NULL);
        cr_expect_eq(clp_file_probe(paths[i], &fault), CLP_IO);
    }
    check_holds("mine", "precious");
    close(reader);
}

/* ---- things that are no plain files ---- */

Test(file, a_full_device_is_a_failure)
{
    bool was_root = become_nobody();

    cr_expect_eq(clp_file_probe("/dev/null", &fault), CLP_OK);
    cr_expect_eq(write_text("/dev/null", "new"), CLP_OK);
    cr_expect_eq(write_text("/dev/full", "new"), CLP_IO);
    cr_expect_eq(fault.os_error, ENOSPC);
    become_again(was_root);
}

Test(file, a_pipe_that_nobody_reads_is_refused_at_once)
{
    cr_assert_eq(mkfifo("pipe", 0600), 0);
    cr_expect_eq(write_text("pipe", "new"), CLP_IO);
    cr_expect_eq(fault.os_error, ENXIO);
    cr_expect_str_eq(clp_fault_text(&fault), "nobody reads it");
}

static void ignore(int signal_number)
{
    (void)signal_number;
}

/* Reads the pipe slowly and byte by byte at first; exits with 0 when it got what was sent. */
static int read_slowly(const char *path, size_t count)
{
    int fd = open(path, O_RDONLY);
    unsigned char byte;

    for (size_t i = 0; i < count; i++) {
        if (i < 200)
            usleep(1000);
        if (read(fd, &byte, 1) != 1 || byte != (unsigned char)(i * 7))
            return 1;
    }
    return read(fd, &byte, 1) != 0;
}

/* A timer interrupts the writes, so that they end early or with EINTR. */
Test(file, writes_a_pipe_as_it_is_through_interruptions)
{
    enum { COUNT = 200000 };
    static unsigned char bytes[COUNT];
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = ignore};
    int result;

    for (size_t i = 0; i < COUNT; i++)
        bytes[i] = (unsigned char)(i * 7);
    cr_assert_eq(mkfifo("pipe", 0600), 0);
    pid_t reader = fork();
    if (reader == 0)
        _exit(read_slowly("pipe", COUNT));
    int keep_open = open("pipe", O_RDWR); /* lets open() succeed at once, without the timer */
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    clp_status status = write_bytes("pipe", (const char *)bytes, COUNT);
    setitimer(ITIMER_REAL, &never, NULL);
    close(keep_open);
    cr_assert_eq(status, CLP_OK);
    cr_assert_eq(waitpid(reader, &result, 0), reader);
    cr_assert_eq(result, 0);
    struct stat about;
    cr_assert(stat("pipe", &about) == 0 && S_ISFIFO(about.st_mode), "the pipe was replaced");
}

Test(file, reads_a_pipe_to_its_end_through_interruptions)
{
    struct sigaction action = {.sa_handler = ignore};

    sigaction(SIGALRM, &action, NULL);
    cr_assert_eq(mkfifo("pipe", 0600), 0);
    pid_t reader = getpid(), writer = fork();
    if (writer == 0) {
        int fd = open("pipe", O_WRONLY);
        ssize_t put = write(fd, "one ", 4);
        for (int i = 0; i < 20; i++) {
            usleep(1000);
            kill(reader, SIGALRM);
        }
        put += write(fd, "two", 3);
        _exit(put != 7);
    }
    cr_assert_eq(clp_file_read("pipe", 100, &buf, &fault), CLP_OK, "%s",
                 strerror(fault.os_error));
    cr_assert_str_eq(clp_buf_text(&buf), "one two");
    cr_assert_eq(waitpid(writer, NULL, 0), writer);
}

/* Standard output that goes to a file: renaming over that file would lose what the program itself
 * prints. The link is made as /dev/stdout is, but in the test's folder: root could replace that. */
Test(file, standard_output_is_appended_to)
{
    cr_assert_eq(symlink("/proc/self/fd/1", "stdout"), 0);
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0) {
            int fd = open("all", O_WRONLY | O_CREAT | O_TRUNC, 0600);
            dup2(fd, 1);
            bool good = write(1, "before ", 7) == 7;
            good = good && write_text(i == 0 ? "stdout" : "/dev/fd/1", "new") == CLP_OK;
            lseek(1, 0, SEEK_END);
            good = good && write(1, " after", 6) == 6;
            _exit(!good);
        }
        int result;
        cr_assert_eq(waitpid(child, &result, 0), child);
        cr_assert_eq(result, 0);
        check_holds("all", "before new after");
    }
}

/* ---- the last resort ---- */

Test(file, temporary_files_are_fresh_private_and_named)
{
    char first[PATH_MAX];

    setenv("TMPDIR", test_folder, 1);
    cr_assert_eq(clp_file_write_temporary("demo-XXXXXX.lprof", "one", 3, &buf, &fault), CLP_OK);
    snprintf(first, sizeof first, "%s", clp_buf_text(&buf));
    clp_buf_clear(&buf);
    cr_assert_eq(clp_file_write_temporary("demo-XXXXXX.lprof", "two", 3, &buf, &fault), CLP_OK);
    check_holds(first, "one");
    check_holds(clp_buf_text(&buf), "two");
    cr_assert_eq(mode_of(first), 0600);
    cr_assert_eq(strncmp(first, test_folder, strlen(test_folder)), 0);
    cr_assert_eq(strncmp(first + strlen(test_folder), "/demo-", 6), 0);
    cr_assert_str_eq(first + strlen(first) - 6, ".lprof");
    cr_assert_eq(strlen(first), strlen(test_folder) + strlen("/demo-XXXXXX.lprof"));
}

Test(file, a_bad_tmpdir_falls_back_to_tmp)
{
    setenv("TMPDIR", "/nonexistent", 1);
    cr_assert_eq(clp_file_write_temporary("clineprof-test-XXXXXX.lprof", "one", 3, &buf, &fault), CLP_OK);
    cr_assert_eq(strncmp(clp_buf_text(&buf), "/tmp/clineprof-test-", 20), 0);
    check_holds(clp_buf_text(&buf), "one");
    unlink(clp_buf_text(&buf));
}

Test(file, a_relative_tmpdir_is_no_temporary_folder)
{
    setenv("TMPDIR", test_folder, 1);
    cr_assert_str_eq(clp_file_temporary_folder(0), test_folder);
    cr_assert_str_eq(clp_file_temporary_folder(1), "/tmp");
    cr_assert_null(clp_file_temporary_folder(2));
    setenv("TMPDIR", "tmp", 1);
    cr_assert_str_eq(clp_file_temporary_folder(0), "/tmp");
    cr_assert_null(clp_file_temporary_folder(1));
}

Test(file, a_temporary_file_nobody_could_find_is_removed)
{
    setenv("TMPDIR", test_folder, 1);
    test.fail_at = 1;
    cr_assert_eq(clp_file_write_temporary("demo-XXXXXX.lprof", "one", 3, &buf, &fault), CLP_NO_MEMORY);
    cr_assert_eq(count_entries("."), 0);
}
