/* SPDX-License-Identifier: MIT */
/* The run of ckernprof, inside the interpreter: reads the options, makes a profiler, runs the program. finish.c does
 * what comes after the program. */
#include "run.h"
#include "os/file.h"
#include "os/identity.h"
#include "cpython/object/profiler_run.h"
#include "cprofile.h"
#include "childmain.h"
#include "run/processes/children.h"
#include "target_selection.h"
#include "cli/config.h"
#include "finish.h"
#include "cli/first_path.h"
#include "imports.h"
#include "cli/interpreter.h"
#include "leakrun.h"
#include "memory_break.h"
#include "run/processes/naming.h"
#include "nativerun.h"
#include "os/nvtx.h"
#include "cli/option.h"
#include "cli/options.h"
#include "output.h"
#include "program.h"
#include "program_sys.h"
#include "run/processes/recording.h"
#include "session.h"
#include "timeline.h"
#include "bridge/console.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char me[] = CLP_RUN_NAME;

/* Looks a script up in PATH, as kernprof does, when there is no such file in the working directory. */
static void find_script(struct clp_run *run)
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

static PyObject *print_and_exit(struct clp_run *run, void (*print)(const char *, struct clp_buf *))
{
    struct clp_buf text;

    clp_buf_init(&text, &run->mem);
    print(me, &text);
    clp_console_print(1, clp_buf_text(&text));
    clp_buf_clear(&text);
    return clp_console_exit(0);
}

static PyObject *complain_and_exit(const char *text, int code)
{
    clp_console_complain(me, text);
    return clp_console_exit(code);
}

/* Prints the Python exception that is set as one line, and replaces it with SystemExit(code). Returns NULL. */
static PyObject *complain_of_exception(int code)
{
    clp_console_complain_of_exception(me, "cannot start");
    return clp_console_exit(code);
}

/* Counts threads separately (--threads). The table of live blocks notes a block's line but not its thread, so --heap
 * and --leaks have one result for all threads. */
static void begin_threads(const struct clp_run *run)
{
    const struct clp_run_options *options = &run->options;

    if (!options->line_by_line || !options->threads)
        return;
    clp_profiler_name_threads(run->recording.profiler);
    if (options->verbosity >= 0 && (options->heap != NULL || clp_leakrun_wanted(options)))
        clp_console_complain(me, "--threads: --heap and --leaks count all threads together; their tables have no "
                               "thread's name");
}

/* Makes the profiler. It is not yet in the builtins, because the code of --setup is not to use it. False with an
 * exception set. */
static bool start_profiler(struct clp_run *run, PyObject *profiler_type)
{
    const struct clp_run_options *options = &run->options;
    struct clp_recording *recording = &run->recording;

    recording->quiet = options->verbosity < 0;
    recording->profiler =
        options->line_by_line ? clp_leakrun_profiler(profiler_type, options) : clp_cprofile_new();
    return recording->profiler != NULL && (!options->line_by_line || options->verbosity < 1 ||
                                           clp_profiler_note_left_out(recording->profiler));
}

/* Says so if the tracer does not tell what lines call. */
static void say_no_native(const struct clp_run *run)
{
    const struct clp_run_options *options = &run->options;

    if (!options->native || options->verbosity < 0 || clp_profiler_counts_called(run->recording.profiler))
        return;
    clp_console_complain(me, "--native needs the tracer probe (CPython 3.11 and newer); C time and library are missing");
}

/* Says so if no tool takes the ranges. */
static void say_no_nvtx(struct clp_run *run)
{
    const char *why = run->options.nvtx && run->options.line_by_line ? clp_nvtx_open() : NULL;
    struct clp_buf text;

    if (why == NULL || run->options.verbosity < 0)
        return;
    clp_buf_init(&text, &run->mem);
    clp_buf_add_format(&text, "--nvtx: %s", why);
    clp_console_complain(me, clp_buf_text(&text));
    clp_buf_clear(&text);
}

