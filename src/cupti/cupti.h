/* SPDX-License-Identifier: MIT */
/* What is used of CUPTI, the library by which NVIDIA's devices tell what they did. It is the program's own copy: a
 * second one would collide with it. So nothing is linked, and types are declared here, as NVIDIA's headers describe
 * them. */
#ifndef CLP_CUPTI_H
#define CLP_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum clp_cupti_result { CLP_CUPTI_SUCCESS = 0, CLP_CUPTI_TAKEN = 39 }; /* 39: somebody else is subscribed */

enum clp_cupti_domain { CLP_CUPTI_DRIVER = 1, CLP_CUPTI_RUNTIME = 2, CLP_CUPTI_DOMAINS };

enum clp_cupti_kind {
    CLP_CUPTI_MEMCPY = 1,
    CLP_CUPTI_MEMSET = 2,
    CLP_CUPTI_KERNEL = 3,
    CLP_CUPTI_CONCURRENT_KERNEL = 10,
    CLP_CUPTI_MEMCPY_PEER = 22
};

#define CLP_CUPTI_FORCED 1u /* flag of flush_all: buffers with incomplete records come, too */

/* What a callback gets of a call of CUDA. */
struct clp_cupti_call {
    int32_t site; /* 0: it begins; 1: it has ended */
    const char *function;
    const void *arguments;
    void *result;
    const char *kernel;
    void *context;
    uint32_t context_number;
    uint64_t *data;
    uint32_t correlation; /* the records of what it launches have the same */
};

_Static_assert(offsetof(struct clp_cupti_call, correlation) == 64, "as CUpti_CallbackData has it");

typedef void clp_cupti_callback(void *user, int domain, uint32_t function, const void *call);
typedef void clp_cupti_request(uint8_t **buffer, size_t *bytes, size_t *records);
typedef void clp_cupti_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid);

struct clp_cupti {
    int (*get_version)(uint32_t *version);
    int (*subscribe)(void **subscriber, clp_cupti_callback *callback, void *user);
    int (*unsubscribe)(void *subscriber);
    int (*enable_callback)(uint32_t enable, void *subscriber, int domain, uint32_t function);
    int (*get_callback_name)(int domain, uint32_t function, const char **name);
    int (*register_callbacks)(clp_cupti_request *request, clp_cupti_complete *complete);
    int (*enable)(int kind);
    int (*disable)(int kind);
    int (*flush_all)(uint32_t flags);
    int (*next_record)(uint8_t *buffer, size_t valid, const uint8_t **record);
    int (*dropped)(void *context, uint32_t stream, size_t *count);
};

/* Finds the functions in the loaded library. False: it lacks one. */
bool clp_cupti_find(void *library, struct clp_cupti *cupti);

/* Is it known where the records of this version have their numbers? The headers of 26 and of 130001 to 130500 were read,
 * with the older records that they still describe. */
bool clp_cupti_is_known(uint32_t version);

/* What a record says. */
struct clp_cupti_record {
    uint32_t correlation;
    uint64_t nanos;
    bool ended; /* false: the work had not ended, and its time is not known */
    bool waits; /* a copy from or to memory of the host that is not pinned, for which the call waits */
};

/* Reads a record of CUPTI. False: it is of no kind that is asked for. */
bool clp_cupti_read(const uint8_t *record, struct clp_cupti_record *into);

/* What a function of CUDA may do, by its name. */
enum clp_cupti_deed {
    CLP_CUPTI_LAUNCHES = 1,
    CLP_CUPTI_WAITS = 2,
    CLP_CUPTI_MAY_WAIT = 4 /* its record tells (struct clp_cupti_record) */
};

/* A sum of these. */
uint8_t clp_cupti_deeds(const char *function);

#endif
