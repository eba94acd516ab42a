/* SPDX-License-Identifier: MIT */
#include "family.h"
#include "profile/profile_merge.h"
#include "os/file.h"
#include "os/filelock.h"
#include "formats/live/live_lines.h"
#include "formats/live/live_peek.h"
#include "formats/live/live_reader.h"
#include "os/proc.h"
#include "formats/lprof/process_numbers.h"
#include "formats/lprof/wire.h"
#include "formats/lprof/wire_reader.h"
#include "liverun.h"
#include "naming.h"
#include "bridge/console.h"
#include "bridge/reading.h"
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FEWEST_TO_SWEEP 16 /* files */
#define LARGEST_SUM ((size_t)1 << 31) /* bytes */

/* ---- whose files they are ---- */

/* The users whose files count: this one and root, and users that their processes have changed to, by their own files.
 * In a folder where everybody may write, other users could add a file that looks like one of the run. */
#define MOST_USERS 32

struct users {
    uint32_t items[MOST_USERS];
    size_t count;
};

static bool is_user(const struct users *users, uint32_t user)
{
    for (size_t i = 0; i < users->count; i++)
        if (users->items[i] == user)
            return true;
    return false;
}

static void add_user(struct users *users, uint32_t user)
{
    if (!is_user(users, user) && users->count < MOST_USERS)
        users->items[users->count++] = user;
}

/* ---- the family's files ---- */

struct search {
    struct clp_buf folder, prefix; /* "demo.lprof.4711-9f3c2a1b5d7e." */
    DIR *entries;
    struct clp_buf path; /* the file that was found last */
    uint64_t pid;        /* the process's number in its name */
    struct clp_live_header header; /* the file's header */
    uint32_t owner;      /* the file's user */
};

static void search_begin(struct search *search, const struct clp_recording *recording)
{
    struct clp_mem *mem = recording->outfile.mem;
    const char *outfile = clp_recording_family_at(recording), *slash = strrchr(outfile, '/');

    clp_buf_init(&search->folder, mem);
    clp_buf_init(&search->prefix, mem);
    clp_buf_init(&search->path, mem);
    clp_buf_add(&search->folder, outfile, (size_t)(slash - outfile) + 1);
    clp_buf_add_format(&search->prefix, "%s.", slash + 1);
    clp_run_id_add(&search->prefix, recording->family);
    clp_buf_add_text(&search->prefix, ".");
    search->entries = opendir(clp_buf_text(&search->folder));
}

static void search_end(struct search *search)
{
    if (search->entries != NULL)
        closedir(search->entries);
    clp_buf_clear(&search->folder);
    clp_buf_clear(&search->prefix);
    clp_buf_clear(&search->path);
}

/* Does the rest of a file's name, behind the prefix, look like "4712.live" or "4712-2.live"? */
static bool is_child(const char *name)
{
    const char *end = name + strspn(name, "0123456789-");

    return isdigit((unsigned char)*name) && strcmp(end, ".live") == 0;
}

/* The path of the next file that is named as a live file of this run, borrowed; NULL behind the last. */
static const char *search_name(struct search *search)
{
    const char *prefix = clp_buf_text(&search->prefix);
    struct dirent *entry;

    while (search->entries != NULL && (entry = readdir(search->entries)) != NULL) {
        if (strncmp(entry->d_name, prefix, search->prefix.used) != 0 ||
            !is_child(entry->d_name + search->prefix.used))
            continue;
        search->pid = strtoull(entry->d_name + search->prefix.used, NULL, 10);
        clp_buf_cut(&search->path, 0);
        clp_buf_add_format(&search->path, "%s%s", clp_buf_text(&search->folder), entry->d_name);
        return clp_buf_text(&search->path);
    }
    return NULL;
}

/* The path of the next file whose header says that it is a live file of this run, borrowed; NULL behind the last. */
static const char *search_next(struct search *search, const struct clp_recording *recording)
{
    const char *path;

    while ((path = search_name(search)) != NULL)
        if (clp_live_peek_at(path, &search->header, &search->owner) &&
            search->header.run == recording->family.token)
            return path;
    return NULL;
}

/* Finds the users whose files count. The file of a process may be found before the file of its parent, which says that
 * the user was changed; so the search is repeated until it finds no further user. */
static struct users find_users(const struct clp_recording *recording)
{
    struct users users = {{0, geteuid()}, 2};
    struct search search;
    size_t before;

    if (recording->live.live != NULL)
        add_user(&users, recording->live.live->header->user);
    do {
        before = users.count;
        search_begin(&search, recording);
        while (search_next(&search, recording) != NULL)
            if (is_user(&users, search.owner))
                add_user(&users, search.header.user);
        search_end(&search);
    } while (users.count > before);
    return users;
}

/* ---- the sum ---- */

