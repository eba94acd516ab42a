/* SPDX-License-Identifier: MIT */
#include "buf.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define FIRST_ROOM 64
#define LONG ((size_t)1 << 20)

void clp_buf_init(struct clp_buf *buf, struct clp_mem *mem)
{
    *buf = (struct clp_buf){.mem = mem};
}

void clp_buf_clear(struct clp_buf *buf)
{
    clp_mem_free(buf->mem, buf->bytes, buf->room, 1);
    clp_buf_init(buf, buf->mem);
}

/* Makes room for `more` bytes and the ending 0. The room at least doubles, so that appending takes linear time. */
static clp_status grow(struct clp_buf *buf, size_t more)
{
    if (more > SIZE_MAX / 2 - 1 - buf->used)
        return CLP_NO_MEMORY;
    size_t room = buf->room == 0 ? FIRST_ROOM : buf->room * 2;
    if (room < buf->used + more + 1)
        room = buf->used + more + 1;
    void *block = buf->bytes;
    clp_status status = clp_mem_resize(buf->mem, &block, &buf->room, room);
    buf->bytes = block;
    return status;
}

/* Where the next `count` bytes go, NULL once the buffer has failed. */
static char *reserve(struct clp_buf *buf, size_t count)
{
    if (buf->failed)
        return NULL;
    if (CLP_UNLIKELY(buf->room - buf->used <= count) && grow(buf, count) != CLP_OK) {
        buf->failed = true;
        return NULL;
    }
    return buf->bytes + buf->used;
}

static void advance(struct clp_buf *buf, size_t count)
{
    buf->used += count;
    buf->bytes[buf->used] = 0;
}

void clp_buf_add(struct clp_buf *buf, const char *bytes, size_t count)
{
    char *to = reserve(buf, count);

    if (to == NULL)
        return;
    if (count != 0)
        memcpy(to, bytes, count);
    advance(buf, count);
}

void clp_buf_add_text(struct clp_buf *buf, const char *text)
{
    clp_buf_add(buf, text, strlen(text));
}

void clp_buf_add_repeated(struct clp_buf *buf, char byte, size_t count)
{
    char *to = reserve(buf, count);

    if (to == NULL)
        return;
    memset(to, byte, count);
    advance(buf, count);
}

void clp_buf_add_format(struct clp_buf *buf, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int count = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *to = count < 0 ? NULL : reserve(buf, (size_t)count);
    if (to == NULL) {
        buf->failed = true;
        return;
    }
    va_start(arguments, format);
    vsnprintf(to, (size_t)count + 1, format, arguments);
    va_end(arguments);
    advance(buf, (size_t)count);
}

void clp_buf_cut(struct clp_buf *buf, size_t used)
{
    if (used >= buf->used)
        return;
    buf->used = used;
    buf->bytes[used] = 0;
}

const char *clp_buf_text(const struct clp_buf *buf)
{
    return buf->bytes == NULL ? "" : buf->bytes;
}

void clp_drain_long(const struct clp_drain *drain, struct clp_buf *text)
{
    if (drain->take != NULL && text->used >= LONG)
        drain->take(drain->data, text);
}
