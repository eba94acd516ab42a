/* SPDX-License-Identifier: MIT */
#include "nativerun.h"
#include "native/door.h"
#include "native/tensors.h"
#include "cpython/memory/native.h"
#include "cpython/memory/tensors.h"
#include "bridge/console.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char me[] = CLP_RUN_NAME;

#define LIST "LD_PRELOAD"
/* Holds the library's path, or the paths of both, while the interpreter starts again. A process that finds this
 * variable has been started again already. */
#define MARK "CLINEPROF_NATIVE"

static bool wants_heap(const struct clp_run_options *options)
{
    return options->heap != NULL && strcmp(options->heap, "native") == 0;
}

/* The option that needs a library. */
static const char *option_of(const struct clp_run_options *options)
{
    return !wants_heap(options) ? "--tensors" : options->tensors ? "--heap=native, --tensors" : "--heap=native";
}

/* Says why a library is not there. Without --heap=native the run goes on, and has tensors of CUDA devices only. False
 * with SystemExit set. */
static bool do_without(const struct clp_run_options *options, const struct clp_buf *reason)
{
    clp_console_complain_format(me, "%s: %s", option_of(options), clp_buf_text(reason));
    return !wants_heap(options) || clp_console_exit(2) != NULL;
}

/* Appends the path of a library, which lies beside this module. */
static void add_library(struct clp_buf *path, const char *name)
{
    static const char here;
    Dl_info about;
    const char *slash = dladdr(&here, &about) != 0 ? strrchr(about.dli_fname, '/') : NULL;

    clp_buf_add(path, slash != NULL ? about.dli_fname : "",
                slash != NULL ? (size_t)(slash + 1 - about.dli_fname) : 0);
    clp_buf_add_text(path, name);
}

/* Appends the library's path to `list`. If it cannot be preloaded, appends the reason. */
static void choose_library(struct clp_buf *list, const char *name, struct clp_buf *reason)
{
    struct clp_buf path;

    clp_buf_init(&path, list->mem);
    add_library(&path, name);
    const char *library = clp_buf_text(&path);
    if (access(library, R_OK) != 0)
        clp_buf_add_format(reason, "%s: %s; build or install clineprof again", library, strerror(errno));
    else if (strpbrk(library, ": ") != NULL)
        clp_buf_add_format(reason, "'%s' cannot be preloaded, because its path has a space or a colon; install clineprof "
                                   "elsewhere", library);
    clp_buf_add_format(list, "%s%s", list->used != 0 ? ":" : "", library);
    clp_buf_clear(&path);
}

/* Sets LD_PRELOAD and MARK. Our libraries stand before those of the user, so that it calls their allocators. A
 * sanitizer's library must stay the first, or the program does not start. False without memory. */
static bool set_preload(const char *library)
{
    const char *before = getenv(LIST);
    struct clp_mem mem = clp_mem_system();
    struct clp_buf value;

    clp_buf_init(&value, &mem);
    if (before == NULL)
        clp_buf_add_text(&value, library);
    else if (strstr(before, "asan") != NULL || strstr(before, "tsan") != NULL)
        clp_buf_add_format(&value, "%s:%s", before, library);
    else
        clp_buf_add_format(&value, "%s:%s", library, before);
    bool set = !value.failed && setenv(MARK, library, 1) == 0 &&
               setenv(LIST, clp_buf_text(&value), 1) == 0;
    clp_buf_clear(&value);
    return set;
}

/* The words of sys.orig_argv, the first replaced by the interpreter's full path. Borrowed from `words`; NULL with an
 * exception set. */
static char **own_words(struct clp_command_words *words)
{
    PyObject *executable = PySys_GetObject("executable"); /* borrowed */
    PyObject *list = PySys_GetObject("orig_argv");        /* borrowed */
    PyObject *all = list != NULL ? PySequence_List(list) : NULL;
    bool done = all != NULL && executable != NULL && PyUnicode_Check(executable) &&
                PyList_GET_SIZE(all) > 0 &&
                PyList_SetItem(all, 0, Py_NewRef(executable)) == 0 && clp_command_words_init(words, all);

    Py_XDECREF(all);
    return done ? words->items : NULL;
}

/* Executes the interpreter again. Returns only on failure, and appends the reason. */
static void start_again(const char *library, struct clp_buf *reason)
{
    struct clp_command_words words;
    char **argv = own_words(&words);

    if (argv != NULL && set_preload(library))
        execv(argv[0], argv);
    PyErr_Clear();
    clp_buf_add_format(reason, "cannot start %s again: %s", argv != NULL ? argv[0] : "the interpreter",
                       strerror(errno));
}

static void add_why_not_loaded(struct clp_buf *reason)
{
    PyObject *executable = PySys_GetObject("executable"); /* borrowed */
    const char *name = executable != NULL ? PyUnicode_AsUTF8(executable) : NULL;

    PyErr_Clear();
    clp_buf_add_format(reason, "%s did not load %s: the interpreter is statically linked, has another C library or more "
                               "rights than its user; --heap works without =native",
                       name != NULL ? name : "the interpreter", getenv(MARK));
}

/* ---- restoring the user's environment ---- */

/* Removes a word from a list, with one separator beside it. False when the list is nothing but the word. */
static bool take_word(char *list, const char *word)
{
    char *at = strstr(list, word);
    size_t length = strlen(word);

    if (at == NULL)
        return true;
    if (at[length] != 0)
        length++;
    else if (at != list)
        at--, length++;
    else
        return false;
    memmove(at, at + length, strlen(at + length) + 1);
    return true;
}

