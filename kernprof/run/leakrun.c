/* SPDX-License-Identifier: MIT */
#include "leakrun.h"
#include "base/words.h"
#include "report/leak_report.h"
#include "cli/option.h"
#include "heap/epochs.h"
#include "cpython/object/profiler_run.h"
#include "cpython/object/setup.h"
#include "base/escape.h"
#include "heap/leaks.h"
#include "program_end.h"
#include "bridge/console.h"
#include <limits.h>
#include <unistd.h>

#define FAIL_CODE 3 /* the exit code when a limit does not hold */
/* The largest mean distance of samples, in bytes. No program allocates that much, so nothing is ever sampled then. */
#define MOST_INTERVAL 1e15

static const char me[] = CLP_RUN_NAME;

bool clp_leakrun_wanted(const struct clp_run_options *options)
{
    return options->leaks != NULL || options->fail_on_leak != NULL;
}

/* The tracer to begin with; NULL: the usual one. */
static const char *tracer_of(const struct clp_run_options *options)
{
    if (!clp_run_options_light(options))
        return options->tracer;
    if (CLP_HAS_PROBES)
        return CLP_TRACER_LIGHT;
    if (options->verbosity >= 0)
        clp_console_complain(me, "--light needs CPython 3.11 or newer; times are exact, and cost what that costs");
    return options->tracer;
}

PyObject *clp_leakrun_profiler(PyObject *profiler_type, const struct clp_run_options *options)
{
    bool leaks = clp_leakrun_wanted(options);
    double bytes = options->heap_interval < MOST_INTERVAL ? options->heap_interval : MOST_INTERVAL;
    const char *epochs = options->leaks != NULL ? options->leaks : "calls";
    Py_ssize_t interval = bytes >= 1 ? (Py_ssize_t)bytes : 1;
    int64_t limit = -1;

    if (options->tensors)
        (void)clp_setup_few_tensors(); /* the start of the run has told why the library is missing */
    if (options->fail_on_leak != NULL)
        (void)clp_options_bytes(options->fail_on_leak, &limit); /* "" leaves -1, the usual limit */
    PyObject *counters = PyUnicode_FromFormat("%s%s", options->io ? "io," : "",
                                              options->counters != NULL ? options->counters : "");
    return PyObject_CallFunction(profiler_type, "zzOnzLOzONOOOOOOO",
                                 tracer_of(options),
                                 options->memory,
                                 options->by_statement ? Py_True : Py_False,
                                 options->heap != NULL || leaks ? interval : 0, leaks ? epochs : NULL,
                                 (long long)limit, Py_True, options->source,
                                 options->cpu ? Py_True : Py_False, counters,
                                 options->native ? Py_True : Py_False, Py_None,
                                 options->tensors ? Py_True : Py_False,
                                 options->cuda ? Py_True : Py_False, options->line_log ? Py_True : Py_False,
                                 options->nvtx ? Py_True : Py_False, options->torch_names ? Py_True : Py_False);
}

void clp_leakrun_say(const struct clp_run_options *options, PyObject *profiler)
{
    if (options->verbosity < 0)
        return;
    switch (clp_profiler_heap_state(profiler)) {
    case CLP_HEAP_FINE:
        break;
    case CLP_HEAP_HOOKS_LOST:
        clp_console_complain(me, "another tool (tracemalloc that was on before?) removed the hooks from Python's "
                               "allocators; what was allocated after that is missing, and there are no numbers of "
                               "what stays alive");
        break;
    case CLP_HEAP_MEMORY_OUT:
        clp_console_complain(me, "memory ran out for the table of live blocks; more stays alive than is shown");
        break;
    }
}

/* ---- no verdict ---- */

static const char other_epochs[] = "; let the program run longer, or use --leaks=SECONDS or --leaks=checkpoints";

static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot != NULL ? dot + 1 : name;
}

