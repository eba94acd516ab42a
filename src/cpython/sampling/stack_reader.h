/* SPDX-License-Identifier: MIT */
/* Reads where each Python thread of this process stands, from a thread that has neither the interpreter's lock nor a state
 * of its own. Nothing is stopped and no signal is sent. All is read as src/os/peek.h does, in whole pages, because most
 * frames of a thread lie close together: usually two system calls for a thread.
 *
 * The threads run meanwhile. The frames that the first of the two calls has found are read within less than a microsecond,
 * so they are the stack at one moment or, seldom, parts of two: each code object and each instruction must be looked up
 * in what is known of the code, and left out where it does not fit. The address of the innermost frame is read some
 * 0.3 us before the frames. A short call is over by then: its frame still says which code ran, but what it seems to have
 * been called by may be another function, called in the meantime. So frames that were left are told apart. */
#ifndef CLP_STACK_READER_H
#define CLP_STACK_READER_H

#include "cpython/compat/raw_frames.h"
#include "os/peek.h"

#define CLP_STACK_MOST 256 /* frames; those further out are cut off */
#define CLP_STACK_PAGES 16 /* that are kept while a stack is read */
#define CLP_STACK_PAGE 4096

/* The pages in which the frames of a thread lay when its stack was read last; {0} at first. */
struct clp_stack_hint {
    const char *pages[6];
};

struct clp_stack {
    size_t count;
    size_t left; /* how many of the innermost ones the thread had left when they were read: who called them is not known */
    bool doubtful; /* perhaps it had left the first one */
    bool cut;
    struct clp_raw_frame frames[CLP_STACK_MOST]; /* the innermost first, with those that run no Python code */
};

/* Takes some 80 KB. */
struct clp_stack_reader {
    struct clp_peek peek;
    PyInterpreterState *interpreter; /* the main one, borrowed */
    size_t page_count, latest; /* the page that was used last */
    const char *pages[CLP_STACK_PAGES]; /* where the copies are from */
    char copies[CLP_STACK_PAGES][CLP_STACK_PAGE];
    struct clp_stack stack; /* the one that was read last */
};

/* Needs the interpreter's lock; reads the calling thread's own stack, to see whether that works in this interpreter. NULL,
 * or why stacks cannot be read, as text for a message. */
const char *clp_stack_reader_begin(struct clp_stack_reader *reader);

/* Reads the state of a thread. `before` is that of the thread before it in the list, NULL for the first one. False: it is
 * gone, and so the list cannot be followed any further this time. */
bool clp_stack_reader_thread(struct clp_stack_reader *reader, const PyThreadState *state, const PyThreadState *before,
                             struct clp_raw_thread *thread);

/* Reads the thread's frames into reader->stack. False: the thread was too quick; the stack may hold anything. */
bool clp_stack_reader_read(struct clp_stack_reader *reader, const struct clp_raw_thread *thread,
                           struct clp_stack_hint *hint);

#endif
