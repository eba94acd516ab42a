/* SPDX-License-Identifier: MIT */
#include "session.h"
#include "device_sums.h"
#include "launches.h"
#include "os/clock.h"
#include "os/identity.h"
#include "os/thread.h"
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS 4096              /* of a domain; CUDA 13.0 has 806 */
#define BUFFER_BYTES (256u << 10)   /* some 1300 kernels */
#define BUFFERS 16                  /* that are kept for the next request */
#define DUE_NANOS 1000000000u

/* Is global because callbacks of CUPTI take no data, and CUPTI has one subscriber. */
static struct {
    struct clp_cupti cupti;
    struct clp_session_wish wish;
    void *subscriber;
    bool runs; /* atomic */
    uint32_t number; /* of this start */
    uint64_t due; /* when wish.due is called next; atomic */
    uint8_t deeds[CLP_CUPTI_DOMAINS][FUNCTIONS]; /* enum clp_cupti_deed */
    struct clp_lock lock; /* protects the buffers */
    uint8_t *buffers[BUFFERS];
    size_t buffer_count;
} session;

static const enum clp_cupti_kind kinds[] = {CLP_CUPTI_CONCURRENT_KERNEL, CLP_CUPTI_MEMCPY, CLP_CUPTI_MEMSET,
                                            CLP_CUPTI_MEMCPY_PEER};
#define KINDS (sizeof kinds / sizeof *kinds)

bool clp_session_runs(void)
{
    return __atomic_load_n(&session.runs, __ATOMIC_ACQUIRE);
}

/* ---- calls of CUDA ---- */

/* The outermost call of this thread that waits or may: functions of the runtime call functions of the driver. */
static __thread struct {
    uint32_t session; /* whose calls these are: of an earlier one some ends may be missing */
    uint32_t depth;
    uint64_t began; /* nanoseconds */
} waiting;

static void begin_waiting(void)
{
    if (waiting.session != session.number) {
        waiting.session = session.number;
        waiting.depth = 0;
    }
    if (waiting.depth++ == 0)
        waiting.began = clp_clock_monotonic();
}

static void end_waiting(uint8_t deeds, uint32_t correlation)
{
    struct clp_device_place place;

    if (waiting.session != session.number || waiting.depth == 0 || --waiting.depth != 0)
        return;
    const struct clp_device_sum sum = {.wait = clp_clock_monotonic() - waiting.began};
    bool waited = deeds & CLP_CUPTI_WAITS || clp_launches_end(correlation, sum.wait);
    if (waited && session.wish.where(&place) == CLP_LAUNCH_ON_LINE)
        clp_device_sums_add(&place, &sum);
}

static void note_launch(uint32_t correlation)
{
    struct clp_device_place place;
    enum clp_launch launch = (enum clp_launch)session.wish.where(&place);

    clp_launches_note(correlation, launch, &place);
}

/* Calls wish.due about once a second, in one of the threads that call CUDA. */
static void look_whether_due(void)
{
    if (session.wish.due == NULL)
        return;
    uint64_t now = clp_clock_monotonic(), due = __atomic_load_n(&session.due, __ATOMIC_RELAXED);
    if (now >= due && __atomic_compare_exchange_n(&session.due, &due, now + DUE_NANOS, false, __ATOMIC_RELAXED,
                                                  __ATOMIC_RELAXED))
        session.wish.due();
}

static void on_call(void *user, int domain, uint32_t function, const void *data)
{
    const struct clp_cupti_call *call = data;

    (void)user;
    if (!clp_session_runs() || domain <= 0 || domain >= CLP_CUPTI_DOMAINS || function >= FUNCTIONS)
        return;
    uint8_t deeds = session.deeds[domain][function];
    if (call->site != 0) {
        if (deeds & (CLP_CUPTI_WAITS | CLP_CUPTI_MAY_WAIT))
            end_waiting(deeds, call->correlation);
        return;
    }
    if (deeds & CLP_CUPTI_LAUNCHES)
        note_launch(call->correlation);
    look_whether_due();
    if (deeds & (CLP_CUPTI_WAITS | CLP_CUPTI_MAY_WAIT))
        begin_waiting();
}

/* ---- records ---- */

static void take_record(const uint8_t *at)
{
    struct clp_cupti_record record;
    struct clp_device_place place;

    if (!clp_cupti_read(at, &record))
        return;
    enum clp_launch launch = clp_launches_find(record.correlation, &place);
    if (launch == CLP_LAUNCH_LEFT_OUT)
        return;
    if (launch == CLP_LAUNCH_UNKNOWN || !record.ended)
        clp_device_sums_add_outside(&(struct clp_device_outside){.lost = 1});
    else if (launch == CLP_LAUNCH_OUTSIDE)
        clp_device_sums_add_outside(&(struct clp_device_outside){.time = record.nanos, .launches = 1});
    else
        clp_device_sums_add(&place, &(struct clp_device_sum){
                                        .time = record.nanos,
                                        .wait = record.waits ? clp_launches_take_wait(record.correlation) : 0,
                                        .launches = 1});
}

