/* SPDX-License-Identifier: MIT */
#include "identity.h"
#include "clock.h"
#include "filelock.h"
#include "proc.h"
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- this process ---- */

/* The number of our own pid namespace; 0: not known. */
static uint64_t pid_namespace(void)
{
    struct stat about;

    return stat("/proc/self/ns/pid", &about) == 0 ? about.st_ino : 0;
}

/* ---- ranks ---- */

/* The variables in which launchers give the rank and the number of processes. The first row whose variables are both
 * set decides. A single process has no rank. `count` is NULL when the launcher does not tell how many processes there
 * are; then there is always a rank. */
static const struct {
    const char *rank, *count;
} launchers[] = {
    {"RANK", "WORLD_SIZE"},                          /* torchrun */
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, /* OpenMPI */
    {"PMIX_RANK", NULL},
    {"PMI_RANK", "PMI_SIZE"},               /* MPICH and kin */
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}, /* srun; a batch script has only the first variable */
    {"JOB_COMPLETION_INDEX", NULL},         /* an indexed job of Kubernetes */
};

static bool is_number(const char *text)
{
    return text != NULL && *text != 0 && strlen(text) < 10 && text[strspn(text, "0123456789")] == 0;
}

const char *clp_identity_rank(void)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const char *rank = getenv(launchers[i].rank);
        const char *count = launchers[i].count != NULL ? getenv(launchers[i].count) : "2";
        if (is_number(rank) && is_number(count))
            return atoi(count) > 1 ? rank : NULL;
    }
    return NULL;
}

const char *clp_identity_restart(void)
{
    const char *count = getenv("TORCHELASTIC_RESTART_COUNT");

    return is_number(count) ? count : "0";
}

/* ---- all of it ---- */

void clp_identity_here(struct clp_identity *me)
{
    struct utsname system;

    *me = (struct clp_identity){.pid = (uint64_t)getpid(), .start = clp_proc_start("self"),
                                .pid_namespace = pid_namespace()};
    clp_proc_boot(me->boot, sizeof me->boot);
    if (uname(&system) == 0)
        (void)snprintf(me->host, sizeof me->host, "%.63s", system.nodename);
    if (clp_identity_rank() != NULL)
        (void)snprintf(me->rank, sizeof me->rank, "%s", clp_identity_rank());
    me->restart = (uint64_t)atoi(clp_identity_restart());
}

uint32_t clp_identity_user(void)
{
    return geteuid();
}

static unsigned forks; /* that led to this process */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void count_fork(void)
{
    forks++;
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, count_fork);
}

uint64_t clp_identity_self(void)
{
    (void)pthread_once(&once, watch_forks);
    return (uint64_t)forks << 32 | (uint32_t)getpid();
}

void clp_identity_at_fork(void (*in_child)(void))
{
    (void)pthread_atfork(NULL, NULL, in_child);
}

uint64_t clp_identity_token(void)
{
    uint64_t token = 0;

    if (getrandom(&token, sizeof token, GRND_NONBLOCK) != sizeof token)
        token = (uint64_t)(clp_clock_wall() * 1e6) * UINT64_C(0x9e3779b97f4a7c15) ^ clp_clock_monotonic() ^
                (uint64_t)getpid() << 40;
    return token;
}

/* ---- another one ---- */

/* File systems that no other machine sees at the same time. */
static bool is_of_this_machine(const char *path)
{
    static const unsigned long kinds[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC,
                                          RAMFS_MAGIC,      OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
                                          0x2fc12fc1 /* zfs */, 0xca451a4e /* bcachefs */};
    struct statfs about;

    if (statfs(path, &about) != 0)
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((unsigned long)about.f_type == kinds[i])
            return true;
    return false;
}

/* For a process of our own pid namespace. Compares start times, too, because pids are reused. */
static bool is_there(const struct clp_identity *whose, const char *path)
{
    char number[24];

    if (!clp_proc_maps(whose->pid, path))
        return false;
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)whose->pid);
    uint64_t start = clp_proc_start(number);
    return start == 0 || whose->start == 0 || start == whose->start;
}

bool clp_identity_same_boot(const struct clp_identity *whose)
{
    char boot[sizeof whose->boot];

    clp_proc_boot(boot, sizeof boot);
    return boot[0] != 0 && strcmp(boot, whose->boot) == 0;
}

enum clp_life clp_identity_life(const struct clp_identity *whose, const char *path, bool locked)
{
    if (locked && clp_filelock_is_held_at(path))
        return CLP_LIFE_RUNS;
    bool same_boot = clp_identity_same_boot(whose);
    if (same_boot ? locked : is_of_this_machine(path))
        return CLP_LIFE_ENDED;
    if (same_boot && whose->pid_namespace != 0 && whose->pid_namespace == pid_namespace())
        return is_there(whose, path) ? CLP_LIFE_RUNS : CLP_LIFE_ENDED;
    return CLP_LIFE_UNKNOWN;
}
