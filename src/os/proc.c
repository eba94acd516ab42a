/* SPDX-License-Identifier: MIT */
#include "proc.h"
#include "file.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CHECK_PAGES 48
#define CHECK_TRIES 3
#define AGAIN_PAGES 16
/* Giving back has a cost of its own: that of 10 pages, and of 30 where another thread of the process runs. */
#define RELEASE_PAGES 256

static const char *const mode_names[] = {
#define CLP_MEMORY_TEXT(mode, name) name,
    CLP_MEMORY_TABLE(CLP_MEMORY_TEXT)
#undef CLP_MEMORY_TEXT
};

enum clp_memory clp_memory_named(const char *name)
{
    unsigned mode = 0;

    while (mode < CLP_MEMORY_MODES && strcasecmp(mode_names[mode], name) != 0)
        mode++;
    return (enum clp_memory)mode;
}

const char *clp_memory_name(enum clp_memory mode)
{
    return mode_names[mode];
}

static bool is_rollup(enum clp_memory mode)
{
    return mode == CLP_MEMORY_USS || mode == CLP_MEMORY_PSS;
}

const char *clp_proc_file(enum clp_memory mode)
{
    return is_rollup(mode) ? "/proc/self/smaps_rollup" : "/proc/self/statm";
}

clp_status clp_proc_open(struct clp_proc *proc, enum clp_memory mode)
{
    struct clp_resident now;

    proc->mode = mode;
    proc->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    proc->file = open(clp_proc_file(mode), O_RDONLY | O_CLOEXEC);
    if (proc->file < 0)
        return CLP_IO;
    proc->file = clp_file_move_up(proc->file);
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
    uint64_t number = 0;

    for (unsigned digit; (digit = (unsigned)*at - '0') <= 9; at++)
        number = number * 10 + digit;
    *value = number;
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

/* The lines of smaps_rollup that are wanted. */
static const char *const rollup_keys[] = {"Rss:", "Anonymous:", "Pss:", "Private_"};
enum { ROLLUP_RSS, ROLLUP_ANONYMOUS, ROLLUP_PSS, ROLLUP_PRIVATE, ROLLUP_KEYS };

/* "Rss:     1234 kB" */
static void parse_rollup_line(const char *line, uint64_t sums[ROLLUP_KEYS], unsigned *seen)
{
    uint64_t kilobytes;

    for (unsigned i = 0; i < ROLLUP_KEYS; i++) {
        if (strncmp(line, rollup_keys[i], strlen(rollup_keys[i])) != 0)
            continue;
        line += strcspn(line, ":\n");
        line += strspn(line, ": ");
        const char *end = parse_number(line, &kilobytes);
        if (end == NULL || strncmp(end, " kB\n", 4) != 0)
            return;
        sums[i] += kilobytes * 1024;
        *seen |= 1u << i;
        return;
    }
}

bool clp_proc_parse_rollup(const char *text, enum clp_memory mode, struct clp_resident *now)
{
    uint64_t sums[ROLLUP_KEYS] = {0};
    unsigned seen = 0;

    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        parse_rollup_line(line, sums, &seen);
    }
    if (seen != (1u << ROLLUP_KEYS) - 1)
        return false;
    now->resident = sums[ROLLUP_RSS];
    now->shared = sums[ROLLUP_RSS] > sums[ROLLUP_ANONYMOUS]
                      ? sums[ROLLUP_RSS] - sums[ROLLUP_ANONYMOUS] : 0;
    now->counted = sums[mode == CLP_MEMORY_USS ? ROLLUP_PRIVATE : ROLLUP_PSS];
    return true;
}

/* Reads text and ends it by 0. Returns its bytes; 0 on failure. */
static size_t read_text(const struct clp_proc *proc, char *text, size_t room)
{
    int kept = errno; /* the program's errno is not ours to change */
    ssize_t count = pread(proc->file, text, room - 1, 0);

    errno = kept;
    text[count > 0 ? count : 0] = 0;
    return count > 0 ? (size_t)count : 0;
}

