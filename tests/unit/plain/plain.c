/* SPDX-License-Identifier: MIT */
/* Runs what criterion/criterion.h collects: plain [--xml=FILE]. */
#include "criterion/criterion.h"
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIPPED 77

static struct plain_test *tests;
static bool failed; /* in a test's process */

void plain_add(struct plain_test *test)
{
    test->next = tests;
    tests = test;
}

void plain_fail(const char *file, int line, bool ends, const char *what, const char *format, ...)
{
    va_list rest;

    fprintf(stderr, "%s:%d: not so: %s", file, line, what);
    va_start(rest, format);
    vfprintf(stderr, format, rest);
    va_end(rest);
    fputc('\n', stderr);
    failed = true;
    if (ends)
        exit(1);
}

void plain_skip(const char *reason)
{
    printf("  SKIP  %s\n", reason);
    exit(SKIPPED);
}

static const struct plain_options *suite_of(const struct plain_test *test)
{
    static const struct plain_options none;

    for (const struct plain_test *suite = tests; suite != NULL; suite = suite->next)
        if (suite->name == NULL && strcmp(suite->suite, test->suite) == 0)
            return &suite->options;
    return &none;
}

static void run_body(const struct plain_test *test, void *param)
{
    const struct plain_options *suite = suite_of(test);

    if (suite->init != NULL)
        suite->init();
    if (test->options.init != NULL)
        test->options.init();
    if (test->body != NULL)
        test->body();
    else
        test->body_with(param);
    if (test->options.fini != NULL)
        test->options.fini();
    if (suite->fini != NULL)
        suite->fini();
}

/* In a process of its own; its exit status, or 1. */
static int run_alone(const struct plain_test *test, void *param)
{
    int status = 0;
    pid_t child;

    fflush(NULL);
    if ((child = fork()) == 0) {
        run_body(test, param);
        exit(failed);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return 1;
    return WEXITSTATUS(status);
}

static bool note(FILE *xml, const struct plain_test *test, int status)
{
    const char *child = status == 0 ? "" : status == SKIPPED ? "<skipped/>" : "<failure/>";

    if (status != 0 && status != SKIPPED)
        printf("%s::%s failed\n", test->suite, test->name);
    if (xml != NULL)
        fprintf(xml, "<testcase name=\"%s::%s\">%s</testcase>\n", test->suite, test->name, child);
    return status == 0 || status == SKIPPED;
}

static bool run(FILE *xml, const struct plain_test *test)
{
    bool good = true;

    if (test->params == NULL)
        return note(xml, test, run_alone(test, NULL));
    struct criterion_test_params params = test->params();
    for (size_t i = 0; i < params.length; i++)
        good &= note(xml, test, run_alone(test, (char *)params.params + i * params.size));
    if (params.cleanup != NULL)
        params.cleanup(&params);
    return good;
}

int main(int argc, char **argv)
{
    static const char option[] = "--xml=";
    FILE *xml = NULL;
    bool good = true;

    if (argc > 1 && strncmp(argv[1], option, strlen(option)) == 0)
        xml = fopen(argv[1] + strlen(option), "we");
    if (xml != NULL)
        fputs("<testsuite>\n", xml);
    for (const struct plain_test *test = tests; test != NULL; test = test->next)
        if (test->name != NULL)
            good &= run(xml, test);
    if (xml != NULL) {
        fputs("</testsuite>\n", xml);
        fclose(xml);
    }
    return good ? 0 : 1;
}
