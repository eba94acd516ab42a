/* SPDX-License-Identifier: MIT */
#include "finish.h"
#include "../src/core/choice.h"
#include "../src/core/file.h"
#include "../src/core/shown.h"
#include "../src/core/wire.h"
#include "../src/python/profiler.h"
#include "calls.h"
#include "children.h"
#include "family.h"
#include "leakrun.h"
#include "nothing.h"
#include "show.h"
#include <errno.h>
#include <limits.h>
#include <unistd.h>

static const char me[] = CLP_RUN_NAME;

#define CODE_LOST 1 /* there is no profile */

#if PY_VERSION_HEX >= 0x030B0000
#define CLP_DISPLACED_ADVICE "; --tracer probe does without it"
#else
#define CLP_DISPLACED_ADVICE "; from Python 3.11 on it is not needed"
#endif

struct clp_run *clp_run_new(const char *program)
{
    struct clp_run *run = PyMem_RawCalloc(1, sizeof *run);

    if (run == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    run->program = program;
    run->mem = clp_mem_system();
    run->rights = CLP_FILE_PRIVATE;
    run->standard_error = run->profile_out = -1;
    clp_buf_init(&run->outfile, &run->mem);
    clp_buf_init(&run->live.path, &run->mem);
    clp_buf_init(&run->found_script, &run->mem);
    return run;
}

/* What went wrong is told even to who asked for silence: the program has ended. */
void clp_finish_complain_fault(const struct clp_run *run, const char *doing, const char *path,
                               const struct clp_fault *fault)
{
    if (run->standard_error >= 0)
        (void)dup2(run->standard_error, 2);
    clp_words_complain_format(run->program, "%s '%s': %s", doing, path, clp_fault_text(fault));
}

/* The viewer in this folder, which the program may have left behind by changing its own. */
static void add_beside(struct clp_buf *out, const char *folder, size_t length)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf path;

    clp_buf_init(&path, &mem);
    clp_buf_add(&path, folder, length);
    clp_buf_add_text(&path, "/clineprof");
    clp_words_add_quoted(out, access(clp_buf_text(&path), X_OK) == 0 ? clp_buf_text(&path) : "clineprof");
    clp_buf_clear(&path);
}

static void add_python(struct clp_buf *out, const char *module)
{
    const char *python = PyUnicode_AsUTF8(PySys_GetObject("executable"));

    clp_words_add_quoted(out, python != NULL ? python : "python3");
    clp_buf_add_format(out, " -m %s", module);
}

/* The command that shows the profile from where the user stands now. */
static void add_line_viewer(const struct clp_run *run, struct clp_buf *out)
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

static void add_viewer(const struct clp_run *run, struct clp_buf *out)
{
    if (run->options.line_by_line) {
        add_line_viewer(run, out);
        clp_buf_add_text(out, " -mt");
    } else {
        add_python(out, "pstats");
    }
}

const char *clp_finish_seen_from_here(const char *path)
{
    char folder[PATH_MAX];
    size_t length;

    if (getcwd(folder, sizeof folder) == NULL)
        return path;
    length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

static void say_written(const struct clp_run *run, const char *path)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;

    if (run->options.verbosity < 0)
        return;
    path = clp_finish_seen_from_here(path);
    clp_buf_init(&text, &mem);
    clp_buf_add_format(&text, "Wrote profile results to '%s'\n", path);
    if (run->options.verbosity == 0) {
        clp_buf_add_text(&text, "Inspect results with:\n");
        add_viewer(run, &text);
        clp_buf_add_text(&text, path[0] == '-' ? " ./" : " ");
        clp_words_add_quoted(&text, path);
        clp_buf_add_text(&text, "\n");
    }
    clp_words_print(1, clp_buf_text(&text));
    clp_buf_clear(&text);
}

/* By now everything is written but what C streams hold. */
static void exit_if_well(int code, void *ours)
{
    if (code != 0)
        return;
    (void)fflush(NULL);
    _exit((int)(intptr_t)ours);
}

void clp_finish_exit_with(int code)
{
    (void)on_exit(exit_if_well, (void *)(intptr_t)code);
}

