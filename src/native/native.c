/* SPDX-License-Identifier: MIT */
/* A separate library, which `ckernprof --heap=native` makes the dynamic linker load before all others. So malloc,
 * mmap and related functions of the whole process are called here, and call the functions behind them. The
 * library does nothing else until the module sets its hooks, or for requests of the profiler itself. It uses no
 * signals and no locks, and of memory a small buffer and a few bytes per thread.
 *
 *   C code ---> malloc here ---> libc's malloc, or what is preloaded behind us (jemalloc ..)
 *                    |
 *                    '--> hooks of clineprof._core: which line runs? is the block chosen?
 *
 * dlsym may itself allocate before the functions behind us are known. That memory comes from the buffer, and is
 * never given back. The C library's own mappings (thread stacks, malloc's pieces) are not seen here. */
#include "door.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* The functions behind us; NULL: the C library has none. */
#define NEXT_TABLE(X)                                  \
    X(malloc, void *, (size_t))                        \
    X(calloc, void *, (size_t, size_t))                \
    X(realloc, void *, (void *, size_t))               \
    X(free, void, (void *))                            \
    X(posix_memalign, int, (void **, size_t, size_t))  \
    X(aligned_alloc, void *, (size_t, size_t))         \
    X(memalign, void *, (size_t, size_t))              \
    X(valloc, void *, (size_t))                        \
    X(pvalloc, void *, (size_t))                       \
    X(mmap, void *, (void *, size_t, int, int, int, off_t)) \
    X(munmap, int, (void *, size_t))                   \
    X(mremap, void *, (void *, size_t, size_t, int, void *))

static struct {
#define NEXT_FIELD(name, result, arguments) result (*name) arguments;
    NEXT_TABLE(NEXT_FIELD)
#undef NEXT_FIELD
} next;

static bool ready, resolving;
static const struct clp_native_hooks *hooks;
static __thread struct clp_native_thread here __attribute__((tls_model("initial-exec")));
static __thread uint64_t asked __attribute__((tls_model("initial-exec")));

/* ---- before the functions behind us are known ---- */

#define EARLY_BYTES 16384

static _Alignas(16) char early[EARLY_BYTES];
static size_t early_used;

static bool is_early(const void *block)
{
    return (const char *)block >= early && (const char *)block < early + EARLY_BYTES;
}

/* Returns zeroed memory. Only one thread exists yet. */
static void *early_malloc(size_t size)
{
    size_t rounded = (size + 15) & ~(size_t)15;

    if (rounded < size || rounded > EARLY_BYTES - early_used) {
        errno = ENOMEM;
        return NULL;
    }
    early_used += rounded;
    return early + early_used - rounded;
}

static void look_up(const char *name, void *place)
{
    void *found = dlsym(RTLD_NEXT, name);

    memcpy(place, &found, sizeof found);
}

/* All of them at once: an allocator behind us may hold a lock when it asks for its first pages, and
 * dlsym would ask that allocator. False while they are being looked up. */
static __attribute__((noinline)) bool get_ready(void)
{
    if (resolving)
        return false;
    resolving = true;
#define NEXT_FIND(name, result, arguments) look_up(#name, &next.name);
    NEXT_TABLE(NEXT_FIND)
#undef NEXT_FIND
    __atomic_store_n(&ready, true, __ATOMIC_RELEASE);
    return true;
}

static inline bool is_ready(void)
{
    return !UNLIKELY(!ready) || get_ready();
}

/* ---- counting ---- */

static inline bool is_own(const struct clp_native_hooks *told, const void *caller)
{
    return (uintptr_t)caller - told->own_start < told->own_end - told->own_start;
}

/* Returns the hooks to call, with `inside` set: the caller must clear it. NULL: no hook is to be called. */
static inline const struct clp_native_hooks *enter_any(void)
{
    const struct clp_native_hooks *told = __atomic_load_n(&hooks, __ATOMIC_ACQUIRE);

    if (told == NULL)
        return NULL;
    if (here.inside != 0) {
        asked++;
        return NULL;
    }
    here.inside = 1;
    return told;
}

static inline const struct clp_native_hooks *enter(const void *caller)
{
    const struct clp_native_hooks *told = enter_any();

    if (told == NULL || !is_own(told, caller))
        return told;
    here.inside = 0;
    return NULL;
}

static inline void *leave(const struct clp_native_hooks *told, void *block, size_t bytes)
{
    if (told == NULL)
        return block;
    if (block != NULL)
        told->allocated(&here, block, bytes);
    here.inside = 0;
    return block;
}

/* ---- malloc and its kin ---- */

EXPORT void *malloc(size_t size)
{
    if (!is_ready())
        return early_malloc(size);
    const struct clp_native_hooks *told = enter(CALLER);
    return leave(told, next.malloc(size), size);
}

EXPORT void *calloc(size_t count, size_t size)
{
    if (!is_ready())
        return size != 0 && count > EARLY_BYTES / size ? NULL : early_malloc(count * size);
    const struct clp_native_hooks *told = enter(CALLER);
    return leave(told, next.calloc(count, size), count * size);
}

EXPORT void free(void *block)
{
    if (block == NULL || UNLIKELY(is_early(block)) || !is_ready())
        return;
    const struct clp_native_hooks *told = enter_any(); /* the profiler may free what others allocated */
    if (told != NULL) {
        told->freeing(block);
        here.inside = 0;
    }
    next.free(block);
}

/* The size of the early block is not known. It is at most what is left of the buffer. */
static void *copy_early(const void *block, void *moved, size_t size)
{
    if (moved == NULL || block == NULL)
        return moved;
    size_t left = (size_t)(early + EARLY_BYTES - (const char *)block);
    memmove(moved, block, size < left ? size : left);
    return moved;
}

