/* SPDX-License-Identifier: MIT */
/* Stands for CUDA (libcuda.so.1) in tests on machines without a device. Each function says how long the device works for
 * it, in nanoseconds, or how long the call waits, in microseconds. What CUPTI would hear of is told to tests/stub/cupti.c,
 * once that has called stub_hook. */
#include "stub.h"
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct stub_hook hook;
static uint32_t correlations;

void stub_hook(const struct stub_hook *its)
{
    hook = *its;
}

static uint32_t next_number(void)
{
    return __atomic_add_fetch(&correlations, 1, __ATOMIC_RELAXED);
}

static void call(int site, int domain, uint32_t function, uint32_t correlation)
{
    if (hook.call != NULL)
        hook.call(site, domain, function, correlation);
}

static void record(uint32_t kind, uint32_t correlation, uint64_t nanos)
{
    if (hook.record != NULL)
        hook.record(kind, correlation, nanos);
}

/* A function of the runtime, which calls one of the driver under the same number. */
static void do_both(uint32_t runtime, uint32_t driver, uint32_t kind, uint64_t nanos, unsigned count, unsigned micros)
{
    uint32_t number = next_number();

    call(0, RUNTIME, runtime, number);
    call(0, DRIVER, driver, number);
    for (unsigned i = 0; i < count; i++)
        record(kind, number, nanos);
    if (micros != 0)
        usleep(micros);
    call(1, DRIVER, driver, number);
    call(1, RUNTIME, runtime, number);
}

void cudaLaunchKernel(uint64_t nanos)
{
    do_both(211, 307, 10, nanos, 1, 0);
}

void cuLaunchKernel(uint64_t nanos)
{
    uint32_t number = next_number();

    call(0, DRIVER, 307, number);
    record(10, number, nanos);
    call(1, DRIVER, 307, number);
}

void cudaMemcpyAsync(uint64_t nanos, unsigned micros)
{
    do_both(41, 278, 1, nanos, 1, micros);
}

/* Such a copy does not wait; the call itself takes so many microseconds. */
void cudaMemcpyPinnedAsync(uint64_t nanos, unsigned micros)
{
    do_both(41, 278, 1 | PINNED, nanos, 1, micros);
}

void cudaMemcpyPeerAsync(uint64_t nanos)
{
    do_both(161, 319, 22, nanos, 1, 0);
}

void cudaMemsetAsync(uint64_t nanos)
{
    do_both(51, 216, 2, nanos, 1, 0);
}

void cudaGraphLaunch(unsigned kernels, uint64_t nanos)
{
    do_both(311, 514, 10, nanos, kernels, 0);
}

void cudaStreamSynchronize(unsigned micros)
{
    do_both(131, 126, 0, 0, 0, micros);
}

/* Launches a kernel by a function that no CUPTI tells of. */
void cudaUnheardLaunch(uint64_t nanos)
{
    record(10, next_number(), nanos);
}

/* As many calls that launch nothing. */
void cudaGetDevice(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        (void)next_number();
}

struct work {
    const char *name;
    uint64_t nanos;
};

static void *launch_in_thread(void *data)
{
    const struct work *work = data;

    (void)prctl(PR_SET_NAME, work->name);
    cudaLaunchKernel(work->nanos);
    return NULL;
}

/* Launches a kernel in a thread of this name that the interpreter does not know. */
void launch_in(const char *name, uint64_t nanos)
{
    struct work work = {name, nanos};
    pthread_t thread;

    if (pthread_create(&thread, NULL, launch_in_thread, &work) == 0)
        (void)pthread_join(thread, NULL);
}