static clp_status read_rollup(const struct clp_proc *proc, struct clp_resident *now)
{
    char text[2048]; /* of 22 lines, 28 bytes each */
    size_t bytes = read_text(proc, text, sizeof text);

    if (bytes == 0 || !clp_proc_parse_rollup(text, proc->mode, now))
        return CLP_IO;
    now->text = bytes;
    return CLP_OK;
}

clp_status clp_proc_read(const struct clp_proc *proc, struct clp_resident *now)
{
    char text[128];
    uint64_t resident, shared;

    if (is_rollup(proc->mode))
        return read_rollup(proc, now);
    size_t bytes = read_text(proc, text, sizeof text);
    if (bytes == 0 || !clp_proc_parse(text, &resident, &shared))
        return CLP_IO;
    now->text = bytes;
    now->resident = resident * proc->page_bytes;
    now->shared = shared * proc->page_bytes;
    now->counted = proc->mode == CLP_MEMORY_ANON ? now->resident - now->shared : now->resident;
    return CLP_OK;
}

struct touch {
    clp_proc_reading *read;
    const struct clp_proc *proc;
    const struct clp_clock *clock;
    size_t page, bytes; /* of one, and of all that are touched */
    uint64_t seen;    /* touches after which the counter had moved by one page */
    uint64_t largest; /* bytes of the largest move */
    uint64_t change, release; /* the quickest change of one page, and the quickest release of all at once */
};

static uint64_t counted(const struct touch *touch)
{
    struct clp_resident now = {0};

    (void)touch->read(touch->proc, &now);
    return now.counted;
}

static void note_quickest(uint64_t *quickest, uint64_t ticks)
{
    if (ticks < *quickest)
        *quickest = ticks;
}

static void touch_page(struct touch *touch, char *page)
{
    uint64_t start = clp_clock_read(touch->clock);

    *(volatile char *)page = 1;
    note_quickest(&touch->change, clp_clock_read(touch->clock) - start);
}

static void touch_pages(struct touch *touch, char *block)
{
    for (size_t at = 0; at < touch->bytes; at += touch->page) {
        uint64_t before = counted(touch);
        touch_page(touch, block + at);
        uint64_t after = counted(touch);
        uint64_t moved = after > before ? after - before : 0;
        touch->seen += moved == touch->page;
        if (moved > touch->largest)
            touch->largest = moved;
    }
}

static void give_pages_back(struct touch *touch, char *block)
{
    for (size_t at = 0; at < touch->bytes; at += touch->page) {
        uint64_t start = clp_clock_read(touch->clock);
        madvise(block + at, touch->page, MADV_DONTNEED);
        note_quickest(&touch->change, clp_clock_read(touch->clock) - start);
    }
}

/* Measures giving back all pages at once, after touching them. */
static void give_all_back(struct touch *touch, char *block)
{
    for (size_t at = 0; at < touch->bytes; at += touch->page)
        *(volatile char *)(block + at) = 1;
    uint64_t start = clp_clock_read(touch->clock);
    madvise(block, touch->bytes, MADV_DONTNEED);
    note_quickest(&touch->release, clp_clock_read(touch->clock) - start);
}

