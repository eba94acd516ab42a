/* SPDX-License-Identifier: MIT */
/* What a tracer must know of a code object: its lines, where it yields, and where the interpreter tells of a
 * line though none begins. */
#ifndef CLP_CODE_LINES_H
#define CLP_CODE_LINES_H

#include "rewrite/decoded.h"
#include "base/mem.h"
#include "cpython/compat/compat.h"

struct clp_code_lines {
    int32_t lowest_line; /* of the lines it may reach; its first line when it has none */
    uint32_t line_count;
    /* As of struct clp_function; 0 of a line that never begins. NULL where instructions are not known. */
    uint8_t *instructions;
    size_t unit_count; /* code units of two bytes */
    /* By code unit: the line that may begin there, CLP_NO_LINE where an instruction belongs to none,
     * 0 elsewhere. NULL: LINE events serve this code well. */
    int32_t *starts;
    uint8_t *marks;  /* by code unit: enum clp_unit_marks. NULL where instructions are not known */
    int first_yield; /* byte offset; INT_MAX when there is none */
    /* Are there handlers where a line begins or does not as the place has it at which the exception was
     * raised, and no event of the place itself tells? */
    bool asks_places;
    /* A constant: why no tracer may have the code. Traced, damaged tables make the interpreter itself write
     * beyond its arrays. Nothing else is known of such code than its first line. NULL: it is sound. */
    const char *damage;
};

enum clp_unit_marks {
    CLP_UNIT_YIELDS = 1, /* a frame stands here that yields */
    CLP_UNIT_LOOPS = 2,  /* a frame stands here when it is told of a jump back within a line */
    /* A line event here, while its line is running, is the interpreter's mistake: always, or when an exception
     * comes from the handler's own line. */
    CLP_UNIT_REPEATS = 4,
    CLP_UNIT_REPEATS_BY_PLACE = 8,
};

/* Reads the code object. False with a Python exception set; *shape is then empty. Code whose parts do not fit
 * together is damaged if the bytecode is known. Of other code that cannot be decoded, only the span of lines is
 * read, as the interpreter tells it.
 *
 * The last two marks are made where the bytecode is known. 3.12 and 3.13 misread the instruction executed
 * before: 3.12 when an inlined call returns or raises, 3.13 at handlers in functions with wide gaps, both
 * behind an `async for` in such functions. */
bool clp_code_lines_init(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code,
                         const struct clp_bytecode *bytecode);
void clp_code_lines_clear(struct clp_code_lines *shape, struct clp_mem *mem);

/* The shape's lines and their instructions alone. False with an exception set; *copy is then empty. */
bool clp_code_lines_copy_lines(struct clp_code_lines *copy, struct clp_mem *mem, const struct clp_code_lines *shape);

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

/* Calls use(data, code, decoded) while the code's instructions are decoded. The status of
 * clp_decoded_init; CLP_NO_MEMORY may come with an exception set. */
clp_status clp_code_lines_decode(PyCodeObject *code, struct clp_mem *mem,
                                 const struct clp_bytecode *bytecode, clp_decoded_use *use, void *data,
                                 const char **reason);
#endif

/* Has the code unit at this offset, in bytes, one of these marks? */
static inline bool clp_code_lines_marked(const struct clp_code_lines *shape, int offset, int marks)
{
    size_t unit = (size_t)offset / 2;

    return shape->marks != NULL && offset >= 0 && unit < shape->unit_count &&
           (shape->marks[unit] & marks) != 0;
}

/* `before`: the line from which an exception comes, if one does. */
static inline bool clp_code_lines_repeats_at(const struct clp_code_lines *shape, int offset, int32_t line,
                                             int32_t before)
{
    return clp_code_lines_marked(shape, offset,
                                 CLP_UNIT_REPEATS | (line == before ? CLP_UNIT_REPEATS_BY_PLACE : 0));
}

/* The line at which the frame stands when an exception is raised or has found its handler. */
int32_t clp_code_lines_line_raised(PyFrameObject *frame);

/* Does the frame stand where an exception is thrown in that begins a line, also the same one? */
static inline bool clp_code_lines_thrown_into(const struct clp_code_lines *shape, PyFrameObject *frame)
{
    return CLP_THROWN_STANDS_AT_RESUME &&
           clp_code_lines_marked(shape, clp_compat_frame_offset(frame), CLP_UNIT_YIELDS);
}

#endif
