/* SPDX-License-Identifier: MIT */
#include "nothing.h"
#include "os/processes.h"
#include "report/choice.h"
#include "cpython/object/profiler_run.h"
#include "cli/commands.h"
#include "run/processes/liverun.h"
#include "run/processes/naming.h"
#include "cli/option.h"
#include "cli/options.h"
#include "bridge/console.h"
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static const char me[] = CLP_RUN_NAME;

/* Where all that was selected ran, other processes that took less processor time than this are not worth a message. */
#define CHILDREN_SECONDS 2

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

bool clp_nothing_is_kept_back(const struct clp_run *run)
{
    return run->profile_out < 0 && clp_liverun_has_place(clp_buf_text(&run->recording.outfile));
}

/* ---- why ---- */

/* Suggests what the user may have meant by a script that could not be started: no `python` before it, the ending .py,
 * or a command of clineprof. */
static void add_what_is_meant(struct clp_buf *text, const char *script)
{
    const char *slash = strrchr(script, '/'); /* "diff" may have been found in PATH, as /usr/bin/diff */
    char *words[] = {NULL, (char *)(uintptr_t)(slash != NULL ? slash + 1 : script)};
    struct clp_mem mem = clp_mem_system();
    struct clp_buf file;

    clp_buf_init(&file, &mem);
    clp_buf_add_format(&file, "%s.py", script);
    if (strncmp(words[1], "python", 6) == 0)
        clp_buf_add_format(text, "; leave '%s' out, ckernprof starts Python itself", words[1]);
    else if (!is_there(script) && is_there(clp_buf_text(&file)))
        clp_buf_add_format(text, "; did you mean %s?", clp_buf_text(&file));
    else if (clp_command_is_any(2, words))
        clp_buf_add_format(text, "; did you mean clineprof %s?", words[1]);
    clp_buf_clear(&file);
}

static void add_why_not_started(struct clp_buf *text, const struct clp_run *run)
{
    clp_buf_add_text(text, "the program could not be started");
    if (run->end.exception[0] != 0)
        clp_buf_add_format(text, " (%s)", run->end.exception);
    if (run->options.target_kind == CLP_TARGET_SCRIPT)
        add_what_is_meant(text, run->options.target);
}

static void add_why_none_selected(struct clp_buf *text, const struct clp_run *run)
{
    const struct clp_run_options *options = &run->options;
    bool module = options->target_kind == CLP_TARGET_MODULE;

    if (options->prof_mod.count != 0) {
        clp_buf_add_text(text, clp_target_selection_has_left_out(&run->chosen)
                                   ? "--include or --exclude left out what -p names"
                                   : "no target of -p was reached");
        return;
    }
    if (!module && options->target_kind != CLP_TARGET_SCRIPT) {
        clp_buf_add_text(text, "the program has no file and defines no function, and of such a program only functions "
                               "are profiled; save it as a file, or select what it uses: -p MODULE");
        return;
    }
    clp_buf_add_text(text, "no @profile was reached; put @profile above a function that the program runs, or "
                           "select a whole file or module: -p ");
    clp_console_add_quoted(text, options->target);
}

static const struct clp_profile_function *first_idle(const struct clp_profile *profile)
{
    for (size_t i = 0; i < profile->function_count; i++)
        if (!clp_choice_was_hit(profile, &profile->functions[i]))
            return &profile->functions[i];
    return NULL;
}

static void add_why_none_ran(struct clp_buf *text, const struct clp_run *run,
                             const struct clp_profile *profile)
{
    const struct clp_profile_function *first = first_idle(profile);

    if (clp_profiler_displaced(run->recording.profiler))
        clp_buf_add_text(text, "another tool had replaced clineprof's trace function (sys.settrace)");
    else if (run->end.refused_words)
        clp_buf_add_text(text, "the program exited with 2, as for wrong arguments, before any selected function ran");
    else if (first->compiler != NULL)
        clp_buf_add_format(text, "no line of a selected function was seen: %s was compiled by %s", first->name,
                           first->compiler);
    else
        clp_buf_add_format(text, "no selected function was called, such as %s, %s:%d", first->name,
                           clp_naming_seen_from_here(first->file), (int)first->first_line);
}

