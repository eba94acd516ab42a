/* SPDX-License-Identifier: MIT */
/* An interpreter within a C test. Each test starts one of its own: Criterion runs tests in processes. */
#ifndef CLP_TEST_EMBEDDED_H
#define CLP_TEST_EMBEDDED_H

#include <Python.h>
#include <criterion/criterion.h>

static inline void test_start_interpreter(void)
{
    PyConfig config;

    PyConfig_InitIsolatedConfig(&config);
    cr_assert_not(PyStatus_Exception(Py_InitializeFromConfig(&config)));
    PyConfig_Clear(&config);
}

/* LeakSanitizer asks. The tests do not end the interpreter, whose memory would be reported. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}

#endif