/* Suggests the selected function with the most similar name, when none is called as --leaks=FUNCTION says. */
static void add_near_name(struct clp_buf *text, const char *wanted, const struct clp_functions *functions)
{
    size_t least = SIZE_MAX;
    const char *nearest = NULL;

    for (size_t i = 0; i < functions->count; i++) {
        const char *names[] = {functions->items[i].name, last_part(functions->items[i].name)};
        for (size_t j = 0; j < 2; j++) {
            size_t slips = clp_words_slips(wanted, strlen(wanted), names[j], strlen(names[j]));
            nearest = slips < least ? names[j] : nearest;
            least = slips < least ? slips : least;
        }
    }
    if (nearest != NULL)
        clp_buf_add_format(text, "; did you mean %s?", nearest);
    else
        clp_buf_add_text(text, "; mark it with @profile, or select it with -p");
}

static bool is_selected(const char *wanted, const struct clp_functions *functions)
{
    for (size_t i = 0; i < functions->count; i++)
        if (clp_epochs_is_named(wanted, functions->items[i].name))
            return true;
    return false;
}

static void add_why_none(struct clp_buf *text, const struct clp_profile_meta *meta,
                         const struct clp_functions *functions)
{
    const char *epoch = meta->leak_epoch;
    bool by_calls = strcmp(epoch, "calls") == 0, by_points = strcmp(epoch, "checkpoints") == 0;

    if (!by_calls && !by_points && !clp_leak_report_by_time(meta) && !is_selected(epoch, functions)) {
        clp_buf_add_format(text, "no profiled function is called '%s'", epoch);
        add_near_name(text, epoch, functions);
        return;
    }
    clp_leak_report_add_epochs(meta, text);
    clp_buf_add_text(text, by_calls    ? other_epochs
                           : by_points ? "; call clineprof.checkpoint() at the end of each round"
                           : clp_leak_report_by_time(meta) ? "; use a smaller number, or let it run longer"
                                                           : "; let the program call it more often");
}

/* `unjudged` names the functions that have no verdict; NULL: none has. */
static void say_no_verdict(const struct clp_run_options *options, PyObject *profiler,
                           const struct clp_profile *profile, const char *unjudged)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;

    clp_buf_init(&text, &mem);
    clp_buf_add_text(&text, "no verdict on leaks");
    if (unjudged != NULL) {
        clp_buf_add_text(&text, " of ");
        clp_escape_add_text(&text, unjudged);
    }
    clp_buf_add_text(&text, options->fail_on_leak != NULL ? ", which --fail-on-leak treats as a failure" : "");
    if (unjudged != NULL) {
        clp_buf_add_format(&text, ": %zu calls, or %zu executions of a line, are needed%s", clp_leaks_needed(0),
                           clp_leaks_needed(0), other_epochs);
    } else if (profile->meta.leak_epoch != NULL) { /* without an epoch the hooks were lost, which clp_leakrun_say told */
        clp_buf_add_text(&text, ": ");
        add_why_none(&text, &profile->meta, clp_profiler_functions(profiler));
    }
    clp_console_complain(me, clp_buf_text(&text));
    clp_buf_clear(&text);
}

static void say_which(const struct clp_profile *profile)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;
    char folder[PATH_MAX];

    clp_buf_init(&text, &mem);
    clp_leak_report_names(profile, getcwd(folder, sizeof folder), &text);
    clp_console_complain(me, clp_buf_text(&text));
    clp_buf_clear(&text);
}

void clp_leakrun_judge(const struct clp_run_options *options, PyObject *profiler,
                       const struct clp_profile *profile)
{
    bool fails = options->fail_on_leak != NULL, leaks = clp_profile_count_leaks(profile) != 0;
    bool judged = leaks || clp_leak_report_judged(profile);
    const char *unjudged = clp_leak_report_unjudged(profile);

    if (!clp_leakrun_wanted(options))
        return;
    if ((!judged || unjudged != NULL) && (fails || options->verbosity >= 0))
        say_no_verdict(options, profiler, profile, unjudged);
    if (fails && leaks)
        say_which(profile);
    if (fails && (leaks || !judged || unjudged != NULL))
        clp_program_end_exit_with(FAIL_CODE);
}
