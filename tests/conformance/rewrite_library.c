/* SPDX-License-Identifier: MIT */
/* The rewriter as a shared library that Python loads, for test_rewrite.py. One result at a time. */
#include "rewrite/rewrite.h"

#define API __attribute__((visibility("default")))

static struct clp_mem mem;
static struct clp_rewritten out;

/* The code's fields as struct clp_code has them. Returns why it is refused, or NULL. */
API const char *rewrite(int minor, const struct clp_code *code, int insert);

/* A part of the result: code, exception table, location table. Lives until the next `rewrite`. */
API const char *part(int which, size_t *bytes);
API int stack_size(void);

/* Kind and line of a probe; -1 behind the last one. */
API int probe(size_t place, int *line);

API const char *rewrite(int minor, const struct clp_code *code, int insert)
{
    struct clp_bytecode bytecode;
    const char *reason = "this version is not known";

    if (mem.resize == NULL) {
        mem = clp_mem_system();
        out.mem = &mem;
    }
    clp_rewritten_clear(&out);
    if (clp_bytecode_init(&bytecode, minor) &&
        clp_rewrite(&out, &mem, &bytecode, code, insert, &reason) == CLP_OK)
        return NULL;
    return reason;
}

API const char *part(int which, size_t *bytes)
{
    const struct clp_buf *parts[] = {&out.code, &out.exceptions, &out.locations};

    *bytes = parts[which]->used;
    return clp_buf_text(parts[which]);
}

API int stack_size(void)
{
    return out.stack_size;
}

API int probe(size_t place, int *line)
{
    if (place >= out.probe_count)
        return -1;
    *line = out.probes[place].line;
    return (int)out.probes[place].kind;
}