static bool has_row(const struct clp_profile *sum, const struct clp_live_header *header)
{
    for (size_t i = 0; i < sum->process_count; i++)
        if (sum->processes[i].pid == header->who.pid && sum->processes[i].start == header->start)
            return true;
    return false;
}

static void say_running(const struct clp_recording *recording, const char *path,
                        const struct clp_live_about *about, bool counted)
{
    const char *so_far = counted ? "its counts so far are in the profile, all of them will be in"
                                 : "it has counted nothing so far, what it counts will be in";

    if (recording->quiet)
        return;
    if (about->unknown)
        clp_console_complain_format(recording->program, "process %llu on '%s' may still run; %s '%s'",
                                    (unsigned long long)about->pid, about->host, so_far, path);
    else
        clp_console_complain_format(recording->program, "process %llu still runs; %s '%s'",
                                    (unsigned long long)about->pid, so_far, path);
}

/* Clears the mark of lines that were being executed. A process that still runs is told in a message instead. */
static void settle_lines(struct clp_profile *one)
{
    for (size_t i = 0; i < one->function_count; i++)
        for (size_t j = 0; j < one->functions[i].line_count; j++)
            one->functions[i].lines[j].running = false;
}

static void add_name(struct clp_buf *names, const char *path)
{
    clp_buf_add(names, path, strlen(path) + 1);
}

/* Adds the names of a live file and of the log of lines beside it. */
static void add_live_name(struct clp_buf *names, const char *path)
{
    add_name(names, path);
    if (clp_live_lines_name(path, names))
        clp_buf_add(names, "", 1);
}

static size_t log_bytes(const struct clp_profile *profile)
{
    size_t bytes = 0;

    for (size_t i = 0; i < profile->line_log_count; i++)
        bytes += profile->line_logs[i].count;
    return bytes;
}

static clp_status merge_one(struct clp_profile *sum, struct clp_profile *one,
                            const struct clp_live_about *about)
{
    if (one->meta.events == 0)
        return CLP_OK;
    settle_lines(one);
    clp_status status = clp_process_numbers_add(one, about->parent, about->name,
                                                sum->process_count < CLP_PROFILE_NUMBERS);
    return status == CLP_OK ? clp_profile_merge(sum, one) : status;
}

/* Does the process still run, or may it still run? A server (CLP_RECORDING_SERVER) counts as ended, as it has nothing
 * more to record. */
static bool is_running(const struct clp_live_header *header, const char *path)
{
    return strcmp(header->name, CLP_RECORDING_SERVER) != 0 &&
           clp_identity_life(&header->who, path, header->locked != 0) != CLP_LIFE_ENDED;
}

/* Has our pid namespace no process of this number? */
static bool is_gone(uint64_t pid)
{
    char number[24];

    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)pid);
    return clp_proc_start(number) == 0;
}

/* Waits while the process has ended, or is ending, but its file still counts as used, for 1 s at most. That happens when
 * a process forks and ends at once, as daemons do: the child has the parent's file mapped until it gets a file of its
 * own. It also happens when the first process has just killed the process, as subprocess.run does after Ctrl-C. */
static void wait_for_end(const struct clp_live_header *header, const char *path)
{
    const struct timespec moment = {.tv_nsec = 5000000};
    struct clp_identity me;

    clp_identity_here(&me);
    if (!clp_identity_same_boot(&header->who) || header->who.pid_namespace != me.pid_namespace)
        return; /* its number means nothing here */
    for (int i = 0; i < 200 && clp_proc_is_ending(header->who.pid) && is_running(header, path); i++)
        (void)nanosleep(&moment, NULL);
}

/* What the steps of adding files share. */
struct adding {
    const struct clp_recording *recording;
    bool final;              /* the end of the run, not a sweep: running processes count, and messages are printed */
    struct clp_profile *sum;
    struct clp_buf *summed;  /* names of the files that are no longer needed, each ended by 0 */
    struct users users;
};

/* Tells that a process could not enlarge its live file, as when it has changed to a user who may not write it. */
static void say_incomplete(const struct adding *adding, const struct clp_live_about *about)
{
    if (about->incomplete)
        clp_console_complain_format(adding->recording->program, "process %llu could not enlarge its live file; "
                                    "functions that it selected later are missing", (unsigned long long)about->pid);
}

/* Drops the logs of lines of a process that would displace older ones, such as that of the first process. */
static void bound_logs(const struct adding *adding, struct clp_profile *one)
{
    static bool complained;
    size_t most = CLP_PROFILE_LINE_LOG_BYTES;

    if (!adding->final)
        most -= most / 4; /* the sum finds room beside the log of the first process */
    if (log_bytes(adding->sum) + log_bytes(one) <= most)
        return;
    if (!complained)
        clp_console_complain(adding->recording->program, "the logs of lines (--line-log) have no more room; those of "
                                                         "further processes are missing");
    complained = true;
    clp_profile_drop_line_logs(one);
}

