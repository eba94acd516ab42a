/* SPDX-License-Identifier: MIT */
#include "liverun.h"
#include "report/choice.h"
#include "formats/live/live_reader.h"
#include "os/file.h"
#include "os/filelock.h"
#include "formats/live/live_peek.h"
#include "os/proc.h"
#include "base/escape.h"
#include "cpython/object/profiler_run.h"
#include "fork_helpers.h"
#include "bridge/console.h"
#include "bridge/family_files.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The run whose live file the handlers of a fork prepare; NULL: none. It is global because these handlers
 * take no argument. They stay registered when the run ends. */
static struct clp_liverun *run_at_fork;

/* ---- around a fork ---- */

static void prepare_fork(void)
{
    if (run_at_fork == NULL || run_at_fork->process != clp_identity_self())
        return;
    clp_live_note_user(run_at_fork->live);
    clp_pages_fork_prepare(run_at_fork->live->pages);
}

static void after_fork_in_parent(void)
{
    if (run_at_fork == NULL || run_at_fork->process != clp_identity_self())
        return;
    clp_pages_fork_parent(run_at_fork->live->pages);
    run_at_fork->forks++;
}

static void after_fork_in_child(void)
{
    if (run_at_fork != NULL)
        clp_pages_fork_child(run_at_fork->live->pages);
    run_at_fork = NULL;
}

/* ---- live files that exist already ---- */

bool clp_liverun_has_no_header(int file)
{
    static const char nothing[sizeof ((struct clp_live_header *)NULL)->magic];
    char magic[sizeof nothing] = {0};

    return pread(file, magic, sizeof magic, 0) >= 0 && memcmp(magic, nothing, sizeof magic) == 0;
}

/* Sets `name` to PREFIX.PID.live, or PREFIX.PID-2.live and so on, so that no such file exists. False when a thousand
 * are taken. */
static bool name_with(struct clp_buf *name, const char *prefix, uint64_t pid)
{
    for (int i = 1; i < 1000; i++) {
        clp_buf_clear(name);
        clp_buf_add_format(name, "%s.%llu", prefix, (unsigned long long)pid);
        if (i > 1)
            clp_buf_add_format(name, "-%d", i);
        clp_buf_add_text(name, ".live");
        if (access(clp_buf_text(name), F_OK) != 0 && errno == ENOENT)
            return true;
    }
    return false;
}

/* Renames a file without replacing another one. On a file system that cannot do that, a file that was made meanwhile is
 * replaced. */
static bool move(const char *path, const char *to)
{
    if (renameat2(AT_FDCWD, path, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return true;
    return errno == EINVAL && rename(path, to) == 0;
}

/* Is the live file readable, and has its process counted nothing? */
static bool holds_nothing(const char *path)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_live_about about;
    struct clp_profile profile;
    struct clp_fault fault;

    clp_profile_init(&profile, &mem);
    bool nothing = clp_live_read(path, NULL, &profile, &about, &fault) == CLP_OK && clp_choice_is_idle(&profile);
    clp_profile_clear(&profile);
    return nothing;
}

/* Tells under what name the live file of an earlier run is kept, and how it is joined with those of its child
 * processes. */
static void say_kept(const char *program, uint64_t pid, const char *name, const struct clp_family_files *family)
{
    struct clp_buf text;

    clp_buf_init(&text, family->mem);
    clp_buf_add_format(&text, "an earlier run (process %llu) did not end by itself; its profile is kept as '%s'",
                       (unsigned long long)pid, name);
    if (family->count > 1) {
        clp_buf_add_text(&text, " and in ");
        clp_family_files_add_count(family, &text);
        clp_buf_add_text(&text, ", which clineprof shows together");
        clp_family_files_add_command(name, &text);
    } else {
        clp_buf_add_text(&text, ", which clineprof shows");
    }
    clp_console_complain(program, clp_buf_text(&text));
    clp_buf_clear(&text);
}

/* Renames the live file of an earlier run to OUTFILE.PID.live, and says so. Removes the file if it holds no counts, and
 * has no family. False when the file is still there. */
static bool keep_earlier(const struct clp_liverun_wish *wish, const char *path, uint64_t pid)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_family_files family;
    struct clp_buf name;

    clp_family_files_find(&family, path, &mem);
    clp_buf_init(&name, &mem);
    bool gone = family.count < 2 && holds_nothing(path) && unlink(path) == 0;
    bool moved = !gone && name_with(&name, clp_buf_text(wish->outfile), pid) && move(path, clp_buf_text(&name));
    if (moved && !wish->quiet)
        say_kept(wish->program, pid, clp_buf_text(&name), &family);
    clp_buf_clear(&name);
    clp_family_files_clear(&family);
    return gone || moved;
}