/* A run is not lost because its folder went away: the temporary folder takes the profile. */
static bool write_elsewhere(const struct clp_run *run, const char *bytes, size_t count)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_fault fault;
    struct clp_buf path;

    clp_buf_init(&path, &mem);
    const char *name = run->options.line_by_line ? CLP_RUN_NAME "-XXXXXX.lprof" : CLP_RUN_NAME "-XXXXXX.prof";
    bool written = clp_file_write_temporary(name, bytes, count, &path, &fault) == CLP_OK;
    if (written) {
        clp_words_complain_format(me, "the profile is in '%s' instead", clp_buf_text(&path));
        say_written(run, clp_buf_text(&path));
    } else {
        clp_finish_complain_fault(run, "the profile cannot be written to the temporary folder either",
                                  CLP_FILE_TEMPORARY, &fault);
        clp_finish_exit_with(CODE_LOST);
    }
    clp_buf_clear(&path);
    return written;
}

static void say_lost(const char *text)
{
    clp_words_complain(me, text);
    clp_finish_exit_with(CODE_LOST);
}

/* Where this process has no live file nothing keeps others from the name. */
static void avoid_others(struct clp_run *run)
{
    if (run->live.live != NULL || !clp_naming_has_changed(&run->before, clp_buf_text(&run->outfile)))
        return;
    clp_naming_make_own(&run->outfile);
    clp_words_complain_format(me, "another process has written a profile of the same name meanwhile; this "
                              "run's is '%s'", clp_finish_seen_from_here(clp_buf_text(&run->outfile)));
}

static bool write_to_place(struct clp_run *run, const char *bytes, size_t count)
{
    const struct clp_file_content content = {bytes, count, run->rights};
    int held = run->live.live == NULL ? clp_naming_lock(clp_buf_text(&run->outfile), true) : -1;
    struct clp_fault fault;

    avoid_others(run);
    bool written = clp_file_write(clp_buf_text(&run->outfile), &content, &fault) == CLP_OK;
    if (held >= 0)
        close(held);
    if (!written)
        clp_finish_complain_fault(run, "cannot write the profile to", clp_buf_text(&run->outfile), &fault);
    return written;
}

/* -o - */
static bool write_to_output(const struct clp_run *run, const char *bytes, size_t count)
{
    if (clp_file_put(run->profile_out, bytes, count))
        return true;
    const struct clp_fault fault = {.status = CLP_IO, .os_error = errno};
    clp_words_complain_of_place(me, NULL, &fault);
    return write_elsewhere(run, bytes, count);
}

static bool write_bytes(struct clp_run *run, const char *bytes, size_t count)
{
    if (run->profile_out >= 0)
        return write_to_output(run, bytes, count);
    if (run->unwritable || !write_to_place(run, bytes, count))
        return write_elsewhere(run, bytes, count);
    say_written(run, clp_buf_text(&run->outfile));
    return true;
}

static bool write_profile(struct clp_run *run, const struct clp_profile *profile)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf bytes;
    bool written = false;

    clp_buf_init(&bytes, &mem);
    if (clp_wire_encode(profile, &bytes) != CLP_OK)
        say_lost("out of memory; the profile is not written");
    else
        written = write_bytes(run, clp_buf_text(&bytes), bytes.used);
    clp_buf_clear(&bytes);
    return written;
}

static void print_report(const struct clp_run *run, const struct clp_profile *profile)
{
    struct clp_show show = {.name = me, .rich = run->options.show.rich, .path = run->start_path,
                            .options = clp_report_defaults()};

    clp_report_options_set(&show.options, &run->options.show);
    show.options.footer_details = run->options.verbosity > 1;
    show.options.footer |= show.options.footer_details;
    show.mp = run->options.show.mp;
    clp_memory_table_options_set(&show.table, &run->options.show);
    (void)clp_show_report(profile, &show);
}

static void say_what_lacks(const struct clp_run *run, const struct clp_profile *profile)
{
    if (run->options.verbosity < 0)
        return;
    if (run->end.started && profile->process_count < 2) /* children may have reached more */
        clp_chosen_end(&run->chosen);
    clp_nothing_say(run, profile);
    if (clp_profiler_lost(run->profiler))
        clp_words_complain(me, "memory ran out while profiling; some counts are missing");
    if (clp_profiler_displaced(run->profiler))
        clp_words_complain(me, "another tool had sys.settrace for itself; lines that ran "
                               "meanwhile are missing" CLP_DISPLACED_ADVICE);
}

