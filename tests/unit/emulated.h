/* SPDX-License-Identifier: MIT */
/* What qemu-user, which tools/arm64.sh runs tests with, does otherwise than a kernel: it has memory of its own in the
 * process, maps pages later, ignores limits of addresses, makes up some files of /proc, and has a counter that moves by
 * whole microseconds. */
#ifndef CLP_TEST_EMULATED_H
#define CLP_TEST_EMULATED_H

#include <criterion/criterion.h>
#include <stdlib.h>

static inline void test_skip_if_emulated(void)
{
    if (getenv("CLINEPROF_TEST_EMULATED") != NULL)
        cr_skip_test("qemu-user, which runs this, differs from a kernel here");
}

#endif
