/* SPDX-License-Identifier: MIT */
/* ckernprof in the interpreter: options, a profiler, the program, and at the very end of the
 * interpreter's life (the first atexit function runs last) the profile and the report. */
#include "run.h"
#include "../src/core/file.h"
#include "../src/core/report.h"
#include "../src/core/version.h"
#include "../src/core/wire.h"
#include "../src/python/profiler.h"
#include "calls.h"
#include "chosen.h"
#include "config.h"
#include "liverun.h"
#include "options.h"
#include "program.h"
#include "words.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static const char me[] = "ckernprof";

/* One run. Lives until the process ends: the atexit function holds it. */
struct run {
    struct clp_mem mem;
    struct clp_words words;
    struct clp_run_options options;
    struct clp_buf outfile;
    struct clp_buf found_script; /* the target's path when PATH led to it */
    PyObject *profiler;          /* owned: a Profiler, or without -l a cProfile.Profile */
    struct clp_chosen chosen;
    struct clp_liverun live;
    PyObject *start_path;        /* owned: sys.path without the program's folders; NULL without -r */
    PyObject *settings;          /* owned: options from config files are borrowed from it */
    int standard_error;          /* where it went before -qqq silenced it; else -1 */
    pid_t process;               /* a fork's copy of the atexit function has nothing to write */
};

/* ---- the end of the run ---- */

/* What went wrong is told even to who asked for silence: the program has ended. */
static void complain_fault(const struct run *run, const char *doing, const char *path,
                           const struct clp_fault *fault)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;

    if (run->standard_error >= 0)
        (void)dup2(run->standard_error, 2);
    clp_buf_init(&text, &mem);
    clp_buf_add_format(&text, "%s '%s': %s", doing, path,
                       fault->os_error ? strerror(fault->os_error)
                                       : clp_status_text(fault->status));
    clp_words_complain(me, clp_buf_text(&text));
    clp_buf_clear(&text);
}

/* One word as a shell would take it. */
static void add_word(struct clp_buf *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%+=:,./-_";

    if (*word != 0 && word[strspn(word, plain)] == 0) {
        clp_buf_add_text(out, word);
        return;
    }
    clp_buf_add_text(out, "'");
    for (; *word != 0; word++)
        clp_buf_add_format(out, *word == '\'' ? "'\\%c'" : "%c", *word);
    clp_buf_add_text(out, "'");
}

/* The viewer in this folder, which the program may have left behind by changing its own. */
static void add_beside(struct clp_buf *out, const char *folder, size_t length)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf path;

    clp_buf_init(&path, &mem);
    clp_buf_add(&path, folder, length);
    clp_buf_add_text(&path, "/clineprof");
    add_word(out, access(clp_buf_text(&path), X_OK) == 0 ? clp_buf_text(&path) : "clineprof");
    clp_buf_clear(&path);
}

static void add_python(struct clp_buf *out, const char *module)
{
    const char *python = PyUnicode_AsUTF8(PySys_GetObject("executable"));

    add_word(out, python != NULL ? python : "python3");
    clp_buf_add_format(out, " -m %s", module);
}

/* The command that shows the profile from where the user stands now. */
static void add_line_viewer(const struct run *run, struct clp_buf *out)
{
    const char *program = run->words.items[0];
    const char *slash = strrchr(program, '/');
    PyObject *package = PyImport_ImportModule("clineprof"); /* loaded: only looked up */
    PyObject *paths = package != NULL ? PyObject_GetAttrString(package, "__path__") : NULL;
    PyObject *folder = paths != NULL ? PySequence_GetItem(paths, 0) : NULL;
    const char *text = folder != NULL ? PyUnicode_AsUTF8(folder) : NULL;
    const char *last = text != NULL ? strrchr(text, '/') : NULL;
    PyObject *parent =
        last != NULL ? PyUnicode_FromStringAndSize(text, (Py_ssize_t)(last - text)) : NULL;
    PyObject *path = PySys_GetObject("path"); /* borrowed */

    if (parent != NULL && path != NULL && PySequence_Contains(path, parent) == 1)
        add_python(out, "clineprof");
    else if (slash != NULL)
        add_beside(out, program, (size_t)(slash - program));
    else
        clp_buf_add_text(out, "clineprof");
    PyErr_Clear();
    Py_XDECREF(package);
    Py_XDECREF(paths);
    Py_XDECREF(folder);
    Py_XDECREF(parent);
}

