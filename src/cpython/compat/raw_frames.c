/* SPDX-License-Identifier: MIT */
#include "raw_frames.h"
#include <string.h>

#define Py_BUILD_CORE 1 /* for where the parts of a frame lie. Who reads frames checks that first (stack_reader.h) */
#if CLP_SINCE(14)
#include <internal/pycore_frame.h>
#include <internal/pycore_interpframe.h>
#elif CLP_SINCE(11)
#include <internal/pycore_frame.h>
#endif

#if CLP_HAS_RAW_FRAMES

#if CLP_SINCE(13)
#define INSTRUCTION instr_ptr
#define CODE f_executable
#else
/* The unit before the next instruction: the one that runs, or the end of its inline cache */
#define INSTRUCTION prev_instr
#define CODE f_code
#endif

/* References on a frame may have marks in the lowest bits since 3.14. */
#define MARKS (CLP_SINCE(14) ? (uintptr_t)7 : (uintptr_t)0)

/* Where a frame says that it is left, or that it runs. */
#if CLP_SINCE(14)
#define SIGN f_funcobj
#else
#define SIGN stacktop
#endif

#define PART(name) offsetof(struct _PyInterpreterFrame, name)
#define FITS(name) (PART(name) + sizeof((struct _PyInterpreterFrame *)0)->name <= CLP_RAW_FRAME_BYTES)
_Static_assert(FITS(CODE) && FITS(previous) && FITS(frame_obj) && FITS(INSTRUCTION) && FITS(owner) &&
                   FITS(SIGN),
               "all is in a frame's first bytes");

/* The list's head is read without its lock. New threads come first, and each is whole before. */
const PyThreadState *clp_raw_first_thread(PyInterpreterState *interpreter)
{
    return PyInterpreterState_ThreadHead(interpreter);
}

static bool holds_lock(const PyThreadState *address, const PyThreadState *copy)
{
#if CLP_SINCE(14)
    (void)address;
    return copy->holds_gil != 0;
#elif CLP_SINCE(13)
    (void)address;
    return copy->_status.holds_gil;
#elif CLP_SINCE(12)
    (void)address;
    return copy->_status.active;
#else
    (void)copy;
    return address == _PyThreadState_UncheckedGet(); /* that of whichever thread has the lock */
#endif
}

void clp_raw_thread_get(const PyThreadState *address, const PyThreadState *copy, struct clp_raw_thread *thread)
{
    *thread = (struct clp_raw_thread){
        .next = copy->next,
        .before = copy->prev,
        .interpreter = copy->interp,
        .id = copy->id,
        .number = copy->native_thread_id,
        .holds_lock = holds_lock(address, copy),
#if CLP_SINCE(13)
        .frame_at = &address->current_frame,
        .place_at = &address->interp,
        .place = copy->interp,
#else
        .frame_at = (const char *)copy->cframe + offsetof(_PyCFrame, current_frame),
        .place_at = &address->cframe,
        .place = copy->cframe,
#endif
        .top = (const char *)copy->datastack_top,
    };
}

/* Since 3.12 each call of the interpreter's loop begins with a frame that the loop has for itself. */
static bool is_entry(const char *copy)
{
#if CLP_SINCE(12)
    return copy[PART(owner)] > FRAME_OWNED_BY_FRAME_OBJECT;
#else
    return copy[PART(is_entry)] != 0;
#endif
}

/* Until 3.13 a frame knows the height of its stack while another one runs that it has called. (_PyFrame_SetStackPointer) */
static bool is_running(const char *copy)
{
#if CLP_SINCE(14)
    (void)copy;
    return false;
#else
    int height;

    memcpy(&height, copy + PART(stacktop), sizeof height);
    return height < 0;
#endif
}

/* Since 3.14 the end of a body takes the function out of its frame. (_PyFrame_ClearExceptCode) */
static bool is_left(const char *copy)
{
#if CLP_SINCE(14)
    uintptr_t function;

    memcpy(&function, copy + PART(f_funcobj), sizeof function);
    return (function & ~MARKS) == 0;
#else
    (void)copy;
    return false;
#endif
}

const void *clp_raw_frame_of(const PyFrameObject *object)
{
    return object->f_frame;
}

void clp_raw_frame_get(const char *copy, struct clp_raw_frame *frame)
{
    uintptr_t code;

    memcpy(&code, copy + PART(CODE), sizeof code);
    memcpy(&frame->previous, copy + PART(previous), sizeof frame->previous);
    memcpy(&frame->object, copy + PART(frame_obj), sizeof frame->object);
    memcpy(&frame->instruction, copy + PART(INSTRUCTION), sizeof frame->instruction);
    frame->code = (const void *)(code & ~MARKS);
    frame->entry = is_entry(copy);
    frame->outermost = frame->entry && copy[PART(owner)] != FRAME_OWNED_BY_GENERATOR;
    frame->runs = is_running(copy);
    frame->left = is_left(copy);
}

/* A frame that runs has called none of the frames before it, unless C code did. Where none runs, either the first one has
 * called a function, or its caller is just making another frame in its place. */
size_t clp_raw_frames_left(const struct clp_raw_frame *frames, size_t count, bool *doubtful)
{
    size_t left = 0;

    *doubtful = !CLP_SINCE(14);
    while (left < count && frames[left].left)
        left++;
    for (size_t i = left; i < count; i++) {
        if (frames[i].runs) {
            left = i;
            *doubtful = false;
        }
        if (frames[i].entry)
            break;
    }
    return left;
}

bool clp_raw_frame_begun(const void *at, struct clp_raw_frame *frame)
{
    struct _PyInterpreterFrame *found = (struct _PyInterpreterFrame *)(uintptr_t)at;

    while (found != NULL && _PyFrame_IsIncomplete(found))
        found = found->previous;
    if (found != NULL)
        clp_raw_frame_get((const char *)found, frame);
    return found != NULL;
}

size_t clp_raw_unit(const void *code, const char *instruction)
{
    ptrdiff_t bytes = instruction - (const char *)code - (ptrdiff_t)offsetof(PyCodeObject, co_code_adaptive);

    return bytes == -(ptrdiff_t)sizeof(_Py_CODEUNIT) ? 0 : (size_t)bytes / sizeof(_Py_CODEUNIT);
}

#else

const PyThreadState *clp_raw_first_thread(PyInterpreterState *interpreter)
{
    (void)interpreter;
    return NULL;
}

void clp_raw_thread_get(const PyThreadState *address, const PyThreadState *copy, struct clp_raw_thread *thread)
{
    (void)address;
    (void)copy;
    memset(thread, 0, sizeof *thread);
}

void clp_raw_frame_get(const char *copy, struct clp_raw_frame *frame)
{
    (void)copy;
    memset(frame, 0, sizeof *frame);
}

size_t clp_raw_frames_left(const struct clp_raw_frame *frames, size_t count, bool *doubtful)
{
    (void)frames;
    (void)count;
    *doubtful = false;
    return 0;
}

bool clp_raw_frame_begun(const void *at, struct clp_raw_frame *frame)
{
    const PyFrameObject *found = at;

    if (found != NULL)
        *frame = (struct clp_raw_frame){.code = found->f_code, .previous = found->f_back, .object = found};
    return found != NULL;
}

size_t clp_raw_unit(const void *code, const char *instruction)
{
    (void)code;
    (void)instruction;
    return SIZE_MAX;
}

#endif
