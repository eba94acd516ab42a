/* SPDX-License-Identifier: MIT */
#include "native.h"
#include "native/door.h"
#include "thread_here.h"
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RARE __attribute__((noinline))

/* A process has one malloc, and so one of these. */
static struct {
    const struct clp_native_door *door; /* NULL: not used */
    struct clp_heap *heap;
    struct clp_epochs *epochs; /* of the table; set before it */
} native;

/* ---- the hooks; any thread may call, with or without the interpreter's lock ---- */

/* The present table. A hook asks once and keeps the answer, because another thread may set another table. */
static struct clp_heap *table(void)
{
    return __atomic_load_n(&native.heap, __ATOMIC_ACQUIRE);
}

/* Python's allocators are at work, or the profiler is. */
static bool is_busy(const struct clp_thread *thread)
{
    return thread != NULL && thread->allocating.busy != 0;
}

static bool is_chosen(struct clp_heap *heap, struct clp_native_thread *self, size_t bytes, uint32_t *level)
{
    struct clp_allocating *own = clp_thread_here != NULL ? &clp_thread_here->allocating : NULL;
    const struct clp_heap_countdown countdown =
        own != NULL ? (struct clp_heap_countdown){&own->left, &own->random, &own->level}
                    : (struct clp_heap_countdown){&self->left, &self->random, &self->level};
    int64_t now = __atomic_load_n(countdown.left, __ATOMIC_RELAXED) - (int64_t)bytes;

    __atomic_store_n(countdown.left, now, __ATOMIC_RELAXED);
    return CLP_UNLIKELY(now < 0) && clp_heap_choose(heap, &countdown, bytes, level);
}

static RARE void add(struct clp_heap *heap, const void *block, size_t bytes, uint32_t level)
{
    struct clp_epochs *epochs = __atomic_load_n(&native.epochs, __ATOMIC_RELAXED);
    struct clp_heap_place place = clp_thread_place(clp_thread_here);
    int error = errno;

    place.level = level;
    clp_heap_add(heap, block, bytes, &place);
    clp_heap_count_native(heap, bytes, &place);
    if (CLP_UNLIKELY(clp_epochs_go_by_time(epochs)))
        clp_epochs_look_at_time(epochs);
    errno = error;
}

static void note_allocated(struct clp_native_thread *self, const void *block, size_t bytes)
{
    struct clp_heap *heap = table();
    uint32_t level;

    if (heap != NULL && !is_busy(clp_thread_here) && is_chosen(heap, self, bytes, &level))
        add(heap, block, bytes, level);
}

static RARE void drop(struct clp_heap *heap, const void *block)
{
    struct clp_heap_place place = clp_thread_place(clp_thread_here);
    int error = errno;

    clp_heap_drop(heap, block, &place);
    errno = error;
}

static void note_freeing(const void *block)
{
    struct clp_heap *heap = table();

    if (heap != NULL && clp_heap_may_have(heap, block))
        drop(heap, block);
}

/* As with Python's blocks: the old block is taken out first, because another thread may get its address. */
static void *resize(struct clp_native_thread *self, void *block, size_t bytes,
                    void *(*next)(void *, size_t))
{
    struct clp_heap *heap = table();
    struct clp_heap_block taken;

    if (heap == NULL || is_busy(clp_thread_here))
        return next(block, bytes);
    struct clp_heap_place place = clp_thread_place(clp_thread_here);
    bool known = clp_heap_may_have(heap, block) && clp_heap_take(heap, block, &taken);
    void *moved = next(block, bytes);
    int error = errno;
    bool chosen = moved != NULL && is_chosen(heap, self, bytes, &place.level);
    if (moved == NULL && bytes != 0 && known)
        clp_heap_restore(heap, &taken);
    else if (known || chosen)
        clp_heap_moved(heap, known ? &taken : NULL, chosen ? moved : NULL, bytes, &place);
    if (chosen)
        clp_heap_count_native(heap, bytes, &place);
    errno = error;
    return moved;
}

static void note_unmapping(const void *address, size_t bytes)
{
    struct clp_heap *heap = table();
    struct clp_heap_place place = clp_thread_place(clp_thread_here);
    int error = errno;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (heap != NULL) /* pages go as a whole */
        clp_heap_unmap(heap, address, (bytes + page - 1) & ~(page - 1), &place);
    errno = error;
}

