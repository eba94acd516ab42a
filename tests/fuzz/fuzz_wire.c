/* SPDX-License-Identifier: MIT */
/* Feeds bytes to the reader of .lprof files. What it accepts must survive being written and read
 * again, and nothing may stay allocated.
 *
 * Built with -DCLP_LIBFUZZER -fsanitize=fuzzer it is a fuzzer; otherwise it replays the files given
 * as arguments, so that a corpus runs where there is none. */
#include "profile/profile.h"
#include "formats/lprof/wire.h"
#include "formats/lprof/wire_reader.h"
#include "replay.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void write_and_read_again(const struct clp_profile *profile, struct clp_mem *mem)
{
    struct clp_profile again;
    struct clp_buf out;
    struct clp_fault fault;

    clp_profile_init(&again, mem);
    clp_buf_init(&out, mem);
    require(clp_wire_encode(profile, &out) == CLP_OK, "a profile that was read cannot be written");
    require(clp_wire_decode(out.bytes, out.used, &again, &fault) == CLP_OK,
            "a profile that was written cannot be read");
    require(again.left_out_count == 0, "something that was written cannot be read");
    require(again.function_count == profile->function_count, "functions were lost");
    clp_buf_clear(&out);
    clp_profile_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_profile profile;
    struct clp_fault fault;

    clp_profile_init(&profile, &mem);
    clp_status status = clp_wire_decode((const char *)bytes, count, &profile, &fault);
    require(fault.status == status && fault.offset <= count, "the fault is wrong");
    if (status == CLP_OK)
        write_and_read_again(&profile, &mem);
    else
        require(mem.bytes == 0, "a failure left something behind");
    clp_profile_clear(&profile);
    require(mem.bytes == 0, "memory was not given back");
    return 0;
}

