/* SPDX-License-Identifier: MIT */
#include "finish.h"
#include "report/choice.h"
#include "cpython/compat/compat.h"
#include "cpython/compat/raised.h"
#include "cpython/recorder/device_time.h"
#include "cpython/recorder/program_counters.h"
#include "cpython/memory/tensors.h"
#include "cpython/recorder/tensor_reads.h"
#include "cpython/object/profiler_run.h"
#include "cprofile.h"
#include "run/processes/children.h"
#include "ending.h"
#include "target_selection.h"
#include "leakrun.h"
#include "nothing.h"
#include "cli/options.h"
#include "output.h"
#include "bridge/print_report.h"
#include "timeline.h"
#include "bridge/console.h"

static const char me[] = CLP_RUN_NAME;

#if CLP_HAS_PROBES
#define CLP_DISPLACED_ADVICE "; --tracer probe needs no trace function"
#else
#define CLP_DISPLACED_ADVICE "; from Python 3.11 on none is needed"
#endif

static void print_report(const struct clp_run *run, const struct clp_profile *profile)
{
    struct clp_print_options show = {.name = me, .color = run->options.show.color,
                                     .rich = run->options.show.rich, .path = run->start_path,
                                     .options = clp_report_defaults()};

    clp_report_options_set(&show.options, &run->options.show);
    show.options.footer_details = run->options.verbosity > 1;
    show.options.footer |= show.options.footer_details;
    show.mp = run->options.show.mp;
    clp_memory_table_options_set(&show.table, &run->options.show);
    (void)clp_print_report(profile, &show);
}

/* Says so if no time has passed since the start. */
static void say_no_time(const struct clp_profile *profile)
{
    if (profile->function_count != 0 && profile->meta.wall == 0)
        clp_console_complain(me, "times are 0, because the clock (CLOCK_MONOTONIC) stands still, as libfaketime can make it");
}

/* Says so if times were to be sampled, but could not be. */
static void say_no_samples(const struct clp_profile *profile)
{
    const char *reason = clp_profiler_no_samples();

    if (profile->function_count != 0 && reason != NULL)
        clp_console_complain_format(me, "times are 0, because %s; hits are exact", reason);
}

/* Says so if memory is wanted, but the system does not tell it. */
static void say_no_memory(const struct clp_run_options *options, const struct clp_profile *profile)
{
    enum clp_memory mode = options->memory != NULL ? clp_memory_named(options->memory) : CLP_MEMORY_RSS;

    if (profile->function_count != 0 && !profile->meta.has_memory && mode != CLP_MEMORY_OFF && !clp_run_options_light(options))
        clp_console_complain_format(me, "memory is missing, because '%s' cannot be read", clp_proc_file(mode));
}

/* Says so if processor time is wanted, but the system does not tell it. */
static void say_no_cpu(const struct clp_run_options *options, const struct clp_profile *profile)
{
    if (!options->cpu || profile->function_count == 0)
        return;
    if (profile->meta.has_cpu == 0)
        clp_console_complain(me, "--cpu: processor time is missing, because the system refuses CLOCK_THREAD_CPUTIME_ID");
    else if (profile->meta.has_queue == 0)
        clp_console_complain(me, "--cpu: time in the run queue is missing, because '/proc/thread-self/schedstat' cannot "
                                 "be read");
}