/* Whose live file has the path that this run wants, when that file stays there. */
struct taken {
    bool is_ours; /* it is a live file of our user; only then are the other two set */
    enum clp_life life;
    struct clp_identity who;
};

/* Locks the file. False when another process has locked it, or has moved it away from its path. On a file
 * system without locks every file counts as locked. */
static bool lock_if_still_there(int file, const char *path)
{
    struct stat opened, there;

    return (clp_filelock_take(file) || errno == EINVAL || errno == ENOLCK) && fstat(file, &opened) == 0 &&
           lstat(path, &there) == 0 && opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
}

/* Waits until the file has a header, and reads it. A file without one is being made by another process, which then
 * holds its lock, or was left by a process that was killed. So without a lock the wait is short: 0.1 s and not 5 s. */
static bool wait_for_header(int file, struct clp_live_header *header)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};

    for (int i = 0; clp_liverun_has_no_header(file) && i < (clp_filelock_is_held(file) ? 5000 : 100); i++)
        nanosleep(&millisecond, NULL);
    return clp_live_peek(file, header);
}

/* Moves a live file away if its process has ended. Removes it if it has no header. False when it stays; *taken then says
 * whose it is. */
static bool clear_file(int file, const struct clp_liverun_wish *wish, const char *path, struct taken *taken)
{
    struct clp_live_header header;
    struct stat about;

    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode) || about.st_uid != geteuid())
        return false;
    if (!wait_for_header(file, &header))
        return clp_liverun_has_no_header(file) && lock_if_still_there(file, path) && unlink(path) == 0;
    header.who.boot[sizeof header.who.boot - 1] = header.who.host[sizeof header.who.host - 1] = 0;
    *taken = (struct taken){true, clp_identity_life(&header.who, path, header.locked != 0), header.who};
    return taken->life == CLP_LIFE_ENDED && lock_if_still_there(file, path) &&
           keep_earlier(wish, path, header.who.pid);
}

/* Makes the path OUTFILE.live free. False when it stays taken; *taken then says by whom. */
static bool clear_place(const struct clp_liverun_wish *wish, const char *path, struct taken *taken)
{
    int file = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
    bool clear = file < 0 && (errno == ENOENT || errno == ENAMETOOLONG); /* if too long, making the file says so */

    *taken = (struct taken){0};
    if (file < 0)
        return clear;
    clear = clear_file(file, wish, path, taken);
    close(file);
    return clear;
}

/* ---- a name for the file ---- */

static void say_taken(const struct clp_liverun_wish *wish, const char *path, const struct taken *taken)
{
    const char *outfile = clp_buf_text(wish->outfile);
    unsigned long long pid = taken->who.pid;

    if (!taken->is_ours)
        clp_console_complain_format(wish->program, "'%s' is not a live file of your own; it is left alone, "
                                    "and this run writes '%s'", path, outfile);
    else if (taken->life == CLP_LIFE_UNKNOWN)
        clp_console_complain_format(wish->program, "'%s' belongs to process %llu on '%s', which may still run; "
                                    "it is left alone, and this run writes '%s'",
                                    path, pid, taken->who.host, outfile);
    else
        clp_console_complain_format(wish->program, "process %llu is making a profile of the same name; this "
                                    "run writes '%s'", pid, outfile);
}

static void name_live(struct clp_liverun *run, const struct clp_liverun_wish *wish)
{
    clp_buf_clear(&run->path);
    clp_buf_add_format(&run->path, "%s.live", clp_buf_text(wish->outfile));
}

/* Sets the name of the live file of a run's child: OUTFILE.FAMILY.PID.live. */
static void name_child(struct clp_liverun *run, const struct clp_liverun_wish *wish)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf prefix;

    clp_buf_init(&prefix, &mem);
    clp_buf_add_format(&prefix, "%s.", clp_buf_text(wish->outfile));
    clp_run_id_add(&prefix, wish->family);
    (void)name_with(&run->path, clp_buf_text(&prefix), (uint64_t)getpid());
    clp_buf_clear(&prefix);
}

/* The names of a run's files, while free ones are searched. */
struct names {
    struct clp_buf plain; /* the outfile that was asked for */
    bool user_was_told;   /* of the outfile's other name */
};

