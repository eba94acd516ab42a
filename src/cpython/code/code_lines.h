/* SPDX-License-Identifier: MIT */
/* Reads what a tracer must know about a code object: its lines, where it yields, and where the interpreter sends a line
 * event although no line begins. */
#ifndef CLP_CODE_LINES_H
#define CLP_CODE_LINES_H

#include "rewrite/decoded.h"
#include "base/mem.h"
#include "cpython/compat/compat.h"

struct clp_code_lines {
    int32_t lowest_line; /* the lowest line that the code may reach; the code's first line when it has no lines */
    uint32_t line_count; /* how many lines hold code, at least 1 */
    int32_t *lines;      /* owned; those lines, ascending; NULL: only the lowest one is known */
    size_t line_room;    /* of `lines` */
    /* Owned; the instructions of each of the lines as in struct clp_function, 0 for a line that never begins. NULL: the
     * instructions are not known. */
    uint8_t *instructions;
    size_t unit_count; /* code units of two bytes */
    /* Owned; for each code unit the line that may begin there, CLP_NO_LINE where an instruction has no line, 0
     * elsewhere. NULL: this code is traced by LINE events. */
    int32_t *starts;
    uint8_t *marks;  /* owned; for each code unit bits of enum clp_unit_marks; NULL: the instructions are not known */
    int entry; /* byte offset at which the body begins; a body that never began stands before it. 0: it is not known */
    int first_yield; /* byte offset; INT_MAX: the code never yields */
    /* Are there exception handlers that begin a line or not, depending on the place where the exception was raised,
     * while no event tells of this place? */
    bool asks_places;
    /* A constant text: why the code must not be traced. With damaged tables the interpreter itself writes beyond its
     * arrays when the code is traced. Only the first line of such code is known. NULL: the code is sound. */
    const char *damage;
};

enum clp_unit_marks {
    CLP_UNIT_YIELDS = 1, /* a frame that yields stands here */
    CLP_UNIT_LOOPS = 2,  /* a frame stands here when the tracer is told of a jump back within a line */
    /* A line event here while the same line is running is a mistake of the interpreter: always (REPEATS), or only when
     * an exception comes from the handler's own line (REPEATS_BY_PLACE). */
    CLP_UNIT_REPEATS = 4,
    CLP_UNIT_REPEATS_BY_PLACE = 8,
};

/* Reads the code object. Returns false with a Python exception set; *shape is then empty. If the bytecode is known,
 * code whose parts do not fit together is reported as damaged. For other code that cannot be decoded only the span of
 * lines is read, from the interpreter's co_lines().
 *
 * The marks REPEATS and REPEATS_BY_PLACE are set only where the bytecode is known. They are needed because 3.12 and
 * 3.13 sometimes misread which instruction was executed before: 3.12 when an inlined call returns or raises, 3.13 at
 * handlers in functions with wide gaps between lines, and both behind an `async for` in such functions. */
bool clp_code_lines_init(struct clp_code_lines *shape, struct clp_mem *mem, PyCodeObject *code,
                         const struct clp_bytecode *bytecode);
void clp_code_lines_clear(struct clp_code_lines *shape, struct clp_mem *mem);

/* Gives the instructions of each statement to the line on which it begins, which becomes one of the lines if it is
 * none. A second call changes nothing. Without statements each line is its own. False with an exception set. */
bool clp_code_lines_fold(struct clp_code_lines *shape, struct clp_mem *mem, struct clp_statements statements,
                         PyCodeObject *code);

/* Returns how many lines there are from the lowest to the highest. */
static inline uint32_t clp_code_lines_span(const struct clp_code_lines *shape)
{
    return shape->lines == NULL ? 1 : (uint32_t)(shape->lines[shape->line_count - 1] - shape->lowest_line) + 1;
}

/* Returns the place of the line among the lines; 0 for a line that the code does not have. */
uint32_t clp_code_lines_find(const struct clp_code_lines *shape, int32_t line);

/* Copies only the lines and their instructions. Returns false with an exception set; *copy is then empty. Clear *copy with
 * clp_code_lines_clear. */
bool clp_code_lines_copy_lines(struct clp_code_lines *copy, struct clp_mem *mem, const struct clp_code_lines *shape);

/* Makes this line, of code whose lines are not known, the only one. */
void clp_code_lines_set_one(struct clp_code_lines *shape, int32_t line);

#if CLP_HAS_PROBES
/* Returns the parts of a code object that src/rewrite reads; `bytes` is its co_code. The result borrows from both. */
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

/* Decodes the code's instructions and calls use(data, code, decoded); `decoded` is valid only during the call. Returns
 * the status of clp_decoded_init. On CLP_CORRUPT *reason says why. CLP_NO_MEMORY may come with an exception set. */
clp_status clp_code_lines_decode(PyCodeObject *code, struct clp_mem *mem,
                                 const struct clp_bytecode *bytecode, clp_decoded_use *use, void *data,
                                 const char **reason);
#endif

/* Has the code unit at `offset` (in bytes) one of these marks? */
static inline bool clp_code_lines_marked(const struct clp_code_lines *shape, int offset, int marks)
{
    size_t unit = (size_t)offset / 2;

    return shape->marks != NULL && offset >= 0 && unit < shape->unit_count &&
           (shape->marks[unit] & marks) != 0;
}

/* Is a line event of `line` at this offset (in bytes) a mistake of the interpreter, if the line is running? `before` is
 * the line on which the exception was raised, if the offset was reached by one. */
static inline bool clp_code_lines_repeats_at(const struct clp_code_lines *shape, int offset, int32_t line,
                                             int32_t before)
{
    return clp_code_lines_marked(shape, offset,
                                 CLP_UNIT_REPEATS | (line == before ? CLP_UNIT_REPEATS_BY_PLACE : 0));
}

/* Returns the line at which the frame stands when an exception is raised or has reached its handler. */
int32_t clp_code_lines_line_raised(PyFrameObject *frame);

/* Does the frame stand where a thrown-in exception begins a line, even the line that is running? */
static inline bool clp_code_lines_thrown_into(const struct clp_code_lines *shape, PyFrameObject *frame)
{
    return CLP_THROWN_STANDS_AT_RESUME &&
           clp_code_lines_marked(shape, clp_compat_frame_offset(frame), CLP_UNIT_YIELDS);
}

#endif
