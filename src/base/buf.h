/* SPDX-License-Identifier: MIT */
/* A growing run of bytes, always ended by a 0 that is not counted.
 *
 * The first failure to allocate is remembered in `failed`; later calls do nothing, so a writer may
 * append all it has and look once at the end. */
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

/* Takes back all behind the first `used` bytes. */
void clp_buf_cut(struct clp_buf *buf, size_t used);

/* The bytes so far as a text; "" before the first append. Borrowed until the next change. */
const char *clp_buf_text(const struct clp_buf *buf);

/* Who takes a long text piece by piece. */
struct clp_drain {
    void (*take)(void *data, struct clp_buf *text); /* empties it; NULL: all is wanted at once */
    void *data;
};

/* Has what is there taken when it is long. */
void clp_drain_long(const struct clp_drain *drain, struct clp_buf *text);

/* What a noun ends in where there are so many of it: "1 line", "2 lines". */
static inline const char *clp_buf_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

#endif