static void take_own_name(struct clp_liverun *run, const struct clp_liverun_wish *wish, struct names *names,
                          const struct taken *taken)
{
    struct clp_buf live;

    clp_buf_init(&live, names->plain.mem);
    clp_buf_add_format(&live, "%s.live", clp_buf_text(&names->plain));
    clp_naming_make_own(wish->outfile);
    name_live(run, wish);
    if (!names->user_was_told && !wish->own_name)
        say_taken(wish, clp_buf_text(&live), taken);
    names->user_was_told = true;
    clp_buf_clear(&live);
}

/* Sets the names of the outfile and of its live file for the first process of a run. While this process has
 * OUTFILE.live, no other process writes OUTFILE. */
static void name_first_process(struct clp_liverun *run, const struct clp_liverun_wish *wish,
                                  struct names *names)
{
    struct taken taken = {0};

    clp_buf_clear(wish->outfile);
    clp_buf_add_text(wish->outfile, clp_buf_text(&names->plain));
    name_live(run, wish);
    if (wish->own_name || !clear_place(wish, clp_buf_text(&run->path), &taken))
        take_own_name(run, wish, names, &taken);
}

#define MOST_TRIES 100

/* Is this process the child of a fork, and has no live file of its own yet? */
static bool is_new_child(const struct clp_liverun *run)
{
    return run->process != clp_identity_self();
}

static clp_status make_named(struct clp_liverun *run, PyObject *profiler,
                             const struct clp_liverun_wish *wish, struct clp_fault *fault)
{
    const struct clp_go_live place = {.path = clp_buf_text(&run->path),
                                      .command = wish->command,
                                      .run = wish->family.token,
                                      .rights = wish->rights};

    return is_new_child(run) ? clp_profiler_fork_live(profiler, place.path, (uint32_t)run->process, fault)
                             : clp_profiler_go_live(profiler, &place, fault);
}

/* Makes the live file under a free name. Another process may take the name before this one makes the file, so several
 * names are tried. On failure *fault says why. */
static clp_status make_file(struct clp_liverun *run, PyObject *profiler,
                            const struct clp_liverun_wish *wish, struct clp_fault *fault)
{
    clp_status status = CLP_IO;
    struct names names = {.user_was_told = false};

    clp_buf_init(&names.plain, wish->outfile->mem);
    clp_buf_add_text(&names.plain, clp_buf_text(wish->outfile));
    fault->os_error = EEXIST;
    for (int i = 0; i < MOST_TRIES && status == CLP_IO && fault->os_error == EEXIST; i++) {
        if (wish->is_member || is_new_child(run))
            name_child(run, wish);
        else
            name_first_process(run, wish, &names);
        status = make_named(run, profiler, wish, fault);
    }
    clp_buf_clear(&names.plain);
    return status;
}

/* Makes the live file in the first temporary folder that takes it. */
static clp_status make_elsewhere(struct clp_liverun *run, PyObject *profiler, const struct clp_liverun_wish *wish)
{
    struct clp_liverun_wish there = *wish;
    clp_status status = CLP_IO;
    struct clp_fault fault;
    const char *folder;

    there.outfile = wish->elsewhere;
    there.rights = CLP_FILE_PRIVATE; /* the script's folder may be closed to others */
    for (int i = 0; status != CLP_OK && (folder = clp_file_temporary_folder(i)) != NULL; i++) {
        clp_naming_make_temporary(there.outfile, folder, clp_buf_text(wish->outfile));
        status = make_file(run, profiler, &there, &fault);
    }
    if (status != CLP_OK)
        clp_buf_cut(wish->elsewhere, 0);
    return status;
}

/* Makes the live file in the temporary folder, if another folder may take it. One line says what became of it. */
static bool go_elsewhere(struct clp_liverun *run, PyObject *profiler, const struct clp_liverun_wish *wish,
                         const struct clp_fault *fault)
{
    struct clp_buf text;

    clp_buf_init(&text, wish->outfile->mem);
    clp_buf_add_format(&text, "cannot keep '%s' while the program runs: %s; ", clp_buf_text(&run->path),
                       clp_fault_text(fault));
    bool made = wish->elsewhere != NULL && clp_file_may_go_elsewhere(fault->os_error) &&
                make_elsewhere(run, profiler, wish) == CLP_OK;
    if (made)
        clp_buf_add_format(&text, "it is '%s'", clp_buf_text(&run->path));
    else
        clp_buf_add_format(&text, "%sits profile is lost%s", wish->is_member ? "" : "if it is killed, ",
                           wish->save_interval > 0 ? ", and -i saves nothing" : "");
    clp_console_complain(wish->program, clp_buf_text(&text));
    clp_buf_clear(&text);
    return made;
}

/* ---- the run ---- */

