/* SPDX-License-Identifier: MIT */
/* A folder of its own for each test, in which it works and which its end removes. */
#ifndef CLP_TEST_FOLDER_H
#define CLP_TEST_FOLDER_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char test_folder[256];

/* For mkdtemp and mkstemp. */
static inline void test_temporary_name(char *name, size_t size)
{
    const char *folder = getenv("TMPDIR");

    snprintf(name, size, "%s/clineprof-test-XXXXXX", folder != NULL ? folder : "/tmp");
}

static inline void test_folder_enter(void)
{
    test_temporary_name(test_folder, sizeof test_folder);
    cr_assert_not_null(mkdtemp(test_folder));
    cr_assert_eq(chdir(test_folder), 0);
}

static inline void test_folder_remove(void)
{
    char command[2 * sizeof test_folder + 32];

    cr_assert_eq(chdir("/"), 0);
    snprintf(command, sizeof command, "chmod -R u+w %s; rm -rf %s", test_folder, test_folder);
    cr_assert_eq(system(command), 0);
}

#endif
