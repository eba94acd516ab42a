/* SPDX-License-Identifier: MIT */
/* A separate library, which `ckernprof --tensors` makes the dynamic linker load before all others. So some functions
 * that PyTorch's libraries call in each other, or in themselves, are called here, and call PyTorch's own behind them:
 *
 *   the CPU allocator    ---> ProfiledCPUMemoryReporter::New and ::Delete here ---> PyTorch's
 *   every other one      ---> reportMemoryUsageToProfiler here                 ---> PyTorch's
 *   backward()           ---> Engine::execute here                             ---> PyTorch's
 *   a thread of autograd ---> Engine::thread_init here                         ---> PyTorch's
 *
 * PyTorch's functions are called with the same arguments, whether its own profiler is on or not, so that they do what
 * they always do. Delete does not say how many bytes are freed, so the sizes of the CPU's blocks are kept here.
 *
 * Names and arguments are those of C++ on Linux (the Itanium ABI), as PyTorch 2.14 has them, and for
 * reportMemoryUsageToProfiler also older ones. Where a name is missing in a version, nothing calls it here. */
#include "tensors.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

static const struct clp_tensors_hooks *hooks;

static __thread struct {
    bool in_engine; /* one of autograd's own threads */
    bool reporting; /* within New or Delete, which may report to PyTorch's profiler what is counted already */
} here __attribute__((tls_model("initial-exec")));

/* ---- PyTorch's functions ---- */

/* Searches a library that is loaded already, and those that it needs. Python loads PyTorch's libraries for itself
 * alone, so a search among all libraries would not find them. */
