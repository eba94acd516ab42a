/* SPDX-License-Identifier: MIT */
/* Which lines get what is allocated for tensors and freed. A change belongs to the line on top of its thread. What a
 * thread of the tensors' library does, in which no Python code runs, belongs to the line that sent it to work
 * (backward); what no line does is kept for the engine as a whole (clp_engine_totals).
 *
 * The peak of a line is the most that one execution of it, with all that it called in its thread, had allocated and not
 * freed yet. For that each thread has a balance: all that it allocated less all that it freed. A mark says what the
 * balance was when an execution on the stack began. A change sets the marks that are missing, so the first change
 * within an execution sets its mark, and until then the balance has not changed.
 *
 * Any thread may call these functions, with or without the interpreter's lock. What they read of a thread's stack is
 * their own thread's (see cpython/memory/hooks.h). */
#ifndef CLP_ENGINE_TENSORS_H
#define CLP_ENGINE_TENSORS_H

#include "devices.h"

/* So many bytes more are allocated at the place of a device, or fewer, and its allocator holds so many bytes more. */
struct clp_tensor_change {
    int place; /* clp_devices_place, not negative */
    int64_t bytes, reserved;
};

/* What happened at the place of a device between two reads of numbers that somebody else keeps of the process. */
struct clp_tensor_sum {
    int place;
    int64_t allocated, freed, reserved;
    int64_t high; /* the most that was allocated beyond what there was at the first read, as far as it is known */
};

/* Where such changes belong: the line on top, and what its thread had allocated when this execution began. */
struct clp_tensor_place {
    bool on_line;
    struct clp_device_place line;
    int64_t balance[CLP_DEVICES];
};

/* The change happens in this thread; NULL: in one without counters. */
void clp_tensors_note(struct clp_engine *engine, struct clp_thread *thread, const struct clp_tensor_change *change);

/* Does a line run in the thread, whose block counts devices? */
bool clp_tensors_have_line(const struct clp_thread *thread);

/* From now on other threads work for the line on top of `thread`, which waits for them. Returns the cell of the line for
 * which they worked before. */
struct clp_device_cell *clp_tensors_send(struct clp_thread *thread);

/* The change happens in a thread that works for the line which the owner has sent. */
void clp_tensors_note_for(struct clp_engine *engine, struct clp_thread *owner, const struct clp_tensor_change *change);

/* In the owner: it waits no more. Others work for the line of `before` again. */
void clp_tensors_take_back(struct clp_thread *owner, struct clp_device_cell *before);

/* Finds the place of the calling thread (NULL: it has no counters) before an event ends the line. Executions on the
 * stack that have no mark yet began after the last read. */
void clp_tensors_expect(struct clp_thread *thread, struct clp_tensor_place *place);

/* The changes belong to this place, which clp_tensors_expect has found in the same thread. Code may have run since. */
void clp_tensors_note_sum(struct clp_engine *engine, struct clp_thread *thread, const struct clp_tensor_place *place,
                          const struct clp_tensor_sum *sum);

#endif
