/* SPDX-License-Identifier: MIT */
/* Feeds bytes to the reader of live files, the parts that change with every build put right.
 * Whatever it makes of them, nothing may stay allocated. */
#include "live.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_live: %s\n", what);
    abort();
}

static void put_right(struct clp_buf *bytes)
{
    struct clp_live_header header;

    if (bytes->used < sizeof header)
        return;
    memcpy(&header, bytes->bytes, sizeof header);
    memcpy(header.magic, CLP_LIVE_MAGIC, sizeof header.magic);
    header.version = CLP_LIVE_VERSION;
    header.byte_order = CLP_LIVE_BYTE_ORDER;
    header.layout = clp_live_layout();
    memcpy(bytes->bytes, &header, sizeof header);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t count)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_live_about about;
    struct clp_pages pages = {0};
    struct clp_profile profile;
    struct clp_fault fault;
    struct clp_buf bytes;

    clp_buf_init(&bytes, &mem);
    clp_buf_add(&bytes, (const char *)input, count);
    put_right(&bytes);
    clp_profile_init(&profile, &mem);
    clp_status status = clp_live_decode(&bytes, 0, &pages, &profile, &about, &fault);
    require(fault.status == status && fault.offset <= count, "the fault is wrong");
    clp_profile_clear(&profile);
    clp_buf_clear(&bytes);
    require(mem.bytes == 0 && pages.bytes == 0, "memory was not given back");
    return 0;
}

#include "replay.h"
