/* SPDX-License-Identifier: MIT */
#include "leakrun.h"
#include "cli/option_use.h"
#include "report/leak_report.h"
#include "cli/option.h"
#include "heap/epochs.h"
#include "cpython/object/profiler_run.h"
#include "program_end.h"
#include "bridge/console.h"
#include <limits.h>
#include <unistd.h>

#define GATE_CODE 3
/* Bytes: at a larger distance nothing would ever be chosen. */
#define MOST_INTERVAL 1e15

static const char me[] = CLP_RUN_NAME;

bool clp_leakrun_wanted(const struct clp_run_options *options)
{
    return options->leaks != NULL || options->fail_on_leak != NULL;
}

PyObject *clp_leakrun_profiler(PyObject *profiler_type, const struct clp_run_options *options)
{
    bool leaks = clp_leakrun_wanted(options);
    double bytes = options->heap_interval < MOST_INTERVAL ? options->heap_interval : MOST_INTERVAL;
    const char *epochs = options->leaks != NULL ? options->leaks : "calls";
    Py_ssize_t interval = bytes >= 1 ? (Py_ssize_t)bytes : 1;
    int64_t limit = -1;

    if (options->fail_on_leak != NULL)
        (void)clp_options_bytes(options->fail_on_leak, &limit); /* "" leaves the usual one */
    return PyObject_CallFunction(profiler_type, "zzOnzL", options->tracer,
                                 options->memory,
                                 options->by_statement ? Py_True : Py_False,
                                 options->heap != NULL || leaks ? interval : 0, leaks ? epochs : NULL,
                                 (long long)limit);
}

void clp_leakrun_say(const struct clp_run_options *options, PyObject *profiler)
{
    if (options->verbosity < 0)
        return;
    switch (clp_profiler_heap_state(profiler)) {
    case CLP_HEAP_FINE:
        break;
    case CLP_HEAP_HOOKS_LOST:
        clp_console_complain(me, "something else (tracemalloc that was on before?) took the hooks of "
                               "Python's allocators away; what was allocated after that is "
                               "missing, and there are no numbers of what stays alive");
        break;
    case CLP_HEAP_MEMORY_OUT:
        clp_console_complain(me, "memory ran out for the table of live blocks; what stays alive is "
                               "more than what is shown");
        break;
    }
}

/* ---- no verdict ---- */

static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot != NULL ? dot + 1 : name;
}

/* The function whose calls are to be epochs is none that was selected: which one may be meant? */
static void add_near_name(struct clp_buf *text, const char *wanted, const struct clp_functions *functions)
{
    size_t least = SIZE_MAX;
    const char *nearest = NULL;

    for (size_t i = 0; i < functions->count; i++) {
        const char *names[] = {functions->items[i].name, last_part(functions->items[i].name)};
        for (size_t j = 0; j < 2; j++) {
            size_t slips = clp_option_slips(wanted, strlen(wanted), names[j]);
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
    clp_buf_add_text(text, by_calls    ? "; for a loop within a function: --leaks=FUNCTION, --leaks=SECONDS or "
                                         "--leaks=checkpoints"
                           : by_points ? "; call clineprof.checkpoint() at the end of each round"
                           : clp_leak_report_by_time(meta) ? "; use a smaller number, or let it run longer"
                                                           : "; let the program call it more often");
}

static void say_no_verdict(const struct clp_run_options *options, PyObject *profiler,
                           const struct clp_profile *profile)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;

    clp_buf_init(&text, &mem);
    clp_buf_add_format(&text, "no verdict on leaks%s",
                       options->fail_on_leak != NULL ? ", which --fail-on-leak takes for a failure" : "");
    if (profile->meta.leak_epoch != NULL) { /* or it was told that the hooks were lost */
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
    bool gate = options->fail_on_leak != NULL, leaks = clp_leak_report_count(profile) != 0;
    bool judged = leaks || clp_leak_report_judged(profile);

    if (!clp_leakrun_wanted(options))
        return;
    if (!judged && (gate || options->verbosity >= 0))
        say_no_verdict(options, profiler, profile);
    if (gate && leaks)
        say_which(profile);
    if (gate && (leaks || !judged))
        clp_program_end_exit_with(GATE_CODE);
}
