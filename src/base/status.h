/* SPDX-License-Identifier: MIT */
/* All that can go wrong, in one table.
 *
 * A function that can fail returns a clp_status. Its results go through out parameters, which it writes only on
 * success. Where a status is not enough (a bad file), the function fills a clp_fault. */
#ifndef CLP_STATUS_H
#define CLP_STATUS_H

#include <stdint.h>

#define CLP_STATUS_TABLE(X)                                   \
    X(CLP_OK, "ok")                                           \
    X(CLP_NO_MEMORY, "out of memory")                         \
    X(CLP_IO, "input or output failed")                       \
    X(CLP_EMPTY, "the file is empty")                         \
    X(CLP_NOT_BEGUN, "its process was killed before it counted anything") \
    X(CLP_NOT_A_PROFILE, "not a clineprof profile")           \
    X(CLP_TRUNCATED, "cut off")                               \
    X(CLP_CORRUPT, "damaged")                                 \
    X(CLP_TOO_LARGE, "too large")        \
    X(CLP_TOO_NEW, "written by a newer clineprof")            \
    X(CLP_UNSUPPORTED, "not supported here")

#define CLP_STATUS_CODE(code, text) code,
typedef enum clp_status { CLP_STATUS_TABLE(CLP_STATUS_CODE) CLP_STATUS_COUNT } clp_status;
#undef CLP_STATUS_CODE

/* Where and why reading went wrong. `reason` is a string constant, never freed. */
struct clp_fault {
    clp_status status;
    uint64_t offset;    /* bytes from the start of the file */
    int os_error;       /* errno of the failed call; 0: no system call failed */
    const char *reason; /* what was found or expected there; NULL when the status says it all */
    char found[96];     /* a name from the file that `reason` is about, plain ASCII; "": none */
};

/* Sets the fault, with os_error 0 and `found` empty. Returns the status. */
clp_status clp_fault_set(struct clp_fault *fault, clp_status status, uint64_t offset,
                         const char *reason);

/* The message of a status; never NULL. */
const char *clp_status_text(clp_status status);

/* The message of a fault; never NULL. Where a system call failed this is `reason`, or the system's own message
 * where `reason` is NULL. Otherwise it is the message of the status. */
const char *clp_fault_text(const struct clp_fault *fault);

#if defined(__GNUC__)
#define CLP_PRINTF_LIKE(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
#define CLP_LIKELY(x) __builtin_expect(!!(x), 1)
#define CLP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define CLP_PRINTF_LIKE(format_at, first_at)
#define CLP_LIKELY(x) (x)
#define CLP_UNLIKELY(x) (x)
#endif

#endif