/* Says so if numbers are wanted that the system does not tell, and which of the program's own counters have failed. */
static void say_no_counters(const struct clp_run_options *options, const struct clp_profile *profile)
{
    char titles[CLP_TALLY_COUNTERS][CLP_TALLY_NAME];
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;

    if (profile->function_count == 0)
        return;
    if (options->io && profile->meta.has_io == 0)
        clp_console_complain(me, "--io: bytes read and written are missing, because '/proc/thread-self/io' cannot be read");
    else if (options->io && clp_profiler_io_failed())
        clp_console_complain(me, "--io: some bytes read and written are missing or at later lines, because "
                                 "'/proc/thread-self/io' could not be read: the process has other rights, or no "
                                 "descriptor was free");
    clp_program_counters_titles(titles);
    for (size_t i = 0; i < CLP_TALLY_COUNTERS; i++) {
        PyObject *fault = clp_program_counters_fault(i);
        if (fault == NULL)
            continue;
        const char *why = PyUnicode_AsUTF8(fault);
        PyErr_Clear(); /* the text may hold half a surrogate pair */
        clp_buf_init(&text, &mem);
        clp_buf_add_format(&text, "counter %s was not read to the end, because its function failed: %s", titles[i],
                           why != NULL ? why : "the reason cannot be shown");
        clp_console_complain(me, clp_buf_text(&text));
        clp_buf_clear(&text);
    }
}

/* Says so if no tensor was seen, or not all. That the library is missing was said at the start. */
static void say_no_tensors(const struct clp_run_options *options, const struct clp_profile *profile)
{
    PyObject *modules = PySys_GetObject("modules"); /* borrowed */
    const char *refused = clp_tensors_are_there() ? clp_tensors_refused() : clp_tensor_reads_refused();

    if (!options->tensors || profile->function_count == 0)
        return;
    if (refused != NULL)
        clp_console_complain_format(me, "--tensors: tensors of %s are not counted, because the program has tensors on more "
                                        "than %d devices", refused, CLP_DEVICES);
    else if (!clp_tensors_are_there())
        return;
    else if (profile->meta.device1 == NULL && modules != NULL && PyMapping_HasKeyString(modules, "torch"))
        clp_console_complain(me, "--tensors: nothing was counted: this version of PyTorch made no tensor, or does not tell "
                                 "clineprof of tensors");
    else if (profile->meta.device1 == NULL)
        clp_console_complain(me, "--tensors: no tensor was made: the program has not imported torch");
}

/* Says so if the time of devices is wanted, and is missing or ends early. */
static void say_no_cuda(const struct clp_run_options *options, const struct clp_profile *profile)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;

    clp_buf_init(&text, &mem);
    clp_buf_add_text(&text, "--cuda: ");
    bool of_children = profile->meta.has_device_time != 0 && !clp_device_time_began();
    if (options->cuda && profile->function_count != 0 && !of_children && clp_device_time_explain(&text))
        clp_console_complain(me, clp_buf_text(&text));
    clp_buf_clear(&text);
}

static void say_what_lacks(const struct clp_run *run, const struct clp_profile *profile)
{
    if (run->options.verbosity < 0)
        return;
    if (run->end.started && profile->process_count < 2) /* with children, a target may have matched in a child only */
        clp_target_selection_end(&run->chosen);
    clp_nothing_say(run, profile);
    if (clp_profiler_lost(run->recording.profiler))
        clp_console_complain(me, "memory ran out while profiling; some counts are missing");
    say_no_time(profile);
    say_no_samples(profile);
    say_no_memory(&run->options, profile);
    say_no_cpu(&run->options, profile);
    say_no_counters(&run->options, profile);
    say_no_tensors(&run->options, profile);
    say_no_cuda(&run->options, profile);
    if (clp_profiler_displaced(run->recording.profiler))
        clp_console_complain(me, "another tool had replaced clineprof's trace function (sys.settrace); lines that ran "
                               "meanwhile are missing" CLP_DISPLACED_ADVICE);
    if (profile->meta.gc_cleared != 0)
        clp_console_complain(me, "the program cleared gc.callbacks; later garbage collections are missing");
}

static const struct clp_function *refused(const struct clp_run *run,
                                          const struct clp_refusal *refusal)
{
    return &clp_profiler_functions(run->recording.profiler)->items[refusal->function];
}

