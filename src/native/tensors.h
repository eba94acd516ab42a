/* SPDX-License-Identifier: MIT */
/* The interface of the library that --tensors preloads (tensors.c) to clineprof._core. The library sees what PyTorch
 * allocates for tensors. The module knows the lines and keeps the numbers. Each is built without the other: the module
 * finds the struct clp_tensors_door by its name. */
#ifndef CLP_NATIVE_TENSORS_H
#define CLP_NATIVE_TENSORS_H

#include <stdbool.h>
#include <stdint.h>

#define CLP_TENSORS_LIBRARY "libclineprof_tensors.so"
#define CLP_TENSORS_DOOR "clp_tensors_door"
#define CLP_TENSORS_VERSION 1u

/* A device, with the two bytes of c10::Device, which functions get by value. */
struct clp_tensors_device {
    int8_t type;  /* c10::DeviceType: 0 is the processor, 1 is CUDA .. */
    int8_t index; /* -1: the device has no number */
};

/* All of them may be called in any thread, with or without the interpreter's lock. */
struct clp_tensors_hooks {
    /* The device has `bytes` more allocated, or fewer if `bytes` is negative. `reserved` is all that its allocator
     * holds now. `in_engine`: this is one of autograd's own threads. */
    void (*changed)(struct clp_tensors_device device, int64_t bytes, uint64_t reserved, bool in_engine);
    /* The thread, which is none of autograd's own, calls autograd's engine (backward), and has returned from there. What
     * the first one gives, the second one gets. An exception leaves out the second one. */
    void *(*entered)(void);
    void (*left)(void *given);
};

struct clp_tensors_door {
    uint32_t version;
    /* NULL: nothing is counted. The hooks must stay where they are for good. */
    void (*set)(const struct clp_tensors_hooks *hooks);
};

#endif
