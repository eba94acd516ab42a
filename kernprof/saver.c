/* SPDX-License-Identifier: MIT */
#include "saver.h"
#include "../src/core/file.h"
#include "../src/core/live.h"
#include "../src/core/wire.h"
#include <errno.h>
#include <signal.h>
#include <time.h>

#define STACK_BYTES ((size_t)256 * 1024)

static clp_status write_profile(struct clp_saver *saver, const struct clp_profile *profile,
                                struct clp_fault *fault)
{
    struct clp_buf bytes;

    clp_buf_init(&bytes, profile->mem);
    if (clp_wire_encode(profile, &bytes) != CLP_OK)
        return CLP_NO_MEMORY;
    return clp_file_write(saver->outfile, clp_buf_text(&bytes), bytes.used, fault);
}

static void save(struct clp_saver *saver)
{
    const struct clp_live_self self = {saver->clock, &saver->pages};
    struct clp_fault fault = {0};
    struct clp_live_about about;
    struct clp_profile profile;

    clp_arena_reset(&saver->arena);
    clp_profile_init(&profile, &saver->arena.mem);
    clp_status status = clp_live_read(saver->live_path, &self, &profile, &about, &fault);
    if (status == CLP_OK)
        status = write_profile(saver, &profile, &fault);
    saver->error = status == CLP_OK ? 0 : fault.os_error != 0 ? fault.os_error : ENOMEM;
}

/* ---- the thread ---- */

static struct timespec seconds_from_now(double seconds)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    double nanos = (double)at.tv_nsec + (seconds - (double)(time_t)seconds) * 1e9;
    at.tv_sec += (time_t)seconds + (nanos >= 1e9);
    at.tv_nsec = (long)(nanos >= 1e9 ? nanos - 1e9 : nanos);
    return at;
}

static void *work(void *data)
{
    struct clp_saver *saver = data;
    struct timespec next = seconds_from_now(saver->interval);

    pthread_mutex_lock(&saver->lock);
    while (!saver->stop) {
        if (pthread_cond_timedwait(&saver->wake, &saver->lock, &next) != ETIMEDOUT)
            continue;
        pthread_mutex_unlock(&saver->lock);
        save(saver);
        next = seconds_from_now(saver->interval);
        pthread_mutex_lock(&saver->lock);
    }
    pthread_mutex_unlock(&saver->lock);
    return NULL;
}

static bool get_ready(struct clp_saver *saver)
{
    pthread_condattr_t attributes;

    if (saver->ready)
        return true;
    saver->stack = clp_pages_map(&saver->pages, STACK_BYTES, &saver->stack_bytes);
    if (saver->stack == NULL)
        return false;
    saver->pages.keeps = true; /* steady sizes are on no line */
    clp_arena_init(&saver->arena, &saver->pages);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&saver->lock, NULL);
    pthread_cond_init(&saver->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    saver->ready = true;
    return true;
}

/* The new thread inherits what is blocked: everything. */
static int create(struct clp_saver *saver)
{
    pthread_attr_t attributes;
    sigset_t all, before;

    pthread_attr_init(&attributes);
    int error = pthread_attr_setstack(&attributes, saver->stack, saver->stack_bytes);
    if (error == 0) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(&saver->thread, &attributes, work, saver);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
    return error;
}

int clp_saver_start(struct clp_saver *saver)
{
    if (saver->running)
        return 0;
    if (!get_ready(saver))
        return ENOMEM;
    saver->stop = false;
    int error = create(saver);
    saver->running = error == 0;
    return error;
}

void clp_saver_stop(struct clp_saver *saver)
{
    if (!saver->running)
        return;
    pthread_mutex_lock(&saver->lock);
    saver->stop = true;
    pthread_cond_signal(&saver->wake);
    pthread_mutex_unlock(&saver->lock);
    pthread_join(saver->thread, NULL);
    saver->running = false;
}
