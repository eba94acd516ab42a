/* SPDX-License-Identifier: MIT */
/* The selected functions: what each is called, and which lines it may reach. The number of a function is its
 * place in the table. Numbers are never used again.
 *
 * Several code objects share an entry if they agree in file, first line, name, lines and text. So a
 * function that is defined a million times is one function, and a function whose module was edited and reloaded
 * is two.
 *
 * Not synchronised: it is used under the same lock as the engine (engine.h). */
#ifndef CLP_FUNCTIONS_H
#define CLP_FUNCTIONS_H

#include "base/hashmap.h"
#include "base/mem.h"
#include "line_map.h"
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

/* The widest span from the lowest to the highest line. */
#define CLP_FUNCTION_MOST_LINES (1u << 20)

/* Stand in place of a text's number: no text is known. */
#define CLP_TEXT_NONE 0u
#define CLP_TEXT_CHANGED UINT32_MAX /* the file now holds another text than the code was compiled from */

#define CLP_FUNCTION_MOST_INSTRUCTIONS 0x3f
#define CLP_FUNCTION_MERGES 0x40
#define CLP_FUNCTION_ADAPTS 0x80

/* What is known of the code that a compiler has made of a function. */
struct clp_compiled {
    uint64_t calls; /* calls from Python to that code, which count no lines; 0: none, or not known */
    uint64_t times; /* how often it was compiled; 0: not known */
    uint64_t nanos; /* that this took, with what was compiled meanwhile because it is called */
    bool unseen;    /* there is such code whose calls are not seen: their number is not known */
};

struct clp_function {
    char *file;          /* owned, UTF-8 */
    char *name;          /* owned, qualified */
    int32_t first_line;  /* of the code object: the line of its first decorator, if it has any */
    int32_t lowest_line; /* lowest of the lines it may reach */
    uint32_t line_count; /* how many lines it may reach: each has a cell in every block (lines.h) */
    const int32_t *lines; /* ascending; NULL: they follow one another. In the table those of `map` */
    struct clp_line_map *map; /* owned; set in the table only */
    uint32_t text;       /* number of the source text that it was compiled from, or CLP_TEXT_.. */
    /* Owned; one byte per cell: how many instructions run for certain when the line begins, at most
     * CLP_FUNCTION_MOST_INSTRUCTIONS. CLP_FUNCTION_ADAPTS is set where the interpreter usually adapts the first of
     * them to what it meets (PEP 659); CLP_FUNCTION_MERGES where the line has ways apart that meet again (`a and b`).
     * NULL, or 0 for a line: one instruction, which is not adapted, and one way. */
    uint8_t *instructions;
    bool generator;      /* the body may be suspended: generator, coroutine, async generator */
    bool awaits;         /* coroutine or async generator: suspended time is await time */
    /* Borrowed; a library that compiles the function and runs its own code instead, which counts nothing. NULL:
     * none. */
    const char *compiler;
    struct clp_compiled compiled;
};

struct clp_functions {
    struct clp_mem *mem; /* borrowed */
    struct clp_function *items;
    size_t count, room;
    struct clp_hashmap index;
    /* Called for each new entry, in the order of their numbers; may be NULL. */
    void (*added)(void *listener, const struct clp_function *function);
    void *listener; /* borrowed; the first argument of `added` */
};

void clp_functions_init(struct clp_functions *functions, struct clp_mem *mem);
void clp_functions_clear(struct clp_functions *functions);

/* Finds the function, or appends a copy of *wanted. CLP_NO_MEMORY leaves the table as it was. */
clp_status clp_functions_add(struct clp_functions *functions, const struct clp_function *wanted,
                             uint32_t *number);

/* The next function, from place *at on, with this file, name and first line, whatever its lines and its text.
 * NULL when there is no more. *at is 0 at first; each call moves it on. */
const struct clp_function *clp_functions_next_version(const struct clp_functions *functions,
                                                      const struct clp_function *wanted,
                                                      uint64_t *at);

#endif
