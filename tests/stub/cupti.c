/* SPDX-License-Identifier: MIT */
/* Stands for NVIDIA's libcupti in tests on machines without a device. It hands over records as awkwardly as CUPTI may:
 * late, the last first, in small buffers, in a thread of its own. It proves what is made of them, not that CUPTI's
 * structures are as clineprof believes.
 *
 * The environment: STUB_VERSION, the version that it says it has; STUB_FAIL, the name of a function that fails, with
 * STUB_ERROR, the error. */
#include "stub.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS 100000
#define TAKEN 39

struct call_data {
    int32_t site;
    const char *function;
    const void *arguments;
    void *result;
    const char *kernel;
    void *context;
    uint32_t context_number;
    uint64_t *data;
    uint32_t correlation;
};

struct record {
    uint32_t kind, correlation;
    uint64_t nanos;
};

typedef void callback(void *user, int domain, uint32_t function, const void *call);
typedef void request(uint8_t **buffer, size_t *bytes, size_t *records);
typedef void complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct record records[RECORDS];
static size_t record_count, to_drop, dropped, unfinished;
static callback *subscriber;
static void *its_data;
static uint8_t enabled[3][1024], kinds[64];
static request *on_request;
static complete *on_complete;
static unsigned touched; /* calls of CUPTI so far */

static int result_of(const char *function)
{
    const char *failing = getenv("STUB_FAIL"), *error = getenv("STUB_ERROR");

    touched++;
    return failing != NULL && strcmp(failing, function) == 0 ? error != NULL ? atoi(error) : 1 : 0;
}

/* ---- what the stub of CUDA tells ---- */

static void tell_call(int site, int domain, uint32_t function, uint32_t correlation)
{
    static __thread uint64_t data;
    const struct call_data call = {.site = site, .data = &data, .correlation = correlation};
    callback *told = subscriber;

    if (told != NULL && enabled[domain][function])
        told(its_data, domain, function, &call);
}

static void tell_record(uint32_t kind, uint32_t correlation, uint64_t nanos)
{
    pthread_mutex_lock(&lock);
    if (!kinds[kind % PINNED])
        ;
    else if (to_drop > 0 || record_count == RECORDS) {
        to_drop -= to_drop > 0;
        dropped++;
    } else {
        records[record_count++] = (struct record){kind, correlation, nanos};
    }
    pthread_mutex_unlock(&lock);
}

/* ---- what tests ask for ---- */

void stub_drop(unsigned count)
{
    to_drop = count;
}

/* The last so many records do not end before they are asked for by force. */
void stub_hold(unsigned count)
{
    unfinished = count;
}

int stub_subscribed(void)
{
    return subscriber != NULL;
}

unsigned stub_touched(void)
{
    return touched;
}

/* ---- CUPTI ---- */

int cuptiGetVersion(uint32_t *version)
{
    const char *wanted = getenv("STUB_VERSION");

    *version = wanted != NULL ? (uint32_t)atoi(wanted) : 26;
    return result_of("cuptiGetVersion");
}

int cuptiSubscribe(void **handle, callback *its, void *user)
{
    static const struct stub_hook hook = {tell_call, tell_record};
    void (*set)(const struct stub_hook *) = NULL;
    void *cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *found = cuda != NULL ? dlsym(cuda, "stub_hook") : NULL;
    int failed = result_of("cuptiSubscribe");

    if (failed != 0 || subscriber != NULL || found == NULL)
        return failed != 0 ? failed : TAKEN;
    memcpy(&set, &found, sizeof found);
    set(&hook);
    subscriber = its;
    its_data = user;
    *handle = &subscriber;
    return 0;
}

int cuptiUnsubscribe(void *handle)
{
    if (handle != &subscriber)
        return 1;
    memset(enabled, 0, sizeof enabled);
    subscriber = NULL;
    return result_of("cuptiUnsubscribe");
}

int cuptiEnableCallback(uint32_t enable, void *handle, int domain, uint32_t function)
{
    if (handle != &subscriber || domain < 1 || domain > 2 || function > 1023)
        return 1;
    enabled[domain][function] = (uint8_t)enable;
    return result_of("cuptiEnableCallback");
}

