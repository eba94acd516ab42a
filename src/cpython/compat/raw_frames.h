/* SPDX-License-Identifier: MIT */
/* What the interpreter has written of its threads and frames, found in copies of their bytes. Nothing here needs the
 * interpreter's lock, so a copy may be of something that is half changed or gone: each address may be wrong.
 *
 * From 3.11 to 3.15 a frame says at which instruction it stands, because each instruction notes that when it begins; only
 * END_FOR does not since 3.14. A just-in-time compiler, which is off by default, leaves out more. */
#ifndef CLP_RAW_FRAMES_H
#define CLP_RAW_FRAMES_H

#include "compat.h"
#include <stddef.h>

/* Before 3.11 frames are other objects, which nobody reads here: there is no first thread then. */
#define CLP_HAS_RAW_FRAMES CLP_SINCE(11)

struct clp_raw_thread {
    const PyThreadState *next, *before;
    const void *interpreter;
    uint64_t id;          /* is never used again */
    unsigned long number; /* the system's */
    bool holds_lock;      /* the interpreter's */
    /* Where the address of the innermost frame is to be read. That place is the right one while `*place_at == place`. */
    const void *frame_at, *place_at, *place;
    const char *top;      /* behind the frames in the newest piece of the thread's stack of frames */
};

struct clp_raw_frame {
    const void *code;        /* a code object, or something else for frames that the interpreter has for itself */
    const void *previous;    /* the caller's frame; NULL: there is none */
    const void *object;      /* its frame object; NULL: it has none */
    const char *instruction; /* which runs, or has called */
    bool outermost;          /* a thread's first frame is like this, but no frame of a generator that is suspended */
    bool entry;              /* C code has called it, or it is the interpreter's own between C code and Python code */
    bool runs;               /* it has called no Python function itself, as C code may have; never since 3.14 */
    bool left;               /* since 3.14: its body has ended */
};

#define CLP_RAW_FRAME_BYTES 80

/* How many bytes of a thread's state must be copied. */
#if CLP_HAS_RAW_FRAMES
#define CLP_RAW_THREAD_BYTES (offsetof(PyThreadState, datastack_limit))
#else
#define CLP_RAW_THREAD_BYTES sizeof(PyThreadState)
#endif

/* The state that is the first in the list of an interpreter's threads; any thread may ask. NULL: there is none. */
const PyThreadState *clp_raw_first_thread(PyInterpreterState *interpreter);

/* `copy` holds the first CLP_RAW_THREAD_BYTES of the state at `address`. */
void clp_raw_thread_get(const PyThreadState *address, const PyThreadState *copy, struct clp_raw_thread *thread);

/* `copy` holds the first CLP_RAW_FRAME_BYTES of a frame. */
void clp_raw_frame_get(const char *copy, struct clp_raw_frame *frame);

/* `frames` were copied a moment after the address of the first one was read, the innermost first. Returns how many of them
 * the thread had left by then: each frame behind these was called by the next one. *doubtful: perhaps it had left the first
 * one, though 0 is returned. */
size_t clp_raw_frames_left(const struct clp_raw_frame *frames, size_t count, bool *doubtful);

/* The frame that this object stands for. */
const void *clp_raw_frame_of(const PyFrameObject *object);

/* Gets the frame at this address in the calling thread, or the nearest one outward that has begun and is not the
 * interpreter's own. That makes no frame object, which a program could notice: it may begin a collection. False: there is
 * none. 3.10 has this, too: there each frame is an object. */
bool clp_raw_frame_begun(const void *at, struct clp_raw_frame *frame);

/* The place of an instruction in the code, in code units. It is behind the code's end where the two do not belong
 * together. A body that has not begun is at its first unit. */
size_t clp_raw_unit(const void *code, const char *instruction);

#endif
