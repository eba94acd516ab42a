/* SPDX-License-Identifier: MIT */
#include "reading.h"
#include "../src/core/file.h"
#include "../src/core/pickle.h"
#include "../src/core/wire.h"
#include "liverun.h"
#include "words.h"
#include <errno.h>

static const char me[] = "clineprof";

#define LARGEST_PROFILE ((size_t)1 << 31)

/* Is there a live file of the profile's name, of a run that began after this moment? */
static bool has_live(const char *path, double start, struct clp_mem *mem)
{
    struct clp_live_header header;
    struct clp_buf live;

    clp_buf_init(&live, mem);
    clp_buf_add_format(&live, "%s.live", path);
    bool found = clp_liverun_peek(clp_buf_text(&live), &header) && header.start > start;
    clp_buf_clear(&live);
    return found;
}

void clp_reading_add_fault(const char *path, const struct clp_fault *fault, struct clp_buf *out)
{
    clp_buf_add_format(out, "%s: %s", path, clp_fault_text(fault));
    if (fault->os_error == 0)
        clp_buf_add_format(out, " at byte %llu", (unsigned long long)fault->offset);
    if (fault->reason != NULL)
        clp_buf_add_format(out, ": %s", fault->reason);
    if (fault->found[0] != 0)
        clp_buf_add_format(out, ": %s", fault->found);
    if (fault->os_error == ENOENT && has_live(path, 0, out->mem))
        clp_buf_add_format(out, "; its run has not ended, what it recorded is in %s.live", path);
}

void clp_reading_complain(const char *path, const struct clp_fault *fault, struct clp_mem *mem)
{
    struct clp_buf text;

    clp_buf_init(&text, mem);
    clp_reading_add_fault(path, fault, &text);
    clp_words_complain(me, clp_buf_text(&text));
    clp_buf_clear(&text);
}

void clp_reading_describe_live(const char *path, const struct clp_live_about *about,
                            struct clp_buf *out)
{
    clp_buf_add_format(out, "%s: process %llu %s", path, (unsigned long long)about->pid,
                       about->running ? "is still running" : "did not end by itself");
    if (about->incomplete)
        clp_buf_add_text(out, "; the file could not grow, later functions are missing");
    clp_buf_add_text(out, "; > marks lines that were being executed");
}

static clp_status read_live(const char *path, struct clp_profile *profile, struct clp_buf *notes,
                            struct clp_fault *fault)
{
    struct clp_live_about about;

    clp_status status = clp_live_read(path, NULL, profile, &about, fault);
    if (status == CLP_OK && notes != NULL) {
        clp_reading_describe_live(path, &about, notes);
        clp_buf_add_text(notes, "\n\n");
    }
    return status;
}

/* A profile older than one thinks: the run that was to replace it was killed, or still runs. */
static void say_if_older(const char *path, const struct clp_profile *profile)
{
    if (has_live(path, profile->meta.start, profile->mem))
        clp_words_complain_format(
            me, "%s: a later run has not ended, what it recorded is in %s.live", path, path);
}

clp_status clp_reading_file(const char *path, struct clp_profile *profile, struct clp_buf *notes,
                            struct clp_fault *fault)
{
    struct clp_buf bytes;
    clp_status status;

    *fault = (struct clp_fault){0};
    clp_buf_init(&bytes, profile->mem);
    status = clp_file_read(path, LARGEST_PROFILE, &bytes, fault);
    if (status == CLP_OK && clp_live_is(clp_buf_text(&bytes), bytes.used))
        status = read_live(path, profile, notes, fault);
    else if (status == CLP_OK && clp_pickle_is(clp_buf_text(&bytes), bytes.used))
        status = clp_pickle_decode(clp_buf_text(&bytes), bytes.used, profile, fault);
    else if (status == CLP_OK)
        status = clp_wire_decode(clp_buf_text(&bytes), bytes.used, profile, fault);
    clp_buf_clear(&bytes);
    if (status == CLP_OK && notes != NULL)
        say_if_older(path, profile);
    fault->status = status;
    return status;
}
