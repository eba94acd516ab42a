/* SPDX-License-Identifier: MIT */
#include "naming.h"
#include "os/identity.h"
#include "base/escape.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How many names with a small number are tried. Many may be taken: in containers that share a folder, processes may all
 * have the same process number. */
#define MOST_NUMBERS 1000

/* ---- names ---- */

void clp_naming_add_rank(struct clp_buf *name)
{
    const char *rank = clp_identity_rank();

    if (rank != NULL)
        clp_buf_add_format(name, ".rank%s", rank);
    if (rank != NULL && atoi(clp_identity_restart()) > 0)
        clp_buf_add_format(name, ".restart%s", clp_identity_restart());
}

/* Puts the text before the last ending of the file's name. */
static void insert(struct clp_buf *name, const char *text)
{
    const char *whole = clp_buf_text(name), *slash = strrchr(whole, '/');
    const char *base = slash != NULL ? slash + 1 : whole, *dot = strrchr(base, '.');
    size_t at = dot != NULL && dot != base ? (size_t)(dot - whole) : name->used;
    struct clp_buf made;

    clp_buf_init(&made, name->mem);
    clp_buf_add(&made, whole, at);
    clp_buf_add_text(&made, text);
    clp_buf_add_text(&made, whole + at);
    clp_buf_clear(name);
    *name = made;
}

/* Appends the value of a word in braces at the start of the pattern. Returns the word's length; 0 when it is none. */
static size_t add_word(struct clp_buf *name, const char *pattern)
{
    struct clp_identity me;
    const char *rank = clp_identity_rank();
    char pid[24];

    clp_identity_here(&me);
    (void)snprintf(pid, sizeof pid, "%llu", (unsigned long long)me.pid);
    const struct {
        const char *word, *value;
    } words[] = {{"{rank}", rank != NULL ? rank : "0"}, {"{restart}", clp_identity_restart()}, {"{host}", me.host},
                 {"{pid}", pid}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strncmp(pattern, words[i].word, strlen(words[i].word)) != 0)
            continue;
        clp_buf_add_text(name, words[i].value);
        return strlen(words[i].word);
    }
    return 0;
}

void clp_naming_add_pattern(struct clp_buf *name, const char *pattern)
{
    struct clp_buf rank;
    struct stat about;

    for (const char *at = pattern; *at != 0;) {
        size_t taken = *at == '{' ? add_word(name, at) : 0;
        if (taken == 0)
            clp_buf_add(name, at, 1);
        at += taken != 0 ? taken : 1;
    }
    if (strstr(pattern, "{rank}") != NULL ||
        (stat(clp_buf_text(name), &about) == 0 && !S_ISREG(about.st_mode)))
        return; /* a pipe or device keeps its name */
    clp_buf_init(&rank, name->mem);
    clp_naming_add_rank(&rank);
    insert(name, clp_buf_text(&rank));
    clp_buf_clear(&rank);
}

static bool is_free(const struct clp_buf *name)
{
    struct stat about;
    struct clp_buf live;

    clp_buf_init(&live, name->mem);
    clp_buf_add_format(&live, "%s.live", clp_buf_text(name));
    bool none = lstat(clp_buf_text(name), &about) != 0 && lstat(clp_buf_text(&live), &about) != 0;
    clp_buf_clear(&live);
    return none;
}

void clp_naming_make_own(struct clp_buf *name)
{
    struct clp_buf plain = *name;
    bool found = false;
    char number[48];

    clp_buf_init(name, plain.mem);
    for (int i = 1; !found; i++) {
        if (i < MOST_NUMBERS)
            (void)snprintf(number, sizeof number, i == 1 ? "-%d" : "-%d-%d", (int)getpid(), i);
        else
            (void)snprintf(number, sizeof number, "-%d-%llx", (int)getpid(),
                           (unsigned long long)clp_identity_token());
        clp_buf_clear(name);
        clp_buf_add_text(name, clp_buf_text(&plain));
        insert(name, number);
        found = is_free(name);
    }
    clp_buf_clear(&plain);
}

void clp_naming_make_temporary(struct clp_buf *name, const char *folder, const char *path)
{
    const char *slash = strrchr(path, '/');

    clp_buf_cut(name, 0);
    clp_buf_add_format(name, "%s/%s", folder, slash != NULL ? slash + 1 : path);
    clp_naming_make_own(name);
}

const char *clp_naming_seen_from_here(const char *path)
{
    char folder[PATH_MAX];

    return clp_escape_relative(path, getcwd(folder, sizeof folder));
}

/* ---- other processes with the same output ---- */

static int lock_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct clp_mem mem = clp_mem_system();
    struct clp_buf folder;

    clp_buf_init(&folder, &mem);
    clp_buf_add(&folder, path, slash != NULL ? (size_t)(slash - path) : 0);
    clp_buf_add_text(&folder, slash != NULL ? "/" : ".");
    int file = open(clp_buf_text(&folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    clp_buf_clear(&folder);
    if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0) {
        int error = errno;
        close(file);
        errno = error;
        file = -1;
    }
    return file;
}

int clp_naming_lock(const char *path, bool patient)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    int held = lock_folder(path);

    for (int i = 0; held < 0 && patient && errno == EWOULDBLOCK && i < 200; i++) {
        (void)nanosleep(&moment, NULL);
        held = lock_folder(path);
    }
    return held;
}

struct clp_naming_mark clp_naming_look(const char *path)
{
    struct stat about;

    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return (struct clp_naming_mark){0};
    return (struct clp_naming_mark){about.st_ino, about.st_mtim.tv_sec, about.st_mtim.tv_nsec};
}

bool clp_naming_has_changed(const struct clp_naming_mark *mark, const char *path)
{
    const struct clp_naming_mark now = clp_naming_look(path);

    return now.inode != 0 && (now.inode != mark->inode || now.seconds != mark->seconds ||
                              now.nanos != mark->nanos);
}

/* ---- runs of several processes ---- */

struct clp_run_id clp_run_id_new(void)
{
    uint64_t token = clp_identity_token() & UINT64_C(0xffffffffffff);

    return (struct clp_run_id){(uint64_t)getpid(), token != 0 ? token : 1};
}

void clp_run_id_add(struct clp_buf *out, struct clp_run_id id)
{
    clp_buf_add_format(out, "%llu-%012llx", (unsigned long long)id.pid, (unsigned long long)id.token);
}

bool clp_run_id_parse(const char *text, struct clp_run_id *id)
{
    unsigned long long pid, token;

    if (sscanf(text, "%llu-%12llx", &pid, &token) != 2 || token == 0)
        return false;
    *id = (struct clp_run_id){pid, token};
    return true;
}
