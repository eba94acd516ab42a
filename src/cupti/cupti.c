/* SPDX-License-Identifier: MIT */
#include "cupti.h"
#include "os/library.h"
#include <string.h>

bool clp_cupti_find(void *library, struct clp_cupti *cupti)
{
    const struct {
        const char *name;
        void *function; /* a pointer to a pointer to a function */
    } wanted[] = {
        {"cuptiGetVersion", &cupti->get_version},
        {"cuptiSubscribe", &cupti->subscribe},
        {"cuptiUnsubscribe", &cupti->unsubscribe},
        {"cuptiEnableCallback", &cupti->enable_callback},
        {"cuptiGetCallbackName", &cupti->get_callback_name},
        {"cuptiActivityRegisterCallbacks", &cupti->register_callbacks},
        {"cuptiActivityEnable", &cupti->enable},
        {"cuptiActivityDisable", &cupti->disable},
        {"cuptiActivityFlushAll", &cupti->flush_all},
        {"cuptiActivityGetNextRecord", &cupti->next_record},
        {"cuptiActivityGetNumDroppedRecords", &cupti->dropped},
    };
    static const void *const none;

    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        clp_library_function(library, wanted[i].name, wanted[i].function);
        if (memcmp(wanted[i].function, &none, sizeof none) == 0)
            return false;
    }
    return true;
}

bool clp_cupti_is_known(uint32_t version)
{
    static const uint32_t known[][2] = {
        {13, 28},         /* CUDA 11.0 to 12.9 */
        {130000, 130599}, /* CUDA 13.0 to 13.5 */
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (version >= known[i][0] && version <= known[i][1])
            return true;
    return false;
}

/* All known versions have the numbers at the same places, whatever else they put behind them. */
#define FROM 5 /* the kinds of memory that a copy is made from and to, one byte each */
#define TO 6
#define START 16
#define END 24

#define PAGEABLE 1 /* a kind of memory */

/* Where a record of this kind has its correlation; 0: the kind is not asked for. */
static size_t correlation_place(uint32_t kind)
{
    switch (kind) {
    case CLP_CUPTI_KERNEL:
    case CLP_CUPTI_CONCURRENT_KERNEL:
        return 92;
    case CLP_CUPTI_MEMCPY:
    case CLP_CUPTI_MEMSET:
        return 44;
    case CLP_CUPTI_MEMCPY_PEER:
        return 60;
    default:
        return 0;
    }
}

bool clp_cupti_read(const uint8_t *record, struct clp_cupti_record *into)
{
    uint64_t start, end;
    uint32_t kind;

    memcpy(&kind, record, sizeof kind);
    size_t place = correlation_place(kind);
    if (place == 0)
        return false;
    memcpy(&into->correlation, record + place, sizeof into->correlation);
    memcpy(&start, record + START, sizeof start);
    memcpy(&end, record + END, sizeof end);
    into->ended = start != 0 && end >= start;
    into->nanos = into->ended ? end - start : 0;
    into->waits = kind == CLP_CUPTI_MEMCPY && (record[FROM] == PAGEABLE || record[TO] == PAGEABLE);
    return true;
}

uint8_t clp_cupti_deeds(const char *function)
{
    bool graph = strstr(function, "Graph") != NULL;

    if (strstr(function, "Synchronize") != NULL)
        return CLP_CUPTI_WAITS;
    if (graph) /* others make or change a graph, and do nothing yet */
        return strstr(function, "GraphLaunch") != NULL || strstr(function, "GraphUpload") != NULL ? CLP_CUPTI_LAUNCHES
                                                                                                  : 0;
    if (strstr(function, "Memcpy") != NULL)
        return CLP_CUPTI_LAUNCHES | (strstr(function, "Async") != NULL ? CLP_CUPTI_MAY_WAIT : CLP_CUPTI_WAITS);
    return strstr(function, "Launch") != NULL || strstr(function, "Memset") != NULL ? CLP_CUPTI_LAUNCHES : 0;
}
