/* SPDX-License-Identifier: MIT */
#include "dedupe_processes.h"
#include "process_numbers.h"
#include "profile/profile_merge.h"
#include <stdio.h>
#include <string.h>

/* What tells a process from others. */
struct who {
    uint64_t place; /* place_of its machine and pid namespace; 0: not known */
    uint64_t pid;
    double start; /* seconds since 1970 */
};

struct clp_dedupe_process {
    struct who who;
    uint64_t events; /* the most that a file has */
    size_t file;     /* number of that file, in which the process counts */
    bool fixed;      /* is it a sum from which the process cannot be taken out? */
    size_t next;     /* place of the next item with this number and start, plus 1 */
    uint64_t parent; /* this and the name are what a sum said */
    char name[64];
};

void clp_dedupe_init(struct clp_dedupe *once, bool several, struct clp_mem *mem)
{
    *once = (struct clp_dedupe){.mem = mem, .several = several};
    clp_hashmap_init(&once->index, mem);
    clp_buf_init(&once->complaint, mem);
}

void clp_dedupe_clear(struct clp_dedupe *once)
{
    clp_mem_free(once->mem, once->items, once->room, sizeof *once->items);
    clp_hashmap_clear(&once->index);
    clp_buf_clear(&once->complaint);
    clp_dedupe_init(once, once->several, once->mem);
}

void clp_dedupe_begin_again(struct clp_dedupe *once)
{
    once->round = true;
    once->file = 0;
}

/* ---- which process ---- */

/* A number for a start of a machine and a pid namespace; 0: not known. */
static uint64_t place_of(const char *boot, uint64_t pid_namespace)
{
    return boot == NULL ? 0 : clp_hash_text(pid_namespace, boot, strlen(boot)) | 1;
}

static struct who who_of(const struct clp_profile_meta *meta)
{
    return (struct who){place_of(meta->boot, meta->pid_namespace), meta->pid, meta->start};
}

static struct who who_of_row(const struct clp_profile_process *row)
{
    return (struct who){place_of(row->boot, row->pid_namespace), row->pid, row->start};
}

static bool is_same(const struct who *a, const struct who *b)
{
    return a->pid == b->pid && a->start == b->start && (a->place == b->place || a->place == 0 || b->place == 0);
}

static uint64_t hash_of(const struct who *who)
{
    return clp_hash_text(who->pid, (const char *)&who->start, sizeof who->start);
}

static struct clp_dedupe_process *find(const struct clp_dedupe *once, const struct who *who)
{
    uint64_t place = 0;

    (void)clp_hashmap_get(&once->index, hash_of(who), &place);
    while (place != 0 && !is_same(&once->items[place - 1].who, who))
        place = once->items[place - 1].next;
    return place != 0 ? &once->items[place - 1] : NULL;
}

/* Appends a process that no file had before. NULL without memory. */
static struct clp_dedupe_process *append(struct clp_dedupe *once, const struct who *who)
{
    uint64_t next = 0;

    if (once->count == once->room &&
        clp_mem_grow(once->mem, (void **)&once->items, &once->room, once->room * 2 + 16,
                     sizeof *once->items) != CLP_OK)
        return NULL;
    (void)clp_hashmap_get(&once->index, hash_of(who), &next);
    if (clp_hashmap_set(&once->index, hash_of(who), once->count + 1) != CLP_OK)
        return NULL;
    once->items[once->count] = (struct clp_dedupe_process){.who = *who, .file = once->file, .next = (size_t)next};
    return &once->items[once->count++];
}

/* ---- the first round ---- */

/* Notes that this file has so much of a process. fixed: the process cannot be taken out of the file. NULL without
 * memory. */
static struct clp_dedupe_process *note(struct clp_dedupe *once, struct who who, uint64_t events, bool fixed)
{
    struct clp_dedupe_process *found = find(once, &who);

    if (found == NULL)
        found = append(once, &who);
    if (found == NULL)
        return NULL;
    once->again |= found->file != once->file;
    if (found->who.place == 0)
        found->who.place = who.place;
    if (events > found->events || (events == found->events && fixed && !found->fixed)) {
        found->events = events;
        found->file = once->file;
        found->fixed = fixed;
    }
    return found;
}