static void add_viewer(const struct run *run, struct clp_buf *out)
{
    if (run->options.line_by_line) {
        add_line_viewer(run, out);
        clp_buf_add_text(out, " -mt");
    } else {
        add_python(out, "pstats");
    }
}

/* The path as it is seen from the working directory. */
static const char *seen_from_here(const char *path)
{
    char folder[PATH_MAX];
    size_t length;

    if (getcwd(folder, sizeof folder) == NULL)
        return path;
    length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

static void say_written(const struct run *run, const char *path)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;

    if (run->options.verbosity < 0)
        return;
    path = seen_from_here(path);
    clp_buf_init(&text, &mem);
    clp_buf_add_format(&text, "Wrote profile results to '%s'\n", path);
    if (run->options.verbosity == 0) {
        clp_buf_add_text(&text, "Inspect results with:\n");
        add_viewer(run, &text);
        clp_buf_add_text(&text, path[0] == '-' ? " ./" : " ");
        add_word(&text, path);
        clp_buf_add_text(&text, "\n");
    }
    clp_words_print(1, clp_buf_text(&text));
    clp_buf_clear(&text);
}

/* A run is not lost because its folder went away: the temporary folder takes the profile. */
static bool write_elsewhere(const struct run *run, const char *bytes, size_t count)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_fault fault;
    struct clp_buf path;

    clp_buf_init(&path, &mem);
    bool written = clp_file_write_temporary(me, bytes, count, &path, &fault) == CLP_OK;
    if (written)
        say_written(run, clp_buf_text(&path));
    else
        complain_fault(run, "cannot write a profile to the temporary folder", "", &fault);
    clp_buf_clear(&path);
    return written;
}

static bool write_bytes(const struct run *run, const char *bytes, size_t count)
{
    const char *path = clp_buf_text(&run->outfile);
    struct clp_fault fault;

    if (clp_file_write(path, bytes, count, &fault) != CLP_OK) {
        complain_fault(run, "cannot write the profile to", path, &fault);
        return write_elsewhere(run, bytes, count);
    }
    say_written(run, path);
    return true;
}

static bool write_profile(const struct run *run, const struct clp_profile *profile)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf bytes;
    bool written = false;

    clp_buf_init(&bytes, &mem);
    if (clp_wire_encode(profile, &bytes) != CLP_OK)
        clp_words_complain(me, "out of memory; the profile is not written");
    else
        written = write_bytes(run, clp_buf_text(&bytes), bytes.used);
    clp_buf_clear(&bytes);
    return written;
}

/* A report, in colours where asked for. */
static void print_text(const struct run *run, const char *text)
{
    if (!run->options.rich || !clp_words_print_rich(me, text, run->start_path))
        clp_words_print(1, text);
}

static void print_report(const struct run *run, const struct clp_profile *profile)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_report_options options = clp_report_defaults();
    char folder[PATH_MAX];
    struct clp_buf text;

    options.unit = run->options.unit;
    clp_buf_init(&text, &mem);
    options.skip_zero = run->options.skip_zero;
    options.summarize = run->options.summarize;
    options.folder = getcwd(folder, sizeof folder);
    clp_report_options_set(&options, run->options.columns, run->options.self,
                           run->options.sort_by);
    if (clp_report_text(profile, &options, &text) != CLP_OK)
        clp_words_complain(me, "out of memory; the report is not complete");
    print_text(run, clp_buf_text(&text));
    clp_buf_clear(&text);
}

static void say_if_nothing(const struct run *run, const struct clp_profile *profile)
{
    bool by_target = run->options.prof_mod.count != 0;

    if (run->options.verbosity < 0)
        return;
    if (clp_profiler_function_count(run->profiler) == 0)
        clp_words_complain(me, by_target ? "nothing was profiled: no target of -p was reached"
                                         : "nothing was profiled: no @profile was reached; put "
                                           "@profile above a function that the program runs");
    else if (profile->meta.events == 0)
        clp_words_complain(me, "nothing was profiled: no selected function was called");
    if (clp_profiler_lost(run->profiler))
        clp_words_complain(me, "memory ran out while profiling; some counts are missing");
    if (clp_profiler_displaced(run->profiler))
        clp_words_complain(me, "something else took sys.settrace during the run; what ran after "
                               "that is missing");
}

