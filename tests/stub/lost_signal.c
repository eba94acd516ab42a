/* SPDX-License-Identifier: MIT */
/* A thread that has told Python of its end, and ends at a given moment: between a signal and the next look at signals. */
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

int __cxa_thread_atexit_impl(void (*function)(void *), void *argument, void *library);
extern void *__dso_handle;

static sem_t may_end;
static pid_t held;

static void wait_to_end(void *unused)
{
    (void)unused;
    while (sem_wait(&may_end) != 0)
        continue;
}

/* The calling thread waits at its end, before what it has used until now is cleaned up. */
void hold(void)
{
    sem_init(&may_end, 0, 0);
    held = (pid_t)syscall(SYS_gettid);
    __cxa_thread_atexit_impl(wait_to_end, NULL, &__dso_handle);
}

/* Raises a signal, and returns when that thread is gone. */
void raise_while_it_ends(int number)
{
    raise(number);
    sem_post(&may_end);
    while (syscall(SYS_tgkill, getpid(), held, 0) == 0)
        usleep(1000);
}