/* NULL: there is no memory. */
static char *map_pages(const struct touch *touch)
{
    char *block =
        mmap(NULL, touch->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (block == MAP_FAILED)
        return NULL;
    madvise(block, touch->bytes, MADV_NOHUGEPAGE);
    return block;
}

static bool touch_once(struct touch *touch)
{
    char *block = map_pages(touch);

    if (block == NULL)
        return false;
    touch->seen = 0;
    touch_pages(touch, block);
    give_pages_back(touch, block);
    munmap(block, touch->bytes);
    return true;
}

/* Ticks for each page of the quickest release; 0: there was no memory to try it with. */
static double quickest_release(const struct clp_proc *proc, const struct clp_clock *clock)
{
    size_t page = (size_t)proc->page_bytes;
    struct touch touch = {.clock = clock, .page = page, .bytes = RELEASE_PAGES * page,
                          .release = UINT64_MAX};
    char *block = map_pages(&touch);

    if (block == NULL)
        return 0;
    for (int i = 0; i < CHECK_TRIES; i++)
        give_all_back(&touch, block);
    munmap(block, touch.bytes);
    return (double)touch.release / RELEASE_PAGES;
}

/* Other threads may change the memory during a pass, and with pss other processes may, by beginning to share a page. So
 * one pass of several is enough, and in it most of the pages: a counter that moves in steps stands still at most of them. */
struct clp_proc_check clp_proc_check_by(clp_proc_reading *read, const struct clp_proc *proc,
                                        const struct clp_clock *clock)
{
    struct clp_proc_check check = {.step = proc->page_bytes};
    size_t page = (size_t)proc->page_bytes;
    struct touch touch = {read, proc, clock, page, CHECK_PAGES * page, .change = UINT64_MAX};

    for (int i = 0; i < CHECK_TRIES && !check.exact && touch_once(&touch); i++)
        check.exact = touch.seen > CHECK_PAGES * 3 / 4;
    if (!check.exact) /* nothing moved at all: the batch is larger than what was touched */
        check.step = touch.largest != 0 ? touch.largest : touch.bytes;
    check.change_ticks = touch.change == UINT64_MAX ? 0 : touch.change;
    check.release_ticks = quickest_release(proc, clock);
    return check;
}

struct clp_proc_check clp_proc_check(const struct clp_proc *proc, const struct clp_clock *clock)
{
    return clp_proc_check_by(clp_proc_read, proc, clock);
}

/* UINT64_MAX: there was no memory to try it with. */
static uint64_t quickest_change(const struct clp_proc *proc, const struct clp_clock *clock)
{
    size_t page = (size_t)proc->page_bytes;
    struct touch touch = {.clock = clock, .page = page, .bytes = AGAIN_PAGES * page,
                          .change = UINT64_MAX};
    char *block = map_pages(&touch);

    if (block != NULL) {
        for (size_t at = 0; at < touch.bytes; at += page)
            touch_page(&touch, block + at);
        give_pages_back(&touch, block);
        munmap(block, touch.bytes);
    }
    return touch.change;
}

void clp_proc_check_again(const struct clp_proc *proc, const struct clp_clock *clock,
                          struct clp_proc_check *check)
{
    int kept = errno; /* the program's errno is not ours to change */
    double release = quickest_release(proc, clock);

    note_quickest(&check->change_ticks, quickest_change(proc, clock));
    if (release != 0 && release < check->release_ticks)
        check->release_ticks = release;
    errno = kept;
}

/* Reads a short file under /sys or /proc; "" when it cannot be read. */
static void read_setting(const char *path, char *text, size_t room)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = file >= 0 ? read(file, text, room - 1) : 0;

    text[count > 0 ? count : 0] = 0;
    if (file >= 0)
        close(file);
}

#define HUGE_PAGES "/sys/kernel/mm/transparent_hugepage/"
#define USUAL_HUGE_PAGE ((uint64_t)2 << 20)

/* "always inherit [madvise] never" */
static bool is_enabled(const char *path)
{
    char text[64];

    read_setting(path, text, sizeof text);
    return *text != 0 && strstr(text, "[never]") == NULL;
}

uint64_t clp_proc_huge_page(void)
{
    char text[64];
    uint64_t bytes;

    if (access("/sys/kernel", F_OK) != 0) /* a container may lack /sys but have huge pages */
        return USUAL_HUGE_PAGE;
    if (!is_enabled(HUGE_PAGES "enabled"))
        return 0;
    read_setting(HUGE_PAGES "hpage_pmd_size", text, sizeof text);
    return parse_number(text, &bytes) != NULL ? bytes : 0;
}

uint64_t clp_proc_fault_bytes(void)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), most = page, huge = clp_proc_huge_page();
    char path[128];

    for (uint64_t bytes = page * 2; bytes < huge; bytes *= 2) {
        snprintf(path, sizeof path, HUGE_PAGES "hugepages-%llukB/enabled",
                 (unsigned long long)(bytes / 1024));
        if (is_enabled(path))
            most = bytes;
    }
    return most;
}

