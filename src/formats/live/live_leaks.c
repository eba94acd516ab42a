/* SPDX-License-Identifier: MIT */
#include "live_leaks.h"
#include "profile/snapshot.h"
#include <stdio.h>
#include <string.h>

static void add_leak(struct clp_buf *record, const struct clp_live_leak *found)
{
    static const char padding[8];
    const struct clp_profile_leak *leak = found->leak;
    const char *holder = leak->held_by != NULL ? leak->held_by : "";
    size_t bytes = strlen(holder) + 1;
    const struct clp_live_leak_head head = {found->function, leak->line, leak->bytes, leak->margin, leak->bytes_per_call,
                                            leak->bytes_per_second, leak->confidence, leak->per_execution,
                                            (uint32_t)CLP_LIVE_ALIGNED(bytes)};

    clp_buf_add(record, (const char *)&head, sizeof head);
    clp_buf_add(record, holder, bytes);
    clp_buf_add(record, padding, CLP_LIVE_ALIGNED(bytes) - bytes);
}

void clp_live_note_leaks(struct clp_live *live, const struct clp_live_leak *leaks, size_t count, const char *epoch,
                         uint64_t epochs)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_live_leaks head = {.epochs = epochs};
    struct clp_buf record;

    (void)snprintf(head.epoch, sizeof head.epoch, "%s", epoch);
    clp_buf_init(&record, &mem);
    clp_buf_add(&record, (const char *)&head, sizeof head);
    for (size_t i = 0; i < count; i++)
        add_leak(&record, &leaks[i]);
    if (!record.failed)
        clp_live_note_looked(live, clp_buf_text(&record), record.used);
    clp_buf_clear(&record);
}

/* ---- reading ---- */

static clp_status read_leak(struct clp_live_reader *reader, const struct clp_live_leak_head *head, char *holder,
                            struct clp_profile *profile)
{
    const struct clp_functions *functions = &reader->engine.functions;
    struct clp_profile_function *into;

    if (head->function >= functions->count)
        return refuse(reader, CLP_CORRUPT, head, "a leak of a function that is not there");
    if (clp_view_find(&reader->view, head->function) == NULL)
        return CLP_OK; /* it is another view's */
    const struct clp_profile_leak leak = {
        .line = head->line, .bytes = head->bytes, .margin = head->margin, .bytes_per_call = head->per_call,
        .bytes_per_second = head->per_second, .confidence = head->confidence,
        .per_execution = head->per_execution != 0, .held_by = *holder != 0 ? holder : NULL};
    clp_status status = clp_snapshot_function(&functions->items[head->function], NULL, profile, &into);
    return status == CLP_OK ? clp_profile_add_leak(profile, into, &leak) : status;
}

/* Numbers that no process writes: a damaged file's. */
static bool is_sound(const struct clp_live_leak_head *head)
{
    return head->line > 0 && head->per_call >= -1e18 && head->per_call <= 1e18 && head->per_second >= 0 &&
           head->per_second <= 1e18 && head->confidence >= 0 && head->confidence <= 1;
}

static clp_status fill_epochs(const struct clp_live_leaks *leaks, struct clp_profile *profile)
{
    char epoch[sizeof leaks->epoch];

    (void)snprintf(epoch, sizeof epoch, "%.*s", (int)sizeof leaks->epoch - 1, leaks->epoch);
    profile->meta.leak_epochs = leaks->epochs;
    return clp_profile_set_text(profile, &profile->meta.leak_epoch, epoch);
}

clp_status clp_live_fill_leaks(struct clp_live_reader *reader, struct clp_profile *profile)
{
    char *at = reader->leaks;
    size_t left = reader->leak_bytes;

    if (at == NULL)
        return CLP_OK;
    if (left < sizeof(struct clp_live_leaks))
        return refuse(reader, CLP_CORRUPT, at, "leaks that are cut off");
    clp_status status = fill_epochs((const struct clp_live_leaks *)(const void *)at, profile);
    for (at += sizeof(struct clp_live_leaks), left -= sizeof(struct clp_live_leaks); left != 0 && status == CLP_OK;) {
        const struct clp_live_leak_head *head = (const void *)at;
        if (left < sizeof *head || head->holder > left - sizeof *head || head->holder == 0 || head->holder % 8 != 0 ||
            memchr(at + sizeof *head, 0, head->holder) == NULL || !is_sound(head))
            return refuse(reader, CLP_CORRUPT, at, "a leak that cannot be");
        status = read_leak(reader, head, at + sizeof *head, profile);
        at += sizeof *head + head->holder;
        left -= sizeof *head + head->holder;
    }
    return status;
}
