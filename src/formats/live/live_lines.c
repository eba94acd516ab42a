/* SPDX-License-Identifier: MIT */
#include "live_lines.h"
#include "os/file.h"
#include <string.h>

#define LIVE ".live"

bool clp_live_lines_name(const char *live_path, struct clp_buf *name)
{
    size_t bytes = strlen(live_path), end = strlen(LIVE);

    if (bytes < end || strcmp(live_path + bytes - end, LIVE) != 0)
        return false;
    clp_buf_add(name, live_path, bytes - end);
    clp_buf_add_text(name, ".lines");
    return true;
}

clp_status clp_live_lines_write(const char *live_path, const struct clp_profile *profile, unsigned rights,
                                struct clp_fault *fault)
{
    struct clp_buf name;
    clp_status status = CLP_OK;

    clp_buf_init(&name, profile->mem);
    if (profile->line_log_count != 0 && clp_live_lines_name(live_path, &name)) {
        const struct clp_profile_line_log *log = &profile->line_logs[profile->line_log_count - 1];
        status = clp_file_write(clp_buf_text(&name), &(struct clp_file_content){log->bytes, log->count, rights}, fault);
    }
    clp_buf_clear(&name);
    return status;
}

/* Does the file belong to the user that has the live file? */
static bool is_trusted(const char *path, const char *live_path)
{
    uint32_t owner, live_owner;
    char byte;

    return clp_file_peek_at(path, &byte, 1, &owner) && clp_file_peek_at(live_path, &byte, 1, &live_owner) &&
           owner == live_owner;
}

void clp_live_lines_add(const char *live_path, struct clp_profile *profile)
{
    struct clp_buf name, bytes;
    struct clp_fault fault;

    clp_buf_init(&name, profile->mem);
    clp_buf_init(&bytes, profile->mem);
    if (clp_live_lines_name(live_path, &name) && is_trusted(clp_buf_text(&name), live_path) &&
        clp_file_read(clp_buf_text(&name), CLP_PROFILE_LINE_LOG_BYTES, &bytes, &fault) == CLP_OK)
        (void)clp_profile_add_line_log(profile, clp_buf_text(&bytes), bytes.used);
    clp_buf_clear(&name);
    clp_buf_clear(&bytes);
}
