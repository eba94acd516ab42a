/* SPDX-License-Identifier: MIT */
/* A buffer of bytes that grows. A 0 byte, which `used` does not count, always follows its contents.
 *
 * The first failure to allocate sets `failed` and leaves the contents as they are. Later calls then append
 * nothing. So a writer may append everything and look at `failed` once at the end. */
#ifndef CLP_BUF_H
#define CLP_BUF_H

#include "mem.h"
#include "status.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clp_buf {
    struct clp_mem *mem; /* borrowed */
    char *bytes;         /* owned; NULL until the first append */
    size_t used, room;   /* room counts the ending 0 */
    bool failed;
};

void clp_buf_init(struct clp_buf *buf, struct clp_mem *mem);
void clp_buf_clear(struct clp_buf *buf);

void clp_buf_add(struct clp_buf *buf, const char *bytes, size_t count);
void clp_buf_add_text(struct clp_buf *buf, const char *text);
void clp_buf_add_repeated(struct clp_buf *buf, char byte, size_t count);
void clp_buf_add_format(struct clp_buf *buf, const char *format, ...) CLP_PRINTF_LIKE(2, 3);

/* Removes all bytes after the first `used`. */
void clp_buf_cut(struct clp_buf *buf, size_t used);

/* The contents as a text; "" before the first append. Borrowed until the buffer's next change. */
const char *clp_buf_text(const struct clp_buf *buf);

/* Takes a long text piece by piece while it is being written. */
struct clp_drain {
    void (*take)(void *data, struct clp_buf *text); /* empties `text`; NULL: the text is wanted in one piece */
    void *data;
};

/* Calls drain->take, if there is one, once `text` has reached 1 MiB. */
void clp_drain_long(const struct clp_drain *drain, struct clp_buf *text);

/* The ending of an English noun that is counted: "1 line", "2 lines". */
static inline const char *clp_buf_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

#endif
