/* SPDX-License-Identifier: MIT */
#ifndef STUB_H
#define STUB_H

#include <stddef.h>
#include <stdint.h>

enum { DRIVER = 1, RUNTIME = 2 };

enum { PINNED = 256 }; /* beside the kind of a record: the copy's memory of the host is pinned */

struct stub_hook {
    void (*call)(int site, int domain, uint32_t function, uint32_t correlation);
    void (*record)(uint32_t kind, uint32_t correlation, uint64_t nanos);
};

void stub_hook(const struct stub_hook *its);

#endif
