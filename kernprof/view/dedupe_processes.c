/* SPDX-License-Identifier: MIT */
#include "dedupe_processes.h"
#include "formats/lprof/process_numbers.h"
#include "bridge/console.h"
#include <string.h>

static const char me[] = "clineprof";

/* A process that has a file of its own. */
struct clp_dedupe_process {
    uint64_t pid;
    double start;    /* seconds since 1970 */
    uint64_t events, events_in_sum; /* that its file, and that some sum has */
    bool in_sum;     /* the process is also in a sum, from which the next two fields come */
    uint64_t parent;
    char name[64];
};

struct clp_dedupe clp_dedupe_start(struct clp_mem *mem)
{
    return (struct clp_dedupe){.mem = mem};
}

void clp_dedupe_clear(struct clp_dedupe *once)
{
    clp_mem_free(once->mem, once->items, once->room, sizeof *once->items);
    *once = clp_dedupe_start(once->mem);
}

static struct clp_dedupe_process *find(const struct clp_dedupe *once, uint64_t pid, double start)
{
    for (size_t i = 0; i < once->count; i++)
        if (once->items[i].pid == pid && once->items[i].start == start)
            return &once->items[i];
    return NULL;
}

static const struct clp_profile_process *find_row(const struct clp_profile *sum, uint64_t pid,
                                                  double start)
{
    for (size_t i = 0; i < sum->process_count; i++)
        if (sum->processes[i].pid == pid && sum->processes[i].start == start)
            return &sum->processes[i];
    return NULL;
}

/* Finds or adds the process of a file. NULL without memory. */
static struct clp_dedupe_process *add(struct clp_dedupe *once, const struct clp_profile_meta *meta)
{
    struct clp_dedupe_process *found = find(once, meta->pid, meta->start);

    if (found != NULL) {
        if (found->events < meta->events)
            found->events = meta->events;
        return found;
    }
    if (once->count == once->room &&
        clp_mem_grow(once->mem, (void **)&once->items, &once->room, once->room * 2 + 16,
                     sizeof *once->items) != CLP_OK)
        return NULL;
    once->items[once->count] =
        (struct clp_dedupe_process){.pid = meta->pid, .start = meta->start, .events = meta->events};
    return &once->items[once->count++];
}

/* Is the process's own file older than a sum, such as a copy that was made while the process ran? */
static bool is_old(const struct clp_dedupe_process *process)
{
    return process->events_in_sum > process->events;
}

static void note(struct clp_dedupe *once, struct clp_dedupe_process *process,
                 const struct clp_profile_process *row)
{
    once->again = process->in_sum = true;
    if (process->events_in_sum < row->events)
        process->events_in_sum = row->events;
    process->parent = row->parent;
    (void)snprintf(process->name, sizeof process->name, "%s", row->name != NULL ? row->name : "");
}

/* Complains if the status is none of success. */
static enum clp_dedupe_result fail(clp_status status)
{
    if (status == CLP_OK)
        return CLP_DEDUPE_ADD;
    clp_console_complain(me, clp_status_text(status));
    return CLP_DEDUPE_FAILED;
}

/* Notes a file of one process. line_profiler's files do not say which process they are of, and are always added. */
static enum clp_dedupe_result take_single(struct clp_dedupe *once, const struct clp_profile *sum,
                                          struct clp_profile *one)
{
    if (one->meta.pid == 0 || one->meta.start == 0)
        return CLP_DEDUPE_ADD;
    struct clp_dedupe_process *process = add(once, &one->meta);
    if (process == NULL)
        return fail(CLP_NO_MEMORY);
    if (once->round && is_old(process))
        return CLP_DEDUPE_SKIP;
    const struct clp_profile_process *row = find_row(sum, process->pid, process->start);
    if (!once->round && row != NULL)
        note(once, process, row);
    /* adds the process to the list of processes, with the counts of its own file */
    return once->round && process->in_sum && row == NULL
               ? fail(clp_process_numbers_add(one, one, process->parent, process->name))
               : CLP_DEDUPE_ADD;
}

struct others {
    const struct clp_dedupe *once;
    const struct clp_profile *sum;
};

/* Does the process count in this sum? It does if it has no file of its own with all of its counts, and no earlier sum
 * has it. */
static bool counts_here(const void *data, const struct clp_profile_process *row)
{
    const struct others *others = data;
    const struct clp_dedupe_process *process = find(others->once, row->pid, row->start);

    return (process == NULL || is_old(process)) && find_row(others->sum, row->pid, row->start) == NULL;
}

/* Complains, and returns true, when this sum has more counts of a process than a sum that was added before. The earlier
 * sum cannot be taken apart any more. */
static bool says_more(const struct clp_profile *sum, const struct clp_profile_process *row,
                      const char *path)
{
    const struct clp_profile_process *there = find_row(sum, row->pid, row->start);

    if (there == NULL || there->events >= row->events)
        return false;
    clp_console_complain_format(me, "%s: process %llu is in an earlier file, too, which has fewer counts of it; "
                                  "name this file first",
                                path, (unsigned long long)row->pid);
    return true;
}

/* Notes a file that is a sum of several processes, and removes processes that count elsewhere. */
static enum clp_dedupe_result take_sum(struct clp_dedupe *once, const struct clp_profile *sum,
                                       struct clp_profile *one, const char *path)
{
    const struct others others = {once, sum};
    const struct clp_profile_process *twice = NULL;
    bool taken = false; /* is one of them in the sum already? */

    for (size_t i = 0; i < one->process_count; i++) {
        const struct clp_profile_process *row = &one->processes[i];
        struct clp_dedupe_process *process = find(once, row->pid, row->start);
        if (process != NULL)
            note(once, process, row);
        /* in the first round the sum may have the process from its own file, which the second round leaves out */
        if ((once->round || process == NULL) && says_more(sum, row, path))
            return CLP_DEDUPE_FAILED;
        if (counts_here(&others, row))
            continue;
        twice = row;
        taken |= find_row(sum, row->pid, row->start) != NULL;
    }
    if (twice == NULL || (!once->round && !taken))
        return CLP_DEDUPE_ADD;
    clp_status status = clp_process_numbers_keep(one, counts_here, &others);
    if (status != CLP_CORRUPT)
        return fail(status);
    clp_console_complain_format(me, "%s: process %llu is in another file, too, and this file has no "
                                      "numbers of each process; leave out one of the two files",
                                    path, (unsigned long long)twice->pid);
    return CLP_DEDUPE_FAILED;
}

enum clp_dedupe_result clp_dedupe_take(struct clp_dedupe *once, const struct clp_profile *sum,
                                       struct clp_profile *one, const char *path)
{
    return one->process_count != 0 ? take_sum(once, sum, one, path) : take_single(once, sum, one);
}
