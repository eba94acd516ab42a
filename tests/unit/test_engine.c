/* SPDX-License-Identifier: MIT */
#include "engine.h"
#include "event_script.h"
#include "helpers.h"
#include <criterion/parameterized.h>
#include <glob.h>
#include <stdio.h>

/* ---- fixtures/events ---- */

struct fixture {
    char path[120];
};

static void free_fixtures(struct criterion_test_params *params)
{
    cr_free(params->params);
}

ParameterizedTestParameters(engine, keeps_to_the_script)
{
    glob_t found = {0};

    (void)glob("fixtures/events/*.txt", 0, NULL, &found);
    struct fixture *fixtures = cr_calloc(found.gl_pathc + 1, sizeof *fixtures);
    for (size_t i = 0; i < found.gl_pathc; i++)
        snprintf(fixtures[i].path, sizeof fixtures[i].path, "%s", found.gl_pathv[i]);
    size_t count = found.gl_pathc;
    globfree(&found);
    return cr_make_param_array(struct fixture, fixtures, count, free_fixtures);
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 20000);

    cr_assert_not_null(file, "%s", path);
    cr_assert_not_null(text);
    cr_assert_lt(fread(text, 1, 19999, file), 19999, "%s is too long", path);
    fclose(file);
    return text;
}

ParameterizedTest(struct fixture *fixture, engine, keeps_to_the_script)
{
    char message[EVENT_SCRIPT_MESSAGE] = "";
    struct test_mem test;
    char *text = read_text(fixture->path);
    bool held = event_script_run(text, test_mem_init(&test, 0), message);

    free(text);
    cr_assert(held, "%s, %s", fixture->path, message);
    test_mem_check_empty(&test);
}
