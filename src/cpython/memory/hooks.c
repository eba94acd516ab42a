/* SPDX-License-Identifier: MIT */
#include "hooks.h"
#include "cpython/compat/compat.h"
#include "native.h"
#include <pthread.h>

#define INLINE inline __attribute__((always_inline))
#define RARE __attribute__((noinline))

/* Larger requests may go on to the raw domain: pymalloc's limit is 512, and its debug hooks add
 * to it. */
#define SMALL 448

#define DOMAINS 3 /* PYMEM_DOMAIN_RAW, _MEM, _OBJ */

#define BUSY 1
#define ASKED 2 /* busy, and each hook that is reached is noted */

/* Allocators are process-wide, and so is this. A hook has the same context as the allocator behind it. So a
 * thread that reads function and context while they are exchanged gets a pair that works. */
static struct {
    PyMemAllocatorEx next[DOMAINS];
    bool hooked[DOMAINS];
    struct clp_heap *heap;            /* NULL: blocks are only counted. table() reads it */
    struct clp_epochs *epochs;        /* of the table; set before it */
    bool (*find)(struct clp_heap_place *); /* see clp_hooks_set_finder */
    struct clp_allocating unthreaded; /* of threads in which nothing selected ran; needs the interpreter's
                                       * lock */
    bool reached[DOMAINS];
} hooks;

/* What the calling thread keeps while it forks. */
static __thread struct {
    struct clp_heap *heap; /* the table that it holds; NULL: there was none */
    uint32_t inside;       /* what clp_native_pause gave */
} forking __attribute__((tls_model("initial-exec")));

/* The present table. A hook asks once and keeps the answer, because another thread may set another table. */
static INLINE struct clp_heap *table(void)
{
    return __atomic_load_n(&hooks.heap, __ATOMIC_ACQUIRE);
}

/* ---- which blocks ---- */

/* Subtracts the block's bytes from those to the next chosen block. Less than 0: this may be the one. */
static INLINE int64_t count_off(struct clp_allocating *allocating, size_t size)
{
    int64_t left = __atomic_load_n(&allocating->left, __ATOMIC_RELAXED) - (int64_t)size;

    __atomic_store_n(&allocating->left, left, __ATOMIC_RELAXED);
    return left;
}

static bool choose(struct clp_heap *heap, struct clp_allocating *allocating, size_t size, uint32_t *level)
{
    const struct clp_heap_countdown countdown = {&allocating->left, &allocating->random, &allocating->level};

    return clp_heap_choose(heap, &countdown, size, level);
}

/* Without a table, a thread asks again after so many bytes whether there is one. A new table also sets `left`
 * of each thread, but a thread that counts at that moment, without the interpreter's lock, may overwrite it. */
#define ASK_AGAIN ((int64_t)1 << 20)

/* The countdown is over, or never began. NULL: the block is not chosen. */
static RARE struct clp_heap *chosen_in(struct clp_thread *thread, size_t size, uint32_t *level)
{
    struct clp_heap *heap = table();

    if (heap == NULL)
        __atomic_store_n(&thread->allocating.left, ASK_AGAIN, __ATOMIC_RELAXED);
    return heap != NULL && choose(heap, &thread->allocating, size, level) ? heap : NULL;
}

/* The table that the block of this size goes into, or NULL. */
static INLINE struct clp_heap *count_down(struct clp_thread *thread, size_t size, uint32_t *level)
{
    return CLP_UNLIKELY(count_off(&thread->allocating, size) < 0) ? chosen_in(thread, size, level) : NULL;
}

static INLINE void count(const struct clp_thread *thread, size_t size)
{
    const struct clp_activation *top = clp_engine_top(thread);
    struct clp_heap_cell *cell;

    if (top->cell == &thread->outside || top->block->heap == NULL)
        return;
    cell = clp_block_heap(top->block, top->cell);
    cell->allocated += size;
    cell->blocks++;
}

/* The line that owns what the thread allocates now. The finder needs the interpreter's lock. */
static struct clp_heap_place place_of(int domain, const struct clp_thread *thread)
{
    struct clp_heap_place place = clp_thread_place(thread);

    if (hooks.find != NULL && domain != PYMEM_DOMAIN_RAW)
        (void)hooks.find(&place);
    return place;
}

static RARE void enter(int domain, struct clp_heap *heap, const struct clp_thread *thread, const void *block,
                       size_t size, uint32_t level)
{
    struct clp_epochs *epochs = __atomic_load_n(&hooks.epochs, __ATOMIC_RELAXED);
    struct clp_heap_place place = place_of(domain, thread);

    place.level = level;
    clp_heap_add(heap, block, size, &place);
    if (CLP_UNLIKELY(clp_epochs_go_by_time(epochs)))
        clp_epochs_look_at_time(epochs);
}