static clp_status read_file(const struct adding *adding, const char *path)
{
    struct clp_live_about about;
    struct clp_profile one;
    struct clp_fault fault;

    clp_profile_init(&one, adding->sum->mem);
    clp_status status = clp_live_read(path, NULL, &one, &about, &fault);
    if (status == CLP_OK) {
        say_incomplete(adding, &about);
        bound_logs(adding, &one);
        status = merge_one(adding->sum, &one, &about);
        bool ended = (!about.running && !about.unknown) || strcmp(about.name, CLP_RECORDING_SERVER) == 0;
        if (ended && status == CLP_OK) /* otherwise the file stays, and can be recovered */
            add_live_name(adding->summed, path);
        else if (!ended && one.function_count != 0) /* multiprocessing's resource tracker never has functions */
            say_running(adding->recording, path, &about, one.meta.events != 0);
    } else {
        if (adding->final)
            clp_recording_complain(adding->recording, "cannot read what a child process recorded,", path, &fault);
        status = CLP_OK;
    }
    clp_profile_clear(&one);
    return status;
}

static void say_foreign(const struct adding *adding, const char *path, uint32_t owner)
{
    if (adding->final)
        clp_console_complain_format(adding->recording->program, "'%s' belongs to another user (uid %u); it is neither "
                                    "counted nor removed", path, owner);
}

/* Adds the live file of one process to the sum, unless it is this process's own, belongs to an unknown user, or still
 * runs and is not to be added. */
static clp_status add_file(const struct adding *adding, const char *path, struct clp_live_header *header,
                           uint32_t owner)
{
    const struct clp_recording *recording = adding->recording;

    header->name[sizeof header->name - 1] = 0;
    header->who.boot[sizeof header->who.boot - 1] = 0;
    if (strcmp(path, clp_buf_text(&recording->live.path)) == 0)
        return CLP_OK;
    if (!is_user(&adding->users, owner)) {
        say_foreign(adding, path, owner);
        return CLP_OK;
    }
    if (adding->final)
        wait_for_end(header, path);
    if ((!adding->final || recording->leaves_running) && is_running(header, path))
        return CLP_OK;
    if (!has_row(adding->sum, header))
        return read_file(adding, path);
    add_live_name(adding->summed, path);
    return CLP_OK;
}

/* ---- the sum of ended processes: OUTFILE.FAMILY.ended.lprof ---- */

static void name_sum(const struct clp_recording *recording, struct clp_buf *name)
{
    clp_buf_init(name, recording->outfile.mem);
    clp_buf_add_format(name, "%s.", clp_recording_family_at(recording));
    clp_run_id_add(name, recording->family);
    clp_buf_add_text(name, ".ended.lprof");
}

/* Reads the sum into an empty profile, which stays empty if there is no such file. */
static clp_status read_sum(const char *path, const struct users *users, struct clp_profile *sum,
                           struct clp_fault *fault)
{
    struct clp_buf bytes;
    struct stat about;

    if (lstat(path, &about) == 0 && (!S_ISREG(about.st_mode) || !is_user(users, about.st_uid))) {
        *fault = (struct clp_fault){.status = CLP_IO, .os_error = EPERM, .reason = "it is another user's file"};
        return CLP_IO;
    }
    clp_buf_init(&bytes, sum->mem);
    clp_status status = clp_file_read(path, LARGEST_SUM, &bytes, fault);
    if (status == CLP_OK) {
        status = clp_wire_decode(clp_buf_text(&bytes), bytes.used, sum, fault);
        clp_reading_say_left_out(path, sum);
    } else if (fault->os_error == ENOENT) {
        status = CLP_OK;
    }
    clp_buf_clear(&bytes);
    return status;
}

static bool write_sum(const struct clp_recording *recording, const char *path, const struct clp_profile *sum)
{
    struct clp_fault fault;
    struct clp_buf bytes;

    clp_buf_init(&bytes, sum->mem);
    bool done = clp_wire_encode(sum, &bytes) == CLP_OK &&
                clp_file_write(path, &(struct clp_file_content){clp_buf_text(&bytes), bytes.used, recording->rights},
                               &fault) == CLP_OK;
    clp_buf_clear(&bytes);
    return done;
}

static size_t count_files(const struct clp_recording *recording)
{
    struct search search;
    size_t count = 0;

    search_begin(&search, recording);
    while (search_next(&search, recording) != NULL)
        count++;
    search_end(&search);
    return count;
}

static clp_status add_files(const struct adding *adding)
{
    struct search search;
    const char *path;
    clp_status status = CLP_OK;

    search_begin(&search, adding->recording);
    while (status == CLP_OK && (path = search_next(&search, adding->recording)) != NULL)
        status = add_file(adding, path, &search.header, search.owner);
    search_end(&search);
    return status;
}