int cuptiGetCallbackName(int domain, uint32_t function, const char **name)
{
    static const struct {
        int domain;
        uint32_t function;
        const char *name;
    } names[] = {{2, 211, "cudaLaunchKernel_v7000"},     {1, 307, "cuLaunchKernel"},
                 {2, 41, "cudaMemcpyAsync_v3020"},       {1, 278, "cuMemcpyDtoHAsync_v2"},
                 {2, 161, "cudaMemcpyPeerAsync_v4000"},  {1, 319, "cuMemcpyPeerAsync"},
                 {2, 51, "cudaMemsetAsync_v3020"},       {1, 216, "cuMemsetD8Async"},
                 {2, 311, "cudaGraphLaunch_v10000"},     {1, 514, "cuGraphLaunch"},
                 {2, 131, "cudaStreamSynchronize_v3020"}, {1, 126, "cuStreamSynchronize"}};

    *name = "cudaGetDevice_v3020";
    if (function == 0 || function > 600)
        return 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].domain == domain && names[i].function == function)
            *name = names[i].name;
    return 0;
}

int cuptiActivityRegisterCallbacks(request *its_request, complete *its_complete)
{
    on_request = its_request;
    on_complete = its_complete;
    return result_of("cuptiActivityRegisterCallbacks");
}

int cuptiActivityEnable(int kind)
{
    kinds[kind] = 1;
    return result_of("cuptiActivityEnable");
}

int cuptiActivityDisable(int kind)
{
    kinds[kind] = 0;
    return result_of("cuptiActivityDisable");
}

/* The bytes of a record, and where it has its correlation: as of CUDA 12.8. */
static size_t bytes_of(uint32_t kind)
{
    return kind == 10 ? 208 : kind == 1 ? 112 : kind == 22 ? 120 : 104;
}

static size_t correlation_place(uint32_t kind)
{
    return kind == 10 ? 92 : kind == 22 ? 60 : 44;
}

static void write_record(uint8_t *into, const struct record *record, bool ended)
{
    const uint64_t start = 1000000, end = ended ? start + record->nanos : 0;

    const uint32_t kind = record->kind % PINNED;

    memset(into, 0xee, bytes_of(kind));
    memcpy(into, &kind, 4);
    if (kind == 1)
        into[6] = record->kind & PINNED ? 2 : 1; /* to memory of the host */
    memcpy(into + 16, &start, 8);
    memcpy(into + 24, &end, 8);
    memcpy(into + correlation_place(kind), &record->correlation, 4);
}

/* Hands over the records from `first` on, the last first, in buffers of at most three. */
static void *hand_over(void *data)
{
    size_t first = *(size_t *)data, all = record_count;

    while (record_count > first) {
        uint8_t *buffer = NULL;
        size_t bytes = 0, most = 0, valid = 0;
        on_request(&buffer, &bytes, &most);
        for (int i = 0; i < 3 && record_count > first; i++) {
            const struct record *record = &records[--record_count];
            write_record(buffer + valid, record, record_count < all - unfinished);
            valid += bytes_of(record->kind % PINNED);
        }
        on_complete(NULL, 0, buffer, bytes, valid);
    }
    return NULL;
}

int cuptiActivityFlushAll(uint32_t flags)
{
    struct record kept[64];
    pthread_t thread;
    size_t first = 0, held = flags != 0 ? 0 : unfinished;

    if (on_complete == NULL)
        return 1;
    pthread_mutex_lock(&lock);
    held = held > record_count ? record_count : held;
    record_count -= held;
    memcpy(kept, records + record_count, held * sizeof *kept);
    size_t kept_unfinished = unfinished;
    if (flags == 0)
        unfinished = 0;
    if (pthread_create(&thread, NULL, hand_over, &first) == 0)
        (void)pthread_join(thread, NULL);
    unfinished = kept_unfinished;
    memcpy(records, kept, held * sizeof *kept);
    record_count = held;
    pthread_mutex_unlock(&lock);
    return result_of("cuptiActivityFlushAll");
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record)
{
    uint8_t *next = buffer;
    uint32_t kind;

    if (*record != NULL) {
        memcpy(&kind, *record, 4);
        next = *record + bytes_of(kind);
    }
    if (next >= buffer + valid)
        return 12;
    *record = next;
    return 0;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
    (void)context;
    (void)stream;
    *count = dropped;
    dropped = 0;
    return 0;
}
