/* SPDX-License-Identifier: MIT */
/* Tests that run once for each of several parameters; see criterion.h. */
#ifndef CLP_PLAIN_PARAMETERIZED_H
#define CLP_PLAIN_PARAMETERIZED_H

#include "criterion.h"

#define ParameterizedTestParameters(suite_name, test_name) \
    static struct criterion_test_params suite_name##_##test_name##_params(void)

#define cr_make_param_array(type, array, count, free_array) \
    (struct criterion_test_params){sizeof(type), array, count, free_array}

#define ParameterizedTest(type, suite_name, test_name)                              \
    static void suite_name##_##test_name##_with(type);                              \
    static void suite_name##_##test_name##_call(void *param)                        \
    {                                                                               \
        suite_name##_##test_name##_with(param);                                     \
    }                                                                               \
    PLAIN_ADD(suite_name##_##test_name, .suite = #suite_name, .name = #test_name,   \
              .body_with = suite_name##_##test_name##_call,                         \
              .params = suite_name##_##test_name##_params)                          \
    static void suite_name##_##test_name##_with(type)

#endif
