/* SPDX-License-Identifier: MIT */
#include "emulated.h"
#include "os/pages.h"
#include "folder.h"
#include "os/proc.h"
#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

Test(pages, come_zeroed_in_whole_pages_and_are_counted)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), mapped = 0, more = 0;
    struct clp_pages pages = {0};
    unsigned char *one = clp_pages_map(&pages, 1, &mapped);
    unsigned char *two = clp_pages_map(&pages, 3 * page + 1, &more);

    cr_assert_not_null(one);
    cr_assert_not_null(two);
    cr_assert_eq(mapped, page);
    cr_assert_eq(more, 4 * page);
    cr_assert_eq(pages.bytes, 5 * page);
    for (size_t i = 0; i < more; i++)
        cr_assert_eq(two[i], 0);
    clp_pages_unmap(&pages, one, mapped);
    cr_assert_eq(pages.bytes, 4 * page);
    clp_pages_unmap(&pages, two, more);
    cr_assert_eq(pages.bytes, 0);
}

/* Where the kernel's counter is exact, mapping shows at once and writing adds no more to it. (Under
 * valgrind it adds what valgrind needs to watch it, a quarter.) */
Test(pages, are_resident_from_the_first_moment)
{
    enum { BYTES = 4 << 20 };
    struct clp_clock clock = clp_clock_start();
    struct clp_pages pages = {0};
    struct clp_resident before = {0}, mapped_now = {0}, written = {0};
    struct clp_proc proc;
    size_t mapped;

    test_skip_if_emulated();
    cr_assert_eq(clp_proc_open(&proc, CLP_MEMORY_RSS), CLP_OK);
    bool exact = clp_proc_check(&proc, &clock).exact;
    (void)clp_proc_read(&proc, &before);
    unsigned char *block = clp_pages_map(&pages, BYTES, &mapped);
    cr_assert_not_null(block);
    (void)clp_proc_read(&proc, &mapped_now);
    for (size_t i = 0; i < mapped; i += 64)
        block[i] = 1;
    (void)clp_proc_read(&proc, &written);
    clp_pages_unmap(&pages, block, mapped);
    clp_proc_close(&proc);
    if (!exact)
        return;
    cr_assert_geq(mapped_now.resident - before.resident, mapped);
    cr_assert_lt(written.resident - mapped_now.resident, mapped / 2);
}

/* A block from before the file moves into it at its address, and out of it when the file is closed. */
Test(pages, move_into_a_file_and_out_again, .init = test_folder_enter, .fini = test_folder_remove)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_pages pages = {0};
    struct clp_fault fault;
    size_t mapped;
    char *block = clp_pages_map(&pages, 5000, &mapped), inside[16] = "";

    strcpy(block, "early");
    cr_assert(!clp_pages_adopt(&pages, block, mapped), "there is no file");
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(clp_pages_open(&pages, &mem, "pages", &fault), CLP_OK);
        cr_assert(clp_pages_adopt(&pages, block, mapped));
        strcat(block, "!");
        int file = open("pages", O_RDONLY);
        cr_assert_eq(read(file, inside, sizeof inside), (ssize_t)sizeof inside);
        cr_assert_str_eq(inside, i == 0 ? "early!" : "early!?!");
        clp_pages_close(&pages);
        cr_assert_eq(pages.bytes, mapped);
        cr_assert_eq(pages.filed, 0);
        strcat(block, "?");
        cr_assert_eq(pread(file, inside, sizeof inside, 0), (ssize_t)sizeof inside);
        cr_assert_str_eq(inside, i == 0 ? "early!" : "early!?!");
        close(file);
        unlink("pages");
    }
    cr_assert_str_eq(block, "early!?!?");
    clp_pages_unmap(&pages, block, mapped);
    cr_assert_eq(pages.bytes, 0);
}

Test(pages, too_much_is_refused)
{
    struct clp_pages pages = {0};
    size_t mapped = 42;

    cr_assert_null(clp_pages_map(&pages, SIZE_MAX, &mapped));
    cr_assert_null(clp_pages_map(&pages, SIZE_MAX / 2, &mapped));
    cr_assert_eq(mapped, 42);
    cr_assert_eq(pages.bytes, 0);
}