static void *resize(void *block, size_t size, const void *caller)
{
    if (!is_ready())
        return copy_early(block, early_malloc(size), size);
    const struct clp_native_hooks *told = enter(caller);
    if (UNLIKELY(is_early(block)))
        return copy_early(block, leave(told, next.malloc(size), size), size);
    if (told == NULL)
        return next.realloc(block, size);
    if (block == NULL)
        return leave(told, next.realloc(NULL, size), size);
    void *moved = told->resize(&here, block, size, next.realloc);
    here.inside = 0;
    return moved;
}

EXPORT void *realloc(void *block, size_t size)
{
    return resize(block, size, CALLER);
}

EXPORT void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return resize(block, bytes, CALLER);
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t size)
{
    if (!is_ready())
        return ENOMEM;
    const struct clp_native_hooks *told = enter(CALLER);
    int error = next.posix_memalign(block, alignment, size);
    (void)leave(told, error == 0 ? *block : NULL, size);
    return error;
}

static void *no_such_function(void)
{
    errno = ENOSYS;
    return NULL;
}

#define ALIGNED(name)                                                              \
    EXPORT void *name(size_t alignment, size_t size)                               \
    {                                                                              \
        if (!is_ready() || next.name == NULL)                                      \
            return no_such_function();                                             \
        const struct clp_native_hooks *told = enter(CALLER);                       \
        return leave(told, next.name(alignment, size), size);                      \
    }

#define PAGE_ALIGNED(name)                                                         \
    EXPORT void *name(size_t size)                                                 \
    {                                                                              \
        if (!is_ready() || next.name == NULL)                                      \
            return no_such_function();                                             \
        const struct clp_native_hooks *told = enter(CALLER);                       \
        return leave(told, next.name(size), size);                                 \
    }

ALIGNED(aligned_alloc)
ALIGNED(memalign)
PAGE_ALIGNED(valloc)
PAGE_ALIGNED(pvalloc)

/* C23's, which a C library may not have: the same as free. */
EXPORT void free_sized(void *block, size_t size);
EXPORT void free_sized(void *block, size_t size)
{
    (void)size;
    free(block);
}

EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size);
EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size)
{
    (void)alignment, (void)size;
    free(block);
}

/* ---- pages ----
 *
 * A mapping is counted if it is anonymous and writable, and is not only a reservation of addresses. */

static bool is_memory(int protection, int flags)
{
    return (flags & MAP_ANONYMOUS) != 0 && (flags & MAP_NORESERVE) == 0 &&
           (protection & PROT_WRITE) != 0;
}

/* Works before `ready`, because dlsym may allocate from an allocator that is linked into the program, which
 * maps. */
static void *map(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
    if (__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        return next.mmap(address, size, protection, flags, file, offset);
    return (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset);
}

static void *map_counted(void *address, size_t size, int protection, int flags, int file,
                         off_t offset, const void *caller)
{
    const struct clp_native_hooks *told = enter(caller);
    void *mapped = map(address, size, protection, flags, file, offset);

    if (told == NULL)
        return mapped;
    if (mapped != MAP_FAILED && is_memory(protection, flags))
        told->mapped(&here, mapped, size);
    else if (mapped != MAP_FAILED && (flags & MAP_FIXED) != 0)
        told->unmapping(mapped, size); /* what was there before */
    here.inside = 0;
    return mapped;
}

EXPORT void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
    return map_counted(address, size, protection, flags, file, offset, CALLER);
}

EXPORT void *mmap64(void *address, size_t size, int protection, int flags, int file, off64_t offset)
{
    _Static_assert(sizeof(off64_t) == sizeof(off_t), "mmap64 is mmap");
    return map_counted(address, size, protection, flags, file, (off_t)offset, CALLER);
}

EXPORT int munmap(void *address, size_t size)
{
    if (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        return (int)syscall(SYS_munmap, address, size);
    const struct clp_native_hooks *told = enter(CALLER);
    if (told != NULL) {
        told->unmapping(address, size);
        here.inside = 0;
    }
    return next.munmap(address, size);
}

EXPORT void *mremap(void *from, size_t old_size, size_t size, int flags, ...)
{
    va_list rest;
    void *wanted = NULL;

    va_start(rest, flags);
    if ((flags & MREMAP_FIXED) != 0)
        wanted = va_arg(rest, void *);
    va_end(rest);
    if (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        return (void *)syscall(SYS_mremap, from, old_size, size, flags, wanted);
    const struct clp_native_hooks *told = enter(CALLER);
    void *to = next.mremap(from, old_size, size, flags, wanted);
    if (told != NULL && to != MAP_FAILED)
        told->remapped(&here, from, old_size, to, size);
    if (told != NULL)
        here.inside = 0;
    return to;
}

/* ---- the door ---- */

static void set_hooks(const struct clp_native_hooks *wanted)
{
    __atomic_store_n(&hooks, wanted, __ATOMIC_RELEASE);
}

static struct clp_native_thread *get_thread(void)
{
    return &here;
}

static uint64_t get_asked(void)
{
    return asked;
}

static void *get_behind(void)
{
    void *behind;

    memcpy(&behind, &next.malloc, sizeof behind);
    return behind;
}

EXPORT extern const struct clp_native_door clp_native_door;
const struct clp_native_door clp_native_door = {
    .version = CLP_NATIVE_VERSION,
    .set = set_hooks,
    .thread = get_thread,
    .asked = get_asked,
    .behind = get_behind,
};

/* Runs before there is a second thread. */
__attribute__((constructor)) static void begin(void)
{
    (void)is_ready();
}
