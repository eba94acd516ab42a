/* SPDX-License-Identifier: MIT */
/* The launcher: one small program under two names. As ckernprof it runs a program under the
 * profiler, as clineprof it prints profiles. It answers --help, --version and wrong usage itself;
 * for all else it becomes (execv) the user's interpreter, which imports clineprof from the folder
 * beside the launcher and goes on in clineprof._core.
 *
 *   build/bin/ckernprof          PREFIX/bin/ckernprof
 *   build/python/clineprof/      PREFIX/lib/clineprof/python/clineprof/
 *
 * The launcher leaves nothing for the program to see: no environment variable, no entry of sys.path. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/escape.h"
#include "cli/commands.h"
#include "cli/interpreter.h"
#include "cli/options.h"
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef CLP_PYTHON
#define CLP_PYTHON "python3"
#endif

enum { EXIT_USAGE = 2 };

struct launch {
    struct clp_mem mem;
    const char *program; /* "ckernprof" or "clineprof" */
    const char *kind;    /* "run" or "view" */
    const char *wanted;  /* the value of --python, borrowed from argv; NULL when not given */
    struct clp_buf python; /* path of the interpreter */
    struct clp_buf folder; /* path of the folder that holds the package clineprof */
};

CLP_PRINTF_LIKE(2, 3)
static int fail(const struct launch *launch, const char *format, ...)
{
    struct clp_mem mem = clp_mem_system();
    char text[2 * PATH_MAX];
    struct clp_buf line;
    va_list rest;

    va_start(rest, format);
    (void)vsnprintf(text, sizeof text, format, rest);
    va_end(rest);
    clp_buf_init(&line, &mem);
    clp_escape_add_text(&line, text);
    fprintf(stderr, "%s: %s\n", launch->program, clp_buf_text(&line));
    clp_buf_clear(&line);
    return EXIT_USAGE;
}

static bool is_folder(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Finds the path of this program's own executable, with symbolic links resolved. Without /proc that is the path by which
 * it was started, as it stands if links cannot be read. `path` has PATH_MAX bytes. */
static bool find_executable(char *path)
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    const char *started = (const char *)getauxval(AT_EXECFN);

    if (length > 0)
        path[length] = '\0';
    else if (realpath(started, path) == NULL)
        length = snprintf(path, PATH_MAX, "%s", started);
    else
        return true;
    return length > 0 && length < PATH_MAX;
}