static clp_status note_rows(struct clp_dedupe *once, const struct clp_profile *one)
{
    size_t bare = 0; /* rows without numbers */

    for (size_t i = 0; i < one->process_count; i++)
        bare += one->processes[i].numbers == NULL;
    for (size_t i = 0; i < one->process_count; i++) {
        const struct clp_profile_process *row = &one->processes[i];
        struct clp_dedupe_process *process =
            note(once, who_of_row(row), row->events, bare > (row->numbers == NULL ? 1 : 0));
        if (process == NULL)
            return CLP_NO_MEMORY;
        process->parent = row->parent;
        (void)snprintf(process->name, sizeof process->name, "%s", row->name != NULL ? row->name : "");
    }
    return CLP_OK;
}

/* line_profiler's files do not say which process they are of. */
static bool is_known(const struct clp_profile *one)
{
    return one->meta.pid != 0 && one->meta.start != 0;
}

static clp_status note_file(struct clp_dedupe *once, const struct clp_profile *one)
{
    if (one->process_count != 0)
        return note_rows(once, one);
    if (!is_known(one))
        return CLP_OK;
    return note(once, who_of(&one->meta), one->meta.events, false) != NULL ? CLP_OK : CLP_NO_MEMORY;
}

/* ---- both rounds ---- */

/* Does a process count in the file that is being read? */
static bool counts_here(const void *data, const struct clp_profile_process *row)
{
    const struct clp_dedupe *once = data;
    const struct who who = who_of_row(row);
    const struct clp_dedupe_process *process = find(once, &who);

    return process == NULL || process->file == once->file;
}

/* Removes the processes that count in other files from a sum. CLP_CORRUPT after a complaint. */
static clp_status take_out(const struct clp_dedupe *once, struct clp_profile *one, const char *path,
                           struct clp_buf *complaint)
{
    const struct clp_profile_process *out = NULL;

    for (size_t i = 0; i < one->process_count && out == NULL; i++)
        if (!counts_here(once, &one->processes[i]))
            out = &one->processes[i];
    if (out == NULL)
        return CLP_OK;
    uint64_t pid = out->pid;
    clp_status status = clp_process_numbers_keep(one, counts_here, once);
    if (status == CLP_CORRUPT)
        clp_buf_add_format(complaint, "%s: process %llu is in another file, too, and this file has no numbers of each "
                                      "process; leave out one of the two files", path, (unsigned long long)pid);
    return status;
}

/* Gives a file of one process its row, if it counts. */
static clp_status add_row(const struct clp_dedupe *once, const struct clp_profile *sum, struct clp_profile *one,
                          bool *counts)
{
    const struct who who = who_of(&one->meta);
    const struct clp_dedupe_process *process = find(once, &who);

    *counts = process == NULL || process->file == once->file;
    if (!*counts || !once->several)
        return CLP_OK;
    return clp_process_numbers_add(one, process != NULL ? process->parent : 0, process != NULL ? process->name : "",
                                   sum->process_count < CLP_PROFILE_NUMBERS);
}

static clp_status add_file(struct clp_dedupe *once, struct clp_profile *sum, struct clp_profile *one,
                           const char *path)
{
    clp_status status = CLP_OK;
    bool counts = true;

    if (one->process_count != 0)
        status = take_out(once, one, path, &once->complaint);
    else if (is_known(one))
        status = add_row(once, sum, one, &counts);
    return status == CLP_OK && counts ? clp_profile_merge(sum, one) : status;
}

bool clp_dedupe_merge(struct clp_dedupe *once, struct clp_profile *sum, struct clp_profile *one, const char *path)
{
    clp_status status = once->round ? CLP_OK : note_file(once, one);

    if (status == CLP_OK && (once->round || !once->again))
        status = add_file(once, sum, one, path);
    once->file++;
    if (status != CLP_OK && once->complaint.used == 0)
        clp_buf_add_text(&once->complaint, clp_status_text(status));
    return status == CLP_OK;
}