static void begin_live(struct clp_run *run, bool is_server)
{
    struct clp_buf command;

    clp_profiler_note_destination(run->recording.profiler, clp_buf_text(&run->recording.outfile));
    say_no_native(run);
    say_no_nvtx(run);
    clp_buf_init(&command, &run->mem);
    clp_run_add_command(run, &command);
    clp_recording_begin(&run->recording,
                        &(struct clp_recording_wish){
                            .command = clp_buf_text(&command),
                            .save_interval = run->profile_out < 0 ? run->options.output_interval : 0,
                            .is_server = is_server,
                        });
    clp_buf_clear(&command);
}

/* Starts --timeline and --pdb-mmem. */
static void begin_watch(struct clp_run *run)
{
    const struct clp_run_options *options = &run->options;

    if (options->timeline > 0)
        clp_timeline_begin(&run->timeline, run->recording.profiler, &run->watch,
                           &(struct clp_timeline_wish){.program = me,
                                                       .interval = options->timeline,
                                                       .children = options->include_children});
    if (options->pdb_mmem > 0)
        clp_memory_break_set(&run->watch, options->pdb_mmem);
    if (run->watch.look != NULL || run->watch.stop != NULL)
        clp_profiler_set_watch(run->recording.profiler, &run->watch);
}

static bool install_profiler(const struct clp_run *run)
{
    PyObject *builtins = PyEval_GetBuiltins(); /* borrowed */

    return !run->options.builtin ||
           (builtins != NULL &&
            PyDict_SetItemString(builtins, "profile", run->recording.profiler) == 0);
}

/* Begins to select what -p names. A run without -l selects no lines. With -b it still makes line_profiler's `profile`
 * use the launcher's profiler, and gives children that are spawned a name `profile`. False with an exception set. */
static bool begin_choice(struct clp_run *run)
{
    struct clp_imports *imports = &run->chosen.imports;

    if (run->options.line_by_line)
        return clp_target_selection_begin(&run->chosen, &run->mem, &run->options, run->recording.profiler);
    if (!run->options.builtin)
        return true;
    *imports = (struct clp_imports){.profiler = run->recording.profiler, .selects_nothing = true};
    if (!clp_imports_watch(imports))
        return false;
    clp_imports_hand_over(imports);
    return true;
}

/* Sends standard output (-qq) and standard error (-qqq) to /dev/null. Processes that the program starts inherit
 * that. */
static void silence(struct clp_run *run)
{
    int nothing = run->options.verbosity < -1 ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;

    if (nothing < 0)
        return;
    (void)dup2(nothing, 1);
    if (run->options.verbosity < -2) {
        run->recording.standard_error = fcntl(2, F_DUPFD_CLOEXEC, CLP_FAR_DESCRIPTOR);
        (void)dup2(nothing, 2);
    }
    close(nothing);
}

/* Complains of an option that the exit status of a run without -l would answer unseen, sets SystemExit and returns
 * true; false if there is none. */
static bool refuse_gate(const struct clp_run_options *options)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf names;

    if (options->line_by_line)
        return false;
    clp_buf_init(&names, &mem);
    clp_run_options_add_for_lines(options, true, &names);
    bool refused = names.used != 0;
    if (refused) {
        clp_console_complain_format(me, "%s checks lines, which only -l counts; add -l, or leave out%s",
                                    clp_buf_text(&names) + 1, clp_buf_text(&names));
        (void)clp_console_exit(2);
    }
    clp_buf_clear(&names);
    return refused;
}

static void say_left_out(const struct clp_run_options *options)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf names;

    if (options->line_by_line || options->verbosity < 0)
        return;
    clp_buf_init(&names, &mem);
    clp_run_options_add_for_lines(options, false, &names);
    if (names.used != 0)
        clp_console_complain_format(me, "without -l these options have no effect:%s", clp_buf_text(&names));
    clp_buf_clear(&names);
}