/* Appends how the program ended, if that is why nothing ran. False if it is not. */
static bool add_why_ended(struct clp_buf *text, const struct clp_run *run)
{
    const struct clp_program_end *end = &run->end;

    if (!end->started)
        add_why_not_started(text, run);
    else if (end->exception[0] != 0)
        clp_buf_add_format(text, "the program ended with %s before any selected function ran", end->exception);
    return !end->started || end->exception[0] != 0;
}

/* ---- hints ---- */

/* Has the program forked, or may it have started processes with multiprocessing? */
static bool has_started_python(const struct clp_run *run)
{
    return run->recording.live.forks != 0 ||
           PyDict_GetItemString(PyImport_GetModuleDict(), "multiprocessing.popen_fork") != NULL;
}

/* Processor time in seconds of this process, or of those that it has started and that have ended. */
static double processor_time(int whose)
{
    struct rusage usage;

    if (getrusage(whose, &usage) != 0)
        return 0;
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/* Processor time in seconds of the processes that the program has started. Some still run, such as the fork server of
 * multiprocessing, and workers that nobody ends. */
static double childrens_time(void)
{
    return processor_time(RUSAGE_CHILDREN) + clp_processes_time_below();
}

/* Have other processes done the work? They may be of any kind. */
static bool children_worked(void)
{
    return childrens_time() > processor_time(RUSAGE_SELF);
}

/* Which of the program's processes --prof-child-procs would profile. */
static const char *profiled_children(const struct clp_run *run)
{
    return has_started_python(run) ? "them" : "those that run Python";
}

/* Is only this process profiled, although it started the program? */
static bool is_profiled_alone(const struct clp_run *run)
{
    return run->recording.family.token == 0 && run->end.started;
}

/* Has the program started processes that are not profiled, because --prof-child-procs was not given? */
static bool misses_children(const struct clp_run *run)
{
    return is_profiled_alone(run) && (has_started_python(run) || children_worked());
}

/* The first word behind the program that is an option of ckernprof and that `is_meant`, if that is not NULL; NULL when
 * there is none. */
static const char *misplaced_word(const struct clp_run_options *options, bool (*is_meant)(const char *word))
{
    for (int i = 1; i < options->program_argc && strcmp(options->program_argv[i], "--") != 0; i++) {
        const char *word = options->program_argv[i];
        if (clp_option_is_spelled(clp_run_options_table(), word) && (is_meant == NULL || is_meant(word)))
            return word;
    }
    return NULL;
}

/* What clineprof._by_value answers about a function that may have been pickled for other processes: a new str, or NULL.
 * The question is the name of its function, which gets `more`, too, if that is not NULL. */
static PyObject *answer(const char *question, const struct clp_profile_function *function, PyObject *more)
{
    PyObject *helper = PyDict_GetItemString(PyImport_GetModuleDict(), "clineprof._by_value"); /* borrowed */
    PyObject *file = helper != NULL ? PyUnicode_DecodeFSDefault(function->file) : NULL, *text = NULL;

    if (file != NULL)
        text = PyObject_CallMethod(helper, question, more != NULL ? "OiO" : "Oi", file, (int)function->first_line, more);
    Py_XDECREF(file);
    if (text == Py_None)
        Py_CLEAR(text);
    PyErr_Clear();
    return text;
}

/* The path of a profile of other processes in which the function ran: a new str. NULL: there is none. */
static PyObject *elsewhere(const struct clp_profile_function *function)
{
    return answer("elsewhere", function, NULL);
}

/* The first function that ran neither in this process nor, as far as is known, in others. NULL: all ran. */
static const struct clp_profile_function *first_unseen(const struct clp_profile *profile)
{
    for (size_t i = 0; i < profile->function_count; i++) {
        PyObject *path = clp_choice_was_hit(profile, &profile->functions[i]) ? Py_NewRef(Py_None)
                                                                              : elsewhere(&profile->functions[i]);
        if (path == NULL)
            return &profile->functions[i];
        Py_DECREF(path);
    }
    return NULL;
}

/* The first function that was pickled and did not run in this process, and in *advice how it can be counted,
 * a new str. NULL if there is none. */
static const struct clp_profile_function *first_sent(const struct clp_run *run, const struct clp_profile *profile,
                                                     PyObject **advice)
{
    bool misses = is_profiled_alone(run) && (has_started_python(run) || childrens_time() > 0);

    for (size_t i = 0; i < profile->function_count; i++) {
        const struct clp_profile_function *function = &profile->functions[i];
        if (!clp_choice_was_hit(profile, function) &&
            (*advice = answer("advice", function, misses ? Py_True : Py_False)) != NULL)
            return function;
    }
    return NULL;
}

static bool hint_at_sent(const struct clp_run *run, const struct clp_profile *profile)
{
    PyObject *advice = NULL;
    const struct clp_profile_function *sent = first_sent(run, profile, &advice);

    if (sent != NULL)
        clp_console_complain_format(me, "%s, %s:%d, was pickled and did not run in this process; %s",
                                    sent->name, clp_naming_seen_from_here(sent->file), (int)sent->first_line,
                                    PyUnicode_AsUTF8(advice));
    Py_XDECREF(advice);
    return sent != NULL;
}

static void hint_at_children(const struct clp_run *run, const struct clp_profile *profile)
{
    const struct clp_profile_function *idle = first_unseen(profile);

    if (idle == NULL && first_idle(profile) == NULL && is_profiled_alone(run) && children_worked() &&
        childrens_time() >= CHILDREN_SECONDS)
        clp_console_complain_format(me, "the processes that the program started took %.1f s of processor time, the "
                                      "program itself %.1f s; --prof-child-procs profiles those that run Python, too",
                                    childrens_time(), processor_time(RUSAGE_SELF));
    if (idle != NULL && !hint_at_sent(run, profile) && misses_children(run))
        clp_console_complain_format(me, "%s, %s:%d, did not run in this process, and the program started other "
                                      "processes; --prof-child-procs profiles %s, too",
                                    idle->name, clp_naming_seen_from_here(idle->file), (int)idle->first_line,
                                    profiled_children(run));
}

/* Hints at --python when a module was not found, as another environment may have it. */
static void hint_at_interpreter(const struct clp_run *run)
{
    PyObject *path = PySys_GetObject("executable"); /* borrowed */
    const char *active = getenv("VIRTUAL_ENV");
    const char *python = path != NULL && PyUnicode_Check(path) ? PyUnicode_AsUTF8(path) : NULL;

    if (python != NULL && strcmp(run->end.exception, "ModuleNotFoundError") == 0 &&
        run->options.python == NULL && (active == NULL || *active == 0))
        clp_console_complain_format(me, "the program ran with %s; --python chooses another interpreter", python);
    PyErr_Clear();
}

static void hint_at_profile(const struct clp_run_options *options)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;

    clp_buf_init(&text, &mem);
    clp_buf_add_text(&text, "the program uses 'profile', which only -l (times of lines) and -b (times of functions) "
                            "define: ckernprof -l ");
    clp_buf_add_text(&text, options->target_kind == CLP_TARGET_MODULE ? "-m " : "");
    clp_console_add_quoted(&text, options->target);
    clp_console_complain(me, clp_buf_text(&text));
    clp_buf_clear(&text);
}