/* A profile holds UTF-8, whatever a command line is. */
static void add_readable_word(struct clp_buf *out, const char *word)
{
    PyObject *text = PyUnicode_DecodeFSDefault(word);
    PyObject *bytes =
        text != NULL ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace") : NULL;

    if (bytes != NULL)
        add_word(out, PyBytes_AS_STRING(bytes));
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(bytes);
}

/* The program's own command line, for readers. */
static void add_command(const struct run *run, struct clp_buf *text)
{
    if (run->options.target_kind == CLP_TARGET_MODULE)
        clp_buf_add_text(text, "-m ");
    else if (run->options.target_kind == CLP_TARGET_CODE)
        clp_buf_add_text(text, "-c ");
    for (int i = 0; i < run->options.program_argc; i++) {
        if (i > 0)
            clp_buf_add_text(text, " ");
        add_readable_word(text, run->options.program_argv[i]);
    }
}

/* Best effort: it is only told to readers. */
static void note_command(const struct run *run, struct clp_profile *profile)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;

    clp_buf_init(&text, &mem);
    add_command(run, &text);
    (void)clp_profile_set_text(profile, &profile->meta.command, clp_buf_text(&text));
    clp_buf_clear(&text);
}

static void say_refused(const struct clp_profile *profile, const struct clp_refusal *refusal)
{
    struct clp_mem mem = clp_mem_system();
    const struct clp_profile_function *function = &profile->functions[refusal->function];
    struct clp_buf text;

    clp_buf_init(&text, &mem);
    clp_buf_add_format(&text, "%s, %s:%d, %s: %s", function->name, function->file,
                       (int)function->first_line,
                       refusal->taken_by != NULL ? "cannot have probes" : "is left alone",
                       refusal->reason);
    if (refusal->taken_by != NULL)
        clp_buf_add_format(&text, "; tracer %s takes it", refusal->taken_by);
    clp_words_complain(me, clp_buf_text(&text));
    clp_buf_clear(&text);
}

/* The tracer that took the function. */
static const char *tracer_of(const struct run *run, const struct clp_profile *profile,
                             uint32_t number)
{
    for (const struct clp_refusal *refusal = clp_profiler_refusals(run->profiler); refusal != NULL;
         refusal = refusal->next) {
        if (refusal->function == number)
            return refusal->taken_by != NULL ? refusal->taken_by : "none";
    }
    return profile->meta.tracer;
}

static void add_selected(struct clp_buf *text, const struct run *run,
                         const struct clp_profile *profile, uint32_t number)
{
    const struct clp_profile_function *function = &profile->functions[number];
    const char *target = clp_chosen_by(&run->chosen, function->file, function->name);

    clp_buf_add_format(text, "selected %s, %s:%d, by %s%s, tracer %s", function->name,
                       function->file, (int)function->first_line, target != NULL ? "-p " : "",
                       target != NULL ? target : "@profile", tracer_of(run, profile, number));
}

/* -vv: how the profile was made. */
static void say_more(const struct run *run, const struct clp_profile *profile)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;

    clp_buf_init(&text, &mem);
    clp_buf_add_format(&text, "tracer %s, %zu functions selected, %llu line events, %.3g s of %.3g s "
                              "taken off", profile->meta.tracer, profile->function_count,
                       (unsigned long long)profile->meta.events,
                       (double)profile->meta.overhead * 1e-9, (double)profile->meta.wall * 1e-9);
    clp_words_complain(me, clp_buf_text(&text));
    for (size_t i = 0; i < profile->function_count; i++) {
        clp_buf_clear(&text);
        add_selected(&text, run, profile, (uint32_t)i);
        clp_words_complain(me, clp_buf_text(&text));
    }
    clp_buf_clear(&text);
}

/* What no tracer took is always told. */
static void say_all_refused(const struct run *run, const struct clp_profile *profile)
{
    for (const struct clp_refusal *refusal = clp_profiler_refusals(run->profiler); refusal != NULL;
         refusal = refusal->next) {
        if (run->options.verbosity > (refusal->taken_by == NULL ? -1 : 1))
            say_refused(profile, refusal);
    }
}

static void print_calls(const struct run *run)
{
    PyObject *report = clp_calls_report(run->profiler);
    const char *text = report != NULL ? PyUnicode_AsUTF8(report) : NULL;

    if (text != NULL)
        clp_words_print(1, text);
    else
        clp_words_complain(me, "pstats cannot show the profile");
    PyErr_Clear();
    Py_XDECREF(report);
}

