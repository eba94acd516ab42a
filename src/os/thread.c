/* SPDX-License-Identifier: MIT */
#include "thread.h"
#include "signals.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__
#define STACK_BYTES ((size_t)4 << 20) /* ThreadSanitizer takes a good part of it */
#else
#define STACK_BYTES ((size_t)256 * 1024)
#endif
#define CLOSE_RANGE_OWN 2u /* CLOSE_RANGE_UNSHARE, which older headers do not have */
#define UNLISTED_YIELDS 10000
#define LOCK_SPINS 100
#define LOCK_YIELDS 5000000

clp_status clp_thread_hook_init(struct clp_thread_hook *hook, void (*at_end)(void *data))
{
    return pthread_key_create(&hook->key, at_end) == 0 ? CLP_OK : CLP_UNSUPPORTED;
}

void clp_thread_hook_set(const struct clp_thread_hook *hook, void *data)
{
    (void)pthread_setspecific(hook->key, data);
}

/* ---- helpers ---- */

static void add_seconds(struct timespec *at, double seconds)
{
    double nanos = (double)at->tv_nsec + (seconds - (double)(time_t)seconds) * 1e9;

    at->tv_sec += (time_t)seconds + (nanos >= 1e9);
    at->tv_nsec = (long)(nanos >= 1e9 ? nanos - 1e9 : nanos);
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* Work that took longer than the interval is not made up for. */
static void set_next(struct timespec *next, double interval)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    add_seconds(next, interval);
    if (is_before(next, &now)) {
        *next = now;
        add_seconds(next, interval);
    }
}

static void take_own_files(void)
{
#ifdef SYS_close_range
    (void)syscall(SYS_close_range, 0u, UINT_MAX, CLOSE_RANGE_OWN);
#endif
}

static void *helper_main(void *data)
{
    struct clp_helper *helper = data;
    struct timespec next;

    helper->number = (int)syscall(SYS_gettid);
    if (helper->own_files)
        take_own_files();
    if (helper->punctual)
        (void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    clock_gettime(CLOCK_MONOTONIC, &next);
    add_seconds(&next, helper->interval);
    pthread_mutex_lock(&helper->lock);
    while (!helper->stop) {
        if (pthread_cond_timedwait(&helper->wake, &helper->lock, &next) != ETIMEDOUT)
            continue;
        pthread_mutex_unlock(&helper->lock);
        clp_helper_hold(helper);
        helper->work(helper->data);
        clp_helper_release(helper);
        set_next(&next, helper->interval);
        pthread_mutex_lock(&helper->lock);
    }
    pthread_mutex_unlock(&helper->lock);
    return NULL;
}

static bool get_ready(struct clp_helper *helper)
{
    pthread_condattr_t attributes;

    if (helper->ready)
        return true;
    helper->stack = clp_pages_map(helper->pages, STACK_BYTES, &helper->stack_bytes);
    if (helper->stack == NULL)
        return false;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&helper->lock, NULL);
    pthread_mutex_init(&helper->busy, NULL);
    pthread_cond_init(&helper->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    helper->ready = true;
    return true;
}

/* All signals are blocked meanwhile, because the new thread inherits that. */
static int create(struct clp_helper *helper)
{
    pthread_attr_t attributes;
    struct clp_signals signals;

    pthread_attr_init(&attributes);
    int error = pthread_attr_setstack(&attributes, helper->stack, helper->stack_bytes);
    if (error == 0) {
        clp_signals_hold(&signals);
        error = pthread_create(&helper->thread, &attributes, helper_main, helper);
        clp_signals_release(&signals);
    }
    pthread_attr_destroy(&attributes);
    return error;
}

int clp_helper_start(struct clp_helper *helper)
{
    if (helper->running)
        return 0;
    if (!get_ready(helper))
        return ENOMEM;
    helper->stop = false;
    int error = create(helper);
    helper->running = error == 0;
    return error;
}

/* The system lists a thread for some microseconds after it was joined, so os.fork() might warn of it. */
static void wait_until_unlisted(int number)
{
    for (int i = 0; i < UNLISTED_YIELDS && syscall(SYS_tgkill, getpid(), number, 0) == 0; i++)
        sched_yield();
}

void clp_helper_stop(struct clp_helper *helper)
{
    if (!helper->running)
        return;
    pthread_mutex_lock(&helper->lock);
    helper->stop = true;
    pthread_cond_signal(&helper->wake);
    pthread_mutex_unlock(&helper->lock);
    pthread_join(helper->thread, NULL);
    wait_until_unlisted(helper->number);
    helper->running = false;
}

void clp_helper_hold(struct clp_helper *helper)
{
    if (helper->ready)
        pthread_mutex_lock(&helper->busy);
}

void clp_helper_release(struct clp_helper *helper)
{
    if (helper->ready)
        pthread_mutex_unlock(&helper->busy);
}

void clp_helper_clear(struct clp_helper *helper)
{
    if (!helper->ready)
        return;
    clp_pages_unmap(helper->pages, helper->stack, helper->stack_bytes);
    pthread_mutex_destroy(&helper->lock);
    pthread_mutex_destroy(&helper->busy);
    pthread_cond_destroy(&helper->wake);
    helper->ready = false;
}

bool clp_lock_wait(struct clp_lock *lock)
{
    for (int i = 0; i < LOCK_YIELDS; i++) {
        if (!__atomic_load_n(&lock->taken, __ATOMIC_RELAXED) &&
            !__atomic_test_and_set(&lock->taken, __ATOMIC_ACQUIRE))
            return true;
        if (i >= LOCK_SPINS)
            sched_yield();
    }
    return false;
}

/* ---- what threads there are, and do ---- */

void clp_thread_get_counts(struct clp_thread_use *use)
{
    struct rusage usage;

    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        return;
    use->faults = (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
    use->major = (uint64_t)usage.ru_majflt;
    use->waits = (uint64_t)usage.ru_nvcsw;
    use->preemptions = (uint64_t)usage.ru_nivcsw;
}

static uint64_t nanos_of(clockid_t clock)
{
    struct timespec time;

    if (clock_gettime(clock, &time) != 0)
        return 0;
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t clp_thread_cpu_nanos(void)
{
    return nanos_of(CLOCK_THREAD_CPUTIME_ID);
}

/* The kernel's own form of the clock (include/linux/posix-timers_types.h), which pthread_getcpuclockid makes, too. That
 * function must not be asked about a thread that has ended. */
uint64_t clp_thread_cpu_nanos_of(int number)
{
    return nanos_of((clockid_t)(~(unsigned)number << 3 | 4 | 2));
}

size_t clp_thread_queue_nanos(uint64_t *nanos)
{
    unsigned long long ran, queued;
    char text[96];
    int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);

    if (file < 0)
        return 0;
    ssize_t bytes = read(file, text, sizeof text - 1);
    (void)close(file);
    text[bytes > 0 ? bytes : 0] = 0;
    if (sscanf(text, "%llu %llu", &ran, &queued) != 2)
        return 0;
    *nanos = queued;
    return (size_t)bytes;
}

bool clp_thread_is_named(const char *start)
{
    char name[16] = "";

    return prctl(PR_GET_NAME, name) == 0 && strncmp(name, start, strlen(start)) == 0;
}

void clp_thread_get_use(struct clp_thread_use *use)
{
    *use = (struct clp_thread_use){.nanos = clp_thread_cpu_nanos()};
    clp_thread_get_counts(use);
}

unsigned clp_thread_processors(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1; /* maybe there are more than the set has room for; then a little is given away */
    return (unsigned)CPU_COUNT(&set);
}
