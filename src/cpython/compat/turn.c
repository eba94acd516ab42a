/* SPDX-License-Identifier: MIT */
#include "turn.h"
#include "os/identity.h"
#include <time.h>

#define PAUSE_NANOS 1000000
#define MOST_PAUSES 10000

/* The thread that has the turn. Protected by the interpreter's lock. */
static struct {
    unsigned long thread;
    uint64_t process; /* the process of the thread: a fork's child does not have the thread */
    uint32_t depth; /* 0: nobody has the turn */
} turn;

static bool is_mine(void)
{
    return turn.depth != 0 && turn.thread == PyThread_get_thread_ident() &&
           turn.process == clp_identity_self();
}

static bool is_free(void)
{
    return turn.depth == 0 || turn.process != clp_identity_self();
}

static void pause_unlocked(void)
{
    const struct timespec time = {.tv_nsec = PAUSE_NANOS};

    Py_BEGIN_ALLOW_THREADS
    (void)nanosleep(&time, NULL);
    Py_END_ALLOW_THREADS
}

static void take(void)
{
    if (!is_mine()) {
        turn.thread = PyThread_get_thread_ident();
        turn.process = clp_identity_self();
        turn.depth = 0;
    }
    turn.depth++;
}

bool clp_turn_begin(void)
{
    for (int i = 0; !is_mine() && !is_free() && i < MOST_PAUSES; i++) {
        pause_unlocked();
        if (PyErr_CheckSignals() != 0)
            return false;
    }
    take();
    return true;
}

void clp_turn_claim(void)
{
    if (is_mine() || is_free())
        take();
}

bool clp_turn_is_nested(void)
{
    return is_mine() && turn.depth > 1;
}

void clp_turn_end(void)
{
    if (is_mine())
        turn.depth--;
}