static void finish_calls(const struct run *run)
{
    PyObject *bytes = clp_calls_bytes(run->profiler);

    if (bytes == NULL) {
        PyErr_Clear();
        clp_words_complain(me, "cProfile cannot give its profile; it is not written");
        return;
    }
    write_bytes(run, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    Py_DECREF(bytes);
    bool empty = clp_calls_empty(run->profiler);
    if (run->options.verbosity > 0 && !empty) /* pstats has no report of nothing */
        print_calls(run);
    if (run->options.verbosity >= 0 && empty)
        clp_words_complain(me, "nothing was profiled: no function marked with @profile was called "
                               "and no 'with profile:' was reached");
}

static void finish_lines(struct run *run)
{
    struct clp_profile profile;

    clp_profiler_stop(run->profiler);
    clp_liverun_stop_saves(&run->live, me);
    clp_profile_init(&profile, &run->mem);
    if (clp_profiler_snapshot(run->profiler, &profile) != CLP_OK)
        clp_words_complain(me, "out of memory; the profile holds only a part");
    note_command(run, &profile);
    clp_liverun_end(&run->live, me, write_profile(run, &profile));
    if (run->options.verbosity > 0)
        print_report(run, &profile);
    if (run->options.verbosity > 1)
        say_more(run, &profile);
    say_all_refused(run, &profile);
    if (run->options.verbosity >= 0)
        clp_chosen_end(&run->chosen);
    say_if_nothing(run, &profile);
    clp_profile_clear(&profile);
}

static PyObject *finish(PyObject *capsule, PyObject *nothing)
{
    struct run *run = PyCapsule_GetPointer(capsule, NULL);

    (void)nothing;
    if (run == NULL || run->process != getpid())
        Py_RETURN_NONE;
    if (run->options.line_by_line)
        finish_lines(run);
    else
        finish_calls(run);
    Py_RETURN_NONE;
}

static PyMethodDef finish_method = {"finish", finish, METH_NOARGS, NULL};

static bool call_at_exit(struct run *run)
{
    PyObject *capsule = PyCapsule_New(run, NULL, NULL);
    PyObject *function = capsule != NULL ? PyCFunction_New(&finish_method, capsule) : NULL;
    PyObject *module = function != NULL ? PyImport_ImportModule("atexit") : NULL;
    PyObject *result =
        module != NULL ? PyObject_CallMethod(module, "register", "O", function) : NULL;

    Py_XDECREF(capsule);
    Py_XDECREF(function);
    Py_XDECREF(module);
    Py_XDECREF(result);
    return result != NULL;
}

/* ---- the beginning ---- */

/* kernprof finds scripts on PATH too. */
static void find_script(struct run *run)
{
    struct clp_run_options *options = &run->options;
    const char *path = getenv("PATH");
    struct stat info;

    if (options->target_kind != CLP_TARGET_SCRIPT || strchr(options->target, '/') != NULL ||
        stat(options->target, &info) == 0)
        return;
    while (path != NULL && *path != 0) {
        size_t length = strcspn(path, ":");
        clp_buf_clear(&run->found_script);
        clp_buf_add_format(&run->found_script, "%.*s/%s", (int)length, path, options->target);
        if (length != 0 && stat(clp_buf_text(&run->found_script), &info) == 0 &&
            S_ISREG(info.st_mode)) {
            options->target = clp_buf_text(&run->found_script);
            options->program_argv[0] = run->found_script.bytes;
            return;
        }
        path += length + (path[length] == ':');
    }
}

static const char *name_of_program(const struct clp_run_options *options)
{
    const char *slash = strrchr(options->target, '/');

    if (options->target_kind == CLP_TARGET_CODE)
        return "kernprof-command";
    if (options->target_kind == CLP_TARGET_STDIN)
        return "kernprof-stdin";
    return slash != NULL ? slash + 1 : options->target;
}

/* Absolute, because the program may change its working directory. */
static void name_outfile(struct run *run)
{
    const char *name = run->options.outfile;
    char folder[PATH_MAX];

    if ((name == NULL || name[0] != '/') && getcwd(folder, sizeof folder) != NULL)
        clp_buf_add_format(&run->outfile, "%s/", folder);
    if (name != NULL) {
        clp_buf_add_text(&run->outfile, name);
        return;
    }
    clp_buf_add_format(&run->outfile, "%s.%s", name_of_program(&run->options),
                       run->options.line_by_line ? "lprof" : "prof");
}

static PyObject *print_and_exit(struct run *run, void (*print)(const char *, struct clp_buf *))
{
    struct clp_buf text;

    clp_buf_init(&text, &run->mem);
    print(me, &text);
    clp_words_print(1, clp_buf_text(&text));
    clp_buf_clear(&text);
    return clp_words_exit(0);
}

static void add_version(const char *program, struct clp_buf *out)
{
    clp_buf_add_format(out, "%s %s\n", program, CLP_VERSION);
}

static PyObject *complain_and_exit(const char *text, int code)
{
    clp_words_complain(me, text);
    return clp_words_exit(code);
}

/* Turns the Python exception that is set into one line and an exit. */
static PyObject *complain_of_exception(int code)
{
    PyObject *type, *value, *trace;

    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *text = value != NULL ? PyObject_Str(value) : NULL;
    clp_words_complain(me, text != NULL ? PyUnicode_AsUTF8(text) : "cannot start");
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    Py_XDECREF(text);
    PyErr_Clear();
    return clp_words_exit(code);
}

/* The profiler, not yet among the builtins: the set-up is not profiled. */
static bool start_profiler(struct run *run, PyObject *profiler_type)
{
    const struct clp_run_options *options = &run->options;

    if (options->line_by_line)
        run->profiler = PyObject_CallFunction(profiler_type, "zOO", options->tracer,
                                              options->no_memory ? Py_False : Py_True,
                                              options->by_statement ? Py_True : Py_False);
    else
        run->profiler = clp_calls_new();
    return run->profiler != NULL;
}

static void begin_live(struct run *run)
{
    struct clp_buf command;

    clp_buf_init(&command, &run->mem);
    add_command(run, &command);
    clp_liverun_begin(&run->live, run->profiler,
                      &(struct clp_liverun_wish){
                          .program = me,
                          .outfile = clp_buf_text(&run->outfile),
                          .command = clp_buf_text(&command),
                          .save_interval = run->options.output_interval,
                      });
    clp_buf_clear(&command);
}

static bool install_profiler(const struct run *run)
{
    PyObject *builtins = PyEval_GetBuiltins(); /* borrowed */

    return !run->options.builtin ||
           (builtins != NULL &&
            PyDict_SetItemString(builtins, "profile", run->profiler) == 0);
}

/* -qq and -qqq, for the processes that the program starts too. */
static void silence(struct run *run)
{
    int nothing = run->options.verbosity < -1 ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;

    if (nothing < 0)
        return;
    (void)dup2(nothing, 1);
    if (run->options.verbosity < -2) {
        /* far from the numbers that the program's own files get */
        run->standard_error = fcntl(2, F_DUPFD_CLOEXEC, 200);
        (void)dup2(nothing, 2);
    }
    close(nothing);
}

static void say_left_out(const struct run *run)
{
    const struct clp_run_options *options = &run->options;
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;

    clp_buf_init(&text, &mem);
    clp_buf_add_format(&text, "without -l these options have no effect:%s%s%s%s",
                       options->prof_mod.count != 0 ? " -p" : "",
                       options->include.count != 0 ? " --include" : "",
                       options->exclude.count != 0 ? " --exclude" : "",
                       options->output_interval != 0 ? " -i" : "");
    if (clp_buf_text(&text)[text.used - 1] != ':' && options->verbosity >= 0)
        clp_words_complain(me, clp_buf_text(&text));
    clp_buf_clear(&text);
}

/* False with SystemExit set when there is nothing to run. */
static bool ready_to_run(struct run *run)
{
    struct clp_fault fault;

    if (run->options.target_kind == CLP_TARGET_NONE)
        return complain_and_exit("no program to run; see ckernprof --help", 2) != NULL;
    find_script(run);
    name_outfile(run);
    if (clp_file_probe(clp_buf_text(&run->outfile), &fault) != CLP_OK) {
        complain_fault(run, "cannot write", clp_buf_text(&run->outfile), &fault);
        return clp_words_exit(1) != NULL;
    }
    if (!run->options.line_by_line)
        say_left_out(run);
    return true;
}

/* ---- what happens to the program's code: the run is the data ---- */

static PyObject *prepare(void *data, PyObject *code)
{
    struct run *run = data;

    return run->options.line_by_line ? clp_chosen_script(&run->chosen, code) : Py_NewRef(code);
}

static bool know(void *data, PyObject *file, const char *text, size_t bytes)
{
    const struct run *run = data;

    return !run->options.line_by_line || clp_profiler_know(run->profiler, file, text, bytes);
}

static bool begin(void *data)
{
    const struct run *run = data;

    return run->options.builtin || clp_calls_enable(run->profiler);
}

static void pause_recording(void *data)
{
    const struct run *run = data;

    if (!run->options.line_by_line)
        clp_calls_disable(run->profiler);
}

/* How the interpreter ends: NULL with SystemExit set, or None. */
static PyObject *end(int code)
{
    if (code < 0)
        return NULL; /* the program's own SystemExit */
    if (code == 0 || code == 130)
        Py_RETURN_NONE; /* no SystemExit, which PYTHONINSPECT would show */
    return clp_words_exit(code);
}

static PyObject *run_program(struct run *run, PyObject *profiler_type)
{
    if (!start_profiler(run, profiler_type))
        return complain_of_exception(2);
    if (!clp_program_prepare(&run->options))
        return complain_of_exception(1);
    silence(run);
    int code = clp_program_set_up(&run->options);
    if (code != 0)
        return end(code);
    if (!install_profiler(run) || !call_at_exit(run))
        return complain_of_exception(1);
    if (run->options.line_by_line)
        begin_live(run);
    if ((run->options.line_by_line &&
         !clp_chosen_begin(&run->chosen, &run->mem, &run->options, run->profiler)))
        return complain_of_exception(1);
    return end(clp_program_run(
        &run->options, (struct clp_program_hook){prepare, know, begin, pause_recording, run}));
}

/* The defaults and what config files say; `line` is what the command line alone comes to. False with
 * SystemExit set. */
static bool configure(struct run *run, const struct clp_run_options *line)
{
    struct clp_config config = {
        .program = me, .table = "kernprof", .file = line->config, .quiet = line->verbosity < 0};

    clp_run_options_init(&run->options);
    return line->no_config || clp_config_read(&config, clp_run_options_table(), &run->options,
                                              &run->mem, &run->settings);
}

/* The command line over the config files. False with SystemExit set. */
static bool read_options(struct run *run)
{
    struct clp_run_options line;
    struct clp_buf error;

    clp_buf_init(&error, &run->mem);
    clp_run_options_init(&line);
    if (!clp_run_options_parse(run->words.count, run->words.items, &line, &error))
        return complain_and_exit(clp_buf_text(&error), 2) != NULL;
    if (line.help)
        return print_and_exit(run, clp_run_options_help) != NULL;
    if (line.version)
        return print_and_exit(run, add_version) != NULL;
    if (line.page)
        return print_and_exit(run, clp_run_options_page) != NULL;
    if (!configure(run, &line))
        return false;
    clp_run_options_clear(&line, &run->mem);
    /* once more: nothing in it can be wrong now */
    if (!clp_run_options_parse(run->words.count, run->words.items, &run->options, &error))
        return complain_and_exit(clp_buf_text(&error), 2) != NULL;
    if (run->options.program_argc > 0) /* -mMODULE has the option in the same word */
        run->options.program_argv[0] = (char *)(uintptr_t)run->options.target;
    return true;
}

/* Where rich is looked for when the program has ended. */
static bool keep_path(struct run *run)
{
    PyObject *path = PySys_GetObject("path"); /* borrowed */

    if (run->options.rich && path != NULL)
        run->start_path = PySequence_List(path);
    return run->start_path != NULL || !PyErr_Occurred();
}

PyObject *clp_run_main(PyObject *profiler_type, PyObject *words)
{
    struct run *run = PyMem_RawCalloc(1, sizeof *run);

    if (run == NULL)
        return PyErr_NoMemory();
    run->mem = clp_mem_system();
    run->process = getpid();
    run->standard_error = -1;
    clp_buf_init(&run->outfile, &run->mem);
    clp_buf_init(&run->live.path, &run->mem);
    clp_buf_init(&run->found_script, &run->mem);
    if (!clp_words_init(&run->words, words) || !clp_program_leave_folder())
        return NULL;
    if (!read_options(run) || !ready_to_run(run))
        return NULL;
    return keep_path(run) ? run_program(run, profiler_type) : NULL;
}