static void say_refused(const struct clp_run *run, const struct clp_refusal *refusal)
{
    struct clp_mem mem = clp_mem_system();
    const struct clp_function *function = refused(run, refusal);
    struct clp_buf text;

    clp_buf_init(&text, &mem);
    clp_buf_add_format(&text, "%s, %s:%d, %s: %s", function->name, function->file,
                       (int)function->first_line,
                       refusal->taken_by != NULL ? "cannot have probes" : "is not profiled",
                       refusal->reason);
    if (refusal->taken_by != NULL)
        clp_buf_add_format(&text, "; tracer %s records it", refusal->taken_by);
    clp_console_complain(me, clp_buf_text(&text));
    clp_buf_clear(&text);
}

/* Is `one` the profile's function `other`? The name in the profile may have " [THREAD]" behind it. */
static bool is_of(const struct clp_function *one, const struct clp_profile_function *other)
{
    size_t bytes = strlen(one->name);

    return one->first_line == other->first_line && strcmp(one->file, other->file) == 0 &&
           strncmp(one->name, other->name, bytes) == 0 &&
           (other->name[bytes] == 0 || other->name[bytes] == ' ');
}

/* The name of the tracer that recorded the function; "none" when every tracer refused it. */
static const char *tracer_of(const struct clp_run *run, const struct clp_profile *profile,
                             const struct clp_profile_function *function)
{
    for (const struct clp_refusal *refusal = clp_profiler_refusals(run->recording.profiler); refusal != NULL;
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
    const char *target = clp_target_selection_by(&run->chosen, function->file, function->name);

    clp_buf_add_format(text, "selected %s, %s:%d, by %s%s, tracer %s", function->name,
                       function->file, (int)function->first_line, target != NULL ? "-p " : "",
                       target != NULL ? target : "@profile", tracer_of(run, profile, function));
}

/* Tells how the profile was made (-vv): the tracer, the cost, and what selected each function. */
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
    clp_console_complain(me, clp_buf_text(&text));
    for (size_t i = 0; i < profile->function_count; i++) {
        clp_buf_clear(&text);
        add_selected(&text, run, profile, (uint32_t)i);
        clp_console_complain(me, clp_buf_text(&text));
    }
    clp_buf_clear(&text);
}

/* Tells which members of decorated classes are not profiled (-v). */
static void say_left_out(const struct clp_run *run)
{
    PyObject *lines = clp_profiler_left_out(run->recording.profiler); /* borrowed */

    for (Py_ssize_t i = 0; lines != NULL && i < PyList_GET_SIZE(lines); i++) {
        const char *line = PyUnicode_AsUTF8(PyList_GET_ITEM(lines, i));
        if (line != NULL)
            clp_console_complain(me, line);
        PyErr_Clear();
    }
}

/* Tells which functions a tracer refused. Functions that no tracer records are told without -v, the others with
 * -vv. */
static void say_all_refused(const struct clp_run *run)
{
    for (const struct clp_refusal *refusal = clp_profiler_refusals(run->recording.profiler); refusal != NULL;
         refusal = refusal->next) {
        if (run->options.verbosity > (refusal->taken_by == NULL ? -1 : 1))
            say_refused(run, refusal);
    }
}

/* Names functions that a compiler such as numba has compiled. The compiled code has no line events, so their lines
 * look as if they had not run. */
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
        clp_buf_add_format(&text, "%s, %s:%d, was compiled by %s; ", function->name, function->file,
                           (int)function->first_line, function->compiler);
        clp_profile_add_compiled(&text, function);
        clp_console_complain(me, clp_buf_text(&text));
    }
    clp_buf_clear(&text);
}

static void print_calls(const struct clp_run *run)
{
    PyObject *report = clp_cprofile_report(run->recording.profiler);
    const char *text = report != NULL ? PyUnicode_AsUTF8(report) : NULL;

    if (text != NULL)
        clp_console_print(1, text);
    else
        clp_console_complain(me, "pstats cannot show the profile");
    PyErr_Clear();
    Py_XDECREF(report);
}

