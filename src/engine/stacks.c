/* SPDX-License-Identifier: MIT */
#include "stacks.h"
#include "engine.h"
#include "suspended.h"
#include "threads.h"

/* Takes every body off the stack as if it were suspended, so that what it has counted is complete, and keeps
 * the stack under its owner. Without memory the stack is lost, and the thread records nothing more. */
static void park(struct clp_thread *thread, const void *owner, uint64_t now)
{
    size_t count = (size_t)(thread->top - thread->stack);
    struct clp_parked *parked = count != 0 ? clp_parked_new(thread->engine, owner, count) : NULL;
    struct clp_parked_body body = {0};

    if (parked == NULL && count != 0)
        clp_engine_lose(thread);
    while (clp_engine_take_down(thread, &body.place, now)) {
        const struct clp_activation *popped = thread->top + 1;
        body.code = popped->code;
        if (parked != NULL)
            parked->bodies[--count] = body;
    }
}

static void unpark(struct clp_thread *thread, const struct clp_parked *parked, uint64_t now)
{
    for (size_t i = 0; i < parked->count; i++) {
        const struct clp_parked_body *body = &parked->bodies[i];
        struct clp_activation *top = clp_engine_put_back(thread, &body->place, now);
        if (top == NULL)
            return;
        top->code = body->code;
    }
}

void clp_engine_switch_stack(struct clp_thread *thread, const void *from, const void *to,
                             uint64_t now)
{
    struct clp_parked *parked = clp_parked_take(thread->engine, to);

    park(thread, from, now);
    if (parked != NULL) {
        unpark(thread, parked, now);
        clp_parked_free(thread->engine, parked);
    }
    if (thread->top != thread->last_activation)
        thread->top[1].frame = NULL; /* the body there did not leave this stack last */
}