/* Was this file's process killed before it wrote the header? A process of another machine, which does not say so before
 * it has written the header, may run. */
static bool died_without_header(const char *path, uint64_t pid)
{
    static const struct clp_identity unknown;
    struct stat about;
    int file = clp_file_open_to_look(path, false);
    bool no_header = file >= 0 && clp_liverun_has_no_header(file) && fstat(file, &about) == 0 &&
                     about.st_uid == geteuid();

    if (file >= 0)
        close(file);
    return no_header && !clp_proc_maps(pid, path) && is_gone(pid) &&
           clp_identity_life(&unknown, path, true) == CLP_LIFE_ENDED;
}

/* Adds the files without a header whose process died to the names of files that can be removed: they hold no
 * counts. */
static void add_without_header(const struct clp_recording *recording, struct clp_buf *summed)
{
    struct search search;
    const char *path;

    search_begin(&search, recording);
    while ((path = search_name(&search)) != NULL)
        if (died_without_header(path, search.pid))
            add_name(summed, path);
    search_end(&search);
}

static void remove_files(const struct clp_buf *summed)
{
    for (size_t at = 0; at < summed->used; at += strlen(summed->bytes + at) + 1)
        (void)unlink(summed->bytes + at);
}

static void sweep(const struct clp_recording *recording)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf name, summed;
    struct clp_profile sum;
    struct clp_fault fault = {.os_error = 0};
    const struct adding adding = {recording, false, &sum, &summed, find_users(recording)};

    clp_profile_init(&sum, &mem);
    clp_buf_init(&summed, &mem);
    name_sum(recording, &name);
    if (read_sum(clp_buf_text(&name), &adding.users, &sum, &fault) == CLP_OK && add_files(&adding) == CLP_OK &&
        summed.used != 0 && (sum.process_count == 0 || write_sum(recording, clp_buf_text(&name), &sum)))
        remove_files(&summed);
    clp_buf_clear(&name);
    clp_buf_clear(&summed);
    clp_profile_clear(&sum);
}

void clp_family_sweep(const struct clp_recording *recording)
{
    const char *place = clp_recording_family_at(recording);
    int held = count_files(recording) >= FEWEST_TO_SWEEP ? clp_naming_lock(place, false) : -1;

    if (held < 0)
        return;
    sweep(recording);
    close(held);
}

/* ---- the end ---- */

static clp_status add_sum(const struct adding *adding)
{
    struct clp_fault fault = {.os_error = 0};
    struct clp_profile ended;
    struct clp_buf name;

    name_sum(adding->recording, &name);
    clp_profile_init(&ended, adding->sum->mem);
    clp_status status = read_sum(clp_buf_text(&name), &adding->users, &ended, &fault);
    if (status == CLP_OK && ended.process_count != 0) {
        status = clp_profile_merge(adding->sum, &ended);
        add_name(adding->summed, clp_buf_text(&name));
    } else if (status != CLP_OK) {
        clp_recording_complain(adding->recording, "cannot read what child processes recorded,",
                               clp_buf_text(&name), &fault);
        status = CLP_OK;
    }
    clp_profile_clear(&ended);
    clp_buf_clear(&name);
    return status;
}

/* Adds the live file of the process that the run began with. It exists if that process died without writing its
 * profile. */
static clp_status add_first(const struct adding *adding)
{
    const struct clp_recording *recording = adding->recording;
    struct clp_live_header header;
    clp_status status = CLP_OK;
    struct clp_buf path;
    uint32_t owner;

    clp_buf_init(&path, adding->sum->mem);
    clp_buf_add_format(&path, "%s.live", clp_buf_text(&recording->outfile));
    if (clp_live_peek_at(clp_buf_text(&path), &header, &owner) && header.run == recording->family.token)
        status = add_file(adding, clp_buf_text(&path), &header, owner);
    clp_buf_clear(&path);
    return status;
}

clp_status clp_family_add(struct clp_recording *recording, struct clp_profile *profile)
{
    int held = clp_naming_lock(clp_recording_family_at(recording), true);
    const struct adding adding = {recording, true, profile, &recording->summed, find_users(recording)};
    clp_status status = clp_process_numbers_add(profile, 0, "", true);

    clp_buf_clear(&recording->summed); /* names of an earlier profile */
    if (status == CLP_OK)
        status = add_sum(&adding);
    if (status == CLP_OK)
        status = add_files(&adding);
    if (status == CLP_OK && !recording->is_first)
        status = add_first(&adding);
    add_without_header(recording, &recording->summed);
    if (held >= 0)
        close(held);
    return status;
}

void clp_family_remove(struct clp_recording *recording)
{
    remove_files(&recording->summed);
    clp_buf_clear(&recording->summed);
}
