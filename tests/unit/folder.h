/* SPDX-License-Identifier: MIT */
/* A folder of its own for each test, in which it works and which its end removes. */
#ifndef CLP_TEST_FOLDER_H
#define CLP_TEST_FOLDER_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char test_folder[] = "/tmp/clineprof-test-XXXXXX";

static inline void test_folder_enter(void)
{
    cr_assert_not_null(mkdtemp(test_folder));
    cr_assert_eq(chdir(test_folder), 0);
}

static inline void test_folder_remove(void)
{
    char command[128];

    cr_assert_eq(chdir("/"), 0);
    snprintf(command, sizeof command, "chmod -R u+w %s; rm -rf %s", test_folder, test_folder);
    cr_assert_eq(system(command), 0);
}

#endif
