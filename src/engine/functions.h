/* SPDX-License-Identifier: MIT */
/* The selected functions: what each is called, and which lines it may reach. A function is named
 * by a small number, its place in the table; numbers are never reused.
 *
 * One code object or several that agree in file, first line, name, span and text share an entry: a
 * function defined a million times is one function, and a function whose module was edited and
 * reloaded is two. Not synchronised, as the engine. */
#ifndef CLP_FUNCTIONS_H
#define CLP_FUNCTIONS_H

#include "base/hashmap.h"
#include "base/mem.h"
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

/* Every line from the lowest to the highest has a counter in each thread. */
#define CLP_FUNCTION_MOST_LINES (1u << 20)

/* In place of the number of a text. */
#define CLP_TEXT_NONE 0u
#define CLP_TEXT_CHANGED UINT32_MAX /* its file holds another text than the code was compiled from */

#define CLP_FUNCTION_MOST_INSTRUCTIONS 0x7f
#define CLP_FUNCTION_ADAPTS 0x80

struct clp_function {
    char *file;          /* owned, UTF-8 */
    char *name;          /* owned, qualified */
    int32_t first_line;  /* of the code object: its decorator's when it has one */
    int32_t lowest_line; /* lines it may reach: lowest_line .. lowest_line + line_count - 1 */
    uint32_t line_count;
    uint32_t text;       /* number of the source text that it was compiled from */
    /* Owned: by line, how many run for certain when it begins, CLP_FUNCTION_MOST_INSTRUCTIONS at most;
     * and CLP_FUNCTION_ADAPTS where the first is one that the interpreter adapts to what it meets
     * (PEP 659). NULL, 0: one, and it does not. */
    uint8_t *instructions;
    bool generator;      /* may be suspended: generator, coroutine, async generator */
    bool awaits;         /* coroutine or async generator: suspended time is await time */
    const char *compiler; /* borrowed: what compiles it, too, and counts nothing there; or NULL */
};

struct clp_functions {
    struct clp_mem *mem; /* borrowed */
    struct clp_function *items;
    size_t count, room;
    struct clp_hashmap index;
    void (*added)(void *listener, const struct clp_function *function); /* NULL: nobody listens */
    void *listener; /* borrowed; told of each new entry, in the order of their numbers */
};

void clp_functions_init(struct clp_functions *functions, struct clp_mem *mem);
void clp_functions_clear(struct clp_functions *functions);

/* Finds or appends; what *wanted owns is copied. CLP_NO_MEMORY leaves the table as it was. */
clp_status clp_functions_add(struct clp_functions *functions, const struct clp_function *wanted,
                             uint32_t *number);

/* The next function, from place *at on, with this file, name and first line, whatever its span and its
 * text; NULL when there is none left. *at is 0 at first, and then what the last call left. */
const struct clp_function *clp_functions_next_version(const struct clp_functions *functions,
                                                      const struct clp_function *wanted,
                                                      uint64_t *at);

#endif
