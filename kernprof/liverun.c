/* SPDX-License-Identifier: MIT */
#include "liverun.h"
#include "../src/core/proc.h"
#include "../src/python/profiler.h"
#include "helpers.h"
#include "words.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The handlers of a fork take no argument and cannot be taken back. */
static struct clp_liverun *forked;

/* ---- around a fork ---- */

static void prepare_fork(void)
{
    if (forked == NULL || forked->process != getpid())
        return;
    clp_pages_fork_prepare(forked->live->pages);
}

static void after_fork_in_parent(void)
{
    if (forked == NULL || forked->process != getpid())
        return;
    clp_pages_fork_parent(forked->live->pages);
}

static void after_fork_in_child(void)
{
    if (forked != NULL)
        clp_pages_fork_child(forked->live->pages);
    forked = NULL;
}

/* ---- what an earlier run left ---- */

bool clp_liverun_peek(const char *path, struct clp_live_header *header)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t count = file >= 0 ? read(file, header, sizeof *header) : -1;

    if (file >= 0)
        close(file);
    return count == (ssize_t)sizeof *header && clp_live_is(header->magic, sizeof header->magic);
}

/* OUTFILE.PID.live, or OUTFILE.PID-2.live and so on: a name that is free. */
static bool name_with(struct clp_buf *name, const char *outfile, uint64_t pid)
{
    for (int i = 1; i < 1000; i++) {
        clp_buf_clear(name);
        clp_buf_add_format(name, "%s.%llu", outfile, (unsigned long long)pid);
        if (i > 1)
            clp_buf_add_format(name, "-%d", i);
        clp_buf_add_text(name, ".live");
        if (access(clp_buf_text(name), F_OK) != 0 && errno == ENOENT)
            return true;
    }
    return false;
}

/* Moves the file out of the way. False when its place is not free. */
static bool keep_earlier(const char *program, const char *outfile, const char *path, uint64_t pid)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf name;

    clp_buf_init(&name, &mem);
    bool moved = name_with(&name, outfile, pid) && rename(path, clp_buf_text(&name)) == 0;
    if (moved)
        clp_words_complain_format(
            program, "an earlier run (process %llu) did not end and left its profile; it is kept as "
                     "'%s', which clineprof shows",
            (unsigned long long)pid, clp_buf_text(&name));
    clp_buf_clear(&name);
    return moved;
}

/* Is OUTFILE.live free, or has it been made so? */
static bool clear_place(const char *program, const char *outfile, const char *path)
{
    struct clp_live_header header;
    struct stat about;

    if (lstat(path, &about) != 0)
        return true;
    if (!S_ISREG(about.st_mode) || !clp_liverun_peek(path, &header))
        return false;
    bool in_use = header.pid != (uint64_t)getpid() && clp_proc_maps(header.pid, path);
    return !in_use && keep_earlier(program, outfile, path, header.pid);
}

/* OUTFILE.FAMILY.PID.live */
static void name_child(struct clp_liverun *run, const struct clp_liverun_wish *wish)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf prefix;

    clp_buf_init(&prefix, &mem);
    clp_buf_add_format(&prefix, "%s.%lld", wish->outfile, (long long)wish->family);
    (void)name_with(&run->path, clp_buf_text(&prefix), (uint64_t)getpid());
    clp_buf_clear(&prefix);
}

/* A run that goes on under the same name keeps its file; so does a file that is none of ours. */
static void name_file(struct clp_liverun *run, const struct clp_liverun_wish *wish)
{
    if (wish->family != 0) {
        name_child(run, wish);
        return;
    }
    clp_buf_add_format(&run->path, "%s.live", wish->outfile);
    if (!clear_place(wish->program, wish->outfile, clp_buf_text(&run->path)))
        (void)name_with(&run->path, wish->outfile, (uint64_t)getpid());
}

/* ---- the run ---- */

/* Beside a pipe or a device there is no place for files. */
static bool is_plain(const char *outfile)
{
    struct stat about;

    return stat(outfile, &about) != 0 || S_ISREG(about.st_mode);
}

