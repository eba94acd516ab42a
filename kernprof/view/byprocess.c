/* SPDX-License-Identifier: MIT */
#include "byprocess.h"
#include "formats/lprof/process_numbers.h"
#include "bridge/console.h"
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

static const char me[] = "clineprof";

static bool matches(const struct clp_profile_process *process, char *const *patterns)
{
    char pid[24];

    snprintf(pid, sizeof pid, "%llu", (unsigned long long)process->pid);
    for (; *patterns != NULL; patterns++)
        if (strcmp(pid, *patterns) == 0 ||
            (process->name != NULL && fnmatch(*patterns, process->name, 0) == 0))
            return true;
    return false;
}

static void complain_of_none(const struct clp_profile *profile, char *const *patterns)
{
    if (profile->process_count == 0)
        clp_console_complain(me, "--process: the profile is of one process; ckernprof "
                               "--prof-child-procs makes one of several");
    else
        clp_console_complain_format(me, "--process %s matches none of %zu processes; --processes lists "
                                      "them", patterns[0], profile->process_count);
}

/* Adds the processes that match to the empty profile `sum`. False after one line of complaint, which is also made when
 * no process matches. */
static bool pick(const struct clp_profile *from, char *const *patterns, struct clp_profile *sum)
{
    struct clp_fault fault = {.status = CLP_OK};
    size_t found = 0;

    for (size_t i = 0; i < from->process_count; i++) {
        const struct clp_profile_process *process = &from->processes[i];
        if (!matches(process, patterns))
            continue;
        found++;
        if (process->numbers == NULL) {
            clp_console_complain_format(me, "--process: the file has no numbers of process %llu alone",
                                        (unsigned long long)process->pid);
            return false;
        }
        clp_status status = clp_process_numbers_merge(sum, process, &fault);
        if (status == CLP_OK)
            continue;
        clp_console_complain_format(me, "--process: the numbers of process %llu: %s",
                                    (unsigned long long)process->pid, clp_status_text(status));
        return false;
    }
    if (found == 0)
        complain_of_none(from, patterns);
    return found != 0;
}

bool clp_byprocess_pick(struct clp_profile *profile, char *const *patterns)
{
    struct clp_profile sum;

    clp_profile_init(&sum, profile->mem);
    bool done = pick(profile, patterns, &sum);
    if (done && clp_process_numbers_copy_sources(&sum, profile) != CLP_OK) {
        clp_console_complain(me, clp_status_text(CLP_NO_MEMORY));
        done = false;
    }
    if (!done) {
        clp_profile_clear(&sum);
        return false;
    }
    sum.denied = profile->denied;
    clp_profile_clear(profile);
    *profile = sum;
    return true;
}
