/* SPDX-License-Identifier: MIT */
/* What every fuzzer has in common: how it says that something does not hold, and a main that replays
 * the files it is given, so that a corpus runs where there is no fuzzer. With libFuzzer, whose main is
 * its own, compile with -DCLP_LIBFUZZER. */
#ifndef CLP_FUZZ_REPLAY_H
#define CLP_FUZZ_REPLAY_H

#include "os/file.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

#ifdef CLP_SHOW_FAILURE
static void CLP_SHOW_FAILURE(void); /* tells more about it */
#else
#define CLP_SHOW_FAILURE() ((void)0)
#endif

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    CLP_SHOW_FAILURE();
    fprintf(stderr, "%s\n", what);
    abort();
}

#ifndef CLP_LIBFUZZER
int main(int argc, char **argv)
{
    struct clp_mem mem = clp_mem_system();
    int bad = 0;

    for (int i = 1; i < argc; i++) {
        struct clp_buf file;
        struct clp_fault fault;
        clp_buf_init(&file, &mem);
        if (clp_file_read(argv[i], SIZE_MAX, &file, &fault) == CLP_OK) {
            LLVMFuzzerTestOneInput((const uint8_t *)clp_buf_text(&file), file.used);
        } else {
            fprintf(stderr, "%s: %s\n", argv[i], clp_status_text(fault.status));
            bad = 1;
        }
        clp_buf_clear(&file);
    }
    return bad;
}
#endif

#endif
