/* SPDX-License-Identifier: MIT */
#include "base/status.h"
#include <criterion/criterion.h>
#include <string.h>

Test(status, every_code_has_its_own_text)
{
    for (int i = 0; i < CLP_STATUS_COUNT; i++) {
        cr_assert_gt(strlen(clp_status_text((clp_status)i)), 0);
        for (int j = 0; j < i; j++)
            cr_assert_str_neq(clp_status_text((clp_status)i), clp_status_text((clp_status)j));
    }
}

Test(status, text_belongs_to_the_code)
{
    cr_assert_str_eq(clp_status_text(CLP_OK), "ok");
    cr_assert_str_eq(clp_status_text(CLP_TRUNCATED), "cut off");
    cr_assert_str_eq(clp_status_text(CLP_UNSUPPORTED), "not supported here");
}

Test(status, an_unknown_code_has_a_text_too)
{
    cr_assert_str_eq(clp_status_text(CLP_STATUS_COUNT), "unknown status");
    cr_assert_str_eq(clp_status_text((clp_status)-1), "unknown status");
}
