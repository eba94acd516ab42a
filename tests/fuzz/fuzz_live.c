/* SPDX-License-Identifier: MIT */
/* Feeds bytes to the reader of live files, the parts that change with every build put right.
 * What it makes of them must survive being written as a profile and read again, as `clineprof
 * recover` does it, and nothing may stay allocated.
 *
 * The corpus holds live files without what is zero throughout: a short header, each area in a chunk
 * of its own. It follows the structures in the file (lines.h, live.h): where one of them changes,
 * files made anew say more than old ones. */
#include "formats/live/live.h"
#include "formats/live/live_reader.h"
#include "formats/lprof/wire.h"
#include "formats/lprof/wire_reader.h"
#include "replay.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void write_and_read_again(const struct clp_profile *profile)
{
    struct clp_profile again;
    struct clp_fault fault;
    struct clp_buf out;

    clp_profile_init(&again, profile->mem);
    clp_buf_init(&out, profile->mem);
    require(clp_wire_encode(profile, &out) == CLP_OK, "it cannot be written");
    require(clp_wire_decode(out.bytes, out.used, &again, &fault) == CLP_OK,
            fault.reason != NULL ? fault.reason : "it cannot be read again");
    require(again.function_count == profile->function_count, "functions were lost");
    clp_buf_clear(&out);
    clp_profile_clear(&again);
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
    if (status == CLP_OK)
        write_and_read_again(&profile);
    clp_profile_clear(&profile);
    clp_buf_clear(&bytes);
    require(mem.bytes == 0 && pages.bytes == 0, "memory was not given back");
    return 0;
}