/* ---- the allocators ----
 *
 * A request is counted by the outermost hook on its way: what the allocator behind it asks of
 * another domain is the same block, or bookkeeping. */

static bool is_busy(int domain, const struct clp_thread *thread)
{
    if (thread == NULL)
        return domain == PYMEM_DOMAIN_RAW || hooks.unthreaded.busy != 0;
    return thread->allocating.busy != 0;
}

static RARE void note_reached(int domain, const struct clp_thread *thread)
{
    if (thread != NULL && thread->allocating.busy == ASKED)
        hooks.reached[domain] = true;
}

static INLINE void *plain_malloc(int domain, void *context, size_t count, size_t size)
{
    const PyMemAllocatorEx *next = &hooks.next[domain];

    return count == 0 ? next->malloc(context, size) : next->calloc(context, count, size);
}

/* For a thread that is busy, or in which nothing selected has run yet. In the latter, the domains that have
 * the interpreter's lock enter blocks in the table. */
static RARE void *malloc_unowned(int domain, void *context, size_t count, size_t size)
{
    const struct clp_thread *thread = clp_thread_here;
    struct clp_heap *heap = table();
    struct clp_allocating *own = &hooks.unthreaded;
    size_t bytes = count != 0 ? count * size : size;
    uint32_t level;

    if (is_busy(domain, thread))
        note_reached(domain, thread);
    if (heap == NULL || is_busy(domain, thread))
        return plain_malloc(domain, context, count, size);
    own->busy = BUSY;
    uint32_t inside = clp_native_pause();
    void *block = plain_malloc(domain, context, count, size);
    clp_native_resume(inside);
    own->busy = 0;
    if (count_off(own, bytes) < 0 && block != NULL && choose(heap, own, bytes, &level))
        enter(domain, heap, NULL, block, bytes, level);
    return block;
}

/* count 0 is malloc(size), otherwise calloc(count, size). */
static INLINE void *hook_malloc(int domain, void *context, size_t count_, size_t size)
{
    struct clp_thread *thread = clp_thread_here;
    size_t bytes = count_ != 0 ? count_ * size : size;
    struct clp_heap *heap;
    uint32_t level;

    if (CLP_UNLIKELY(thread == NULL || thread->allocating.busy != 0))
        return malloc_unowned(domain, context, count_, size);
    thread->allocating.busy = BUSY;
    void *block = plain_malloc(domain, context, count_, size);
    thread->allocating.busy = 0;
    if (CLP_UNLIKELY(block == NULL))
        return NULL;
    count(thread, bytes);
    if (CLP_UNLIKELY((heap = count_down(thread, bytes, &level)) != NULL))
        enter(domain, heap, thread, block, bytes, level);
    return block;
}

static RARE void *malloc_anyhow(int domain, void *context, size_t count_, size_t size)
{
    return hook_malloc(domain, context, count_, size);
}

/* Is it a small block, in a thread that is not busy? Such a block hardly ever fails or goes on to another
 * domain. So it is counted before the allocator is called, and nothing is left to do afterwards: this costs
 * some twenty instructions. */
static INLINE bool is_plain(const struct clp_thread *thread, size_t bytes)
{
    return CLP_LIKELY(thread != NULL && thread->allocating.busy == 0 && bytes <= SMALL);
}

static INLINE void *count_malloc(int domain, void *context, size_t count_, size_t size)
{
    const struct clp_thread *thread = clp_thread_here;
    size_t bytes = count_ != 0 ? count_ * size : size;

    if (!is_plain(thread, bytes))
        return malloc_anyhow(domain, context, count_, size);
    count(thread, bytes);
    return plain_malloc(domain, context, count_, size);
}

/* Where there is a table: a small block that is not chosen for it is only counted, as in count_malloc. */
static INLINE void *track_malloc(int domain, void *context, size_t count_, size_t size)
{
    struct clp_thread *thread = clp_thread_here;
    size_t bytes = count_ != 0 ? count_ * size : size;

    if (!is_plain(thread, bytes))
        return malloc_anyhow(domain, context, count_, size);
    int64_t left = __atomic_load_n(&thread->allocating.left, __ATOMIC_RELAXED) - (int64_t)bytes;
    if (left < 0)
        return malloc_anyhow(domain, context, count_, size);
    __atomic_store_n(&thread->allocating.left, left, __ATOMIC_RELAXED);
    count(thread, bytes);
    return plain_malloc(domain, context, count_, size);
}

/* Is the resized block chosen, and at which level? Where no countdown can be used, it is if it was before. */
static bool is_kept(int domain, struct clp_thread *thread, struct clp_heap *heap, size_t size,
                    bool counted, const struct clp_heap_block *known, uint32_t *level)
{
    if (known != NULL)
        *level = known->slot.level;
    if (!counted && is_busy(domain, thread))
        return known != NULL;
    struct clp_allocating *allocating = counted ? &thread->allocating : &hooks.unthreaded;
    return count_off(allocating, size) < 0 && choose(heap, allocating, size, level);
}