static void finish_calls(struct clp_run *run)
{
    PyObject *bytes = clp_cprofile_bytes(run->recording.profiler);

    if (bytes == NULL) {
        PyErr_Clear();
        clp_output_say_lost("cProfile could not give its profile, so none is written");
        return;
    }
    bool empty = clp_cprofile_empty(run->recording.profiler) || !run->end.started;
    if (!empty || !clp_nothing_is_kept_back(run))
        (void)clp_output_write(run, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    Py_DECREF(bytes);
    if (run->options.verbosity > 0 && !empty) /* pstats cannot print an empty profile */
        print_calls(run);
    if (run->options.verbosity >= 0)
        clp_nothing_say_of_calls(run, empty);
}

/* Fills the profile with the counts of this process and of its children. */
static void gather(struct clp_run *run, struct clp_profile *profile)
{
    struct clp_buf command;

    clp_buf_init(&command, &run->mem);
    clp_run_add_command(run, &command);
    clp_ending_gather(&run->recording, &run->timeline, clp_buf_text(&command), profile);
    clp_buf_clear(&command);
}

static void say_all(struct clp_run *run, const struct clp_profile *profile)
{
    if (run->options.verbosity > 0 && profile->function_count != 0) /* even if no function was called */
        print_report(run, profile);
    if (run->options.verbosity > 1)
        say_more(run, profile);
    say_left_out(run);
    say_all_refused(run);
    say_compiled(run, profile);
    say_what_lacks(run, profile);
    clp_leakrun_say(&run->options, run->recording.profiler);
}

static void finish_lines(struct clp_run *run)
{
    struct clp_profile profile;

    clp_ending_stop(&run->recording, &run->timeline);
    clp_profile_init(&profile, &run->mem);
    gather(run, &profile);
    bool nothing = clp_choice_is_idle(&profile) && clp_nothing_is_kept_back(run);
    clp_ending_close(&run->recording, nothing || clp_output_write_profile(run, &profile));
    say_all(run, &profile);
    clp_leakrun_judge(&run->options, run->recording.profiler, &profile);
    clp_profile_clear(&profile);
}

static PyObject *finish(PyObject *capsule, PyObject *nothing)
{
    struct clp_run *run = PyCapsule_GetPointer(capsule, NULL);

    (void)nothing;
    if (run != NULL && run->process != clp_identity_self())
        clp_children_leave(&run->recording);
    if (run == NULL || run->process != clp_identity_self())
        Py_RETURN_NONE;
    if (run->options.line_by_line)
        finish_lines(run);
    else
        finish_calls(run);
    Py_RETURN_NONE;
}

static PyObject *mark_end(PyObject *capsule, PyObject *nothing)
{
    const struct clp_run *run = PyCapsule_GetPointer(capsule, NULL);

    (void)nothing;
    if (run != NULL && run->options.line_by_line)
        clp_profiler_mark_end(run->recording.profiler);
    Py_RETURN_NONE;
}

static PyMethodDef finish_method = {"finish", finish, METH_NOARGS, NULL};
static PyMethodDef mark_method = {"mark_end", mark_end, METH_NOARGS, NULL};

/* Has atexit call the method. False with an exception set. */
static bool call_at_exit(struct clp_run *run, PyMethodDef *method)
{
    PyObject *capsule = PyCapsule_New(run, NULL, NULL);
    PyObject *function = capsule != NULL ? PyCFunction_New(method, capsule) : NULL;
    PyObject *module = function != NULL ? PyImport_ImportModule("atexit") : NULL;
    PyObject *result =
        module != NULL ? PyObject_CallMethod(module, "register", "O", function) : NULL;

    Py_XDECREF(capsule);
    Py_XDECREF(function);
    Py_XDECREF(module);
    Py_XDECREF(result);
    return result != NULL;
}

bool clp_finish_at_exit(struct clp_run *run)
{
    run->held = call_at_exit(run, &finish_method);
    return run->held;
}

void clp_finish_program_ended(struct clp_run *run)
{
    struct clp_raised raised = clp_raised_take();

    if (!call_at_exit(run, &mark_method))
        PyErr_Clear();
    clp_raised_give(raised);
}
