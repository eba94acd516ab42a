/* SPDX-License-Identifier: MIT */
#include "processes.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME_BYTES 64
#define TEXT_BYTES 4096
#define MOST_BELOW 256

/* ---- files of /proc ---- */

/* "/proc/PID/WHAT" */
static void name_file(char name[NAME_BYTES], uint32_t pid, const char *what)
{
    if (pid == 0)
        (void)snprintf(name, NAME_BYTES, "/proc/self/%s", what);
    else
        (void)snprintf(name, NAME_BYTES, "/proc/%u/%s", (unsigned)pid, what);
}

/* Reads up to room - 1 bytes of the file and ends them by 0. Returns 0 or errno. */
static int read_text(const char *name, char *text, size_t room)
{
    int file = open(name, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t count = 1;

    if (file < 0)
        return errno == ENOENT ? ESRCH : errno;
    while (used + 1 < room && (count = read(file, text + used, room - 1 - used)) > 0)
        used += (size_t)count;
    int error = count < 0 ? errno : 0;
    close(file);
    text[used] = 0;
    return error;
}

/* ---- sizes ---- */

static bool parse_size(const char *text, enum clp_memory mode, uint64_t *bytes)
{
    struct clp_resident now;
    uint64_t resident, shared;

    if (mode == CLP_MEMORY_PSS || mode == CLP_MEMORY_USS) {
        if (!clp_proc_parse_rollup(text, mode, &now))
            return false;
        *bytes = now.counted;
        return true;
    }
    if (!clp_proc_parse(text, &resident, &shared) || resident == 0)
        return false;
    *bytes = (mode == CLP_MEMORY_ANON ? resident - shared : resident) *
             (uint64_t)sysconf(_SC_PAGESIZE);
    return true;
}

int clp_processes_size(uint32_t pid, enum clp_memory mode, uint64_t *bytes)
{
    bool rollup = mode == CLP_MEMORY_PSS || mode == CLP_MEMORY_USS;
    char name[NAME_BYTES], text[TEXT_BYTES];

    name_file(name, pid, rollup ? "smaps_rollup" : "statm");
    int error = read_text(name, text, sizeof text);
    if (error == 0 && !parse_size(text, mode, bytes))
        error = ESRCH;
    return error;
}

/* ---- folders of /proc ----
 *
 * Read with the system call, because opendir allocates, and in a new thread the C library then maps a new heap. */

struct entry { /* linux_dirent64 */
    uint64_t inode;
    int64_t next;
    unsigned short bytes;
    unsigned char type;
    char name[];
};

/* Calls take(data, N) for each entry that is a number, until it says false. 0 or errno. */
static int each_number(const char *folder, bool (*take)(void *data, uint32_t number), void *data)
{
    _Alignas(struct entry) char room[TEXT_BYTES];
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool more = true;
    long count = 0;

    if (file < 0)
        return errno == ENOENT ? ESRCH : errno;
    while (more && (count = syscall(SYS_getdents64, file, room, sizeof room)) > 0) {
        for (long at = 0; more && at < count;) {
            const struct entry *entry = (const struct entry *)(const void *)(room + at);
            at += entry->bytes;
            if (entry->name[0] >= '1' && entry->name[0] <= '9')
                more = take(data, (uint32_t)strtoul(entry->name, NULL, 10));
        }
    }
    int error = count < 0 ? errno : 0;
    close(file);
    return error;
}

/* ---- descendants ---- */

struct family {
    struct clp_process *list;
    size_t count, room;
    uint32_t pid; /* whose threads are walked */
    bool known;   /* the kernel has the file `children` */
};

static void add(struct family *family, uint32_t pid, uint32_t parent)
{
    if (family->count < family->room)
        family->list[family->count++] = (struct clp_process){pid, parent};
}

/* "12 345 " */
static void add_children(struct family *family, const char *text)
{
    char *end;

    for (unsigned long pid; (pid = strtoul(text, &end, 10)) != 0 && end != text; text = end)
        add(family, (uint32_t)pid, family->pid);
}

/* Each thread has a list of its own children. Those that do not fit into `text` are left out. */
static bool take_thread(void *data, uint32_t thread)
{
    struct family *family = data;
    char what[NAME_BYTES / 2], name[NAME_BYTES], text[TEXT_BYTES];

    (void)snprintf(what, sizeof what, "task/%u/children", (unsigned)thread);
    name_file(name, family->pid, what);
    if (read_text(name, text, sizeof text) != 0)
        return true;
    family->known = true;
    add_children(family, text);
    return true;
}

static void take_process(struct family *family, uint32_t pid)
{
    char name[NAME_BYTES];

    family->pid = pid;
    name_file(name, pid, "task");
    (void)each_number(name, take_thread, family);
}

size_t clp_processes_below(uint32_t pid, struct clp_process *list, size_t room)
{
    struct family family = {.list = list, .room = room};

    take_process(&family, pid);
    if (!family.known)
        return clp_processes_scan(pid, list, room);
    for (size_t i = 0; i < family.count; i++)
        take_process(&family, list[i].pid);
    return family.count;
}

bool clp_processes_parse_parent(const char *text, uint32_t *parent)
{
    const char *behind = strrchr(text, ')');
    unsigned found;

    if (behind == NULL || sscanf(behind, ") %*c %u", &found) != 1)
        return false;
    *parent = found;
    return true;
}

static bool is_in(const struct family *family, uint32_t pid)
{
    for (size_t i = 0; i < family->count; i++)
        if (family->list[i].pid == pid)
            return true;
    return false;
}

static bool take_if_below(void *data, uint32_t pid)
{
    struct family *family = data;
    char name[NAME_BYTES], text[512];
    uint32_t parent;

    name_file(name, pid, "stat");
    if (!is_in(family, pid) && read_text(name, text, sizeof text) == 0 &&
        clp_processes_parse_parent(text, &parent) &&
        (parent == family->pid || is_in(family, parent)))
        add(family, pid, parent);
    return family->count < family->room;
}

/* Repeats until a round finds no more: a child may have a lower number than its parent, because numbers are
 * reused. */
size_t clp_processes_scan(uint32_t pid, struct clp_process *list, size_t room)
{
    struct family family = {.list = list, .room = room};
    size_t before;

    family.pid = pid != 0 ? pid : (uint32_t)getpid();
    do {
        before = family.count;
        (void)each_number("/proc", take_if_below, &family);
    } while (family.count > before && family.count < room);
    return family.count;
}

uint64_t clp_processes_resident_below(void)
{
    struct clp_process list[MOST_BELOW];
    size_t count = clp_processes_below(0, list, MOST_BELOW);
    uint64_t bytes = 0, one;

    for (size_t i = 0; i < count; i++)
        if (clp_processes_size(list[i].pid, CLP_MEMORY_RSS, &one) == 0)
            bytes += one;
    return bytes;
}

/* The 14th to 17th field: user and system time of the process, and of its children. */
uint64_t clp_processes_parse_time(const char *text)
{
    const char *behind = strrchr(text, ')');
    unsigned long long took[4];

    if (behind == NULL || sscanf(behind, ") %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu %llu %llu", &took[0],
                                 &took[1], &took[2], &took[3]) != 4)
        return 0;
    return took[0] + took[1] + took[2] + took[3];
}

double clp_processes_time_below(void)
{
    struct clp_process list[MOST_BELOW];
    size_t count = clp_processes_below(0, list, MOST_BELOW);
    char name[NAME_BYTES], text[512];
    uint64_t ticks = 0;

    for (size_t i = 0; i < count; i++) {
        name_file(name, list[i].pid, "stat");
        if (read_text(name, text, sizeof text) == 0)
            ticks += clp_processes_parse_time(text);
    }
    return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}
