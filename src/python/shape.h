/* SPDX-License-Identifier: MIT */
/* What a tracer must know of a code object's instructions: its lines, where it yields, and, for
 * functions in which LINE events are slow, the instructions at which a line may begin. */
#ifndef CLP_SHAPE_H
#define CLP_SHAPE_H

#include "../core/mem.h"
#include "compat.h"
#include "opcodes.h"

struct clp_shape {
    int32_t lowest_line; /* of the lines it may reach; its first line when it has none */
    uint32_t line_count;
    size_t unit_count; /* code units of two bytes */
    /* By code unit: the line that may begin there, CLP_SHAPE_NO_LINE where an instruction belongs
     * to none, 0 elsewhere. NULL: LINE events serve this code well. */
    int32_t *starts;
    /* By code unit: would a frame stand here that yields? NULL when it is no generator. */
    bool *yields;
    int first_yield; /* byte offset; INT_MAX when there is none */
    /* By code unit: would a frame stand here when it is told of a jump back within a line? NULL
     * before clp_shape_find_loops. */
    bool *loops;
};

#define CLP_SHAPE_NO_LINE (-1)

/* Reads the code object. False with a Python exception set; *shape is then empty. */
bool clp_shape_init(struct clp_shape *shape, struct clp_mem *mem, PyCodeObject *code,
                    const struct clp_opcodes *opcodes);
void clp_shape_clear(struct clp_shape *shape, struct clp_mem *mem);

/* Fills `loops`, which only one tracer needs. False with an exception set. */
bool clp_shape_find_loops(struct clp_shape *shape, struct clp_mem *mem, PyCodeObject *code,
                          const struct clp_opcodes *opcodes);

static inline bool clp_shape_marked(const struct clp_shape *shape, const bool *marks, int offset)
{
    size_t unit = (size_t)offset / 2;

    return marks != NULL && offset >= 0 && unit < shape->unit_count && marks[unit];
}

static inline bool clp_shape_yields_at(const struct clp_shape *shape, int offset)
{
    return clp_shape_marked(shape, shape->yields, offset);
}

static inline bool clp_shape_loops_at(const struct clp_shape *shape, int offset)
{
    return clp_shape_marked(shape, shape->loops, offset);
}

#endif
