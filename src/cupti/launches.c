/* SPDX-License-Identifier: MIT */
#include "launches.h"

/* Both halves have the number, so a reader sees whether they belong together. The line has 20 bits
 * (CLP_FUNCTION_MOST_LINES), the group 10 (CLP_GROUPS_MOST), and the kind of launch 2. 0: the slot is empty. */
struct slot {
    uint64_t function, rest; /* atomic */
    uint64_t wait;           /* nanoseconds of the call; 0: it goes on; WANTED: it goes on, and waits; atomic */
};

#define WANTED UINT64_MAX

/* Is global because callbacks of CUPTI fill it, which a process has one of. */
static struct slot slots[CLP_LAUNCHES];

_Static_assert(CLP_FUNCTION_MOST_LINES <= 1u << 20 && CLP_GROUPS_MOST < 1u << 10, "both fit in a slot");

void clp_launches_prepare(void)
{
    for (size_t i = 0; i < CLP_LAUNCHES; i++)
        __atomic_store_n(&slots[i].rest, 0, __ATOMIC_RELAXED);
}

void clp_launches_note(uint32_t correlation, enum clp_launch launch, const struct clp_device_place *place)
{
    struct slot *slot = &slots[correlation % CLP_LAUNCHES];
    uint64_t number = (uint64_t)correlation << 32, function = 0, line = 0;

    if (launch == CLP_LAUNCH_ON_LINE) {
        function = place->function;
        line = place->line << 12 | place->group << 2;
    }
    __atomic_store_n(&slot->rest, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->wait, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&slot->function, number | function, __ATOMIC_RELEASE);
    __atomic_store_n(&slot->rest, number | line | launch, __ATOMIC_RELEASE);
}

enum clp_launch clp_launches_find(uint32_t correlation, struct clp_device_place *place)
{
    const struct slot *slot = &slots[correlation % CLP_LAUNCHES];
    uint64_t rest = __atomic_load_n(&slot->rest, __ATOMIC_ACQUIRE);
    uint64_t function = __atomic_load_n(&slot->function, __ATOMIC_ACQUIRE);

    if (rest >> 32 != correlation || function >> 32 != correlation)
        return CLP_LAUNCH_UNKNOWN;
    *place = (struct clp_device_place){(uint32_t)function, (uint32_t)rest >> 12, (uint32_t)rest >> 2 & 1023};
    return (enum clp_launch)(rest & 3);
}

bool clp_launches_end(uint32_t correlation, uint64_t nanos)
{
    struct slot *slot = &slots[correlation % CLP_LAUNCHES];

    return __atomic_load_n(&slot->rest, __ATOMIC_ACQUIRE) >> 32 == correlation &&
           __atomic_exchange_n(&slot->wait, nanos, __ATOMIC_ACQ_REL) == WANTED;
}

uint64_t clp_launches_take_wait(uint32_t correlation)
{
    uint64_t wait = __atomic_exchange_n(&slots[correlation % CLP_LAUNCHES].wait, WANTED, __ATOMIC_ACQ_REL);

    return wait != WANTED ? wait : 0;
}