/* The rights of the profile: no more than those of the script, as the profile holds its source text. */
static unsigned rights_of(const struct clp_run_options *options)
{
    return clp_file_rights(options->target_kind == CLP_TARGET_SCRIPT ? options->target : NULL);
}

static bool is_file(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

/* Refuses to run a profile, which a user may have meant to show. True with SystemExit set when the target is one. */
static bool refuse_profile(const struct clp_run_options *options)
{
    const char *name = options->target;

    if (options->target_kind != CLP_TARGET_SCRIPT || !is_file(name))
        return false;
    if (clp_console_has_ending(name, ".lprof") || clp_console_has_ending(name, ".lprof.live"))
        clp_console_complain_format(me, "'%s' is a profile, and %s runs programs; to see the profile run: "
                                      "clineprof %s, or: python3 -m clineprof %s", name, me, name, name);
    else if (clp_console_has_ending(name, ".prof"))
        clp_console_complain_format(me, "'%s' is a profile, and %s runs programs; to see the profile run: "
                                      "python3 -m pstats %s", name, me, name);
    else
        return false;
    (void)clp_console_exit(2);
    return true;
}

/* Complains that no program is named, sets SystemExit and returns false. If the last word is a script, it was taken
 * as the value of the option before it, which the message says. */
static bool complain_of_no_program(const struct clp_run *run)
{
    const char *last = run->words.items[run->words.count - 1];

    if (run->words.count > 2 && clp_console_has_ending(last, ".py") && is_file(last))
        clp_console_complain_format(me, "no program to run: '%s' was taken as the value of the option before it; "
                                      "name the program behind that value: .. %s %s", last, last, last);
    else
        clp_console_complain(me, "no program to run, as in ckernprof -l -v script.py; see ckernprof --help");
    return clp_console_exit(2) != NULL;
}

/* Has this process a rank that --only-ranks does not name? */
static bool is_left_out(const struct clp_run_options *options)
{
    const char *rank = clp_identity_rank(), *at = options->only_ranks;

    if (rank == NULL || at == NULL)
        return false;
    for (; *at != 0; at += strcspn(at, ","), at += *at == ',')
        if (atoi(at) == atoi(rank))
            return false;
    return true;
}

/* Complains of an option that --light cannot have beside it, sets SystemExit and returns true; false if there is none. */
static bool refuse_beside_light(const struct clp_run_options *options)
{
    bool memory = options->memory != NULL && !clp_run_options_no_memory(options);
    bool heap_native = options->heap != NULL && strcmp(options->heap, "native") == 0;
    bool leaks_by_name = clp_epochs_go_by_name(options->leaks);
    const char *other = options->native                ? "--native"
                        : options->nvtx                ? "--nvtx"
                        : options->line_log            ? "--line-log"
                        : options->timeline > 0        ? "--timeline"
                        : options->threads             ? "--threads"
                        : options->io                  ? "--io"
                        : options->counters != NULL    ? "--counters"
                        : options->tensors             ? "--tensors"
                        : options->cuda                ? "--cuda"
                        : heap_native                  ? "--heap=native"
                        : leaks_by_name                ? "--leaks=FUNCTION"
                        : options->pdb_mmem > 0        ? "--pdb-mmem"
                        : memory                       ? "--memory"
                                                       : NULL;

    if (!options->line_by_line || !clp_run_options_light(options) ||
        (other == NULL && !clp_run_options_other_tracer(options)))
        return false;
    if (other != NULL)
        clp_console_complain_format(me, "%s looks at each line as it runs, and --light does not; give only one of these "
                                        "options", other);
    else
        clp_console_complain_format(me, "--light is a tracer of its own; leave out --tracer %s", options->tracer);
    return clp_console_exit(2) == NULL;
}

/* Checks that the program, the options and the output fit together. False with SystemExit set when they do not. */
static bool ready_to_run(struct clp_run *run)
{
    if (run->options.target_kind == CLP_TARGET_NONE)
        return complain_of_no_program(run);
    if (clp_run_options_no_memory(&run->options) && run->options.pdb_mmem > 0)
        return complain_and_exit("--pdb-mmem reads memory with every line, which --no-memory (or "
                                 "--memory off) switches off; give only one of these options", 2) != NULL;
    if (refuse_beside_light(&run->options) || refuse_gate(&run->options))
        return false;
    find_script(run);
    if (refuse_profile(&run->options))
        return false;
    if (is_left_out(&run->options))
        return true;
    run->recording.rights = rights_of(&run->options);
    if (!clp_output_ready(run))
        return false;
    say_left_out(&run->options);
    if (run->options.line_by_line && run->options.include.count != 0 && run->options.prof_mod.count == 0 &&
        !clp_run_options_is_text(&run->options) && run->options.verbosity >= 0)
        clp_console_complain(me, "--include chooses among what -p selects, and has no effect without -p");
    return true;
}

/* ---- the functions of struct clp_program_hook; `data` is the run ---- */

static PyObject *prepare(void *data, PyObject *code)
{
    struct clp_run *run = data;

    return run->options.line_by_line ? clp_target_selection_script(&run->chosen, code) : Py_NewRef(code);
}

static bool know(void *data, PyObject *file, const char *text, size_t bytes)
{
    const struct clp_run *run = data;

    return !run->options.line_by_line || clp_profiler_know(run->recording.profiler, file, text, bytes);
}

static bool begin(void *data)
{
    const struct clp_run *run = data;

    return run->options.builtin || clp_cprofile_enable(run->recording.profiler);
}

static void pause_recording(void *data)
{
    const struct clp_run *run = data;

    if (!run->options.line_by_line)
        clp_cprofile_disable(run->recording.profiler);
}

/* Turns the code of struct clp_program_end into the result of clp_run_main: NULL with SystemExit set; or an object for
 * sys.exit(), because PYTHONINSPECT would show a traceback of SystemExit. */
static PyObject *end(int code)
{
    if (code < 0)
        return NULL; /* the program's own SystemExit */
    if (code == CLP_INTERRUPTED)
        return PyLong_FromLong(code);
    if (code == 0)
        Py_RETURN_NONE;
    return clp_console_exit(code);
}

/* Runs the program of a rank that is left out. It finds a `profile` that marks nothing. */
static PyObject *run_unprofiled(struct clp_run *run)
{
    if (!clp_program_prepare(&run->options))
        return complain_of_exception(1);
    silence(run);
    int code = clp_program_set_up(&run->options);
    if (code != 0)
        return end(code);
    PyObject *module = run->options.builtin ? clp_compat_own_module("clineprof._boot.spawning") : Py_NewRef(Py_None);
    PyObject *done = module == NULL || !run->options.builtin ? Py_XNewRef(module)
                                                             : PyObject_CallMethod(module, "be_idle", NULL);
    Py_XDECREF(module);
    if (done == NULL)
        return complain_of_exception(1);
    Py_DECREF(done);
    run->end = clp_program_run(&run->options, (struct clp_program_hook){.data = run});
    return end(run->end.code);
}

static PyObject *run_program(struct clp_run *run, PyObject *profiler_type)
{
    if (!start_profiler(run, profiler_type))
        return complain_of_exception(2);
    if (!clp_program_prepare(&run->options))
        return complain_of_exception(1);
    silence(run);
    int code = clp_program_set_up(&run->options);
    if (code != 0)
        return end(code);
    if (!install_profiler(run) || !clp_finish_at_exit(run))
        return complain_of_exception(1);
    if (run->options.line_by_line)
        begin_live(run, false);
    begin_threads(run);
    if (run->options.line_by_line)
        begin_watch(run);
    if (!begin_choice(run) || (run->recording.family.token != 0 && !clp_children_begin(&run->recording, &run->words)))
        return complain_of_exception(1);
    run->end = clp_program_run(
        &run->options, (struct clp_program_hook){prepare, know, begin, pause_recording, run});
    if (clp_leakrun_wanted(&run->options))
        clp_finish_program_ended(run);
    return end(run->end.code);
}

/* Sets run->options to the defaults and the settings of config files. `line` holds the options of the command line
 * alone, which say whether there is a config file. False with SystemExit set. */
static bool configure(struct clp_run *run, const struct clp_run_options *line)
{
    struct clp_config config = {.program = me,
                                .table = "kernprof",
                                .file = line->config,
                                .quiet = line->verbosity < 0 || clp_nativerun_is_again()};

    clp_run_options_init(&run->options);
    return line->no_config || clp_config_read(&config, clp_run_options_table(), &run->options,
                                              &run->mem, &run->settings);
}

/* Puts what the command line says over the config files. *line gets the options of the command line alone. False
 * with SystemExit set. */
static bool put_line_over(struct clp_run *run, struct clp_run_options *line, struct clp_buf *error)
{
    if (!clp_run_options_parse(run->words.count, run->words.items, line, error))
        return complain_and_exit(clp_buf_text(error), 2) != NULL;
    if (line->help)
        return print_and_exit(run, clp_run_options_help) != NULL;
    if (line->version)
        return print_and_exit(run, clp_options_version) != NULL;
    if (line->page)
        return print_and_exit(run, clp_run_options_page) != NULL;
    if (!configure(run, line))
        return false;
    clp_option_replace_lists(clp_run_options_table(), &run->options, line, &run->mem);
    /* parses the command line again, now on top of the config files; it was right the first time */
    return clp_run_options_parse(run->words.count, run->words.items, &run->options, error) ||
           complain_and_exit(clp_buf_text(error), 2) != NULL;
}

/* Reads config files, and then the command line, which wins. False with SystemExit set. */
static bool read_options(struct clp_run *run)
{
    struct clp_run_options line;
    struct clp_buf error;

    clp_buf_init(&error, &run->mem);
    clp_run_options_init(&line);
    bool done = put_line_over(run, &line, &error);
    clp_run_options_clear(&line, &run->mem);
    clp_buf_clear(&error);
    if (done && run->options.program_argc > 0) /* the word of -mMODULE holds more than the module */
        run->options.program_argv[0] = (char *)(uintptr_t)run->options.target;
    return done;
}

/* If a report will be printed, keeps a copy of sys.path, by which rich is found after the program. False with an exception set. */
static bool keep_path(struct clp_run *run)
{
    PyObject *path = PySys_GetObject("path"); /* borrowed */

    if (run->options.verbosity > 0 && path != NULL)
        run->start_path = PySequence_List(path);
    return run->start_path != NULL || !PyErr_Occurred();
}

PyObject *clp_run_main(PyObject *profiler_type, PyObject *words)
{
    struct clp_run *run = clp_run_new(words);

    if (run == NULL || !clp_first_path_leave())
        return NULL;
    run->process = clp_identity_self();
    if (!read_options(run) || !clp_nativerun_ready(&run->options) || !ready_to_run(run))
        return NULL;
    if (run->options.line_by_line && run->options.child_processes)
        run->recording.family = clp_run_id_new();
    run->recording.is_first = true;
    if (is_left_out(&run->options))
        return run_unprofiled(run);
    return keep_path(run) ? run_program(run, profiler_type) : NULL;
}

/* Does the command line name a program, without faults? If not, the present interpreter tells the fault or answers
 * --help, and no other one is needed. */
static bool has_program(const struct clp_command_words *words, struct clp_run_options *options,
                        struct clp_buf *error)
{
    return clp_run_options_parse(words->count, words->items, options, error) &&
           options->target_kind != CLP_TARGET_NONE;
}

static PyObject *find_interpreter(const struct clp_command_words *words, struct clp_interpreter_wish *wish)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_run_options options;
    struct clp_buf path, error;
    PyObject *found = NULL;

    clp_buf_init(&path, &mem);
    clp_buf_init(&error, &mem);
    clp_run_options_init(&options);
    bool stays = !has_program(words, &options, &error);
    wish->named = options.python;
    if (stays)
        found = PyUnicode_DecodeFSDefault(wish->usual);
    else if (clp_interpreter_find(wish, &path, &error))
        found = PyUnicode_DecodeFSDefault(clp_buf_text(&path));
    else
        (void)complain_and_exit(clp_buf_text(&error), 2);
    clp_run_options_clear(&options, &mem);
    clp_buf_clear(&path);
    clp_buf_clear(&error);
    return found;
}