/* Has the program imported what reads options? Then a -l that it accepts is its own. */
static bool reads_options(void)
{
    static const char *const readers[] = {"argparse", "optparse", "getopt", "click"};

    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (PyDict_GetItemString(PyImport_GetModuleDict(), readers[i]) != NULL)
            return true;
    return false;
}

/* Does the word ask for -l? Few programs have joined letters with l first ("-lv"), or --line.. */
static bool asks_for_lines(const char *word)
{
    return strncmp(word, "--line", 6) == 0 || (strncmp(word, "-l", 2) == 0 && (word[2] != 0 || !reads_options()));
}

static void hint_at_options(const struct clp_run *run)
{
    const struct clp_run_options *options = &run->options;
    const char *word = run->end.refused_words   ? misplaced_word(options, NULL)
                       : !options->line_by_line ? misplaced_word(options, asks_for_lines)
                                                : NULL;
    bool by_name = options->target_kind == CLP_TARGET_SCRIPT || options->target_kind == CLP_TARGET_MODULE;

    if (run->end.lacks_profile && !options->builtin && by_name)
        hint_at_profile(options);
    else if (word != NULL)
        clp_console_complain_format(me, "'%s' stands behind the program, which got it; options of ckernprof must "
                                      "stand before the program", word);
}

/* ---- messages ---- */