static void begin_saves(struct clp_liverun *run, PyObject *profiler,
                        const struct clp_liverun_wish *wish)
{
    run->saver = (struct clp_saver){.interval = wish->save_interval,
                                    .live_path = clp_buf_text(&run->path),
                                    .outfile = wish->outfile,
                                    .clock = clp_profiler_clock(profiler)};
    if (wish->save_interval <= 0)
        return;
    clp_profiler_set_helper(profiler, &run->saver.pages);
    int error = clp_saver_start(&run->saver);
    if (error == 0)
        clp_helpers_add(&run->saver.helper);
    else
        clp_words_complain_format(wish->program, "cannot save every %g s: %s",
                                  wish->save_interval, strerror(error));
}

void clp_liverun_begin(struct clp_liverun *run, PyObject *profiler,
                       const struct clp_liverun_wish *wish)
{
    struct clp_fault fault = {0};

    if (!is_plain(wish->outfile)) {
        if (wish->save_interval > 0)
            clp_words_complain_format(
                wish->program, "'%s' is no file; it is not written before the program ends",
                wish->outfile);
        return;
    }
    name_file(run, wish);
    run->process = getpid();
    if (clp_profiler_go_live(profiler, clp_buf_text(&run->path), wish->command, &fault) != CLP_OK) {
        clp_words_complain_format(
            wish->program, "cannot keep '%s' while the program runs: %s; %sits profile is lost%s",
            clp_buf_text(&run->path), clp_fault_text(&fault),
            wish->family != 0 ? "" : "if it is killed, ",
            wish->save_interval > 0 ? ", and -i saves nothing" : "");
        return;
    }
    run->live = clp_profiler_live(profiler);
    if (wish->family != 0)
        run->live->header->parent = (uint64_t)getppid();
    forked = run;
    /* before any helper's: handlers run in the opposite order, and those end before pages are copied */
    (void)pthread_atfork(prepare_fork, after_fork_in_parent, after_fork_in_child);
    begin_saves(run, profiler, wish);
}

void clp_liverun_fork(struct clp_liverun *run, PyObject *profiler,
                      const struct clp_liverun_wish *wish)
{
    struct clp_fault fault = {0};

    if (run->live == NULL)
        return;
    name_child(run, wish);
    clp_status status = clp_profiler_fork_live(profiler, clp_buf_text(&run->path),
                                               (uint64_t)run->process, &fault);
    run->process = getpid();
    run->saver.interval = 0;
    if (status == CLP_OK) {
        forked = run;
        return;
    }
    /* not by way of sys.stderr: what the parent's streams hold back is the parent's to write */
    dprintf(2, "%s: process %d cannot keep its profile in '%s': %s; it is lost\n", wish->program,
            (int)getpid(), clp_buf_text(&run->path), clp_fault_text(&fault));
    run->live = NULL;
}

void clp_liverun_stop_saves(struct clp_liverun *run, const char *program)
{
    if (run->live == NULL)
        return;
    clp_helpers_remove(&run->saver.helper);
    if (run->saver.error != 0)
        clp_words_complain_format(
            program, "the profile could not be saved while the program ran: %s",
            strerror(run->saver.error));
}

void clp_liverun_end(struct clp_liverun *run, const char *program, bool written)
{
    if (run->live == NULL)
        return;
    if (clp_live_error(run->live) != 0)
        clp_words_complain_format(
            program, "'%s' could not grow: %s; had the program been killed, a part of its profile "
                     "would have been lost",
            clp_buf_text(&run->path), strerror(clp_live_error(run->live)));
    if (written) {
        forked = NULL;
        clp_pages_remove(run->live->pages, clp_buf_text(&run->path));
        clp_pages_close(run->live->pages);
    } else {
        clp_words_complain_format(program, "what was recorded is in '%s', which clineprof shows",
                                  clp_buf_text(&run->path));
    }
}
