/* SPDX-License-Identifier: MIT */
/* What devices do for lines: tensors that live on them (enum clp_device_source), kernels and copies that run there. The
 * numbers of a line are its struct clp_device_cell (lines.h). */
#ifndef CLP_DEVICES_H
#define CLP_DEVICES_H

#include "hot.h"

/* What a run may count of devices. */
enum clp_device_source {
    CLP_DEVICE_TENSORS = 1, /* memory of tensors, --tensors */
    CLP_DEVICE_TIME = 2     /* kernels, copies and waiting, --cuda */
};

/* The place of the device with this name in struct clp_device_cell; it gets one if it is new. -1: all places are taken.
 * May be called from any thread, with or without the interpreter's lock. */
int clp_devices_place(const char *name);

/* Copies the name of each device to `into`, and from now on that of each new one; NULL: no more. */
void clp_devices_mirror(char (*into)[CLP_DEVICE_NAME]);

/* For the child of a fork, whose only thread may have found the names in use by another one. */
void clp_devices_after_fork(void);

/* Copies the name of each device, "" where there is none. */
void clp_devices_names(char names[CLP_DEVICES][CLP_DEVICE_NAME]);

/* The cell of the line on top; NULL: no line is on top, or its block has no such cells. */
struct clp_device_cell *clp_devices_of_top(const struct clp_thread *thread);

#endif
