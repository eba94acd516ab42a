/* SPDX-License-Identifier: MIT */
/* What a tracer must know of a code object's instructions: its lines, where it yields, and, for
 * functions in which LINE events are slow, the instructions at which a line may begin. */
#ifndef CLP_CODE_LINES_H
#define CLP_CODE_LINES_H

#include "rewrite/decoded.h"
#include "base/mem.h"
#include "cpython/compat/compat.h"
#include "cpython/compat/opcodes.h"

struct clp_code_lines {
    int32_t lowest_line; /* of the lines it may reach; its first line when it has none */
    uint32_t line_count;
    /* As of struct clp_function; 0 of a line that never begins. NULL where jumps are not known (3.10). */
    uint8_t *instructions;
    size_t unit_count; /* code units of two bytes */
    /* By code unit: the line that may begin there, CLP_SHAPE_NO_LINE where an instruction belongs
     * to none, 0 elsewhere. NULL: LINE events serve this code well. */
    int32_t *starts;
    /* By code unit: would a frame stand here that yields? NULL when it is no generator. */
    bool *yields;
    int first_yield; /* byte offset; INT_MAX when there is none */
    /* By code unit: would a frame stand here when it is told of a jump back within a line? NULL
     * before clp_code_lines_find_loops. */
    bool *loops;
    /* By code unit: is a line event here, while its line is running, the interpreter's mistake? NULL
     * when it makes none, and before clp_code_lines_find_repeats. */
    uint8_t *repeats; /* enum clp_repeats */
    /* Are there handlers where a line begins or does not as the place has it at which the exception was
     * raised, and no event of the place itself tells? */
    bool asks_places;
};

enum clp_repeats {
    CLP_REPEATS_NEVER,
    CLP_REPEATS_ALWAYS,
    CLP_REPEATS_BY_PLACE, /* when the exception comes from the handler's own line */
};

#define CLP_SHAPE_NO_LINE (-1)

/* Reads the code object. False with a Python exception set; *shape is then empty. */
bool clp_code_lines_init(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code,
                         const struct clp_opcodes *opcodes);
void clp_code_lines_clear(struct clp_code_lines *shape, struct clp_mem *mem);

/* The shape's lines and their instructions alone. False with an exception set; *copy is then empty. */
bool clp_code_lines_copy_lines(struct clp_code_lines *copy, struct clp_mem *mem, const struct clp_code_lines *shape);

/* Fills `loops`, which only one tracer needs. False with an exception set. */
bool clp_code_lines_find_loops(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code,
                               const struct clp_opcodes *opcodes);

#if CLP_HAS_PROBES
/* What the rewriter and its edges read of a code object; `bytes` is its co_code. Borrows both. */
static inline struct clp_code clp_code_lines_code(const PyCodeObject *code, PyObject *bytes)
{
    return (struct clp_code){
        .code = (const uint8_t *)PyBytes_AS_STRING(bytes),
        .code_bytes = (size_t)PyBytes_GET_SIZE(bytes),
        .exceptions = (const uint8_t *)PyBytes_AS_STRING(code->co_exceptiontable),
        .exception_bytes = (size_t)PyBytes_GET_SIZE(code->co_exceptiontable),
        .locations = (const uint8_t *)PyBytes_AS_STRING(code->co_linetable),
        .location_bytes = (size_t)PyBytes_GET_SIZE(code->co_linetable),
        .first_line = code->co_firstlineno,
        .stack_size = code->co_stacksize,
        .const_count = (uint32_t)PyTuple_GET_SIZE(code->co_consts),
    };
}

typedef void clp_decoded_use(void *data, PyCodeObject *code, const struct clp_decoded *decoded);

/* Calls use(data, code, decoded), unless `use` is NULL, while the code's instructions are decoded.
 * The status of clp_decoded_init; CLP_NO_MEMORY may come with an exception set. */
clp_status clp_code_lines_decode(PyCodeObject *code, struct clp_mem *mem,
                                 const struct clp_bytecode *bytecode, clp_decoded_use *use, void *data,
                                 const char **reason);
#endif

/* Fills `repeats` and `asks_places`. 3.12 and 3.13 misread the instruction executed before: 3.12 when an
 * inlined call returns or raises, 3.13 at handlers in functions with wide gaps, both behind an `async for`
 * in such functions. False with an exception set. */
bool clp_code_lines_find_repeats(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code,
                                 const struct clp_bytecode *bytecode);

static inline bool clp_code_lines_marked(const struct clp_code_lines *shape, const bool *marks, int offset)
{
    size_t unit = (size_t)offset / 2;

    return marks != NULL && offset >= 0 && unit < shape->unit_count && marks[unit];
}

static inline bool clp_code_lines_yields_at(const struct clp_code_lines *shape, int offset)
{
    return clp_code_lines_marked(shape, shape->yields, offset);
}

static inline bool clp_code_lines_loops_at(const struct clp_code_lines *shape, int offset)
{
    return clp_code_lines_marked(shape, shape->loops, offset);
}

/* `before`: the line from which an exception comes, if one does. */
static inline bool clp_code_lines_repeats_at(const struct clp_code_lines *shape, int offset, int32_t line,
                                             int32_t before)
{
    size_t unit = (size_t)offset / 2;

    if (shape->repeats == NULL || offset < 0 || unit >= shape->unit_count)
        return false;
    return shape->repeats[unit] == CLP_REPEATS_ALWAYS ||
           (shape->repeats[unit] == CLP_REPEATS_BY_PLACE && line == before);
}

/* The line at which the frame stands when an exception is raised or has found its handler. */
int32_t clp_code_lines_line_raised(PyFrameObject *frame);

/* Does the frame stand where an exception is thrown in that begins a line, also the same one? From 3.13 on
 * that is a RESUME. */
static inline bool clp_code_lines_thrown_into(const struct clp_code_lines *shape, PyFrameObject *frame)
{
    return PY_VERSION_HEX >= 0x030D0000 &&
           clp_code_lines_yields_at(shape, clp_compat_frame_offset(frame));
}

#endif
