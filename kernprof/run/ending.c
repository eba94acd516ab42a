/* SPDX-License-Identifier: MIT */
#include "ending.h"
#include "bridge/console.h"
#include "cpython/object/profiler_run.h"
#include "run/processes/family.h"
#include "run/processes/liverun.h"

void clp_ending_stop(struct clp_recording *recording, struct clp_timeline *timeline)
{
    clp_profiler_stop(recording->profiler);
    clp_liverun_stop_saves(&recording->live, recording->program);
    if (timeline != NULL)
        clp_timeline_stop(timeline);
}

void clp_ending_gather(struct clp_recording *recording, struct clp_timeline *timeline, const char *command,
                       struct clp_profile *profile)
{
    clp_status status = clp_profiler_snapshot(recording->profiler, profile);

    if (status == CLP_OK && timeline != NULL)
        status = clp_timeline_fill(timeline, recording->profiler, profile);
    if (status != CLP_OK)
        clp_console_complain(recording->program, "out of memory; the profile holds only a part");
    (void)clp_profile_set_text(profile, &profile->meta.command, command); /* without memory the profile has none */
    if (recording->family.token != 0 && clp_family_add(recording, profile) != CLP_OK)
        clp_console_complain(recording->program, "out of memory; the profile lacks some child processes");
}

void clp_ending_close(struct clp_recording *recording, bool written)
{
    clp_liverun_end(&recording->live, recording->program, written);
    if (written)
        clp_family_remove(recording);
}