/* Resizes a block where there is a table. The old block is taken out first, because the allocator may give
 * its address to another thread. */
static RARE void *resize_in_table(int domain, void *context, void *block, size_t size,
                                  struct clp_heap *heap, bool counted)
{
    struct clp_thread *thread = clp_thread_here;
    struct clp_heap_place place = clp_thread_place(thread);
    struct clp_heap_block taken;
    bool known = clp_heap_may_have(heap, block) && clp_heap_take(heap, block, &taken);
    uint32_t inside = clp_native_pause();
    void *moved = hooks.next[domain].realloc(context, block, size);
    clp_native_resume(inside);

    if (moved == NULL && known)
        clp_heap_restore(heap, &taken);
    if (moved == NULL)
        return NULL;
    uint32_t level = place.level;
    bool chosen = is_kept(domain, thread, heap, size, counted, known ? &taken : NULL, &level);
    if (chosen)
        place = place_of(domain, thread);
    place.level = level;
    if (known || chosen)
        clp_heap_moved(heap, known ? &taken : NULL, chosen ? moved : NULL, size, &place);
    return moved;
}

static INLINE void *hook_realloc(int domain, void *context, void *block, size_t size)
{
    struct clp_thread *thread = clp_thread_here;
    struct clp_heap *heap = table();
    bool counted = thread != NULL && thread->allocating.busy == 0;

    if (block == NULL)
        return hook_malloc(domain, context, 0, size);
    if (counted)
        thread->allocating.busy = BUSY;
    void *moved = heap != NULL ? resize_in_table(domain, context, block, size, heap, counted)
                               : hooks.next[domain].realloc(context, block, size);
    if (!counted)
        return moved;
    thread->allocating.busy = 0;
    if (CLP_LIKELY(moved != NULL))
        count(thread, size);
    return moved;
}

static RARE void drop_and_free(int domain, void *context, void *block, struct clp_heap *heap)
{
    struct clp_heap_place place = place_of(domain, clp_thread_here);

    clp_heap_drop(heap, block, &place);
    hooks.next[domain].free(context, block);
}

static INLINE void hook_free(int domain, void *context, void *block)
{
    struct clp_heap *heap = table();

    if (heap != NULL && CLP_UNLIKELY(clp_heap_may_have(heap, block)))
        drop_and_free(domain, context, block, heap);
    else
        hooks.next[domain].free(context, block);
}

#define HOOKS_OF(name, allocate, domain)                                    \
    static void *name##_malloc(void *context, size_t size)                  \
    {                                                                       \
        return allocate(domain, context, 0, size);                          \
    }                                                                       \
    static void *name##_calloc(void *context, size_t count_, size_t size)   \
    {                                                                       \
        return allocate(domain, context, count_ != 0 ? count_ : 1,          \
                        count_ != 0 ? size : 0);                            \
    }                                                                       \
    static void *name##_realloc(void *context, void *block, size_t size)    \
    {                                                                       \
        return hook_realloc(domain, context, block, size);                  \
    }

#define FREE_OF(name, domain)                                               \
    static void name##_free(void *context, void *block)                     \
    {                                                                       \
        hook_free(domain, context, block);                                  \
    }

HOOKS_OF(count_raw, count_malloc, PYMEM_DOMAIN_RAW)
HOOKS_OF(count_mem, count_malloc, PYMEM_DOMAIN_MEM)
HOOKS_OF(count_obj, count_malloc, PYMEM_DOMAIN_OBJ)

HOOKS_OF(track_raw, track_malloc, PYMEM_DOMAIN_RAW)
HOOKS_OF(track_mem, track_malloc, PYMEM_DOMAIN_MEM)
HOOKS_OF(track_obj, track_malloc, PYMEM_DOMAIN_OBJ)
FREE_OF(track_raw, PYMEM_DOMAIN_RAW)
FREE_OF(track_mem, PYMEM_DOMAIN_MEM)
FREE_OF(track_obj, PYMEM_DOMAIN_OBJ)

/* Where blocks are only counted, free stays with the allocator that was there before. */
static const PyMemAllocatorEx counting[DOMAINS] = {
    {NULL, count_raw_malloc, count_raw_calloc, count_raw_realloc, NULL},
    {NULL, count_mem_malloc, count_mem_calloc, count_mem_realloc, NULL},
    {NULL, count_obj_malloc, count_obj_calloc, count_obj_realloc, NULL},
};

static const PyMemAllocatorEx tracking[DOMAINS] = {
    {NULL, track_raw_malloc, track_raw_calloc, track_raw_realloc, track_raw_free},
    {NULL, track_mem_malloc, track_mem_calloc, track_mem_realloc, track_mem_free},
    {NULL, track_obj_malloc, track_obj_calloc, track_obj_realloc, track_obj_free},
};

