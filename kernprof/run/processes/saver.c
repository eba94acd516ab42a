/* SPDX-License-Identifier: MIT */
#include "saver.h"
#include "report/choice.h"
#include "os/file.h"
#include "formats/live/live_reader.h"
#include "formats/lprof/wire.h"
#include <errno.h>

static clp_status write_profile(struct clp_saver *saver, const struct clp_profile *profile,
                                struct clp_fault *fault)
{
    struct clp_buf bytes;

    clp_buf_init(&bytes, profile->mem);
    if (clp_wire_encode(profile, &bytes) != CLP_OK)
        return CLP_NO_MEMORY;
    return clp_file_write(saver->outfile, &(struct clp_file_content){clp_buf_text(&bytes), bytes.used, saver->rights},
                          fault);
}

static void save(void *data)
{
    struct clp_saver *saver = data;
    const struct clp_live_self self = {saver->clock, &saver->pages};
    struct clp_fault fault = {0};
    struct clp_live_about about;
    struct clp_profile profile;

    clp_arena_reset(&saver->arena);
    clp_profile_init(&profile, &saver->arena.mem);
    clp_status status = clp_live_read(saver->live_path, &self, &profile, &about, &fault);
    if (status == CLP_OK && !clp_choice_is_idle(&profile))
        status = write_profile(saver, &profile, &fault);
    saver->error = status == CLP_OK ? 0 : fault.os_error != 0 ? fault.os_error : ENOMEM;
}

int clp_saver_start(struct clp_saver *saver)
{
    saver->helper = (struct clp_helper){
        .work = save, .data = saver, .interval = saver->interval, .pages = &saver->pages};
    saver->pages.keeps = true; /* a size that stays the same changes no line's memory */
    clp_arena_init(&saver->arena, &saver->pages);
    return clp_helper_start(&saver->helper);
}