bool clp_liverun_has_place(const char *outfile)
{
    struct stat about;

    return stat(outfile, &about) != 0 || S_ISREG(about.st_mode);
}

static void begin_saves(struct clp_liverun *run, PyObject *profiler,
                        const struct clp_liverun_wish *wish)
{
    run->saver = (struct clp_saver){.interval = wish->save_interval,
                                    .live_path = clp_buf_text(&run->path),
                                    .outfile = clp_buf_text(wish->outfile),
                                    .rights = wish->rights,
                                    .clock = clp_profiler_clock(profiler)};
    if (wish->save_interval <= 0)
        return;
    clp_profiler_set_helper(profiler, &run->saver.pages);
    int error = clp_saver_start(&run->saver);
    if (error == 0)
        clp_fork_helpers_add(&run->saver.helper);
    else
        clp_console_complain_format(wish->program, "cannot save every %g s: %s",
                                    wish->save_interval, strerror(error));
}

/* These handlers are registered before those of helper threads, because handlers run in the opposite order: helpers
 * must have stopped before pages are copied. */
static void watch_forks(struct clp_liverun *run)
{
    static bool watched;

    run_at_fork = run;
    if (!watched)
        (void)pthread_atfork(prepare_fork, after_fork_in_parent, after_fork_in_child);
    watched = true;
}

void clp_liverun_begin(struct clp_liverun *run, PyObject *profiler,
                       const struct clp_liverun_wish *wish)
{
    struct clp_fault fault = {0};

    if (!clp_liverun_has_place(clp_buf_text(wish->outfile))) {
        if (wish->save_interval > 0)
            clp_console_complain_format(
                wish->program, "'%s' is not a regular file; it is written only when the program ends",
                clp_buf_text(wish->outfile));
        return;
    }
    run->process = clp_identity_self();
    if (make_file(run, profiler, wish, &fault) != CLP_OK && !go_elsewhere(run, profiler, wish, &fault))
        return;
    run->live = clp_profiler_live(profiler);
    if (wish->is_member)
        run->live->header->parent = (uint64_t)getppid();
    watch_forks(run);
    begin_saves(run, profiler, wish);
}

/* Tells that a child's counts are lost. Writes past sys.stderr, whose buffer in the child may still hold the parent's
 * text, which only the parent should write. */
static void say_lost(const struct clp_liverun *run, const char *program,
                     const struct clp_fault *fault)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf path;

    clp_buf_init(&path, &mem);
    clp_escape_add_text(&path, clp_buf_text(&run->path));
    dprintf(2, "%s: process %d cannot keep its profile in '%s': %s; it is lost\n", program,
            (int)getpid(), clp_buf_text(&path), clp_fault_text(fault));
    clp_buf_clear(&path);
}

void clp_liverun_fork(struct clp_liverun *run, PyObject *profiler,
                      const struct clp_liverun_wish *wish)
{
    struct clp_fault fault = {0};

    if (run->live == NULL || run->ended)
        return;
    clp_status status = make_file(run, profiler, wish, &fault);
    run->process = clp_identity_self();
    run->saver.interval = 0;
    if (status == CLP_OK) {
        run_at_fork = run;
        return;
    }
    say_lost(run, wish->program, &fault);
    clp_live_close(run->live);
    run->live = NULL;
}

void clp_liverun_stop_saves(struct clp_liverun *run, const char *program)
{
    if (run->live == NULL)
        return;
    clp_fork_helpers_remove(&run->saver.helper);
    if (run->saver.error != 0)
        clp_console_complain_format(
            program, "the profile could not be saved while the program ran: %s",
            strerror(run->saver.error));
}

void clp_liverun_leave(struct clp_liverun *run)
{
    if (run->live == NULL)
        return;
    if (run_at_fork == run)
        run_at_fork = NULL;
    clp_live_close(run->live);
    run->live = NULL;
}

void clp_liverun_end(struct clp_liverun *run, const char *program, bool written)
{
    if (run->live == NULL || run->process != clp_identity_self())
        return;
    if (clp_live_error(run->live) != 0)
        clp_console_complain_format(
            program, "'%s' could not grow: %s; had the program been killed, a part of its profile "
                     "would have been lost",
            clp_buf_text(&run->path), strerror(clp_live_error(run->live)));
    run->ended = true;
    if (written) {
        clp_pages_remove(run->live->pages, clp_buf_text(&run->path));
        clp_liverun_leave(run);
    } else {
        clp_console_complain_format(program, "what was recorded is in '%s', which clineprof shows",
                                    clp_buf_text(&run->path));
    }
}
