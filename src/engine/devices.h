/* SPDX-License-Identifier: MIT */
/* What devices do for lines: tensors that live on them (enum clp_device_source), kernels and copies that run there. The
 * numbers of a line are its struct clp_device_cell (lines.h). */
#ifndef CLP_DEVICES_H
#define CLP_DEVICES_H

#include "hot.h"

/* What a run may count of devices. */
enum clp_device_source {
    CLP_DEVICE_TENSORS = 1, /* memory of tensors, --tensors */
    CLP_DEVICE_TIME = 2,    /* kernels, copies and waiting, --cuda */
    CLP_DEVICE_READS = 4    /* the first is read from PyTorch's statistics (cpython/recorder/tensor_reads.h) */
};

/* The place of the device with this name in struct clp_device_cell; it gets one if it is new. -1: all places are taken.
 * May be called from any thread, with or without the interpreter's lock. */
int clp_devices_place(const char *name);

/* Copies the name of each device to `into`, and from now on that of each new one; NULL: no more. */
void clp_devices_mirror(char (*into)[CLP_DEVICE_NAME]);

/* Copies the name of each device, "" where there is none. */
void clp_devices_names(char names[CLP_DEVICES][CLP_DEVICE_NAME]);

/* A line, by its function and its place among the lines of the function, and the group of the thread that runs it. */
struct clp_device_place {
    uint32_t function, line, group;
};

/* The thread for whose line the calling one works, which has these counters (NULL: it has none): its own, if it is on a
 * line. Threads of torch's autograd that are on no line work for the thread that has called backward(), the latest if
 * there are several. NULL: it works for no line. Needs no lock. */
const struct clp_thread *clp_devices_thread(const struct clp_thread *own);

/* The line on top of the thread. False: there is none. Needs no lock; another thread may unwind the stack meanwhile, so
 * clp_devices_cell looks whether there is such a line. */
bool clp_devices_place_of(const struct clp_thread *thread, struct clp_device_place *place);

/* The cell of this line among the counters of ended threads of its group; NULL: there is no such line, or no memory. */
struct clp_device_cell *clp_devices_cell(struct clp_engine *engine, const struct clp_device_place *place);

/* Say that the thread calls backward(), and that this call has ended. Calls may be nested. */
void clp_devices_begin_backward(const struct clp_thread *thread);
void clp_devices_end_backward(const struct clp_thread *thread);

/* For the child of a fork: another thread, which is not there any more, may have used the names, or may have called
 * backward(). `left` is the only thread with counters; NULL: there is none. */
void clp_devices_after_fork(const struct clp_thread *left);

/* The cell of the line on top; NULL: no line is on top, or its block has no such cells. */
struct clp_device_cell *clp_devices_of_top(const struct clp_thread *thread);

#endif
