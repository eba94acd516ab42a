/* SPDX-License-Identifier: MIT */
/* The part of Criterion that the unit tests use, for valgrind and ThreadSanitizer: Criterion's own
 * processes do not start under them. Each test runs in a fork of its own. */
#ifndef CLP_PLAIN_CRITERION_H
#define CLP_PLAIN_CRITERION_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct plain_options {
    bool given;
    void (*init)(void);
    void (*fini)(void);
    double timeout;
};

struct criterion_test_params {
    size_t size;
    void *params;
    size_t length;
    void (*cleanup)(struct criterion_test_params *params);
};

struct plain_test {
    const char *suite, *name; /* a suite has no name */
    struct plain_options options;
    void (*body)(void);
    void (*body_with)(void *param);
    struct criterion_test_params (*params)(void);
    struct plain_test *next;
};

void plain_add(struct plain_test *test);
void plain_fail(const char *file, int line, bool ends, const char *what, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void plain_skip(const char *reason) __attribute__((noreturn));

#define PLAIN_ADD(id, ...)                                \
    static struct plain_test id##_test = {__VA_ARGS__};   \
    __attribute__((constructor)) static void id##_add(void) { plain_add(&id##_test); }

#define TestSuite(suite_name, ...) \
    PLAIN_ADD(suite_name##_suite, .suite = #suite_name, .options = {.given = true, __VA_ARGS__})

#define Test(suite_name, test_name, ...)                                    \
    static void suite_name##_##test_name##_body(void);                      \
    PLAIN_ADD(suite_name##_##test_name, .suite = #suite_name, .name = #test_name, \
              .options = {.given = true, __VA_ARGS__},                      \
              .body = suite_name##_##test_name##_body)                      \
    static void suite_name##_##test_name##_body(void)

#define PLAIN_CHECK(ends, holds, what, ...)                                 \
    do {                                                                    \
        if (!(holds))                                                       \
            plain_fail(__FILE__, __LINE__, ends, what, " " __VA_ARGS__);    \
    } while (0)

#define PLAIN_COMPARE(ends, a, sign, b, ...) \
    PLAIN_CHECK(ends, (a) sign (b), #a " " #sign " " #b, __VA_ARGS__)
#define PLAIN_TEXTS(ends, a, sign, b, ...) \
    PLAIN_CHECK(ends, strcmp(a, b) sign 0, #a " " #sign " " #b, __VA_ARGS__)
#define PLAIN_NEAR(ends, a, b, by, ...) \
    PLAIN_CHECK(ends, fabs((double)(a) - (double)(b)) <= (by), #a " near " #b, __VA_ARGS__)

#define cr_assert(holds, ...) PLAIN_CHECK(true, holds, #holds, __VA_ARGS__)
#define cr_assert_not(holds, ...) PLAIN_CHECK(true, !(holds), "not " #holds, __VA_ARGS__)
#define cr_assert_null(a, ...) PLAIN_COMPARE(true, a, ==, NULL, __VA_ARGS__)
#define cr_assert_not_null(a, ...) PLAIN_COMPARE(true, a, !=, NULL, __VA_ARGS__)
#define cr_assert_eq(a, b, ...) PLAIN_COMPARE(true, a, ==, b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...) PLAIN_COMPARE(true, a, !=, b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...) PLAIN_COMPARE(true, a, <, b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...) PLAIN_COMPARE(true, a, >, b, __VA_ARGS__)
#define cr_assert_leq(a, b, ...) PLAIN_COMPARE(true, a, <=, b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...) PLAIN_COMPARE(true, a, >=, b, __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) PLAIN_TEXTS(true, a, ==, b, __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...) PLAIN_TEXTS(true, a, !=, b, __VA_ARGS__)
#define cr_assert_float_eq(a, b, by, ...) PLAIN_NEAR(true, a, b, by, __VA_ARGS__)
#define cr_assert_fail(...) PLAIN_CHECK(true, false, "reached", __VA_ARGS__)

#define cr_expect(holds, ...) PLAIN_CHECK(false, holds, #holds, __VA_ARGS__)
#define cr_expect_not(holds, ...) PLAIN_CHECK(false, !(holds), "not " #holds, __VA_ARGS__)
#define cr_expect_null(a, ...) PLAIN_COMPARE(false, a, ==, NULL, __VA_ARGS__)
#define cr_expect_not_null(a, ...) PLAIN_COMPARE(false, a, !=, NULL, __VA_ARGS__)
#define cr_expect_eq(a, b, ...) PLAIN_COMPARE(false, a, ==, b, __VA_ARGS__)
#define cr_expect_neq(a, b, ...) PLAIN_COMPARE(false, a, !=, b, __VA_ARGS__)
#define cr_expect_lt(a, b, ...) PLAIN_COMPARE(false, a, <, b, __VA_ARGS__)
#define cr_expect_gt(a, b, ...) PLAIN_COMPARE(false, a, >, b, __VA_ARGS__)
#define cr_expect_leq(a, b, ...) PLAIN_COMPARE(false, a, <=, b, __VA_ARGS__)
#define cr_expect_geq(a, b, ...) PLAIN_COMPARE(false, a, >=, b, __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...) PLAIN_TEXTS(false, a, ==, b, __VA_ARGS__)
#define cr_expect_str_empty(a, ...) PLAIN_TEXTS(false, a, ==, "", __VA_ARGS__)
#define cr_expect_float_eq(a, b, by, ...) PLAIN_NEAR(false, a, b, by, __VA_ARGS__)

#define cr_skip_test(reason) plain_skip(reason)
#define cr_calloc calloc
#define cr_free free

#endif
