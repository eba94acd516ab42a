/* SPDX-License-Identifier: MIT */
#include "dedupe_processes.h"
#include "process_numbers.h"
#include "profile/profile_merge.h"
#include <stdio.h>
#include <string.h>

/* A process that has a file of its own. */
struct clp_dedupe_process {
    uint64_t place;  /* place_of its machine and pid namespace; 0: not known */
    uint64_t pid;
    double start;    /* seconds since 1970 */
    uint64_t events, events_in_sum; /* that its file, and that some sum has */
    bool in_sum;     /* the process is also in a sum, from which the next two fields come */
    uint64_t parent;
    char name[64];
};

void clp_dedupe_init(struct clp_dedupe *once, bool several, struct clp_mem *mem)
{
    *once = (struct clp_dedupe){.mem = mem, .several = several};
    clp_buf_init(&once->complaint, mem);
}

void clp_dedupe_clear(struct clp_dedupe *once)
{
    clp_mem_free(once->mem, once->items, once->room, sizeof *once->items);
    clp_buf_clear(&once->complaint);
    clp_dedupe_init(once, once->several, once->mem);
}

/* ---- which process ---- */

/* What tells a process from others, besides its name. */
struct who {
    uint64_t place, pid;
    double start;
};

/* A number for a start of a machine and a pid namespace; 0: not known. */
static uint64_t place_of(const char *boot, uint64_t pid_namespace)
{
    return boot == NULL ? 0 : clp_hash_text(pid_namespace, boot, strlen(boot)) | 1;
}

static struct who who_of_row(const struct clp_profile_process *row)
{
    return (struct who){place_of(row->boot, row->pid_namespace), row->pid, row->start};
}

static struct who who_of(const struct clp_dedupe_process *process)
{
    return (struct who){process->place, process->pid, process->start};
}

static bool is_same(struct who a, struct who b)
{
    return a.pid == b.pid && a.start == b.start && (a.place == b.place || a.place == 0 || b.place == 0);
}

static struct clp_dedupe_process *find(const struct clp_dedupe *once, struct who who)
{
    for (size_t i = 0; i < once->count; i++)
        if (is_same(who_of(&once->items[i]), who))
            return &once->items[i];
    return NULL;
}

/* Looks at the numbers first: hashing the places of all rows for each of thousands of files would take long. */
static const struct clp_profile_process *find_row(const struct clp_profile *sum, struct who who)
{
    for (size_t i = 0; i < sum->process_count; i++) {
        const struct clp_profile_process *row = &sum->processes[i];
        if (row->pid == who.pid && row->start == who.start && is_same(who_of_row(row), who))
            return row;
    }
    return NULL;
}

/* ---- files of one process ---- */

/* Finds or adds the process of a file. NULL without memory. */
static struct clp_dedupe_process *add(struct clp_dedupe *once, const struct clp_profile_meta *meta)
{
    const struct who who = {place_of(meta->boot, meta->pid_namespace), meta->pid, meta->start};
    struct clp_dedupe_process *found = find(once, who);

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
        (struct clp_dedupe_process){.place = who.place, .pid = who.pid, .start = who.start, .events = meta->events};
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

/* What is done with a file. */
enum result {
    ADD,
    SKIP,   /* all of it is in the sum already, or comes with another file */
    FAILED, /* after a complaint */
};

/* Complains if the status is none of success. */
static enum result fail(struct clp_dedupe *once, clp_status status)
{
    if (status == CLP_OK)
        return ADD;
    clp_buf_add_text(&once->complaint, clp_status_text(status));
    return FAILED;
}

/* Notes a file of one process. line_profiler's files do not say which process they are of, and are always added. */
static enum result take_single(struct clp_dedupe *once, const struct clp_profile *sum,
                                          struct clp_profile *one)
{
    if (one->meta.pid == 0 || one->meta.start == 0)
        return ADD;
    struct clp_dedupe_process *process = add(once, &one->meta);
    if (process == NULL)
        return fail(once, CLP_NO_MEMORY);
    const struct clp_profile_process *row = find_row(sum, who_of(process));
    if (once->round && (is_old(process) || one->meta.events < process->events || row != NULL))
        return SKIP;
    if (!once->round && row != NULL)
        note(once, process, row);
    return once->several ? fail(once, clp_process_numbers_add(one, process->parent, process->name,
                                                              sum->process_count < CLP_PROFILE_NUMBERS))
                         : ADD;
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
    const struct clp_dedupe_process *process = find(others->once, who_of_row(row));

    return (process == NULL || is_old(process)) && find_row(others->sum, who_of_row(row)) == NULL;
}

/* Complains, and returns true, when this sum has more counts of a process than a sum that was added before. The earlier
 * sum cannot be taken apart any more. */
static bool says_more(struct clp_dedupe *once, const struct clp_profile *sum,
                      const struct clp_profile_process *row, const char *path)
{
    const struct clp_profile_process *there = find_row(sum, who_of_row(row));

    if (there == NULL || there->events >= row->events)
        return false;
    clp_buf_add_format(&once->complaint, "%s: process %llu is in an earlier file, too, which has fewer counts of it; "
                                         "name this file first",
                       path, (unsigned long long)row->pid);
    return true;
}

/* Notes a file that is a sum of several processes, and removes processes that count elsewhere. */
static enum result take_sum(struct clp_dedupe *once, const struct clp_profile *sum,
                                       struct clp_profile *one, const char *path)
{
    const struct others others = {once, sum};
    const struct clp_profile_process *twice = NULL;
    bool taken = false; /* is one of them in the sum already? */

    for (size_t i = 0; i < one->process_count; i++) {
        const struct clp_profile_process *row = &one->processes[i];
        struct clp_dedupe_process *process = find(once, who_of_row(row));
        if (process != NULL)
            note(once, process, row);
        /* in the first round the sum may have the process from its own file, which the second round leaves out */
        if ((once->round || process == NULL) && says_more(once, sum, row, path))
            return FAILED;
        if (counts_here(&others, row))
            continue;
        twice = row;
        taken |= find_row(sum, who_of_row(row)) != NULL;
    }
    if (twice == NULL || (!once->round && !taken))
        return ADD;
    clp_status status = clp_process_numbers_keep(one, counts_here, &others);
    if (status != CLP_CORRUPT)
        return fail(once, status);
    clp_buf_add_format(&once->complaint, "%s: process %llu is in another file, too, and this file has no "
                                         "numbers of each process; leave out one of the two files",
                       path, (unsigned long long)twice->pid);
    return FAILED;
}

bool clp_dedupe_merge(struct clp_dedupe *once, struct clp_profile *sum, struct clp_profile *one, const char *path)
{
    enum result result = one->process_count != 0 ? take_sum(once, sum, one, path) : take_single(once, sum, one);

    if (result == ADD)
        result = fail(once, clp_profile_merge(sum, one));
    return result != FAILED;
}
