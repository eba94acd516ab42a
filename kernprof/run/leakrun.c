/* SPDX-License-Identifier: MIT */
#include "leakrun.h"
#include "report/leak_report.h"
#include "cpython/object/profiler_run.h"
#include "program_end.h"
#include "bridge/words.h"
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

void clp_leakrun_print(const struct clp_run_options *options, const struct clp_profile *profile)
{
    if (clp_leakrun_wanted(options) && clp_leak_report_count(profile) == 0)
        clp_words_print(1, "\nNo line was found to leak.\n");
}

void clp_leakrun_say(const struct clp_run_options *options, PyObject *profiler)
{
    if (options->verbosity < 0)
        return;
    switch (clp_profiler_heap_state(profiler)) {
    case CLP_HEAP_FINE:
        break;
    case CLP_HEAP_HOOKS_LOST:
        clp_words_complain(me, "something else (tracemalloc that was on before?) took the hooks of "
                               "Python's allocators away; what was allocated after that is "
                               "missing, and there are no numbers of what stays alive");
        break;
    case CLP_HEAP_MEMORY_OUT:
        clp_words_complain(me, "memory ran out for the table of live blocks; what stays alive is "
                               "more than what is shown");
        break;
    case CLP_HEAP_EPOCHS_FEW:
        clp_words_complain(me, "too few epochs for a verdict on leaks: there must be eight at "
                               "least. They are calls of the line's function; --leaks=FUNCTION, "
                               "--leaks=SECONDS or --leaks=checkpoints make others");
        break;
    }
}

void clp_leakrun_gate(const struct clp_run_options *options, const struct clp_profile *profile)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;
    char folder[PATH_MAX];

    if (options->fail_on_leak == NULL || clp_leak_report_count(profile) == 0)
        return;
    clp_buf_init(&text, &mem);
    clp_leak_report_names(profile, getcwd(folder, sizeof folder), &text);
    clp_words_complain(me, clp_buf_text(&text));
    clp_buf_clear(&text);
    clp_program_end_exit_with(GATE_CODE);
}