/* Finds the folder of this program's own executable. `folder` has PATH_MAX bytes. */
static bool find_own_folder(char *folder)
{
    if (!find_executable(folder))
        return false;
    char *slash = strrchr(folder, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

/* Sets launch->folder to the folder that holds the package clineprof. False when neither place has it. */
static bool find_package(struct launch *launch)
{
    static const char *const places[] = {"/python", "/lib/clineprof/python"};
    char folder[PATH_MAX], package[PATH_MAX + 64];

    if (!find_own_folder(folder))
        return false;
    char *slash = strrchr(folder, '/'); /* both places are relative to the folder above bin/ */
    size_t above = slash == NULL ? 0 : (size_t)(slash - folder);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        clp_buf_clear(&launch->folder);
        clp_buf_add(&launch->folder, folder, above);
        clp_buf_add_text(&launch->folder, places[i]);
        snprintf(package, sizeof package, "%s/clineprof", clp_buf_text(&launch->folder));
        if (is_folder(package))
            return true;
    }
    return false;
}

/* Prints an answer that needs no interpreter, such as --help. False when the options ask for none (NULL). *status is
 * changed only when printing fails. */
static bool answer(struct launch *launch, void (*answer_of)(const char *, struct clp_buf *),
                   int *status)
{
    struct clp_buf text;

    if (answer_of == NULL)
        return false;
    clp_buf_init(&text, &launch->mem);
    answer_of(launch->program, &text);
    bool printed = fputs(clp_buf_text(&text), stdout) != EOF && fflush(stdout) == 0;
    if (!printed && errno != EPIPE) {
        (void)fail(launch, "cannot write to standard output: %s", strerror(errno));
        *status = EXIT_FAILURE;
    }
    clp_buf_clear(&text);
    return true;
}

/* Reads the options of argv, which may be reordered. True when the launcher has nothing more to do; *status is then
 * the exit status. */
static bool read_options(struct launch *launch, int argc, char **argv, int *status)
{
    struct clp_run_options run;
    struct clp_view_options view;
    struct clp_buf error;
    bool viewing = strcmp(launch->kind, "view") == 0;
    bool done = true;

    clp_buf_init(&error, &launch->mem);
    clp_run_options_init(&run);
    clp_view_options_init(&view);
    if (!(viewing ? clp_view_options_parse(argc, argv, &view, &error)
                  : clp_run_options_parse(argc, argv, &run, &error)))
        *status = fail(launch, "%s", clp_buf_text(&error));
    else if (viewing)
        done = answer(launch, view.help ? clp_view_options_help
                              : view.page ? clp_view_options_page
                              : view.version ? clp_options_version : NULL, status);
    else
        done = answer(launch, run.help ? clp_run_options_help
                              : run.page ? clp_run_options_page
                              : run.version ? clp_options_version : NULL, status);
    launch->wanted = run.python;
    clp_run_options_clear(&run, &launch->mem);
    clp_view_options_clear(&view, &launch->mem);
    clp_buf_clear(&error);
    return done;
}

/* Becomes the interpreter (execv), and returns an exit status only if that fails. The interpreter's argv[0] is its
 * path, as when a shell starts it: sys.executable and the search for pyvenv.cfg depend on that. */
static int become_python(struct launch *launch, int argc, char **argv)
{
    enum { LEADING = 3 };
    size_t given = (size_t)argc - 1;
    char *python = (char *)(uintptr_t)clp_buf_text(&launch->python);
    char **full = clp_mem_alloc(&launch->mem, LEADING + 1 + given + 1, sizeof *full);

    clp_buf_add_text(&launch->folder, "/clineprof/_boot/launch.py");
    if (full == NULL || launch->python.failed || launch->folder.failed)
        return fail(launch, "out of memory");
    full[0] = python;
    full[1] = (char *)(uintptr_t)clp_buf_text(&launch->folder);
    full[2] = (char *)(uintptr_t)launch->kind;
    /* the launcher's own name keeps its folder, from which a message later recommends the viewer */
    full[LEADING] = argc > 0 && strchr(argv[0], '/') != NULL
                        ? argv[0]
                        : (char *)(uintptr_t)launch->program;
    if (given != 0)
        memcpy(full + LEADING + 1, argv + 1, given * sizeof *full);
    execv(python, full);
    return fail(launch, "cannot run %s: %s", python, strerror(errno));
}

/* Reads the options of a copy of argv, because the interpreter is to get the words in their own order. Returns as
 * read_options does. */
static bool read_copy(struct launch *launch, int argc, char **argv, int *status)
{
    size_t room = (size_t)argc + 1;
    char **copy = clp_mem_alloc(&launch->mem, room, sizeof *copy);

    if (copy == NULL) {
        *status = fail(launch, "out of memory");
        return true;
    }
    memcpy(copy, argv, (size_t)argc * sizeof *copy);
    bool viewing = strcmp(launch->kind, "view") == 0;
    bool done = !(viewing && clp_command_is_any(argc, argv)) &&
                read_options(launch, argc, copy, status);
    clp_mem_free(&launch->mem, copy, room, sizeof *copy);
    return done;
}

static struct launch launch_named(const char *path)
{
    const char *slash = path == NULL ? NULL : strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    bool viewing = name != NULL && strcmp(name, "clineprof") == 0;

    return (struct launch){
        .mem = clp_mem_system(),
        .program = viewing ? "clineprof" : "ckernprof",
        .kind = viewing ? "view" : "run",
    };
}

/* Finds the package and the interpreter, and becomes the interpreter. Returns, with an exit status, only on
 * failure. */
static int start(struct launch *launch, int argc, char **argv)
{
    struct clp_interpreter_wish wish = {
        .named = launch->wanted, .active = true, .usual = CLP_PYTHON};
    struct clp_buf error;
    int status;

    clp_buf_init(&error, &launch->mem);
    if (!find_package(launch))
        status = fail(launch, "the package clineprof is not beside this program; build or install clineprof again");
    else if (!clp_interpreter_find(&wish, &launch->python, &error))
        status = fail(launch, "%s", clp_buf_text(&error));
    else
        status = become_python(launch, argc, argv);
    clp_buf_clear(&error);
    return status;
}

int main(int argc, char **argv)
{
    struct launch launch = launch_named(argc > 0 ? argv[0] : NULL);
    int status = EXIT_SUCCESS;

    clp_buf_init(&launch.python, &launch.mem);
    clp_buf_init(&launch.folder, &launch.mem);
    if (!read_copy(&launch, argc, argv, &status))
        status = start(&launch, argc, argv);
    clp_buf_clear(&launch.python);
    clp_buf_clear(&launch.folder);
    return status;
}