/* ---- putting them in ---- */

/* Hooks on the raw domain are called without the interpreter's lock, so they are put in only while no other
 * thread can call them. */
static bool is_single_threaded(void)
{
    PyThreadState *first = PyInterpreterState_ThreadHead(PyInterpreterState_Get());

    return first != NULL && PyThreadState_Next(first) == NULL;
}

static void put_in(int domain, const PyMemAllocatorEx *hook)
{
    PyMemAllocatorEx allocator = *hook;

    allocator.ctx = hooks.next[domain].ctx;
    if (allocator.free == NULL)
        allocator.free = hooks.next[domain].free;
    PyMem_SetAllocator((PyMemAllocatorDomain)domain, &allocator);
}

static void put_in_first(int domain)
{
    PyMem_GetAllocator((PyMemAllocatorDomain)domain, &hooks.next[domain]);
    hooks.hooked[domain] = true;
    put_in(domain, &counting[domain]);
}

bool clp_hooks_install(void)
{
    if (hooks.hooked[PYMEM_DOMAIN_OBJ])
        return clp_hooks_alive();
    if (is_single_threaded())
        put_in_first(PYMEM_DOMAIN_RAW);
    put_in_first(PYMEM_DOMAIN_MEM);
    put_in_first(PYMEM_DOMAIN_OBJ);
    return true;
}

bool clp_hooks_have_raw(void)
{
    return hooks.hooked[PYMEM_DOMAIN_RAW];
}

/* ---- the table ---- */

/* Is the domain's hook the first that the interpreter calls? Only then can another one be put in its place. */
static bool is_first(int domain)
{
    PyMemAllocatorEx now;

    PyMem_GetAllocator((PyMemAllocatorDomain)domain, &now);
    return now.malloc == counting[domain].malloc || now.malloc == tracking[domain].malloc;
}

static bool hook_frees(void)
{
    for (int domain = 0; domain < DOMAINS; domain++)
        if (hooks.hooked[domain] && !is_first(domain))
            return false;
    for (int domain = 0; domain < DOMAINS; domain++)
        if (hooks.hooked[domain])
            put_in(domain, &tracking[domain]);
    return true;
}

static void before_fork(void)
{
    forking.heap = table();
    if (forking.heap != NULL)
        clp_heap_fork_prepare(forking.heap);
    forking.inside = clp_native_pause(); /* other fork handlers may allocate, and the table is locked */
}

static void after_fork(void)
{
    clp_native_resume(forking.inside);
    if (forking.heap != NULL)
        clp_heap_fork_done(forking.heap);
}

static bool start_choosing(struct clp_engine *engine)
{
    static bool watched;

    if (!watched && !hook_frees())
        return false;
    if (!watched)
        (void)pthread_atfork(before_fork, after_fork, after_fork);
    watched = true;
    hooks.unthreaded = (struct clp_allocating){.left = -1};
    for (struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next) {
        __atomic_store_n(&thread->allocating.left, -1, __ATOMIC_RELAXED);
        __atomic_store_n(&thread->allocating.random, 0, __ATOMIC_RELAXED);
    }
    return true;
}

bool clp_hooks_set_heap(struct clp_heap *heap, struct clp_epochs *epochs, struct clp_engine *engine)
{
    if (heap != NULL && !(clp_hooks_install() && start_choosing(engine)))
        return false;
    __atomic_store_n(&hooks.epochs, epochs, __ATOMIC_RELAXED);
    __atomic_store_n(&hooks.heap, heap, __ATOMIC_RELEASE);
    clp_native_set_heap(heap, epochs);
    return true;
}

void clp_hooks_set_finder(bool (*find)(struct clp_heap_place *place))
{
    hooks.find = find;
}

void clp_hooks_checkpoint(void)
{
    if (table() != NULL)
        clp_epochs_checkpoint(hooks.epochs);
}

/* ---- are they there? ---- */

bool clp_hooks_alive(void)
{
    struct clp_thread *thread = clp_thread_here;
    bool alive = true;

    if (thread == NULL)
        return true; /* nobody to ask */
    uint32_t busy = clp_hooks_pause();
    thread->allocating.busy = ASKED;
    for (int domain = 0; domain < DOMAINS; domain++)
        hooks.reached[domain] = !hooks.hooked[domain];
    PyMem_RawFree(PyMem_RawMalloc(1));
    PyMem_Free(PyMem_Malloc(1));
    PyObject_Free(PyObject_Malloc(1));
    for (int domain = 0; domain < DOMAINS; domain++)
        alive &= hooks.reached[domain];
    clp_hooks_resume(busy);
    return alive;
}