/* A profile holds UTF-8, whatever a command line is. */
static void add_readable_word(struct clp_buf *out, const char *word)
{
    PyObject *text = PyUnicode_DecodeFSDefault(word);
    PyObject *bytes =
        text != NULL ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace") : NULL;

    if (bytes != NULL)
        clp_words_add_quoted(out, PyBytes_AS_STRING(bytes));
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(bytes);
}

/* The program's own command line, for readers. */
void clp_finish_add_command(const struct clp_run *run, struct clp_buf *text)
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
static void note_command(const struct clp_run *run, struct clp_profile *profile)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;

    clp_buf_init(&text, &mem);
    clp_finish_add_command(run, &text);
    (void)clp_profile_set_text(profile, &profile->meta.command, clp_buf_text(&text));
    clp_buf_clear(&text);
}

static const struct clp_function *refused(const struct clp_run *run,
                                          const struct clp_refusal *refusal)
{
    return &clp_profiler_functions(run->profiler)->items[refusal->function];
}

static void say_refused(const struct clp_run *run, const struct clp_refusal *refusal)
{
    struct clp_mem mem = clp_mem_system();
    const struct clp_function *function = refused(run, refusal);
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

/* Is it the profile's function, whose name may have a thread's behind it? */
static bool is_of(const struct clp_function *one, const struct clp_profile_function *other)
{
    size_t bytes = strlen(one->name);

    return one->first_line == other->first_line && strcmp(one->file, other->file) == 0 &&
           strncmp(one->name, other->name, bytes) == 0 &&
           (other->name[bytes] == 0 || other->name[bytes] == ' ');
}

/* The tracer that took the function. */
static const char *tracer_of(const struct clp_run *run, const struct clp_profile *profile,
                             const struct clp_profile_function *function)
{
    for (const struct clp_refusal *refusal = clp_profiler_refusals(run->profiler); refusal != NULL;
         refusal = refusal->next) {
        if (is_of(refused(run, refusal), function))
            return refusal->taken_by != NULL ? refusal->taken_by : "none";
    }
    return profile->meta.tracer;
}

static void add_selected(struct clp_buf *text, const struct clp_run *run,
                         const struct clp_profile *profile, uint32_t number)
{
    const struct clp_profile_function *function = &profile->functions[number];
    const char *target = clp_chosen_by(&run->chosen, function->file, function->name);

    clp_buf_add_format(text, "selected %s, %s:%d, by %s%s, tracer %s", function->name,
                       function->file, (int)function->first_line, target != NULL ? "-p " : "",
                       target != NULL ? target : "@profile", tracer_of(run, profile, function));
}

/* -vv: how the profile was made. */
static void say_more(const struct clp_run *run, const struct clp_profile *profile)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;

    clp_buf_init(&text, &mem);
    clp_buf_add_format(&text, "tracer %s, %zu function%s selected, %llu line event%s, %.3g s of %.3g s "
                              "taken off", profile->meta.tracer, profile->function_count,
                       clp_buf_plural(profile->function_count), (unsigned long long)profile->meta.events,
                       clp_buf_plural(profile->meta.events),
                       (double)profile->meta.overhead * 1e-9, (double)profile->meta.wall * 1e-9);
    clp_words_complain(me, clp_buf_text(&text));
    for (size_t i = 0; i < profile->function_count; i++) {
        clp_buf_clear(&text);
        add_selected(&text, run, profile, (uint32_t)i);
        clp_words_complain(me, clp_buf_text(&text));
    }
    clp_buf_clear(&text);
}

/* -v: what of marked classes is not in the report. */
static void say_left_out(const struct clp_run *run)
{
    PyObject *lines = clp_profiler_left_out(run->profiler); /* borrowed */

    for (Py_ssize_t i = 0; lines != NULL && i < PyList_GET_SIZE(lines); i++) {
        const char *line = PyUnicode_AsUTF8(PyList_GET_ITEM(lines, i));
        if (line != NULL)
            clp_words_complain(me, line);
        PyErr_Clear();
    }
}