/* Sets a variable (NULL: deletes it) for C and for Python, where posix.environ holds the values of os.environ. False
 * on failure; an exception may be set. */
static bool set_variable(PyObject *environment, const char *name, const char *value)
{
    PyObject *key = PyBytes_FromString(name);
    PyObject *text = value != NULL ? PyBytes_FromString(value) : NULL;
    bool done = key != NULL && (value == NULL || text != NULL);

    if (done && value != NULL)
        done = PyDict_SetItem(environment, key, text) == 0 && setenv(name, value, 1) == 0;
    else if (done)
        done = (PyDict_Contains(environment, key) != 1 || PyDict_DelItem(environment, key) == 0) &&
               unsetenv(name) == 0;
    Py_XDECREF(key);
    Py_XDECREF(text);
    return done;
}

static bool clean_in(PyObject *environment)
{
    const char *mark = getenv(MARK), *list = getenv(LIST);
    size_t bytes = list != NULL ? strlen(list) + 1 : 0;
    struct clp_mem mem = clp_mem_system();
    char *left = mark != NULL && list != NULL ? clp_mem_copy_text(&mem, list, bytes - 1)
                                                      : NULL;

    if (left == NULL)
        return true;
    bool done = set_variable(environment, LIST, take_word(left, mark) ? left : NULL) &&
                set_variable(environment, MARK, NULL);
    clp_mem_free(&mem, left, bytes, 1);
    return done;
}

/* Removes our libraries and MARK from the environment before the program begins, so that it and its children have the
 * user's own variables. */
static void clean_environment(void)
{
    PyObject *module = PyImport_ImportModule("posix");
    PyObject *environment = module != NULL ? PyObject_GetAttrString(module, "environ") : NULL;

    if (environment == NULL || !PyDict_Check(environment) || !clean_in(environment))
        PyErr_Clear();
    Py_XDECREF(module);
    Py_XDECREF(environment);
}

/* ---- other allocators ---- */

/* Tells which library has malloc, if it is not the C library. */
static void say_who_else(const struct clp_run_options *options)
{
    const char *before = clp_native_before(), *behind = clp_native_behind();

    if (options->verbosity < 0)
        return;
    if (before != NULL)
        clp_console_complain_format(me, "--heap=native: malloc comes from %s, which is loaded before clineprof's "
                                      "library; what C code allocates with it is not counted", before);
    else if (behind != NULL)
        clp_console_complain_format(me, "--heap=native: malloc comes from %s; what C code allocates with it is "
                                      "counted", behind);
}

static bool is_complete(const struct clp_run_options *options)
{
    return (!wants_heap(options) || clp_native_is_there()) && (!options->tensors || clp_tensors_are_there());
}

/* Appends the reason if the libraries are not there. */
static void get_libraries(const struct clp_run_options *options, struct clp_buf *list, struct clp_buf *reason)
{
    if (is_complete(options))
        return;
    if (getenv(MARK) != NULL) {
        add_why_not_loaded(reason);
        return;
    }
    if (wants_heap(options))
        choose_library(list, CLP_NATIVE_LIBRARY, reason);
    if (options->tensors && reason->used == 0)
        choose_library(list, CLP_TENSORS_LIBRARY, reason);
    if (reason->used == 0)
        start_again(clp_buf_text(list), reason);
}

static bool begin(const struct clp_run_options *options, struct clp_buf *list, struct clp_buf *reason)
{
    get_libraries(options, list, reason);
    if (reason->used != 0 && !do_without(options, reason))
        return false;
    if (wants_heap(options) && clp_native_use())
        say_who_else(options);
    clean_environment();
    return true;
}

/* Is this process the program that sys.executable names? A server that embeds the interpreter is another one. */
static bool is_interpreter(void)
{
    PyObject *executable = PySys_GetObject("executable"); /* borrowed */
    const char *name = executable != NULL && PyUnicode_Check(executable) ? PyUnicode_AsUTF8(executable) : NULL;
    struct stat ours, named;

    PyErr_Clear();
    return name != NULL && stat("/proc/self/exe", &ours) == 0 && stat(name, &named) == 0 &&
           ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

bool clp_nativerun_join(const struct clp_run_options *options, int folder)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf list, reason;

    if (!options->tensors)
        return true;
    clp_buf_init(&list, &mem);
    clp_buf_init(&reason, &mem);
    if (!clp_tensors_are_there() && getenv(MARK) == NULL && is_interpreter())
        choose_library(&list, CLP_TENSORS_LIBRARY, &reason);
    bool again = list.used != 0 && reason.used == 0 && fchdir(folder) == 0;
    if (again)
        start_again(clp_buf_text(&list), &reason);
    clean_environment();
    clp_buf_clear(&list);
    clp_buf_clear(&reason);
    return !again;
}

bool clp_nativerun_is_again(void)
{
    return clp_native_is_there() || clp_tensors_are_there();
}

bool clp_nativerun_ready(const struct clp_run_options *options)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf list, reason;

    if (!options->line_by_line || (!wants_heap(options) && !options->tensors))
        return true;
    clp_buf_init(&list, &mem);
    clp_buf_init(&reason, &mem);
    bool ready = begin(options, &list, &reason);
    clp_buf_clear(&list);
    clp_buf_clear(&reason);
    return ready;
}
