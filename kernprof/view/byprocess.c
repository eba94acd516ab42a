/* SPDX-License-Identifier: MIT */
#include "byprocess.h"
#include "formats/lprof/process_numbers.h"
#include "bridge/console.h"
#include "report/process_table.h"
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

/* Adds the process to the sum. False after one line of complaint. */
static bool add_process(struct clp_profile *sum, const struct clp_profile_process *process, const char *option)
{
    struct clp_fault fault = {.status = CLP_OK};

    if (process->numbers == NULL) {
        clp_console_complain_format(me, "%s: the file has no numbers of process %llu alone", option,
                                    (unsigned long long)process->pid);
        return false;
    }
    clp_status status = clp_process_numbers_merge(sum, process, &fault);
    if (status != CLP_OK)
        clp_console_complain_format(me, "%s: the numbers of process %llu: %s", option,
                                    (unsigned long long)process->pid, clp_status_text(status));
    return status == CLP_OK;
}

/* Adds the processes that match to the empty profile `sum`. False after one line of complaint, which is also made when
 * no process matches. */
static bool pick(const struct clp_profile *from, char *const *patterns, struct clp_profile *sum)
{
    size_t found = 0;

    for (size_t i = 0; i < from->process_count; i++) {
        if (!matches(&from->processes[i], patterns))
            continue;
        found++;
        if (!add_process(sum, &from->processes[i], "--process"))
            return false;
    }
    if (found == 0)
        complain_of_none(from, patterns);
    return found != 0;
}

/* Adds all processes of the group of the process at `place`. False after one line of complaint. */
static bool add_group(struct clp_profile *sum, struct clp_profile *from, size_t place, enum clp_process_by by)
{
    bool good = true;

    for (size_t i = place; i < from->process_count && good; i++)
        if (clp_process_same_group(&from->processes[i], &from->processes[place], by))
            good = add_process(sum, &from->processes[i], "--by");
    if (good && clp_process_numbers_copy_sources(sum, from) != CLP_OK) {
        clp_console_complain(me, clp_status_text(CLP_NO_MEMORY));
        good = false;
    }
    sum->denied = from->denied;
    return good;
}

int clp_byprocess_each(struct clp_profile *profile, const char *by,
                       int (*show)(const void *data, struct clp_profile *part, const char *heading), const void *data)
{
    const enum clp_process_by group = strcmp(by, "host") == 0   ? CLP_PROCESS_BY_host
                                      : strcmp(by, "rank") == 0 ? CLP_PROCESS_BY_rank
                                                                : CLP_PROCESS_BY_process;
    int code = 0;

    if (profile->process_count == 0) {
        clp_console_complain(me, "--by: the profile is of one process");
        return 1;
    }
    for (size_t i = 0; i < profile->process_count && code == 0; i++) {
        struct clp_profile part;
        struct clp_buf heading;

        if (!clp_process_is_first(profile, i, group))
            continue;
        clp_profile_init(&part, profile->mem);
        clp_buf_init(&heading, profile->mem);
        clp_process_add_group(&profile->processes[i], group, &heading);
        code = add_group(&part, profile, i, group) ? show(data, &part, clp_buf_text(&heading)) : 1;
        clp_buf_clear(&heading);
        clp_profile_clear(&part);
    }
    return code;
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