/* What no tracer took is always told. */
static void say_all_refused(const struct clp_run *run)
{
    for (const struct clp_refusal *refusal = clp_profiler_refusals(run->profiler); refusal != NULL;
         refusal = refusal->next) {
        if (run->options.verbosity > (refusal->taken_by == NULL ? -1 : 1))
            say_refused(run, refusal);
    }
}

/* Names compiled functions: their lines would look as if they had never run. */
static void say_compiled(const struct clp_run *run, const struct clp_profile *profile)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;

    clp_buf_init(&text, &mem);
    for (size_t i = 0; i < profile->function_count && run->options.verbosity >= 0; i++) {
        const struct clp_profile_function *function = &profile->functions[i];
        if (function->compiler == NULL)
            continue;
        clp_buf_clear(&text);
        clp_buf_add_format(&text, "%s, %s:%d, was compiled by %s; calls of the compiled code are not "
                                  "counted", function->name, function->file,
                           (int)function->first_line, function->compiler);
        clp_words_complain(me, clp_buf_text(&text));
    }
    clp_buf_clear(&text);
}

static void print_calls(const struct clp_run *run)
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

static void finish_calls(struct clp_run *run)
{
    PyObject *bytes = clp_calls_bytes(run->profiler);

    if (bytes == NULL) {
        PyErr_Clear();
        say_lost("cProfile cannot give its profile; it is not written");
        return;
    }
    bool empty = clp_calls_empty(run->profiler) || !run->end.started;
    if (!empty || !clp_nothing_is_kept_back(run))
        write_bytes(run, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    Py_DECREF(bytes);
    if (run->options.verbosity > 0 && !empty) /* pstats has no report of nothing */
        print_calls(run);
    if (run->options.verbosity >= 0)
        clp_nothing_say_of_calls(run, empty);
}

/* What this process has counted, and its children. `summed`: the names of their files. */
static void gather(struct clp_run *run, struct clp_profile *profile, struct clp_buf *summed)
{
    if (clp_profiler_snapshot(run->profiler, profile) != CLP_OK ||
        clp_timeline_fill(&run->timeline, run->profiler, profile) != CLP_OK)
        clp_words_complain(me, "out of memory; the profile holds only a part");
    note_command(run, profile);
    if (run->family.token != 0 && clp_family_add(run, profile, summed) != CLP_OK)
        clp_words_complain(me, "out of memory; the profile lacks some child processes");
}

static void say_all(struct clp_run *run, const struct clp_profile *profile)
{
    if (run->options.verbosity > 0 && profile->function_count != 0) /* those that were not called, too */
        print_report(run, profile);
    if (run->options.verbosity > 1)
        say_more(run, profile);
    say_left_out(run);
    say_all_refused(run);
    say_compiled(run, profile);
    say_what_lacks(run, profile);
    clp_leakrun_say(&run->options, run->profiler);
}

static void finish_lines(struct clp_run *run)
{
    struct clp_profile profile;
    struct clp_buf summed;

    clp_profiler_stop(run->profiler);
    clp_liverun_stop_saves(&run->live, me);
    clp_timeline_stop(&run->timeline);
    clp_profile_init(&profile, &run->mem);
    clp_buf_init(&summed, &run->mem);
    gather(run, &profile, &summed);
    bool nothing = clp_choice_is_idle(&profile) && clp_nothing_is_kept_back(run);
    bool done = nothing || write_profile(run, &profile);
    clp_liverun_end(&run->live, me, done);
    if (done)
        clp_family_remove(&summed);
    say_all(run, &profile);
    clp_leakrun_judge(&run->options, run->profiler, &profile);
    clp_buf_clear(&summed);
    clp_profile_clear(&profile);
}

static PyObject *finish(PyObject *capsule, PyObject *nothing)
{
    struct clp_run *run = PyCapsule_GetPointer(capsule, NULL);

    (void)nothing;
    if (run != NULL && run->process != clp_identity_self())
        clp_children_leave(run);
    if (run == NULL || run->process != clp_identity_self())
        Py_RETURN_NONE;
    if (run->options.line_by_line)
        finish_lines(run);
    else
        finish_calls(run);
    Py_RETURN_NONE;
}

static PyMethodDef finish_method = {"finish", finish, METH_NOARGS, NULL};

bool clp_finish_at_exit(struct clp_run *run)
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