static void on_request(uint8_t **buffer, size_t *bytes, size_t *records)
{
    uint8_t *found = NULL;

    if (clp_lock_take(&session.lock)) {
        if (session.buffer_count > 0)
            found = session.buffers[--session.buffer_count];
        clp_lock_give(&session.lock);
    }
    if (found == NULL)
        found = malloc(BUFFER_BYTES);
    *buffer = found;
    *bytes = found != NULL ? BUFFER_BYTES : 0; /* without a buffer CUPTI drops records, and tells how many */
    *records = 0; /* as many as there is room for */
}

static void on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    const uint8_t *record = NULL;
    size_t dropped = 0;

    (void)bytes;
    while (buffer != NULL && session.cupti.next_record(buffer, valid, &record) == CLP_CUPTI_SUCCESS)
        take_record(record);
    if (session.cupti.dropped(context, stream, &dropped) == CLP_CUPTI_SUCCESS && dropped != 0)
        clp_device_sums_add_outside(&(struct clp_device_outside){.lost = dropped});
    if (clp_lock_take(&session.lock)) {
        if (session.buffer_count < BUFFERS) {
            session.buffers[session.buffer_count++] = buffer;
            buffer = NULL;
        }
        clp_lock_give(&session.lock);
    }
    free(buffer);
}

/* ---- start and end ---- */

static void in_child(void)
{
    __atomic_store_n(&session.runs, false, __ATOMIC_RELEASE);
}

static bool failed(struct clp_session_fault *fault, const char *function, int number)
{
    *fault = (struct clp_session_fault){function, number};
    return number != CLP_CUPTI_SUCCESS;
}

/* Lets CUPTI tell of the functions that launch something or wait. They are known by their names, because each version
 * of CUDA has further ones. */
static bool enable_functions(struct clp_session_fault *fault)
{
    const char *name = NULL;

    for (int domain = CLP_CUPTI_DRIVER; domain < CLP_CUPTI_DOMAINS; domain++) {
        for (uint32_t i = 1; i < FUNCTIONS; i++) {
            if (session.cupti.get_callback_name(domain, i, &name) != CLP_CUPTI_SUCCESS)
                break;
            session.deeds[domain][i] = clp_cupti_deeds(name);
            if (session.deeds[domain][i] != 0 &&
                failed(fault, "cuptiEnableCallback", session.cupti.enable_callback(1, session.subscriber, domain, i)))
                return false;
        }
    }
    return true;
}

static bool enable_records(struct clp_session_fault *fault)
{
    if (failed(fault, "cuptiActivityRegisterCallbacks", session.cupti.register_callbacks(on_request, on_complete)))
        return false;
    for (size_t i = 0; i < KINDS; i++)
        if (failed(fault, "cuptiActivityEnable", session.cupti.enable(kinds[i])))
            return false;
    return true;
}

static void give_up(void)
{
    for (size_t i = 0; i < KINDS; i++)
        (void)session.cupti.disable(kinds[i]);
    (void)session.cupti.flush_all(CLP_CUPTI_FORCED);
    __atomic_store_n(&session.runs, false, __ATOMIC_RELEASE);
    (void)session.cupti.unsubscribe(session.subscriber);
    session.subscriber = NULL;
}

bool clp_session_start(void *library, const struct clp_session_wish *wish, struct clp_session_fault *fault)
{
    static bool watched;
    uint32_t version = 0;

    *fault = (struct clp_session_fault){0};
    if (!clp_cupti_find(library, &session.cupti) ||
        failed(fault, "cuptiGetVersion", session.cupti.get_version(&version)))
        return false;
    *fault = (struct clp_session_fault){.number = (int)version};
    if (!clp_cupti_is_known(version) ||
        failed(fault, "cuptiSubscribe", session.cupti.subscribe(&session.subscriber, on_call, NULL)))
        return false;
    if (!watched)
        clp_identity_at_fork(in_child);
    watched = true;
    clp_launches_prepare();
    session.wish = *wish;
    session.number++;
    session.due = clp_clock_monotonic() + DUE_NANOS;
    __atomic_store_n(&session.runs, true, __ATOMIC_RELEASE);
    bool done = enable_records(fault) && enable_functions(fault);
    if (!done)
        give_up();
    return done;
}

void clp_session_flush(void)
{
    if (clp_session_runs())
        (void)session.cupti.flush_all(0);
}

void clp_session_stop(void)
{
    if (clp_session_runs())
        give_up();
}
