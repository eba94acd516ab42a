/* SPDX-License-Identifier: MIT */
/* Feeds bytes to the reader of line_profiler's pickles. What it accepts must survive being written
 * and read again, memory stays in proportion to the input, and nothing may stay allocated.
 *
 * Built with -DCLP_LIBFUZZER -fsanitize=fuzzer it is a fuzzer; otherwise it replays the files given
 * as arguments, so that a corpus runs where there is none. */
#include "formats/pickle/pickle.h"
#include "replay.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lines without anything are not written, and a line with time has a hit at least. */
static size_t written_lines(const struct clp_profile_function *function)
{
    size_t count = 0;

    for (size_t i = 0; i < function->line_count; i++)
        count += function->lines[i].measures.hits != 0 || function->lines[i].measures.time != 0;
    return count;
}

static void compare(const struct clp_profile *before, const struct clp_profile *after)
{
    require(before->function_count == after->function_count, "functions were lost");
    for (size_t i = 0; i < before->function_count; i++) {
        const struct clp_profile_function *a = &before->functions[i], *b = &after->functions[i];
        require(strcmp(a->file, b->file) == 0 && strcmp(a->name, b->name) == 0 &&
                    a->first_line == b->first_line,
                "a function has another key");
        require(a->total == b->total, "a function has another time");
        require(written_lines(a) == b->line_count, "lines were lost");
    }
}

static void write_and_read_again(const struct clp_profile *profile, struct clp_mem *mem)
{
    struct clp_profile again;
    struct clp_buf out;
    struct clp_fault fault;

    clp_profile_init(&again, mem);
    clp_buf_init(&out, mem);
    require(clp_pickle_encode(profile, &out) == CLP_OK, "a profile that was read cannot be written");
    require(clp_pickle_is(out.bytes, out.used), "what was written is not known again");
    require(clp_pickle_decode(out.bytes, out.used, &again, &fault) == CLP_OK,
            "a profile that was written cannot be read");
    compare(profile, &again);
    clp_buf_clear(&out);
    clp_profile_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_profile profile;
    struct clp_fault fault;

    (void)clp_pickle_is((const char *)bytes, count);
    clp_profile_init(&profile, &mem);
    clp_status status = clp_pickle_decode((const char *)bytes, count, &profile, &fault);
    require(fault.status == status && fault.offset <= count, "the fault is wrong");
    require(strlen(fault.found) < sizeof fault.found, "the fault has no end");
    require(mem.peak <= 300 * count + ((size_t)2 << 20), "far too much memory");
    if (status == CLP_OK)
        write_and_read_again(&profile, &mem);
    else
        require(mem.bytes == 0, "a failure left something behind");
    clp_profile_clear(&profile);
    require(mem.bytes == 0, "memory was not given back");
    return 0;
}