/* ---- other processes ---- */

/* "START-END rw-s OFFSET MAJOR:MINOR INODE PATH": is it writable, shared, and of that file? The device is not
 * compared: file systems on top of others (overlay) show the device of those. */
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

/* The path of the mapping that the line tells, if it is of a shared and writable file whose name ends so; else NULL. */
static const char *mapped_path(char *line, const char *ending)
{
    char mode[5];
    int at = 0;

    if (sscanf(line, "%*x-%*x %4s %*x %*x:%*x %*u %n", mode, &at) != 1 || at == 0 || mode[1] != 'w' || mode[3] != 's')
        return NULL;
    line[strcspn(line, "\n")] = 0;
    size_t bytes = strlen(line + at), last = strlen(ending);
    return bytes > last && strcmp(line + at + bytes - last, ending) == 0 ? line + at : NULL;
}

int clp_proc_add_mapped(uint64_t pid, const char *ending, struct clp_buf *path)
{
    char name[64], line[PATH_MAX + 128];
    const char *found = NULL;

    snprintf(name, sizeof name, "/proc/%llu/maps", (unsigned long long)pid);
    FILE *file = fopen(name, "re");
    if (file == NULL)
        return errno == ENOENT ? ESRCH : errno;
    while (found == NULL && fgets(line, sizeof line, file) != NULL)
        found = mapped_path(line, ending);
    fclose(file);
    if (found == NULL)
        return ENOENT;
    if (access(found, F_OK) != 0)
        clp_buf_add_format(path, "/proc/%llu/root", (unsigned long long)pid);
    clp_buf_add_text(path, found);
    return 0;
}

/* The 22nd field, counted from the last bracket, because the second field may hold anything, brackets and
 * blanks too. */
uint64_t clp_proc_parse_start(const char *text)
{
    const char *behind = strrchr(text, ')');
    unsigned long long ticks;

    return behind != NULL && sscanf(behind, ") %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                                            "%*s %*s %*s %*s %llu", &ticks) == 1
               ? ticks
               : 0;
}

uint64_t clp_proc_start(const char *process)
{
    char name[64], text[1024];

    (void)snprintf(name, sizeof name, "/proc/%s/stat", process);
    read_setting(name, text, sizeof text);
    return clp_proc_parse_start(text);
}

/* The 9th field has the kernel's flag PF_EXITING, and the 31st has the signals that wait to be delivered. */
bool clp_proc_parse_ending(const char *text)
{
    const char *behind = strrchr(text, ')');
    const unsigned long exiting = 4, killed = 1UL << (SIGKILL - 1);
    unsigned long flags, pending;

    return behind == NULL || sscanf(behind, ") %*s %*s %*s %*s %*s %*s %lu %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                                            "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu", &flags, &pending) != 2 ||
           (flags & exiting) != 0 || (pending & killed) != 0;
}

bool clp_proc_is_ending(uint64_t pid)
{
    char name[64], text[1024];

    (void)snprintf(name, sizeof name, "/proc/%llu/stat", (unsigned long long)pid);
    read_setting(name, text, sizeof text);
    return clp_proc_parse_ending(text);
}

/* Reads the wall clock first: a pause between the two readings then makes the result earlier, never later. */
double clp_proc_began(void)
{
    struct timespec boot, wall;
    uint64_t ticks = clp_proc_start("self");

    if (ticks == 0 || clock_gettime(CLOCK_REALTIME, &wall) != 0 ||
        clock_gettime(CLOCK_BOOTTIME, &boot) != 0)
        return 0;
    double age = (double)boot.tv_sec + (double)boot.tv_nsec * 1e-9 -
                 (double)ticks / (double)sysconf(_SC_CLK_TCK);
    return (double)wall.tv_sec + (double)wall.tv_nsec * 1e-9 - age;
}

void clp_proc_boot(char *text, size_t room)
{
    read_setting("/proc/sys/kernel/random/boot_id", text, room);
    text[strcspn(text, "\n")] = 0;
}