static void *find_in(const char *library, const char *name)
{
    void *handle = library != NULL ? dlopen(library, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = handle != NULL ? dlsym(handle, name) : NULL;

    if (handle != NULL)
        (void)dlclose(handle);
    return found;
}

static __attribute__((noinline)) void *find(const char *name, const void *caller)
{
    int error = errno;
    Dl_info about;
    void *found = dlsym(RTLD_NEXT, name);

    if (found == NULL && dladdr(caller, &about) != 0)
        found = find_in(about.dli_fname, name);
    if (found == NULL)
        found = find_in("libc10.so", name);
    errno = error;
    return found;
}

/* PyTorch's function of this name, which is searched for once and kept. */
static inline void *behind(void **kept, const char *name, const void *caller)
{
    void *found = __atomic_load_n(kept, __ATOMIC_RELAXED);

    if (UNLIKELY(found == NULL)) {
        found = find(name, caller);
        __atomic_store_n(kept, found, __ATOMIC_RELAXED);
    }
    return found;
}

/* ---- the sizes of the CPU's blocks ---- */

#define SHARDS 16
#define FIRST_ROOM 256 /* a page */

struct entry {
    uintptr_t block; /* 0: free */
    size_t bytes;
};

static struct shard {
    pthread_mutex_t lock;
    struct entry *entries; /* a hash table with linear probing, at most half full */
    size_t room;           /* a power of 2 */
    size_t count;
} shards[SHARDS] = {[0 ... SHARDS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};

static uint64_t hash_of(uintptr_t block)
{
    return (uint64_t)(block >> 4) * 0x9e3779b97f4a7c15u;
}

static struct shard *shard_of(uintptr_t block)
{
    return &shards[hash_of(block) >> 60];
}

static size_t home_of(const struct shard *shard, uintptr_t block)
{
    return (size_t)(hash_of(block) >> 20) & (shard->room - 1);
}

/* The place of the block, or the free place where it would be. */
static size_t place_of(const struct shard *shard, uintptr_t block)
{
    size_t at = home_of(shard, block);

    while (shard->entries[at].block != 0 && shard->entries[at].block != block)
        at = (at + 1) & (shard->room - 1);
    return at;
}

/* Asks the system itself: another library of ours may stand before mmap. NULL: no memory. */
static struct entry *map(size_t room)
{
    long mapped = syscall(SYS_mmap, NULL, room * sizeof(struct entry), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return mapped == -1 ? NULL : (struct entry *)mapped;
}

static __attribute__((noinline)) bool grow(struct shard *shard)
{
    int error = errno;
    struct shard old = *shard;
    struct entry *entries = map(old.room != 0 ? old.room * 2 : FIRST_ROOM);

    if (entries != NULL) {
        shard->entries = entries;
        shard->room = old.room != 0 ? old.room * 2 : FIRST_ROOM;
        for (size_t i = 0; i < old.room; i++)
            if (old.entries[i].block != 0)
                shard->entries[place_of(shard, old.entries[i].block)] = old.entries[i];
        if (old.room != 0)
            (void)syscall(SYS_munmap, old.entries, old.room * sizeof(struct entry));
    }
    errno = error;
    return entries != NULL;
}

/* False: no memory. Then neither the block's beginning nor its end is counted. */
static bool keep(uintptr_t block, size_t bytes)
{
    struct shard *shard = shard_of(block);
    bool kept = true;

    (void)pthread_mutex_lock(&shard->lock);
    if (UNLIKELY(shard->count >= shard->room / 2))
        kept = grow(shard);
    if (kept) {
        struct entry *entry = &shard->entries[place_of(shard, block)];
        shard->count += entry->block == 0;
        *entry = (struct entry){block, bytes};
    }
    (void)pthread_mutex_unlock(&shard->lock);
    return kept;
}

/* Moves entries behind a place that has become free, where they would not be found otherwise. */
static void close_gap(struct shard *shard, size_t gap)
{
    size_t mask = shard->room - 1;

    for (size_t at = (gap + 1) & mask; shard->entries[at].block != 0; at = (at + 1) & mask) {
        size_t home = home_of(shard, shard->entries[at].block);
        if (((at - home) & mask) < ((at - gap) & mask))
            continue;
        shard->entries[gap] = shard->entries[at];
        gap = at;
    }
    shard->entries[gap].block = 0;
}

/* Takes the block out. Returns its size; 0: it is not known. */
static size_t take(uintptr_t block)
{
    struct shard *shard = shard_of(block);
    size_t bytes = 0;

    (void)pthread_mutex_lock(&shard->lock);
    size_t at = shard->room != 0 ? place_of(shard, block) : 0;
    if (shard->room != 0 && shard->entries[at].block != 0) {
        bytes = shard->entries[at].bytes;
        shard->count--;
        close_gap(shard, at);
    }
    (void)pthread_mutex_unlock(&shard->lock);
    return bytes;
}

/* A thread that forks holds all locks meanwhile: in the child no other thread is left that could give one back. */
static void before_fork(void)
{
    for (size_t i = 0; i < SHARDS; i++)
        (void)pthread_mutex_lock(&shards[i].lock);
}

static void after_fork(void)
{
    for (size_t i = SHARDS; i-- > 0;)
        (void)pthread_mutex_unlock(&shards[i].lock);
}

/* ---- memory ---- */

static const struct clp_tensors_hooks *told(void)
{
    return __atomic_load_n(&hooks, __ATOMIC_ACQUIRE);
}

static void tell(struct clp_tensors_device device, int64_t bytes, uint64_t reserved)
{
    const struct clp_tensors_hooks *to = told();

    if (to != NULL && bytes != 0)
        to->changed(device, bytes, reserved, here.in_engine);
}

static const struct clp_tensors_device processor = {0, -1};

typedef void (*new_function)(void *self, void *block, size_t bytes);
typedef void (*delete_function)(void *self, void *block);
typedef void (*report_function)(void *block, int64_t bytes, uint64_t allocated, uint64_t reserved,
                                struct clp_tensors_device device);

#define NEW _ZN3c1025ProfiledCPUMemoryReporter3NewEPvm
#define DELETE _ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv
#define REPORT _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
#define REPORT_OLD _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE /* older versions */
#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)

EXPORT void NEW(void *self, void *block, size_t bytes);
EXPORT void NEW(void *self, void *block, size_t bytes)
{
    static void *kept;
    new_function next = (new_function)behind(&kept, TEXT(NEW), CALLER);

    if (block != NULL && bytes != 0 && keep((uintptr_t)block, bytes))
        tell(processor, (int64_t)bytes, 0);
    if (next == NULL)
        return;
    here.reporting = true;
    next(self, block, bytes);
    here.reporting = false;
}

EXPORT void DELETE(void *self, void *block);
EXPORT void DELETE(void *self, void *block)
{
    static void *kept;
    delete_function next = (delete_function)behind(&kept, TEXT(DELETE), CALLER);

    if (block != NULL)
        tell(processor, -(int64_t)take((uintptr_t)block), 0);
    if (next == NULL)
        return;
    here.reporting = true;
    next(self, block);
    here.reporting = false;
}

EXPORT void REPORT(void *block, int64_t bytes, uint64_t allocated, uint64_t reserved, struct clp_tensors_device device);
EXPORT void REPORT(void *block, int64_t bytes, uint64_t allocated, uint64_t reserved, struct clp_tensors_device device)
{
    static void *kept;
    report_function next = (report_function)behind(&kept, TEXT(REPORT), CALLER);

    if (!here.reporting)
        tell(device, bytes, reserved);
    if (next != NULL)
        next(block, bytes, allocated, reserved, device);
}

EXPORT void REPORT_OLD(void *block, int64_t bytes, uint64_t allocated, uint64_t reserved,
                       struct clp_tensors_device device);
EXPORT void REPORT_OLD(void *block, int64_t bytes, uint64_t allocated, uint64_t reserved,
                       struct clp_tensors_device device)
{
    static void *kept;
    report_function next = (report_function)behind(&kept, TEXT(REPORT_OLD), CALLER);

    if (!here.reporting)
        tell(device, bytes, reserved);
    if (next != NULL)
        next(block, bytes, allocated, reserved, device);
}

/* ---- backward ----
 *
 * Autograd works on each GPU in a thread of its own, which runs no Python code of the program. Its threads begin with
 * thread_init, and do all their work in it. */

/* A std::vector. The caller says where it goes, as for any large structure of C. */
struct vector {
    void *begin, *end, *room;
};

typedef struct vector (*execute_function)(void *self, const void *roots, const void *inputs, bool keep, bool create,
                                          bool accumulate, const void *outputs);
typedef void (*init_function)(void *self, int device, const void *queue, bool increment);

#define EXECUTE _ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EEbbbS7_
#define INIT _ZN5torch8autograd6Engine11thread_initEiRKSt10shared_ptrINS0_10ReadyQueueEEb

static __attribute__((noinline, noreturn)) void die(void)
{
    (void)fputs("clineprof: --tensors: PyTorch's engine is not found behind clineprof's library\n", stderr);
    abort();
}

EXPORT struct vector EXECUTE(void *self, const void *roots, const void *inputs, bool keep_graph, bool create,
                             bool accumulate, const void *outputs);
EXPORT struct vector EXECUTE(void *self, const void *roots, const void *inputs, bool keep_graph, bool create,
                             bool accumulate, const void *outputs)
{
    static void *kept;
    execute_function next = (execute_function)behind(&kept, TEXT(EXECUTE), CALLER);
    const struct clp_tensors_hooks *to = here.in_engine ? NULL : told();
    void *given = NULL;

    if (next == NULL)
        die();
    if (to != NULL)
        given = to->entered();
    struct vector gradients = next(self, roots, inputs, keep_graph, create, accumulate, outputs);
    if (to != NULL)
        to->left(given);
    return gradients;
}

EXPORT void INIT(void *self, int device, const void *queue, bool increment);
EXPORT void INIT(void *self, int device, const void *queue, bool increment)
{
    static void *kept;
    init_function next = (init_function)behind(&kept, TEXT(INIT), CALLER);

    if (next == NULL)
        die();
    here.in_engine = true;
    next(self, device, queue, increment);
    here.in_engine = false;
}

/* ---- the door ---- */

static void set_hooks(const struct clp_tensors_hooks *wanted)
{
    __atomic_store_n(&hooks, wanted, __ATOMIC_RELEASE);
}

EXPORT extern const struct clp_tensors_door clp_tensors_door;
const struct clp_tensors_door clp_tensors_door = {.version = CLP_TENSORS_VERSION, .set = set_hooks};

__attribute__((constructor)) static void begin(void)
{
    (void)pthread_atfork(before_fork, after_fork, after_fork);
}
