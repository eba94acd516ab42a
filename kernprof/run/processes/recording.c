/* SPDX-License-Identifier: MIT */
#include "recording.h"
#include "os/file.h"
#include "os/identity.h"
#include "bridge/console.h"
#include <unistd.h>

void clp_recording_init(struct clp_recording *recording, const char *program, struct clp_mem *mem)
{
    *recording = (struct clp_recording){
        .program = program, .standard_error = -1, .rights = CLP_FILE_PRIVATE};
    clp_buf_init(&recording->outfile, mem);
    clp_buf_init(&recording->live.path, mem);
    clp_buf_init(&recording->summed, mem);
    clp_buf_init(&recording->family_at, mem);
}

const char *clp_recording_family_at(const struct clp_recording *recording)
{
    return clp_buf_text(recording->family_at.used != 0 ? &recording->family_at : &recording->outfile);
}

bool clp_recording_has_name(const struct clp_recording *recording)
{
    return recording->live.live != NULL && !recording->is_elsewhere;
}

static struct clp_liverun_wish wish_of(struct clp_recording *recording)
{
    return (struct clp_liverun_wish){.program = recording->program,
                                     .quiet = recording->quiet,
                                     .outfile = &recording->outfile,
                                     .rights = recording->rights,
                                     .family = recording->family,
                                     .is_member = recording->family.token != 0 && !recording->is_first};
}

/* The files of the family's other processes lie beside the live file. */
static void note_elsewhere(struct clp_recording *recording, const char *path)
{
    recording->is_elsewhere = true;
    recording->rights = CLP_FILE_PRIVATE;
    if (recording->family_at.used == 0)
        clp_buf_add_text(&recording->family_at, path);
}

void clp_recording_begin(struct clp_recording *recording, const struct clp_recording_wish *wish)
{
    struct clp_liverun_wish live = wish_of(recording);
    struct clp_buf elsewhere;

    clp_buf_init(&elsewhere, recording->outfile.mem);
    live.elsewhere = live.is_member ? NULL : &elsewhere;
    live.own_name = wish->own_name;
    live.command = wish->command;
    live.save_interval = wish->save_interval;
    clp_liverun_begin(&recording->live, recording->profiler, &live);
    if (elsewhere.used != 0)
        note_elsewhere(recording, clp_buf_text(&elsewhere));
    clp_buf_clear(&elsewhere);
    if (recording->live.live == NULL)
        return;
    recording->live.live->keeps = recording->family.token != 0;
    if (wish->is_server)
        clp_live_set_name(recording->live.live, CLP_RECORDING_SERVER);
}

void clp_recording_fork(struct clp_recording *recording)
{
    if (recording->live.process == clp_identity_self())
        return;
    recording->is_first = false;
    if (recording->family_at.used != 0) {
        clp_buf_cut(&recording->outfile, 0);
        clp_buf_add_text(&recording->outfile, clp_buf_text(&recording->family_at));
    }
    const struct clp_liverun_wish live = wish_of(recording);
    clp_liverun_fork(&recording->live, recording->profiler, &live);
}

void clp_recording_complain(const struct clp_recording *recording, const char *doing, const char *path,
                            const struct clp_fault *fault)
{
    if (recording->standard_error >= 0)
        (void)dup2(recording->standard_error, 2);
    clp_console_complain_format(recording->program, "%s '%s': %s", doing, path, clp_fault_text(fault));
}