static void start_to_say(struct clp_buf *text, const struct clp_run *run)
{
    clp_buf_add_text(text, "nothing was profiled");
    if (!clp_nothing_is_kept_back(run))
        clp_buf_add_text(text, ": ");
    else if (is_there(clp_buf_text(&run->recording.outfile)))
        clp_buf_add_format(text, ", and '%s' stays as an earlier run wrote it: ",
                           clp_naming_seen_from_here(clp_buf_text(&run->recording.outfile)));
    else
        clp_buf_add_text(text, ", and no profile is written: ");
}

/* Appends other possible causes behind the reason, and prints the message. `profile` may be NULL. */
static void end_saying(struct clp_buf *text, const struct clp_run *run, const struct clp_profile *profile)
{
    const char *word = misplaced_word(&run->options, NULL);
    PyObject *advice = NULL;
    const struct clp_profile_function *idle = profile != NULL ? first_idle(profile) : NULL;
    const struct clp_profile_function *sent = idle != NULL ? first_sent(run, profile, &advice) : NULL;
    PyObject *path = idle != NULL ? elsewhere(idle) : NULL;

    if (sent != NULL)
        clp_buf_add_format(text, "; %s was pickled; %s", sent->name, PyUnicode_AsUTF8(advice));
    else if (path != NULL)
        clp_buf_add_format(text, "; '%s' has what it did in other processes", PyUnicode_AsUTF8(path));
    else if (misses_children(run) && run->options.line_by_line)
        clp_buf_add_format(text, "; the program started other processes; --prof-child-procs profiles %s, too",
                           profiled_children(run));
    Py_XDECREF(advice);
    Py_XDECREF(path);
    if (word != NULL)
        clp_buf_add_format(text, "; '%s' stands behind the program, which got it, not ckernprof", word);
    clp_console_complain(me, clp_buf_text(text));
}

static void say_nothing(const struct clp_run *run, const struct clp_profile *profile)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;

    clp_buf_init(&text, &mem);
    start_to_say(&text, run);
    if (add_why_ended(&text, run))
        ;
    else if (profile == NULL)
        clp_buf_add_text(&text, "no function marked with @profile was called, nor any within 'with profile:'; "
                                "without -b all functions are profiled");
    else if (profile->function_count == 0)
        add_why_none_selected(&text, run);
    else
        add_why_none_ran(&text, run, profile);
    end_saying(&text, run, profile);
    clp_buf_clear(&text);
}

void clp_nothing_say(const struct clp_run *run, const struct clp_profile *profile)
{
    hint_at_interpreter(run);
    if (clp_choice_is_idle(profile)) {
        say_nothing(run, profile);
        return;
    }
    hint_at_children(run, profile);
    hint_at_options(run);
}

void clp_nothing_say_of_calls(const struct clp_run *run, bool empty)
{
    hint_at_interpreter(run);
    if (empty)
        say_nothing(run, NULL);
    else
        hint_at_options(run);
}
