/* SPDX-License-Identifier: MIT */
#include "live_peek.h"
#include "os/file.h"
#include "live_reader.h"
#include <string.h>

bool clp_live_peek(int fd, struct clp_live_header *header)
{
    return clp_file_peek(fd, header, sizeof *header) && clp_live_is(header->magic, sizeof header->magic);
}

bool clp_live_peek_at(const char *path, struct clp_live_header *header, uint32_t *owner)
{
    return clp_file_peek_at(path, header, sizeof *header, owner) &&
           clp_live_is(header->magic, sizeof header->magic);
}
