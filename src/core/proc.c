/* SPDX-License-Identifier: MIT */
#include "proc.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK_PAGES 48
#define CHECK_TRIES 3
#define OUT_OF_THE_WAY 200 /* the lowest descriptor to use; limits are 1024 and more */

/* Leaves the low descriptors, which a program may number by hand or close and open anew, as they
 * would be without us. */
static void move_up(struct clp_proc *proc)
{
    int higher = fcntl(proc->file, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);

    if (higher < 0)
        return; /* a low limit: it stays where it is */
    close(proc->file);
    proc->file = higher;
}

clp_status clp_proc_open(struct clp_proc *proc)
{
    struct clp_resident now;

    proc->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    proc->file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (proc->file < 0)
        return CLP_IO;
    move_up(proc);
    if (clp_proc_read(proc, &now) != CLP_OK) {
        clp_proc_close(proc);
        return CLP_IO;
    }
    return CLP_OK;
}

void clp_proc_close(struct clp_proc *proc)
{
    if (proc->file >= 0)
        close(proc->file);
    proc->file = -1;
}

static const char *parse_number(const char *text, uint64_t *value)
{
    const char *at = text;

    *value = 0;
    while (*at >= '0' && *at <= '9')
        *value = *value * 10 + (uint64_t)(*at++ - '0');
    return at == text ? NULL : at;
}

bool clp_proc_parse(const char *text, uint64_t *resident_pages, uint64_t *shared_pages)
{
    uint64_t size;

    text = parse_number(text, &size);
    if (text == NULL || *text++ != ' ')
        return false;
    text = parse_number(text, resident_pages);
    if (text == NULL || *text++ != ' ')
        return false;
    return parse_number(text, shared_pages) != NULL;
}

clp_status clp_proc_read(const struct clp_proc *proc, struct clp_resident *now)
{
    char text[128];
    uint64_t resident, shared;
    int kept = errno; /* the program's errno is not ours to change */
    ssize_t count = pread(proc->file, text, sizeof text - 1, 0);

    errno = kept;
    if (count <= 0)
        return CLP_IO;
    text[count] = 0;
    if (!clp_proc_parse(text, &resident, &shared))
        return CLP_IO;
    now->resident = resident * proc->page_bytes;
    now->shared = shared * proc->page_bytes;
    return CLP_OK;
}

uint64_t clp_proc_peak(void)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
    return (uint64_t)usage.ru_maxrss * 1024;
}

struct touch {
    uint64_t seen;    /* touches after which the counter had moved by one page */
    uint64_t largest; /* bytes of the largest move */
    uint64_t ticks;   /* the quickest change */
};

static void touch_pages(const struct clp_proc *proc, const struct clp_clock *clock, char *block,
                        struct touch *touch)
{
    struct clp_resident before = {0}, after = {0};

    for (uint64_t i = 0; i < CHECK_PAGES; i++) {
        (void)clp_proc_read(proc, &before);
        uint64_t start = clp_clock_read(clock);
        *(volatile char *)(block + i * proc->page_bytes) = 1;
        uint64_t ticks = clp_clock_read(clock) - start;
        (void)clp_proc_read(proc, &after);
        uint64_t moved = after.resident > before.resident ? after.resident - before.resident : 0;
        touch->seen += moved == proc->page_bytes;
        if (moved > touch->largest)
            touch->largest = moved;
        if (ticks < touch->ticks)
            touch->ticks = ticks;
    }
}

static void give_pages_back(const struct clp_proc *proc, const struct clp_clock *clock, char *block,
                            struct touch *touch)
{
    for (uint64_t i = 0; i < CHECK_PAGES; i++) {
        uint64_t start = clp_clock_read(clock);
        madvise(block + i * proc->page_bytes, (size_t)proc->page_bytes, MADV_DONTNEED);
        uint64_t ticks = clp_clock_read(clock) - start;
        if (ticks < touch->ticks)
            touch->ticks = ticks;
    }
}

/* Another thread may grow or shrink meanwhile, so one clean pass of several is enough. */
struct clp_proc_check clp_proc_check(const struct clp_proc *proc, const struct clp_clock *clock)
{
    struct clp_proc_check check = {.step = proc->page_bytes};
    size_t bytes = CHECK_PAGES * (size_t)proc->page_bytes;
    struct touch touch = {.ticks = UINT64_MAX};

    for (int i = 0; i < CHECK_TRIES && !check.exact; i++) {
        char *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED)
            break;
        madvise(block, bytes, MADV_NOHUGEPAGE);
        touch.seen = 0;
        touch_pages(proc, clock, block, &touch);
        give_pages_back(proc, clock, block, &touch);
        munmap(block, bytes);
        check.exact = touch.seen == CHECK_PAGES;
    }
    if (!check.exact) /* nothing moved at all: the batch is larger than what was touched */
        check.step = touch.largest != 0 ? touch.largest : bytes;
    check.change_ticks = touch.ticks == UINT64_MAX ? 0 : touch.ticks;
    return check;
}

/* ---- other processes ---- */

/* "START-END rw-s OFFSET MAJOR:MINOR INODE   PATH": written to, shared, and that file. The device is
 * not looked at: file systems made of others show theirs. */
static bool is_mapping_of(const char *line, unsigned long long inode)
{
    unsigned long long found;
    char mode[5];

    return sscanf(line, "%*x-%*x %4s %*x %*x:%*x %llu", mode, &found) == 2 && found == inode &&
           mode[1] == 'w' && mode[3] == 's';
}

bool clp_proc_maps(uint64_t pid, const char *path)
{
    char name[64], line[PATH_MAX + 128];
    struct stat about;
    bool found = false;

    if (pid == 0 || pid > INT_MAX || stat(path, &about) != 0 || (kill((pid_t)pid, 0) != 0 && errno == ESRCH))
        return false;
    snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(name, "re");
    if (file == NULL)
        return true;
    while (!found && fgets(line, sizeof line, file) != NULL)
        found = is_mapping_of(line, (unsigned long long)about.st_ino);
    fclose(file);
    return found;
}

void clp_proc_boot(char *text, size_t room)
{
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t count = file >= 0 ? read(file, text, room - 1) : 0;

    text[count > 0 ? count : 0] = 0;
    text[strcspn(text, "\n")] = 0;
    if (file >= 0)
        close(file);
}
