/* SPDX-License-Identifier: MIT */
#include "newcomers.h"

#if CLP_HAS_FRAME_STACKS

/* The least size of an arena for objects, in bytes. The same allocator gives these arenas, and nothing may be called
 * from within the object allocator. A first stack of frames is that large only for an extremely large function. */
#define LEAST_ARENA ((size_t)256 * 1024)

/* The allocator behind the hook. The hook belongs to the process, as the allocator does: it is set once, and stays. */
static PyObjectArenaAllocator behind;
static void (*on_newcomer)(void *data);
static void *newcomer_data;

static bool is_new(const PyThreadState *state)
{
    return state != NULL && state->datastack_chunk == NULL &&
           state->interp == PyInterpreterState_Main();
}

/* Tells of the thread. An audit hook of the program may run Python code meanwhile, for which the thread gets a stack of
 * frames. The interpreter is about to replace that stack, so it is given back. */
static void meet(PyThreadState *state)
{
    static _Thread_local bool meeting;

    if (meeting)
        return;
    meeting = true;
    on_newcomer(newcomer_data);
    meeting = false;
    _PyStackChunk *made = state->datastack_chunk;
    state->datastack_chunk = NULL;
    if (made != NULL)
        behind.free(behind.ctx, made, made->size);
}

static void *take_pages(void *context, size_t bytes)
{
    void *pages = behind.alloc(behind.ctx, bytes);

    (void)context;
    if (on_newcomer != NULL && pages != NULL && bytes < LEAST_ARENA && is_new(clp_compat_state_if_any()))
        meet(clp_compat_state_if_any());
    return pages;
}

static void give_pages(void *context, void *pages, size_t bytes)
{
    (void)context;
    behind.free(behind.ctx, pages, bytes);
}

void clp_newcomers_meet(void (*told)(void *data), void *data)
{
    newcomer_data = data;
    on_newcomer = told;
    if (behind.alloc != NULL || told == NULL)
        return;
    PyObject_GetArenaAllocator(&behind);
    PyObject_SetArenaAllocator(&(PyObjectArenaAllocator){NULL, take_pages, give_pages});
}

#endif