PyObject *clp_run_interpreter(PyObject *module, PyObject *arguments)
{
    struct clp_interpreter_wish wish = {0};
    struct clp_command_words words;
    PyObject *list, *usual, *found = NULL;
    int active;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!pO&:interpreter", &PyList_Type, &list, &active,
                          PyUnicode_FSConverter, &usual))
        return NULL;
    if (clp_command_words_init(&words, list)) {
        wish.active = active;
        wish.usual = PyBytes_AS_STRING(usual);
        found = find_interpreter(&words, &wish);
        clp_command_words_clear(&words);
    }
    Py_DECREF(usual);
    return found;
}

/* ---- a process that the program has started ---- */

/* Switches off, in a child process, what the first process does for the whole run. */
static void leave_to_family(struct clp_run_options *options)
{
    options->verbosity = -1;
    options->no_preimports = true;
    options->heap = NULL; /* live blocks are not in a live file; verdicts on leaks are */
    options->timeline = options->pdb_mmem = options->output_interval = 0;
}

static bool join(struct clp_run *run, PyObject *profiler_type, bool is_server, int here)
{
    if (!read_options(run) || !clp_nativerun_join(&run->options, here))
        return false;
    leave_to_family(&run->options);
    find_script(run);
    run->recording.rights = rights_of(&run->options);
    if (!start_profiler(run, profiler_type) || !install_profiler(run) || !clp_finish_at_exit(run))
        return false;
    begin_live(run, is_server);
    return begin_choice(run) && clp_childmain_watch(&run->chosen) && clp_children_begin(&run->recording, &run->words);
}