static void note_mapped(struct clp_native_thread *self, const void *address, size_t bytes)
{
    struct clp_heap *heap = table();
    struct clp_heap_place place = clp_thread_place(clp_thread_here);

    if (heap == NULL || is_busy(clp_thread_here))
        return;
    if (!is_chosen(heap, self, bytes, &place.level)) {
        note_unmapping(address, bytes); /* what was there before */
        return;
    }
    clp_heap_map(heap, address, bytes, &place);
    clp_heap_count_native(heap, bytes, &place);
}

/* Called after mremap, because that may fail. If another thread maps the old addresses before this call, the
 * numbers are a little wrong. */
static void note_remapped(struct clp_native_thread *self, const void *from, size_t old_bytes,
                          const void *to, size_t bytes)
{
    note_unmapping(from, old_bytes);
    note_mapped(self, to, bytes);
}

static struct clp_native_hooks hooks = {
    .allocated = note_allocated,
    .freeing = note_freeing,
    .resize = resize,
    .mapped = note_mapped,
    .unmapping = note_unmapping,
    .remapped = note_remapped,
};

/* ---- the door ---- */

/* Where this module's code lies. */
static int find_own_code(struct dl_phdr_info *info, size_t size, void *data)
{
    uintptr_t here = (uintptr_t)find_own_code;
    struct clp_native_hooks *into = data;

    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        uintptr_t end = start + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type != PT_LOAD || here < start || here >= end)
            continue;
        into->own_start = start;
        into->own_end = end;
        return 1;
    }
    return 0;
}

static const struct clp_native_door *find_door(void)
{
    const struct clp_native_door *door = dlsym(RTLD_DEFAULT, CLP_NATIVE_DOOR);

    return door != NULL && door->version == CLP_NATIVE_VERSION ? door : NULL;
}

bool clp_native_is_there(void)
{
    return find_door() != NULL;
}

bool clp_native_use(void)
{
    const struct clp_native_door *door = find_door();

    if (door == NULL)
        return false;
    (void)dl_iterate_phdr(find_own_code, &hooks);
    native.door = door;
    door->set(&hooks);
    return true;
}

bool clp_native_is_used(void)
{
    return native.door != NULL;
}

void clp_native_set_heap(struct clp_heap *heap, struct clp_epochs *epochs)
{
    if (native.door == NULL)
        return;
    __atomic_store_n(&native.epochs, epochs, __ATOMIC_RELAXED);
    __atomic_store_n(&native.heap, heap, __ATOMIC_RELEASE);
}

uint32_t clp_native_pause(void)
{
    if (CLP_LIKELY(native.door == NULL))
        return 0;
    struct clp_native_thread *thread = native.door->thread();
    uint32_t inside = thread->inside;
    thread->inside = 1;
    return inside;
}

void clp_native_resume(uint32_t inside)
{
    if (CLP_UNLIKELY(native.door != NULL))
        native.door->thread()->inside = inside;
}

/* ---- who else is there ---- */

static const char *name_of_owner(void *function)
{
    Dl_info about;
    const char *slash;

    if (function == NULL || dladdr(function, &about) == 0 || about.dli_fname == NULL)
        return "an unknown library";
    slash = strrchr(about.dli_fname, '/');
    return slash != NULL ? slash + 1 : about.dli_fname;
}

static bool same_library(void *function, void *other)
{
    Dl_info about, about_other;

    return function != NULL && other != NULL && dladdr(function, &about) != 0 &&
           dladdr(other, &about_other) != 0 && about.dli_fbase == about_other.dli_fbase;
}

/* An interpreter that is linked to a fixed address may have its own address for malloc, which is not where
 * malloc is. Then aligned_alloc tells the library. */
static void *malloc_in_use(void)
{
    void *found = dlsym(RTLD_DEFAULT, "malloc");

    return same_library(found, dlsym(RTLD_DEFAULT, "Py_GetVersion"))
               ? dlsym(RTLD_DEFAULT, "aligned_alloc")
               : found;
}

/* Calls malloc to find out. A look-up is not enough: valgrind puts its own functions in the place of others'
 * code. */
const char *clp_native_before(void)
{
    uint64_t asked = native.door->asked();
    uint32_t inside = clp_native_pause();
    void *volatile block = malloc(1);

    free(block);
    clp_native_resume(inside);
    if (native.door->asked() >= asked + 2)
        return NULL;
    if (same_library(malloc_in_use(), dlsym(RTLD_DEFAULT, CLP_NATIVE_DOOR)))
        return "valgrind or the like";
    return name_of_owner(malloc_in_use());
}

const char *clp_native_behind(void)
{
    void *behind = native.door->behind();

    return same_library(behind, dlsym(RTLD_DEFAULT, "getppid")) ? NULL : name_of_owner(behind);
}
