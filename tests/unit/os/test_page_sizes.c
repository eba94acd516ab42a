/* SPDX-License-Identifier: MIT */
/* Pages of 16 and 64 KiB, as kernels for aarch64 may have them. Here sysconf says so, which is the one place where the
 * code asks. What the kernel does with larger multiples of its own pages is real. */
#include "folder.h"
#include "heap/shadow.h"
#include "engine/lines.h"
#include "os/file.h"
#include "os/pages.h"
#include "os/proc.h"
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <string.h>

static const size_t sizes[] = {16384, 65536};
static size_t page; /* 0: the machine's own */

#define EACH_SIZE \
    for (size_t number = 0; number < sizeof sizes / sizeof *sizes && (page = sizes[number]) != 0; number++)

long sysconf(int name)
{
    static long (*next)(int name);

    if (name == _SC_PAGESIZE && page != 0)
        return (long)page;
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "sysconf");
    return next(name);
}

TestSuite(page_sizes, .init = test_folder_enter, .fini = test_folder_remove);

Test(page_sizes, memory_comes_in_whole_pages)
{
    EACH_SIZE {
        struct clp_pages pages = {0};
        size_t one, two;
        char *first = clp_pages_map(&pages, 1, &one), *second = clp_pages_map(&pages, page + 1, &two);

        cr_assert(first != NULL && second != NULL && one == page && two == 2 * page);
        cr_expect_eq(pages.bytes, 3 * page);
        first[page - 1] = second[2 * page - 1] = 1;
        clp_pages_unmap(&pages, first, one);
        clp_pages_unmap(&pages, second, two);
        cr_expect_eq(pages.bytes, 0);
    }
}

/* Each piece begins where a page of the file does, also in the file of a fork. */
Test(page_sizes, a_file_has_whole_pages)
{
    EACH_SIZE {
        struct clp_mem mem = clp_mem_system();
        struct clp_pages pages = {0};
        struct clp_fault fault;
        struct clp_buf bytes;
        size_t one, two;

        cr_assert_eq(clp_pages_open(&pages, &mem, "x.live", &fault), CLP_OK);
        char *first = clp_pages_map(&pages, 5000, &one), *second = clp_pages_map(&pages, page + 1, &two);
        memset(first, 'a', one);
        memset(second, 'b', two);
        clp_buf_init(&bytes, &mem);
        cr_assert_eq(clp_file_read("x.live", 1 << 20, &bytes, &fault), CLP_OK);
        cr_expect(bytes.used == 3 * page && bytes.bytes[page - 1] == 'a' && bytes.bytes[page] == 'b' &&
                  bytes.bytes[3 * page - 1] == 'b', "%zu", bytes.used);
        clp_buf_clear(&bytes);
        clp_pages_fork_prepare(&pages);
        clp_pages_fork_child(&pages);
        cr_expect(first[page - 1] == 'a' && second[2 * page - 1] == 'b');
        cr_assert_eq(clp_pages_fork_file(&pages, "y.live", &fault), CLP_OK);
        first[0] = 'c';
        cr_assert_eq(clp_file_read("y.live", 1 << 20, &bytes, &fault), CLP_OK);
        cr_expect(bytes.used == 3 * page && bytes.bytes[0] == 'c' && bytes.bytes[3 * page - 1] == 'b');
        clp_buf_clear(&bytes);
        clp_pages_unmap(&pages, first, one);
        clp_pages_unmap(&pages, second, two);
        clp_pages_close(&pages);
        cr_assert(unlink("x.live") == 0 && unlink("y.live") == 0);
    }
}

static uint64_t readings;

/* What an exact kernel says before and after each page that is touched. */
static clp_status read_exactly(const struct clp_proc *proc, struct clp_resident *now)
{
    now->counted = now->resident = (100 + ++readings / 2) * proc->page_bytes;
    return CLP_OK;
}

Test(page_sizes, resident_memory_is_counted_in_pages)
{
    EACH_SIZE {
        struct clp_clock clock = clp_clock_start();
        struct clp_resident now = {0};
        struct clp_proc proc;

        cr_assert_eq(clp_proc_open(&proc, CLP_MEMORY_RSS), CLP_OK);
        cr_assert_eq(clp_proc_read(&proc, &now), CLP_OK);
        cr_expect(proc.page_bytes == page && now.resident != 0 && now.resident % page == 0);
        struct clp_proc_check check = clp_proc_check_by(read_exactly, &proc, &clock);
        cr_expect(check.exact && check.step == page);
        cr_expect(check.change_ticks > 0 && check.release_ticks > 0);
        cr_expect_geq(clp_proc_fault_bytes(), page);
        clp_proc_close(&proc);
    }
}

/* A line's largest size is kept in a smaller unit, so none of it gets lost. */
Test(page_sizes, a_page_is_whole_units)
{
    EACH_SIZE
        cr_expect_eq(page % CLP_USAGE_UNIT, 0);
}

/* The map of live blocks has leaves of 4096 bytes, whatever a page is. */
Test(page_sizes, live_blocks_are_found)
{
    EACH_SIZE {
        struct clp_pages pages = {0};
        struct clp_shadow shadow;

        cr_assert_eq(clp_shadow_init(&shadow, &pages), CLP_OK);
        for (uint64_t i = 1; i <= 2000; i++)
            clp_shadow_add(&shadow, (void *)(uintptr_t)(i * 5008))->owned = i;
        for (uint64_t i = 1; i <= 2000; i++)
            cr_assert_eq(clp_shadow_find(&shadow, (void *)(uintptr_t)(i * 5008))->owned, i);
        clp_shadow_clear(&shadow);
        cr_expect_eq(pages.bytes, 0);
    }
}