/* Joins the run with `folder` as the working directory, to which names on the command line are relative. The working
 * directory is restored. False when the process cannot join; an exception may be set. */
static bool join_from(struct clp_run *run, const char *folder, PyObject *profiler_type, bool is_server)
{
    int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool there = here >= 0 && chdir(folder) == 0;
    bool done = join(run, profiler_type, is_server, here);

    if (there && fchdir(here) != 0)
        done = false;
    if (here >= 0)
        close(here);
    return done;
}

PyObject *clp_run_join(PyObject *profiler_type, PyObject *arguments)
{
    PyObject *words, *folder, *outfile;
    const char *family;
    bool done = false;
    int is_server;

    if (!PyArg_ParseTuple(arguments, "sO&O&O!p:join", &family, PyUnicode_FSConverter, &outfile,
                          PyUnicode_FSConverter, &folder, &PyList_Type, &words, &is_server))
        return NULL;
    struct clp_run *run = clp_run_new(words);
    if (run != NULL) {
        clp_buf_add_text(&run->recording.outfile, PyBytes_AS_STRING(outfile));
        done = clp_run_id_parse(family, &run->recording.family) &&
               join_from(run, PyBytes_AS_STRING(folder), profiler_type, is_server);
    }
    Py_DECREF(outfile);
    Py_DECREF(folder);
    if (!done && run != NULL && !run->held)
        clp_run_free(run);
    if (!done && !PyErr_Occurred())
        PyErr_Format(PyExc_RuntimeError, "the process cannot take part in the run '%s'", family);
    return done ? Py_NewRef(Py_None) : NULL;
}
